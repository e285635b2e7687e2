//! The body of a seller's answer, and the payment that it belongs to.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bardo_providers::transport::UpstreamBody;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::pending::PaymentInUse;

/// An answer on its way. Its payment is used up when the answer has ended or the client has left; a
/// cut by the seller leaves it for the next request with the same content.
pub(crate) struct SellerBody {
    body: UpstreamBody,
    payment: Option<PaymentInUse>,
}

impl SellerBody {
    /// A body with the payment that bought it, if one did.
    pub(crate) fn new(body: UpstreamBody, payment: Option<PaymentInUse>) -> Self {
        Self { body, payment }
    }
}

impl Drop for SellerBody {
    fn drop(&mut self) {
        if let Some(payment) = self.payment.take() {
            payment.answered();
        }
    }
}

impl Body for SellerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Err(_)) = &frame {
            self.payment = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

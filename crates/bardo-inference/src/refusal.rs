//! Answers of the proxy itself, in the dialect of the client.

use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Dialect;
use bardo_wire::codec::ErrorView;
use bardo_wire::table;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use crate::book::CapRefusal;
use crate::payer::PayRefusal;
use crate::seller::SellerError;

/// Why the proxy answers by itself.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProxyRefusal {
    #[error("this name is not the proxy's; use the address that it printed")]
    ForeignHost,
    #[error(
        "the key of the request is not the one of this proxy; tools started by `bardo-inference run` have it"
    )]
    WrongToken,
    #[error("the body is larger than {0} MiB")]
    BodyTooLarge(usize),
    #[error("the body of the request was cut")]
    BodyCut,
    #[error(transparent)]
    Seller(#[from] SellerError),
    #[error("not paid: {0}")]
    Pay(#[from] PayRefusal),
    #[error("the endpoint asks for payment (402) without an offer that can be read: {0}")]
    NoOffer(String),
    #[error(
        "the endpoint refused a payment of {amount} USD: {reason}. It is not paid again; the amount counts until the chain shows it unused after its end"
    )]
    Refused { amount: String, reason: String },
    #[error(
        "a payment of {amount} USD was sent and no answer came ({reason}). The next identical request uses the same payment until it expires in {seconds} s, so it is not paid twice"
    )]
    Unanswered {
        amount: String,
        reason: String,
        seconds: u64,
    },
    #[error(
        "the endpoint took the payment of an earlier identical request, and its answer was lost. In {seconds} s the payment has expired; then this request is paid for again"
    )]
    AnswerLost { seconds: u64 },
    #[error(
        "the answer to a paid request was cut: {0}. The next identical request uses the same payment"
    )]
    PaidAnswerCut(#[source] SellerError),
    #[error("{message}")]
    Untranslatable { message: String, param: String },
    #[error("the endpoint's answer cannot be translated: {0}")]
    Malformed(Fault),
}

/// Words by which Aider knows a 402 that no repetition mends; without them it asks for a minute
/// <https://github.com/Aider-AI/aider/blob/main/aider/exceptions.py>.
const NO_REPETITION: &str = r#" (insufficient credits, "code":402)"#;

impl ProxyRefusal {
    /// Status, class and stable code.
    fn kind(&self) -> (StatusCode, FaultClass, &'static str) {
        match self {
            Self::ForeignHost => (
                StatusCode::FORBIDDEN,
                FaultClass::Permission,
                "foreign_host",
            ),
            Self::WrongToken => (
                StatusCode::UNAUTHORIZED,
                FaultClass::Authentication,
                "wrong_token",
            ),
            Self::BodyTooLarge(_) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                FaultClass::TooLarge,
                "body_too_large",
            ),
            Self::BodyCut => (StatusCode::BAD_REQUEST, FaultClass::BadRequest, "body_cut"),
            // Nothing was paid; the client may ask again.
            Self::Seller(SellerError::Path) => (
                StatusCode::BAD_REQUEST,
                FaultClass::BadRequest,
                "wrong_path",
            ),
            Self::Seller(SellerError::Timeout(_)) => (
                StatusCode::GATEWAY_TIMEOUT,
                FaultClass::Timeout,
                "endpoint_timeout",
            ),
            Self::Seller(_) => (
                StatusCode::BAD_GATEWAY,
                FaultClass::Connection,
                "endpoint_unreachable",
            ),
            Self::Pay(PayRefusal::Cap(CapRefusal::Reached { .. })) => (
                StatusCode::PAYMENT_REQUIRED,
                FaultClass::Payment,
                "cap_reached",
            ),
            Self::Pay(PayRefusal::Cap(CapRefusal::Uncounted { .. })) => (
                StatusCode::PAYMENT_REQUIRED,
                FaultClass::Payment,
                "spending_uncounted",
            ),
            Self::Pay(_) | Self::NoOffer(_) => (
                StatusCode::PAYMENT_REQUIRED,
                FaultClass::Payment,
                "offer_refused",
            ),
            Self::Refused { .. } => (
                StatusCode::PAYMENT_REQUIRED,
                FaultClass::Payment,
                "payment_refused",
            ),
            Self::Unanswered { .. } => (
                StatusCode::PAYMENT_REQUIRED,
                FaultClass::Payment,
                "payment_unanswered",
            ),
            Self::AnswerLost { .. } => (
                StatusCode::PAYMENT_REQUIRED,
                FaultClass::Payment,
                "answer_lost",
            ),
            Self::PaidAnswerCut(_) => (
                StatusCode::BAD_GATEWAY,
                FaultClass::Connection,
                "answer_cut",
            ),
            Self::Untranslatable { .. } => (
                StatusCode::BAD_REQUEST,
                FaultClass::BadRequest,
                "untranslatable",
            ),
            Self::Malformed(_) => (
                StatusCode::BAD_GATEWAY,
                FaultClass::Malformed,
                "malformed_answer",
            ),
        }
    }

    /// Whether a repetition by the client is free and can help.
    fn may_repeat(&self) -> bool {
        matches!(
            self,
            Self::Seller(SellerError::Unreachable(_) | SellerError::Cut | SellerError::Timeout(_))
        )
    }

    /// The answer for a client that speaks `dialect`.
    pub(crate) fn answer(&self, dialect: Dialect) -> Response<Bytes> {
        let (status, class, code) = self.kind();
        let mark = match (status, dialect) {
            (StatusCode::PAYMENT_REQUIRED, Dialect::Chat) => NO_REPETITION,
            _ => "",
        };
        let text = format!("bardo-inference: {self}{mark}");
        let mut fault = Fault::new(class, text).with_code(code);
        if let Self::Untranslatable { param, .. } = self {
            fault = fault.with_param(param.clone());
        }
        let view = ErrorView {
            fault: &fault,
            status: status.as_u16(),
            bardo_code: code,
            request_id: "",
        };
        let mut answer = Response::new(Bytes::from(table::encode_error(dialect, &view)));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if !self.may_repeat() {
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        answer
    }
}

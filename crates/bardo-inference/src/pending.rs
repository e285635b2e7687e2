//! Payments whose answer never came, so that the client's own repetition of a request is not paid a
//! second time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::payer::CountedPayment;
use crate::seller::Message;

/// A request, by a hash of its method, path and body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MessageHash([u8; 32]);

impl MessageHash {
    pub(crate) fn of(message: &Message) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(message.method.as_str().as_bytes());
        for part in [message.path.as_bytes(), &message.body] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }
}

/// What is known of a payment that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentOutcome {
    /// The seller may have done the work, and may charge.
    Unknown,
    /// The seller refused it.
    Refused,
}

struct PendingPayment {
    payment: CountedPayment,
    sent: SentOutcome,
    in_use: bool,
}

/// The payments without an answer.
#[derive(Default)]
pub(crate) struct PendingPayments(Mutex<HashMap<MessageHash, PendingPayment>>);

impl PendingPayments {
    /// Takes the payment that was sent with the same request, if it can still settle and no other
    /// request is using it.
    pub(crate) fn take(
        self: &Arc<Self>,
        hash: MessageHash,
        now_s: u64,
    ) -> Option<(PaymentInUse, SentOutcome)> {
        let mut pending = self.lock();
        pending.retain(|_, entry| entry.in_use || entry.payment.ends_s > now_s);
        let entry = pending.get_mut(&hash).filter(|entry| !entry.in_use)?;
        entry.in_use = true;
        // From now on the seller may have it again.
        let sent = std::mem::replace(&mut entry.sent, SentOutcome::Unknown);
        let used = PaymentInUse {
            pending: Arc::clone(self),
            hash: Some(hash),
            payment: entry.payment.clone(),
        };
        Some((used, sent))
    }

    /// Keeps a payment that is about to be sent. Where the same request is under way with another
    /// payment, this one is not kept.
    pub(crate) fn keep(
        self: &Arc<Self>,
        hash: MessageHash,
        payment: CountedPayment,
    ) -> PaymentInUse {
        let mut pending = self.lock();
        let is_free = pending.get(&hash).is_none_or(|entry| !entry.in_use);
        if is_free {
            let entry = PendingPayment {
                payment: payment.clone(),
                sent: SentOutcome::Unknown,
                in_use: true,
            };
            pending.insert(hash, entry);
        }
        PaymentInUse {
            pending: Arc::clone(self),
            hash: is_free.then_some(hash),
            payment,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MessageHash, PendingPayment>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A payment that one request is using. Dropped, for example because the client left, it stays for
/// the next request with the same content.
pub(crate) struct PaymentInUse {
    pending: Arc<PendingPayments>,
    hash: Option<MessageHash>,
    pub(crate) payment: CountedPayment,
}

impl PaymentInUse {
    /// The answer is there: the payment is used up.
    pub(crate) fn answered(mut self) {
        if let Some(hash) = self.hash.take() {
            self.pending.lock().remove(&hash);
        }
    }

    /// Notes what is known, for the next request with the same content.
    pub(crate) fn note(&self, sent: SentOutcome) {
        if let Some(hash) = self.hash
            && let Some(entry) = self.pending.lock().get_mut(&hash)
        {
            entry.sent = sent;
        }
    }
}

impl Drop for PaymentInUse {
    fn drop(&mut self) {
        if let Some(hash) = self.hash
            && let Some(entry) = self.pending.lock().get_mut(&hash)
        {
            entry.in_use = false;
        }
    }
}

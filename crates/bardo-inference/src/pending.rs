//! Payments whose answer never came, so that the client's own repetition of a request is not paid a
//! second time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bardo_types::money::MicroUsd;
use tokio::sync::Notify;

use crate::payer::{CountedPayment, now_s};
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
    /// The seller has begun to answer.
    has_answer: bool,
}

/// The payments without an answer.
#[derive(Default)]
pub(crate) struct PendingPayments {
    payments: Mutex<HashMap<MessageHash, PendingPayment>>,
    /// Payments of requests that have no answer yet, by their nonces. Their sellers can settle them.
    spent: Mutex<HashMap<MessageHash, HashMap<String, MicroUsd>>>,
    changed: Notify,
}

/// The place of a request among the payments.
enum PendingPlace {
    /// No payment, or one that is being answered.
    Free,
    /// A request with the same content has sent a payment, and waits for the answer.
    Busy,
    Payment(Box<PaymentInUse>, SentOutcome),
}

impl PendingPayments {
    /// Takes the payment that was sent with the same request, if it can still settle. Waits while
    /// another request has it and no answer: a client that left and asks again may be faster than
    /// the news of its leaving.
    pub(crate) async fn take(
        self: &Arc<Self>,
        hash: MessageHash,
    ) -> Option<(PaymentInUse, SentOutcome)> {
        loop {
            let changed = self.changed.notified();
            match self.try_take(hash, now_s()) {
                PendingPlace::Free => return None,
                PendingPlace::Payment(used, sent) => return Some((*used, sent)),
                PendingPlace::Busy => changed.await,
            }
        }
    }

    fn try_take(self: &Arc<Self>, hash: MessageHash, now_s: u64) -> PendingPlace {
        let mut payments = self.lock();
        payments.retain(|_, entry| entry.in_use || entry.payment.ends_s > now_s);
        let Some(entry) = payments.get_mut(&hash).filter(|entry| !entry.has_answer) else {
            return PendingPlace::Free;
        };
        if entry.in_use {
            return PendingPlace::Busy;
        }
        entry.in_use = true;
        // From now on the seller may have it again.
        let sent = std::mem::replace(&mut entry.sent, SentOutcome::Unknown);
        let used = PaymentInUse {
            pending: Arc::clone(self),
            hash,
            payment: entry.payment.clone(),
        };
        PendingPlace::Payment(Box::new(used), sent)
    }

    /// Keeps a payment that is about to be sent.
    pub(crate) fn keep(
        self: &Arc<Self>,
        hash: MessageHash,
        payment: CountedPayment,
    ) -> PaymentInUse {
        let entry = PendingPayment {
            payment: payment.clone(),
            sent: SentOutcome::Unknown,
            in_use: true,
            has_answer: false,
        };
        // Two requests with one content that were sent at once pay each for itself; the later one
        // is kept.
        self.lock().insert(hash, entry);
        PaymentInUse {
            pending: Arc::clone(self),
            hash,
            payment,
        }
    }

    /// The most that the payments of a request can cost which brought no answer.
    pub(crate) fn spent(&self, hash: MessageHash) -> MicroUsd {
        let spent = self.lock_spent();
        let amounts = spent.get(&hash).into_iter().flat_map(HashMap::values);
        amounts.fold(MicroUsd::ZERO, |sum, amount| {
            MicroUsd::new(sum.get().saturating_add(amount.get()))
        })
    }

    /// Gives back the room of a payment that is proven to be unused.
    pub(crate) fn disproved(&self, hash: MessageHash, nonce: &str) {
        let mut spent = self.lock_spent();
        if let Some(payments) = spent.get_mut(&hash) {
            payments.remove(nonce);
        }
        spent.retain(|_, payments| !payments.is_empty());
    }

    fn lock_spent(&self) -> MutexGuard<'_, HashMap<MessageHash, HashMap<String, MicroUsd>>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MessageHash, PendingPayment>> {
        self.payments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A payment that one request is using. Dropped, for example because the client left, it stays for
/// the next request with the same content.
pub(crate) struct PaymentInUse {
    pending: Arc<PendingPayments>,
    hash: MessageHash,
    pub(crate) payment: CountedPayment,
}

impl PaymentInUse {
    /// The seller has begun to answer: requests with the same content are others from now on.
    pub(crate) fn begin_answer(&self) {
        self.pending.lock_spent().remove(&self.hash);
        self.change(|entry| entry.has_answer = true);
    }

    /// The answer is complete: the payment is used up.
    pub(crate) fn answered(self) {
        let mut payments = self.pending.lock();
        let is_own = |entry: &PendingPayment| entry.payment.nonce == self.payment.nonce;
        if payments.get(&self.hash).is_some_and(is_own) {
            payments.remove(&self.hash);
        }
    }

    /// Notes what is known, for the next request with the same content.
    pub(crate) fn note(&self, sent: SentOutcome) {
        self.spend();
        self.change(|entry| entry.sent = sent);
    }

    /// Counts the payment against the cap of its request.
    fn spend(&self) {
        let mut spent = self.pending.lock_spent();
        let payments = spent.entry(self.hash).or_default();
        payments.insert(self.payment.nonce.clone(), self.payment.amount);
    }

    fn change(&self, change: impl FnOnce(&mut PendingPayment)) {
        let mut payments = self.pending.lock();
        let entry = payments.get_mut(&self.hash);
        if let Some(entry) = entry.filter(|entry| entry.payment.nonce == self.payment.nonce) {
            change(entry);
        }
        drop(payments);
        self.pending.changed.notify_waiters();
    }
}

impl Drop for PaymentInUse {
    fn drop(&mut self) {
        let mut is_kept = false;
        self.change(|entry| {
            entry.in_use = false;
            entry.has_answer = false;
            is_kept = true;
        });
        if is_kept {
            self.spend();
        }
    }
}

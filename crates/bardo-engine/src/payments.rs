//! The payments that were signed for the attempts of one leg.

use std::sync::{Arc, Mutex, PoisonError};

use bardo_providers::Endpoint;
use bardo_providers::payment::is_offer;
use bardo_types::receipt::{AttemptPayment, ProviderSettlement};

/// Payments in the order in which they were signed; the receipt and the rendered leg share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Payments(Arc<Mutex<Vec<AttemptPayment>>>);

impl Payments {
    /// A place for the payments to a backend; `None` where nothing is ever signed for it.
    pub(crate) fn to(endpoint: &Endpoint) -> Option<Self> {
        is_offer(endpoint.service, &endpoint.key).then(Self::default)
    }

    /// Notes one more payment.
    pub(crate) fn push(&self, payment: AttemptPayment) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(payment);
    }

    /// Notes how the provider says that the last payment ended.
    pub(crate) fn settled(&self, settlement: Option<ProviderSettlement>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = all.last_mut() {
            last.settlement = settlement;
        }
    }

    /// Hands out what was noted so far.
    pub(crate) fn take(&self) -> Vec<AttemptPayment> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

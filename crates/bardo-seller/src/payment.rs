//! A payment as a request carries it.

use bardo_x402::wire::{MalformedMessage, PaymentPayload, X402Version};
use http::HeaderMap;

/// A payment in the header of a request. Nothing of it is verified.
pub struct PresentedPayment {
    pub(crate) payload: PaymentPayload,
}

/// Why a header of a payment cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedPayment {
    /// There are several.
    #[error("the request has several payment headers; send one")]
    Several,
    /// The header is no payment.
    #[error("`{header}`: {problem}")]
    Header {
        /// Name of the header.
        header: &'static str,
        /// What is wrong with it.
        problem: MalformedMessage,
    },
}

impl PresentedPayment {
    /// Reads `PAYMENT-SIGNATURE` (version 2) or `X-PAYMENT` (version 1); `None` without either.
    ///
    /// # Errors
    /// When there are two, or the one is malformed.
    pub fn read(headers: &HeaderMap) -> Result<Option<Self>, MalformedPayment> {
        let versions = [X402Version::V2, X402Version::V1];
        let mut found = None;
        for version in versions {
            let name = version.payment_header();
            for value in headers.get_all(name) {
                if found.replace((version, value)).is_some() {
                    return Err(MalformedPayment::Several);
                }
            }
        }
        let Some((version, value)) = found else {
            return Ok(None);
        };
        let payload = PaymentPayload::from_header(version, value.as_bytes());
        let payload = payload.map_err(|problem| MalformedPayment::Header {
            header: version.payment_header(),
            problem,
        })?;
        Ok(Some(Self { payload }))
    }

    /// Whether the payer repeats a quote. Version 1 has no place for it, and some clients of version
    /// 2 leave it out under `exact`; they are held to the price of the moment.
    #[must_use]
    pub fn has_quote(&self) -> bool {
        let accepted = self.payload.accepted.as_ref();
        accepted.is_some_and(|accepted| accepted.quote.is_some())
    }

    /// The version of the protocol that the payer speaks.
    #[must_use]
    pub fn version(&self) -> X402Version {
        self.payload.version
    }
}

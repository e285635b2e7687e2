//! The signature of a chosen offer, as the header of a request.

use alloy_primitives::{Address, B256, U256};
use serde_json::{Map, Value, json};

use super::ChosenOffer;
use crate::authorization::{
    EXACT_PROXY, PERMIT2, Permit2Transfer, Permit2Witness, TokenPermit, TransferAuthorization,
    UPTO_PROXY,
};
use crate::evm::Signer;
use crate::token::TokenAmount;
use crate::verify::PaymentClaim;
use crate::wire::{TransferMethod, X402Version, encode_header};

/// How Permit2 may take the payer's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit2Approval {
    /// The payer approved at least the amount before.
    Standing,
    /// A permit is signed along with the payment, for the seller to send.
    Permit {
        /// Nonce of the payer's next permit, as the token says.
        nonce: U256,
    },
}

/// A signed payment, ready to send.
///
/// It can be settled from now on, whatever becomes of the request: a payer counts it as spent until
/// a receipt says less, or its end has passed unsettled.
#[derive(Clone, PartialEq, Eq)]
pub struct PaymentHeader {
    /// Name of the header.
    pub name: &'static str,
    /// Value of the header: base64 of the payment.
    pub value: String,
    /// The name under which the payment can be settled once.
    pub claim: PaymentClaim,
    /// Most that it can cost.
    pub amount: TokenAmount,
    /// Last second, in Unix time, at which it can settle.
    pub ends_s: u64,
}

impl std::fmt::Debug for PaymentHeader {
    /// Shows all but the signed payment, with which anyone could buy.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PaymentHeader")
            .field("name", &self.name)
            .field("claim", &self.claim)
            .field("amount", &self.amount)
            .field("ends_s", &self.ends_s)
            .finish_non_exhaustive()
    }
}

/// Seconds before now from which payments of version 1 are valid, as its official clients have it.
const V1_LEAD_S: u64 = 600;

impl ChosenOffer {
    /// Signs the offer at this Unix time in seconds. The nonce must be random and new.
    ///
    /// The approval counts where Permit2 moves the money.
    #[must_use]
    pub fn sign(
        &self,
        signer: &Signer,
        nonce: B256,
        approval: Permit2Approval,
        now_s: u64,
    ) -> PaymentHeader {
        let ends_s = now_s.saturating_add(self.timeout_s);
        let (payload, extensions) = match self.method {
            TransferMethod::Exact => (self.transfer(signer, nonce, now_s), None),
            TransferMethod::ExactPermit2 | TransferMethod::Upto { .. } => (
                self.permit2(signer, nonce, ends_s),
                self.permit(signer, approval, ends_s),
            ),
        };
        let payment = match self.version {
            X402Version::V1 => self.v1(&payload),
            X402Version::V2 => self.v2(&payload, extensions),
        };
        let (contract, ends_s) = match self.method {
            // The block's time must be earlier than the end.
            TransferMethod::Exact => (self.token.address(), ends_s.saturating_sub(1)),
            TransferMethod::ExactPermit2 | TransferMethod::Upto { .. } => (PERMIT2, ends_s),
        };
        PaymentHeader {
            name: self.version.payment_header(),
            value: encode_header(&payment.to_string()),
            claim: PaymentClaim {
                chain_id: self.token.network().chain_id(),
                contract,
                payer: signer.address(),
                nonce,
            },
            amount: self.amount,
            ends_s,
        }
    }

    fn transfer(&self, signer: &Signer, nonce: B256, now_s: u64) -> Value {
        let valid_after = match self.version {
            X402Version::V1 => now_s.saturating_sub(V1_LEAD_S),
            X402Version::V2 => 0,
        };
        let signed = TransferAuthorization {
            from: signer.address(),
            to: self.pay_to,
            value: self.amount.to_u256(),
            valid_after: U256::from(valid_after),
            valid_before: U256::from(now_s.saturating_add(self.timeout_s)),
            nonce,
        };
        let signature = signer.sign(signed.digest(self.token.domain()));
        json!({
            "authorization": {
                "from": signed.from.to_string(),
                "to": signed.to.to_string(),
                "value": signed.value.to_string(),
                "validAfter": signed.valid_after.to_string(),
                "validBefore": signed.valid_before.to_string(),
                "nonce": signed.nonce.to_string(),
            },
            "signature": signature.to_string(),
        })
    }

    fn permit2(&self, signer: &Signer, nonce: B256, ends_s: u64) -> Value {
        let facilitator = self.method.facilitator();
        let signed = Permit2Transfer {
            token: self.token.address(),
            amount: self.amount.to_u256(),
            spender: facilitator.map_or(EXACT_PROXY, |_| UPTO_PROXY),
            nonce: nonce.into(),
            deadline: U256::from(ends_s),
            witness: Permit2Witness {
                to: self.pay_to,
                facilitator,
                valid_after: U256::ZERO,
            },
        };
        let domain = Permit2Transfer::domain(self.token.network().chain_id());
        let signature = signer.sign(signed.digest(&domain));
        let mut witness = json!({"to": signed.witness.to.to_string()});
        if let Some(facilitator) = facilitator {
            witness["facilitator"] = json!(facilitator.to_string());
        }
        witness["validAfter"] = json!(signed.witness.valid_after.to_string());
        json!({
            "signature": signature.to_string(),
            "permit2Authorization": {
                "from": signer.address().to_string(),
                "permitted": {
                    "token": signed.token.to_string(),
                    "amount": signed.amount.to_string(),
                },
                "spender": signed.spender.to_string(),
                "nonce": signed.nonce.to_string(),
                "deadline": signed.deadline.to_string(),
                "witness": witness,
            },
        })
    }

    /// The members that a permit adds to the seller's extension.
    fn permit(&self, signer: &Signer, approval: Permit2Approval, ends_s: u64) -> Option<Value> {
        let Permit2Approval::Permit { nonce } = approval else {
            return None;
        };
        let permit = TokenPermit {
            owner: signer.address(),
            spender: PERMIT2,
            value: self.amount.to_u256(),
            nonce,
            deadline: U256::from(ends_s),
        };
        let signature = signer.sign(permit.digest(self.token.domain()));
        let hex = |address: Address| address.to_string();
        Some(json!({
            "from": hex(permit.owner),
            "asset": hex(self.token.address()),
            "spender": hex(permit.spender),
            "amount": permit.value.to_string(),
            "nonce": permit.nonce.to_string(),
            "deadline": permit.deadline.to_string(),
            "signature": signature.to_string(),
            "version": "1",
        }))
    }

    fn v1(&self, payload: &Value) -> Value {
        json!({
            "x402Version": 1,
            "scheme": self.method.scheme().name(),
            "network": self.network,
            "payload": payload,
        })
    }

    /// The payment with what the seller sent, so that it finds its own offer.
    fn v2(&self, payload: &Value, permit: Option<Value>) -> Value {
        let mut payment = json!({
            "x402Version": 2,
            "payload": payload,
            "accepted": self.accepted,
        });
        if let Some(resource) = &self.resource {
            payment["resource"] = json!(resource);
        }
        let mut extensions = match &self.extensions {
            Some(raw) => serde_json::from_str(raw.get()).unwrap_or_default(),
            None => Map::new(),
        };
        if let Some(permit) = permit {
            let sponsoring = extensions
                .entry("eip2612GasSponsoring")
                .or_insert_with(|| json!({}));
            merge(sponsoring, permit);
        }
        if !extensions.is_empty() {
            payment["extensions"] = Value::Object(extensions);
        }
        payment
    }
}

/// Adds the members of a permit to `info` of the seller's extension.
fn merge(sponsoring: &mut Value, permit: Value) {
    if !sponsoring.is_object() {
        *sponsoring = json!({});
    }
    let Value::Object(permit) = permit else {
        return;
    };
    match &mut sponsoring["info"] {
        Value::Object(info) => info.extend(permit),
        info => *info = Value::Object(permit),
    }
}

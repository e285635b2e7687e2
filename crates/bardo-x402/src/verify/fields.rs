//! The comparison of every field of a payment with our requirement.

use alloy_primitives::{Address, B256, U256};

use super::{CheckedPayment, PaymentClaim, PaymentWindow, permit, permit2_domain, seconds};
use crate::authorization::{EXACT_PROXY, PERMIT2, Permit2Transfer, UPTO_PROXY};
use crate::refusal::PaymentRefusal;
use crate::wire::{
    AcceptedRequirement, OfferedRequirement, PaymentPayload, SchemePayload, SignedPermit2,
    SignedTransfer, TransferMethod, X402Version,
};

pub(super) fn check(
    payment: PaymentPayload,
    requirement: &OfferedRequirement,
    window: PaymentWindow,
    now_s: u64,
) -> Result<CheckedPayment, PaymentRefusal> {
    envelope(&payment, requirement)?;
    let times = TimeCheck { window, now_s };
    let token = &requirement.token;
    let (payer, contract, nonce, ends, digest) = match (&payment.payload, requirement.method) {
        (SchemePayload::Transfer(signed), TransferMethod::Exact) => {
            transfer(signed, requirement, times)?;
            let signed = &signed.authorization;
            let digest = signed.digest(token.domain());
            // The block's time must be earlier than the end.
            let ends = signed.valid_before.saturating_sub(U256::from(1));
            (signed.from, token.address(), signed.nonce, ends, digest)
        }
        (
            SchemePayload::Permit2(signed),
            TransferMethod::ExactPermit2 | TransferMethod::Upto { .. },
        ) => {
            permit2(signed, requirement, times)?;
            let transfer: &Permit2Transfer = &signed.transfer;
            let digest = transfer.digest(&permit2_domain(token));
            let nonce = B256::from(transfer.nonce);
            (signed.owner, PERMIT2, nonce, transfer.deadline, digest)
        }
        (_, TransferMethod::Exact) => return Err(PaymentRefusal::PayloadKind("authorization")),
        (_, TransferMethod::ExactPermit2 | TransferMethod::Upto { .. }) => {
            return Err(PaymentRefusal::PayloadKind("permit2Authorization"));
        }
    };
    if payer == Address::ZERO || payer == requirement.pay_to {
        return Err(PaymentRefusal::Payer(payer));
    }
    let permit = match (&payment.payload, payment.gas_permit) {
        (SchemePayload::Permit2(signed), Some(gas)) => {
            Some(permit::check(gas, signed, requirement, now_s)?)
        }
        (SchemePayload::Permit2(_), None) | (SchemePayload::Transfer(_), _) => None,
    };
    Ok(CheckedPayment {
        claim: PaymentClaim {
            chain_id: token.network().chain_id(),
            contract,
            payer,
            nonce,
        },
        method: requirement.method,
        token: token.clone(),
        ceiling: requirement.amount,
        ends_s: seconds(ends),
        payload: payment.payload,
        digest,
        permit,
    })
}

/// The parts around the signed one.
fn envelope(
    payment: &PaymentPayload,
    requirement: &OfferedRequirement,
) -> Result<(), PaymentRefusal> {
    if payment.version == X402Version::V1 && requirement.method != TransferMethod::Exact {
        return Err(PaymentRefusal::Version(payment.version));
    }
    if payment.scheme != requirement.method.scheme().name() {
        return Err(PaymentRefusal::Scheme(payment.scheme.clone()));
    }
    if payment.version.network(&payment.network) != Some(requirement.token.network()) {
        return Err(PaymentRefusal::Network(payment.network.clone()));
    }
    match &payment.accepted {
        Some(accepted) => accepted_is(accepted, requirement),
        None => Ok(()),
    }
}

/// What a payer of version 2 repeats must be what was offered. Members that we did not send are its
/// own; those that we sent must be there.
fn accepted_is(
    accepted: &AcceptedRequirement,
    requirement: &OfferedRequirement,
) -> Result<(), PaymentRefusal> {
    let token = &requirement.token;
    let method = requirement.method;
    let differs = [
        ("amount", accepted.amount != requirement.amount.to_u256()),
        ("asset", accepted.asset != token.address()),
        ("payTo", accepted.pay_to != requirement.pay_to),
        (
            "maxTimeoutSeconds",
            accepted.max_timeout_s != requirement.max_timeout_s,
        ),
        ("extra.name", accepted.name.as_deref() != Some(token.name())),
        (
            "extra.version",
            accepted.domain_version.as_deref() != Some(token.version()),
        ),
        (
            "extra.assetTransferMethod",
            accepted.transfer_method.as_deref() != method.wire_name(),
        ),
        (
            "extra.facilitatorAddress",
            accepted.facilitator != method.facilitator(),
        ),
        ("extra.quote", accepted.quote != requirement.quote),
    ];
    match differs.into_iter().find(|(_, differs)| *differs) {
        Some((member, _)) => Err(PaymentRefusal::Accepted(member)),
        None => Ok(()),
    }
}

#[derive(Clone, Copy)]
struct TimeCheck {
    window: PaymentWindow,
    now_s: u64,
}

impl TimeCheck {
    fn start(self, valid_after: U256) -> Result<(), PaymentRefusal> {
        let now_s = self.now_s;
        if valid_after > U256::from(now_s) {
            return Err(PaymentRefusal::NotYetValid { valid_after, now_s });
        }
        Ok(())
    }

    fn end(self, ends: U256) -> Result<(), PaymentRefusal> {
        let least_s = self.window.least_s.max(PaymentWindow::MARGIN_S);
        let needed = self.now_s.saturating_add(least_s);
        if ends < U256::from(needed) {
            return Err(PaymentRefusal::EndsTooSoon { ends, needed });
        }
        let latest = self.now_s.saturating_add(self.window.most_s);
        if ends > U256::from(latest) {
            return Err(PaymentRefusal::EndsTooLate { ends, latest });
        }
        Ok(())
    }
}

fn payee(signed: Address, requirement: &OfferedRequirement) -> Result<(), PaymentRefusal> {
    let wanted = requirement.pay_to;
    if signed == wanted {
        return Ok(());
    }
    Err(PaymentRefusal::Payee { signed, wanted })
}

fn amount(signed: U256, requirement: &OfferedRequirement) -> Result<(), PaymentRefusal> {
    let wanted = requirement.amount;
    if signed == wanted.to_u256() {
        return Ok(());
    }
    Err(PaymentRefusal::Amount { signed, wanted })
}

fn transfer(
    signed: &SignedTransfer,
    requirement: &OfferedRequirement,
    times: TimeCheck,
) -> Result<(), PaymentRefusal> {
    let signed = &signed.authorization;
    payee(signed.to, requirement)?;
    amount(signed.value, requirement)?;
    times.start(signed.valid_after)?;
    times.end(signed.valid_before)
}

fn permit2(
    signed: &SignedPermit2,
    requirement: &OfferedRequirement,
    times: TimeCheck,
) -> Result<(), PaymentRefusal> {
    let transfer = &signed.transfer;
    let proxy = match requirement.method {
        TransferMethod::Upto { .. } => UPTO_PROXY,
        TransferMethod::Exact | TransferMethod::ExactPermit2 => EXACT_PROXY,
    };
    if transfer.spender != proxy {
        return Err(PaymentRefusal::Spender {
            signed: transfer.spender,
            wanted: proxy,
        });
    }
    payee(transfer.witness.to, requirement)?;
    if transfer.witness.facilitator != requirement.method.facilitator() {
        return Err(PaymentRefusal::Facilitator);
    }
    let wanted = requirement.token.address();
    if transfer.token != wanted {
        return Err(PaymentRefusal::Token {
            signed: transfer.token,
            wanted,
        });
    }
    amount(transfer.amount, requirement)?;
    times.start(transfer.witness.valid_after)?;
    times.end(transfer.deadline)
}

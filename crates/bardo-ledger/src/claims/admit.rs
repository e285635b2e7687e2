//! Whether an authorization is claimed.

use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

use super::key::{AuthorizationKey, ChainHash};
use super::record::{ClaimOrder, ClaimRecord, ClaimScheme, ClaimStage, ServiceStage, WalletRecord};

/// How much of a wallet's word is taken at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExposureTerms {
    /// The most that open claims of a wallet may add up to, ever.
    pub cap: MicroUsd,
    /// The most for a wallet without any settled payment.
    pub first_cap: MicroUsd,
    /// Each settled payment raises the wallet's cap by this much.
    pub raise: MicroUsd,
    /// How many claims of a wallet may be open.
    pub open_max: u64,
    /// A wallet with an open debt may claim too: what it pays is settled first.
    pub admits_debtors: bool,
}

impl ExposureTerms {
    /// The cap of a wallet with this many settled payments.
    fn cap_after(&self, settlements: u64) -> MicroUsd {
        let raised = self.raise.get().saturating_mul(settlements);
        let cap = self.first_cap.get().saturating_add(raised);
        MicroUsd::new(cap).min(self.cap)
    }
}

/// Claims an authorization for a request.
#[derive(Clone)]
pub struct NewClaim {
    /// The authorization that the caller signed.
    pub key: AuthorizationKey,
    /// The request that the authorization pays for.
    pub request: RequestId,
    /// The account that the settlement is booked on.
    pub account: AccountId,
    /// Hash of the request's body.
    pub body_hash: ChainHash,
    /// Id of the quote that was accepted.
    pub quote: String,
    /// The scheme of the payment.
    pub scheme: ClaimScheme,
    /// Whether the answer or the settlement comes first.
    pub order: ClaimOrder,
    /// The signed amount.
    pub ceiling: MicroUsd,
    /// Unix seconds at which the authorization ends.
    pub deadline_s: u64,
    /// All that is needed to settle.
    pub payload: Vec<u8>,
    /// Unix milliseconds after which the request is taken for dead if it has said nothing more.
    pub stale_at_ms: u64,
    /// How much the wallet may owe.
    pub terms: ExposureTerms,
    /// Unix milliseconds now.
    pub now_ms: u64,
}

/// The result of claiming.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// This request has the authorization.
    Claimed(Box<ClaimRecord>),
    /// Another request had it first. It is never served again; where the body is equal, the caller
    /// can be answered from the first.
    AlreadyClaimed {
        /// The first claim as it is now.
        claim: Box<ClaimRecord>,
        /// Whether both requests have the same body.
        is_same_body: bool,
    },
}

/// Why an authorization was not claimed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRefusal {
    /// The authorization has ended.
    #[error("the authorization ended at Unix second {deadline_s}")]
    Expired {
        /// When it ended.
        deadline_s: u64,
    },
    /// The wallet owes money for an earlier answer.
    #[error("the wallet owes {debt} USD for earlier answers; it has to be paid first")]
    InDebt {
        /// Sum of the open debts of the wallet.
        debt: MicroUsd,
    },
    /// Open claims of the wallet would add up to too much.
    #[error(
        "the wallet has {exposure} USD in open payments and may have {cap} USD; {needed} USD are needed"
    )]
    Exposed {
        /// The sum of open claims.
        exposure: MicroUsd,
        /// The amount of this one.
        needed: MicroUsd,
        /// The most that the wallet may have open.
        cap: MicroUsd,
    },
    /// The wallet has too many open claims.
    #[error("the wallet has {open} open payments and may have {max}")]
    TooManyOpen {
        /// How many are open.
        open: u64,
        /// The most that may be open.
        max: u64,
    },
}

/// Decides on a claim from what is known of the authorization and its wallet: the row to keep, or
/// the answer where nothing changes.
pub(super) fn admit(
    command: &NewClaim,
    found: Option<&ClaimRecord>,
    wallet: &WalletRecord,
) -> Result<Result<ClaimRecord, ClaimAnswer>, ClaimRefusal> {
    if let Some(first) = found {
        let claim = Box::new(first.clone());
        let is_ours = first.request == command.request
            && first.service == ServiceStage::Pending
            && first.stage == ClaimStage::Claimed;
        return Ok(Err(if is_ours {
            ClaimAnswer::Claimed(claim)
        } else {
            ClaimAnswer::AlreadyClaimed {
                is_same_body: first.body_hash == command.body_hash,
                claim,
            }
        }));
    }
    let deadline_s = command.deadline_s;
    if deadline_s.saturating_mul(1_000) <= command.now_ms {
        return Err(ClaimRefusal::Expired { deadline_s });
    }
    if wallet.debt > MicroUsd::ZERO && !command.terms.admits_debtors {
        return Err(ClaimRefusal::InDebt { debt: wallet.debt });
    }
    let max = command.terms.open_max;
    if wallet.open >= max {
        let open = wallet.open;
        return Err(ClaimRefusal::TooManyOpen { open, max });
    }
    let cap = command.terms.cap_after(wallet.settlements);
    let (exposure, needed) = (wallet.exposure, command.ceiling);
    if exposure.checked_add(needed).is_none_or(|sum| sum > cap) {
        return Err(ClaimRefusal::Exposed {
            exposure,
            needed,
            cap,
        });
    }
    Ok(Ok(first_record(command)))
}

fn first_record(command: &NewClaim) -> ClaimRecord {
    let NewClaim {
        key,
        request,
        account,
        body_hash,
        quote,
        scheme,
        order,
        ceiling,
        deadline_s,
        payload,
        stale_at_ms,
        terms: _,
        now_ms,
    } = command.clone();
    ClaimRecord {
        no: 0,
        version: 0,
        key,
        request,
        account,
        body_hash,
        quote,
        scheme,
        order,
        ceiling,
        deadline_s,
        payload,
        service: ServiceStage::Pending,
        stage: ClaimStage::Claimed,
        used: MicroUsd::ZERO,
        amount: MicroUsd::ZERO,
        transactions: Vec::new(),
        settlement: None,
        booked: None,
        reason: None,
        debt_end: None,
        claimed_at_ms: now_ms,
        changed_at_ms: now_ms,
        stale_at_ms,
        due_at_ms: Some(stale_at_ms),
        lease_owner: String::new(),
        lease_no: 0,
        lease_until_ms: 0,
    }
}

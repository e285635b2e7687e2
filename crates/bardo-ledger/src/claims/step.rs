//! The life of a claim: each step is a function from the row to the next row.
//!
//! A step that was taken already changes nothing and answers the same, so that each can be sent
//! again when its answer was lost. The one exception is [`ClaimStep::Serve`]: whoever did not hear
//! its answer must not serve.

use bardo_types::ids::RequestId;
use bardo_types::money::MicroUsd;

use super::key::ChainHash;
use super::record::{
    ClaimOrder, ClaimRecord, ClaimScheme, ClaimStage, OnChainSettlement, ServiceStage,
    SettlementTransaction,
};

/// The most transactions of one claim, by rises of the fee and by reorganizations of the chain.
pub const TRANSACTIONS_MAX: usize = 32;

/// Who takes a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepBy {
    /// The request that made the claim.
    Request(RequestId),
    /// A settler, under the lease of this number.
    Lease(u64),
    /// An operator, or what pays debts.
    Operator,
}

/// How a debt ended other than by settlement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebtEnd {
    /// The account of the wallet paid it; the reference is that of the ledger.
    Paid {
        /// Reference of the charge in the ledger.
        reference: String,
    },
    /// An operator gave it up.
    WrittenOff {
        /// Who and why.
        reason: String,
    },
}

impl DebtEnd {
    /// The beginning of the text of a debt that was paid.
    pub(super) const PAID: &str = "paid:";

    fn text(&self) -> String {
        match self {
            Self::Paid { reference } => format!("{}{reference}", Self::PAID),
            Self::WrittenOff { reason } => format!("written_off:{reason}"),
        }
    }
}

/// One step of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimStep {
    /// The answer begins. Allowed once: before any settlement, or under
    /// [`ClaimOrder::SettleFirst`] after it.
    Serve,
    /// The answer ended and cost `used`; zero where nothing is charged.
    Served {
        /// What it cost the caller, at most the ceiling.
        used: MicroUsd,
    },
    /// Nothing reached the caller or was billed, and nothing was sent to the chain: the authorization
    /// is free again, and the row goes. Once the answer has begun, its own request alone knows that.
    Release,
    /// A settler takes the claim for itself until `until_ms`.
    Lease {
        /// Name of the settler.
        owner: String,
        /// Unix milliseconds at which others may take it.
        until_ms: u64,
    },
    /// A transaction is about to be sent.
    Send {
        /// The signed transaction.
        transaction: SettlementTransaction,
        /// Unix milliseconds at which a settler should look again.
        check_at_ms: u64,
    },
    /// The chain has a transaction that pays.
    Settle {
        /// What the chain says.
        settlement: OnChainSettlement,
        /// Unix milliseconds from which it can be booked.
        book_at_ms: u64,
    },
    /// A reorganization of the chain undid the settlement by this transaction.
    Unsettle {
        /// Hash of the transaction.
        transaction: ChainHash,
    },
    /// The chain will not pay.
    Fail {
        /// The reason, in words.
        reason: String,
    },
    /// The ledger has booked the settlement.
    Book,
    /// Nothing is known yet: the lease ends and the claim is looked at later.
    Defer {
        /// Unix milliseconds at which.
        until_ms: u64,
        /// What it waits for.
        reason: String,
    },
    /// The debt of a failed claim ends.
    EndDebt(DebtEnd),
}

/// Why a step was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepRefusal {
    /// There is no such claim.
    #[error("there is no such claim")]
    NoClaim,
    /// Another request has the claim.
    #[error("the claim belongs to the request `{0}`")]
    NotYours(RequestId),
    /// Another settler has taken the claim.
    #[error("the lease has ended; another settler has taken the claim")]
    LeaseLost,
    /// Another settler works on it.
    #[error("another settler has the claim until Unix millisecond {until_ms}")]
    Leased {
        /// End of the other's lease, in Unix milliseconds.
        until_ms: u64,
    },
    /// The amount is more than was signed.
    #[error("{asked} USD are more than the {ceiling} USD that were authorized")]
    OverCeiling {
        /// The signed amount.
        ceiling: MicroUsd,
        /// The requested amount.
        asked: MicroUsd,
    },
    /// The answer was begun already.
    #[error("the claim was served already")]
    AlreadyServed,
    /// The step does not follow from where the claim is.
    #[error("this cannot follow: the claim is {}, its answer {}", stage.as_str(), service.as_str())]
    OutOfOrder {
        /// Where the money is.
        stage: ClaimStage,
        /// How far the answer is.
        service: ServiceStage,
    },
}

/// The row after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepOutcome {
    /// The row as it shall be.
    Changed(Box<ClaimRecord>),
    /// The step was taken before.
    Unchanged,
    /// The row goes.
    Removed,
}

type StepDecision = Result<StepOutcome, StepRefusal>;

/// Decides on a step.
pub(super) fn decide(
    claim: &ClaimRecord,
    by: &StepBy,
    step: &ClaimStep,
    now_ms: u64,
) -> StepDecision {
    check_actor(claim, by, step)?;
    let mut next = claim.clone();
    next.changed_at_ms = now_ms;
    match step {
        ClaimStep::Serve => serve(next),
        ClaimStep::Served { used } => served(next, *used, now_ms),
        ClaimStep::Release => release(&next, by),
        ClaimStep::Lease { owner, until_ms } => lease(next, owner, *until_ms, now_ms),
        ClaimStep::Send {
            transaction,
            check_at_ms,
        } => send(next, transaction, *check_at_ms),
        ClaimStep::Settle {
            settlement,
            book_at_ms,
        } => settle(next, *settlement, *book_at_ms),
        ClaimStep::Unsettle { transaction } => unsettle(next, *transaction, now_ms),
        ClaimStep::Fail { reason } => fail(next, reason),
        ClaimStep::Book => book(next),
        ClaimStep::Defer { until_ms, reason } => {
            next.due_at_ms = Some(*until_ms);
            next.reason = Some(reason.clone());
            next.lease_until_ms = 0;
            changed(next)
        }
        ClaimStep::EndDebt(end) => end_debt(next, end),
    }
}

/// Steps of the answer belong to its request, or to a settler after the request died; steps on the
/// chain belong to the settler that has the lease; debts are ended by operators.
fn check_actor(claim: &ClaimRecord, by: &StepBy, step: &ClaimStep) -> Result<(), StepRefusal> {
    let out_of_order = || out_of_order::<()>(claim);
    match (by, step) {
        (StepBy::Request(request), ClaimStep::Serve | ClaimStep::Served { .. })
        | (StepBy::Request(request), ClaimStep::Release | ClaimStep::Lease { .. }) => {
            if *request == claim.request {
                Ok(())
            } else {
                Err(StepRefusal::NotYours(claim.request.clone()))
            }
        }
        (StepBy::Lease(_), ClaimStep::Serve | ClaimStep::Lease { .. } | ClaimStep::EndDebt(_)) => {
            out_of_order()
        }
        (StepBy::Lease(number), _) => {
            if *number == claim.lease_no {
                Ok(())
            } else {
                Err(StepRefusal::LeaseLost)
            }
        }
        (StepBy::Operator, ClaimStep::EndDebt(_) | ClaimStep::Lease { .. }) => Ok(()),
        (StepBy::Request(_) | StepBy::Operator, _) => out_of_order(),
    }
}

fn changed(next: ClaimRecord) -> StepDecision {
    Ok(StepOutcome::Changed(Box::new(next)))
}

fn out_of_order<T>(claim: &ClaimRecord) -> Result<T, StepRefusal> {
    Err(StepRefusal::OutOfOrder {
        stage: claim.stage,
        service: claim.service,
    })
}

fn within(claim: &ClaimRecord, asked: MicroUsd) -> Result<(), StepRefusal> {
    let ceiling = claim.ceiling;
    if asked > ceiling {
        return Err(StepRefusal::OverCeiling { ceiling, asked });
    }
    Ok(())
}

fn serve(mut next: ClaimRecord) -> StepDecision {
    if next.service != ServiceStage::Pending {
        return Err(StepRefusal::AlreadyServed);
    }
    match (next.order, next.stage) {
        (ClaimOrder::ServeFirst, ClaimStage::Claimed) | (_, ClaimStage::Settled) => {
            next.service = ServiceStage::Started;
            changed(next)
        }
        _ => out_of_order(&next),
    }
}

fn served(mut next: ClaimRecord, used: MicroUsd, now_ms: u64) -> StepDecision {
    within(&next, used)?;
    match next.service {
        ServiceStage::Done if next.used == used => return Ok(StepOutcome::Unchanged),
        ServiceStage::Started => {}
        // The money came although nothing was served: all of it is the account's.
        ServiceStage::Pending if next.stage == ClaimStage::Settled && used == MicroUsd::ZERO => {}
        ServiceStage::Pending | ServiceStage::Done => return out_of_order(&next),
    }
    next.service = ServiceStage::Done;
    next.used = used;
    match next.stage {
        ClaimStage::Claimed if used == MicroUsd::ZERO => {
            next.stage = ClaimStage::Void;
            next.due_at_ms = None;
        }
        ClaimStage::Claimed => {
            next.stage = ClaimStage::Owed;
            next.amount = match next.scheme {
                ClaimScheme::Exact => next.ceiling,
                ClaimScheme::Upto => used,
            };
            next.due_at_ms = Some(now_ms);
        }
        ClaimStage::Settled => {
            next.due_at_ms = next.booked.is_none().then_some(now_ms);
        }
        // A reorganization undid the settlement while the answer was under way.
        ClaimStage::Settling | ClaimStage::Owed | ClaimStage::Failed | ClaimStage::Void => {}
    }
    changed(next)
}

fn release(next: &ClaimRecord, by: &StepBy) -> StepDecision {
    let is_unserved = match (next.service, by) {
        (ServiceStage::Pending, _) | (ServiceStage::Started, StepBy::Request(_)) => true,
        (ServiceStage::Started | ServiceStage::Done, _) => false,
    };
    // With the first transaction, the stage is another one.
    if is_unserved && next.stage == ClaimStage::Claimed {
        Ok(StepOutcome::Removed)
    } else {
        out_of_order(next)
    }
}

fn lease(mut next: ClaimRecord, owner: &str, until_ms: u64, now_ms: u64) -> StepDecision {
    if next.lease_until_ms > now_ms {
        let until_ms = next.lease_until_ms;
        return Err(StepRefusal::Leased { until_ms });
    }
    owner.clone_into(&mut next.lease_owner);
    next.lease_no += 1;
    next.lease_until_ms = until_ms;
    changed(next)
}

fn send(
    mut next: ClaimRecord,
    transaction: &SettlementTransaction,
    check_at_ms: u64,
) -> StepDecision {
    if next.transactions.contains(transaction) {
        return Ok(StepOutcome::Unchanged);
    }
    match (next.order, next.stage) {
        (_, ClaimStage::Owed | ClaimStage::Settling) => {}
        (ClaimOrder::SettleFirst, ClaimStage::Claimed) => next.amount = next.ceiling,
        _ => return out_of_order(&next),
    }
    if next.transactions.len() >= TRANSACTIONS_MAX {
        return out_of_order(&next);
    }
    next.stage = ClaimStage::Settling;
    next.transactions.push(transaction.clone());
    next.due_at_ms = Some(check_at_ms);
    changed(next)
}

/// What the chain says wins over what was believed: anybody may have sent the authorization.
fn settle(mut next: ClaimRecord, settlement: OnChainSettlement, book_at_ms: u64) -> StepDecision {
    within(&next, settlement.amount)?;
    if next.stage == ClaimStage::Settled {
        return if next.settlement == Some(settlement) {
            Ok(StepOutcome::Unchanged)
        } else {
            out_of_order(&next)
        };
    }
    next.stage = ClaimStage::Settled;
    next.settlement = Some(settlement);
    next.amount = settlement.amount;
    next.reason = None;
    next.due_at_ms = if next.booked.is_none() {
        Some(book_at_ms)
    } else {
        after_booking(&next)
    };
    changed(next)
}

fn unsettle(mut next: ClaimRecord, transaction: ChainHash, now_ms: u64) -> StepDecision {
    let found = next.settlement.map(|settlement| settlement.transaction);
    match next.stage {
        ClaimStage::Settled if found == Some(transaction) => {}
        ClaimStage::Settling => return Ok(StepOutcome::Unchanged),
        _ => return out_of_order(&next),
    }
    next.stage = ClaimStage::Settling;
    next.settlement = None;
    next.due_at_ms = Some(now_ms);
    changed(next)
}

fn fail(mut next: ClaimRecord, reason: &str) -> StepDecision {
    match (next.order, next.stage) {
        (_, ClaimStage::Failed) => return Ok(StepOutcome::Unchanged),
        (_, ClaimStage::Owed | ClaimStage::Settling) => {}
        (ClaimOrder::SettleFirst, ClaimStage::Claimed) => {}
        _ => return out_of_order(&next),
    }
    next.stage = ClaimStage::Failed;
    next.reason = Some(reason.to_owned());
    next.due_at_ms = None;
    next.lease_until_ms = 0;
    changed(next)
}

fn book(mut next: ClaimRecord) -> StepDecision {
    let Some(settlement) = next.settlement else {
        return out_of_order(&next);
    };
    if next.booked.is_some() {
        return Ok(StepOutcome::Unchanged);
    }
    // The charge of the request is part of the booking, so that has to be known.
    if next.order == ClaimOrder::ServeFirst && next.service != ServiceStage::Done {
        return out_of_order(&next);
    }
    next.booked = Some(settlement.amount);
    next.due_at_ms = after_booking(&next);
    next.lease_until_ms = 0;
    changed(next)
}

/// When a settler has to look at a claim that is settled and booked: where its request may have
/// died before it was served.
fn after_booking(claim: &ClaimRecord) -> Option<u64> {
    (claim.service != ServiceStage::Done).then_some(claim.stale_at_ms)
}

fn end_debt(mut next: ClaimRecord, end: &DebtEnd) -> StepDecision {
    if next.stage != ClaimStage::Failed {
        return out_of_order(&next);
    }
    match &next.debt_end {
        Some(found) if *found == end.text() => Ok(StepOutcome::Unchanged),
        Some(_) => out_of_order(&next),
        None => {
            next.debt_end = Some(end.text());
            changed(next)
        }
    }
}

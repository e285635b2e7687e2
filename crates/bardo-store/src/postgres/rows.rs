//! What the database answers, as the ports name it.

use bardo_ledger::{
    Balance, HoldState, HoldView, LedgerRefusal, Posting, PostingKind, Reservation, Settled,
    StoreError, Verification,
};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::scope;

/// The only row of an answer.
pub(super) fn one(rows: &[Row]) -> Result<&Row, StoreError> {
    rows.first().ok_or_else(|| damaged(&"an answer is missing"))
}

pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: &str) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| damaged(&error))
}

pub(super) fn damaged(what: &dyn ToString) -> StoreError {
    StoreError::Damaged(what.to_string())
}

pub(super) fn number(row: &Row, column: &str) -> Result<u64, StoreError> {
    let number: i64 = get(row, column)?;
    u64::try_from(number).map_err(|_| damaged(&format!("{column} is {number}")))
}

pub(super) fn amount(row: &Row, column: &str) -> Result<MicroUsd, StoreError> {
    number(row, column).map(MicroUsd::new)
}

/// The result of a reservation or an extension.
pub(super) fn reservation(
    row: &Row,
    account: &AccountId,
    request: &RequestId,
    needed: MicroUsd,
) -> Result<Result<Reservation, LedgerRefusal>, StoreError> {
    Ok(Err(match get(row, "outcome")? {
        "held" => {
            return Ok(Ok(Reservation {
                held: amount(row, "held")?,
                available: amount(row, "available")?,
            }));
        }
        "no_account" => LedgerRefusal::NoAccount(account.clone()),
        "duplicate" => LedgerRefusal::Duplicate(request.clone()),
        "no_hold" => LedgerRefusal::NoHold(request.clone()),
        "insufficient" => LedgerRefusal::Insufficient {
            needed,
            available: amount(row, "available")?,
        },
        "capped" => capped(row, needed)?,
        other => return Err(damaged(&format!("the outcome is {other}"))),
    }))
}

fn capped(row: &Row, needed: MicroUsd) -> Result<LedgerRefusal, StoreError> {
    let (named, span): (&str, &str) = (get(row, "cap_scope")?, get(row, "cap_span")?);
    let scope = scope::decode(named).ok_or_else(|| damaged(&format!("the scope {named}")))?;
    let window = scope::window(span).ok_or_else(|| damaged(&format!("the window {span}")))?;
    Ok(LedgerRefusal::Capped {
        scope,
        window,
        limit: amount(row, "cap_limit")?,
        used: amount(row, "cap_used")?,
        needed,
        resets_at_ms: window.bounds(number(row, "cap_start")?).1,
    })
}

pub(super) fn settled(row: &Row) -> Result<Settled, StoreError> {
    Ok(Settled {
        charged: amount(row, "charged")?,
        shortfall: amount(row, "shortfall")?,
        available: amount(row, "available")?,
        repeated: get(row, "repeated")?,
    })
}

pub(super) fn balance(row: &Row) -> Result<Balance, StoreError> {
    let deposited = amount(row, "deposited")?;
    let (spent, held) = (amount(row, "spent")?, amount(row, "held")?);
    Ok(Balance {
        deposited,
        spent,
        held,
        available: deposited.saturating_sub(spent).saturating_sub(held),
    })
}

pub(super) fn hold(row: &Row) -> Result<HoldView, StoreError> {
    Ok(HoldView {
        request: RequestId::parse(get(row, "request")?).map_err(|error| damaged(&error))?,
        account: AccountId::parse(get(row, "account")?).map_err(|error| damaged(&error))?,
        amount: amount(row, "amount")?,
        state: match get(row, "state")? {
            "open" => HoldState::Open,
            _ => HoldState::Unknown,
        },
        created_at_ms: number(row, "created_at_ms")?,
        expires_at_ms: number(row, "expires_at_ms")?,
    })
}

pub(super) fn posting(row: &Row) -> Result<Posting, StoreError> {
    Ok(Posting {
        transfer: number(row, "transfer")?,
        at_ms: number(row, "at_ms")?,
        kind: match get(row, "kind")? {
            "deposit" => PostingKind::Deposit,
            _ => PostingKind::Charge,
        },
        book: get(row, "book")?,
        amount: get(row, "amount")?,
        reference: get(row, "reference")?,
    })
}

pub(super) fn verification(row: &Row) -> Result<Verification, StoreError> {
    Ok(Verification {
        accounts: number(row, "accounts")?,
        postings: number(row, "postings")?,
        holds: number(row, "holds")?,
        problems: get(row, "problems")?,
    })
}

//! From the journal's entries to rows, many in one transaction.

use std::borrow::Borrow;

use bardo_ledger::{CapScope, CapWindow, ReceiptRecord, SettledCost};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use hashbrown::{Equivalent, HashMap};
use rusqlite::{Connection, ErrorCode};

use super::entry::{Ending, JournalEntry, JournalHold};
use super::rows::{self, ChargeRow, HoldRow, Inserts};
use super::series::WrittenSums;
use super::shared::HoldKey;

/// Rows of the database that are remembered between transactions.
#[derive(Default)]
pub(super) struct RowMemory {
    /// Numbers of accounts.
    numbers: HashMap<AccountId, i64>,
    /// Numbers that were given in a transaction that has not been committed yet.
    fresh: Vec<AccountId>,
    /// Receipts that were written, for their series.
    pub(super) series: WrittenSums,
    /// Holds that have a row, and how much it says.
    pub(super) held: HashMap<HoldKey, MicroUsd>,
}

/// Numbers of accounts that are remembered; beyond it all are forgotten.
const NUMBERS: usize = 65_536;

impl RowMemory {
    pub(super) fn number(
        &mut self,
        connection: &Connection,
        account: &AccountId,
    ) -> rusqlite::Result<i64> {
        if let Some(no) = self.numbers.get(account) {
            return Ok(*no);
        }
        let no = rows::account_no(connection, account)?;
        if self.numbers.len() >= NUMBERS {
            self.numbers.clear();
        }
        self.numbers.insert(account.clone(), no);
        self.fresh.push(account.clone());
        Ok(no)
    }

    pub(super) fn committed(&mut self, written: TransactionEffects) {
        self.fresh.clear();
        for (key, amount) in written.holds {
            match amount {
                Some(amount) => self.held.insert(key, amount),
                None => self.held.remove(&key),
            };
        }
    }

    pub(super) fn rolled_back(&mut self) {
        self.series.forget();
        for account in self.fresh.drain(..) {
            self.numbers.remove(&account);
        }
    }
}

/// The effects of a transaction that count once it is committed.
#[derive(Default)]
pub(super) struct TransactionEffects {
    /// Rows of holds as they are afterwards; `None`: there is none.
    holds: Vec<(HoldKey, Option<MicroUsd>)>,
    /// Charges of requests that had been charged long ago.
    pub(super) again: Vec<DuplicateCharge>,
}

/// A request that was charged before: this charge is not made.
pub(super) struct DuplicateCharge {
    pub(super) account: AccountId,
    pub(super) charged: MicroUsd,
    pub(super) counters: Vec<(CapScope, CapWindow, u64)>,
}

/// Holds whose rows change, as they are at the end; `None`: there is none.
type Changed<'a> = HashMap<HoldKey, Option<&'a JournalHold>>;

/// An account and a request, to look for without making a key of them.
#[derive(Hash)]
struct HoldKeyRef<'a>(&'a AccountId, &'a RequestId);

impl Equivalent<HoldKey> for HoldKeyRef<'_> {
    fn equivalent(&self, (account, request): &HoldKey) -> bool {
        self.1 == request && self.0 == account
    }
}

/// The sums to add to each account and each cap, once per transaction.
#[derive(Default)]
struct PostingSums<'a> {
    accounts: HashMap<i64, (i64, i64)>,
    caps: HashMap<(i64, &'a CapScope, CapWindow, u64), MicroUsd>,
}

/// Writes entries in their order, and receipts that move no money. A hold that was made and ended
/// among them leaves no row.
pub(super) fn write<'a, E: Borrow<JournalEntry>>(
    connection: &Connection,
    known: &mut RowMemory,
    entries: &'a [E],
    records: impl IntoIterator<Item = &'a ReceiptRecord>,
) -> rusqlite::Result<TransactionEffects> {
    let mut written = TransactionEffects::default();
    let (mut sums, mut changed) = (PostingSums::default(), Changed::new());
    let mut inserts = Inserts::new(connection)?;
    known.series.begin(connection)?;
    for entry in entries {
        match entry.borrow() {
            JournalEntry::Ending(ending) => {
                let again = write_ending(connection, known, &mut inserts, ending, &mut sums)?;
                written.again.extend(again);
                let named = HoldKeyRef(&ending.account, &ending.request);
                if let Some(held) = &ending.unknown {
                    changed.insert(held.key(), Some(held));
                } else if changed.contains_key(&named) || known.held.contains_key(&named) {
                    let key = (ending.account.clone(), ending.request.clone());
                    changed.insert(key, None);
                }
            }
            JournalEntry::Hold(held) => {
                changed.insert(held.key(), Some(held));
            }
            JournalEntry::Gone(key) => {
                changed.insert(key.clone(), None);
            }
        }
    }
    for (key, held) in changed {
        let amount = write_hold(connection, known, &key, held, &mut sums)?;
        written.holds.push((key, amount));
    }
    for record in records {
        write_receipt(connection, known, &mut inserts, record)?;
    }
    sums.write(connection)?;
    Ok(written)
}

/// Writes the transfer of an end and its receipt. Answers the charge where it is not made, because
/// the request was charged before.
fn write_ending<'a>(
    connection: &Connection,
    known: &mut RowMemory,
    inserts: &mut Inserts<'_>,
    ending: &'a Ending,
    sums: &mut PostingSums<'a>,
) -> rusqlite::Result<Option<DuplicateCharge>> {
    let paid = ending.paid;
    if paid != SettledCost::default() {
        let account = known.number(connection, &ending.account)?;
        let row = ChargeRow {
            at_ms: ending.now_ms,
            account,
            request: ending.request.as_str(),
            provider: &ending.provider,
            paid,
        };
        let charged = paid.charged();
        if !inserts.charge(&row)? {
            return Ok(Some(DuplicateCharge {
                account: ending.account.clone(),
                charged,
                counters: ending.counters.clone(),
            }));
        }
        sums.accounts.entry(account).or_default().0 += signed(charged);
        for (scope, window, start) in &ending.counters {
            let sum = sums
                .caps
                .entry((account, scope, *window, *start))
                .or_default();
            *sum = sum.checked_add(charged).unwrap_or(MicroUsd::MAX);
        }
    }
    if let Some(record) = &ending.record {
        let last = ending
            .figures
            .as_ref()
            .map(|figures| record.with_final(figures));
        let record = last.as_ref().unwrap_or(record);
        write_receipt(connection, known, inserts, record)?;
    }
    Ok(None)
}

/// Writes a receipt, and adds a new one to the sums of its series.
fn write_receipt(
    connection: &Connection,
    known: &mut RowMemory,
    inserts: &mut Inserts<'_>,
    record: &ReceiptRecord,
) -> rusqlite::Result<()> {
    let account = known.number(connection, &record.account)?;
    if let Some(no) = inserts.receipt(account, record)? {
        known.series.add(no, record);
    }
    Ok(())
}

/// Writes a hold as it is, or deletes its row; answers how much the row says then.
fn write_hold(
    connection: &Connection,
    known: &mut RowMemory,
    key: &HoldKey,
    held: Option<&JournalHold>,
    sums: &mut PostingSums<'_>,
) -> rusqlite::Result<Option<MicroUsd>> {
    let before = known.held.get(key).copied();
    if held.is_none() && before.is_none() {
        return Ok(None);
    }
    let account = known.number(connection, &key.0)?;
    let now = match held {
        Some(JournalHold { view, caps }) => {
            let row = HoldRow {
                account,
                request: view.request.as_str(),
                amount: view.amount,
                state: view.state,
                caps: caps.as_deref(),
                created_at_ms: view.created_at_ms,
                expires_at_ms: view.expires_at_ms,
            };
            rows::put_hold(connection, &row)?;
            Some(view.amount)
        }
        None => {
            rows::delete_hold(connection, account, key.1.as_str())?;
            None
        }
    };
    sums.accounts.entry(account).or_default().1 +=
        signed(now.unwrap_or_default()) - signed(before.unwrap_or_default());
    Ok(now)
}

impl PostingSums<'_> {
    fn write(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for (account, (spent, held)) in self.accounts.drain() {
            if (spent, held) != (0, 0) {
                rows::add_to_account(connection, account, spent, held)?;
            }
        }
        for ((account, scope, window, start), spent) in self.caps.drain() {
            rows::add_to_cap(connection, account, scope, window, start, spent)?;
        }
        Ok(())
    }
}

/// Whether no row may say this: it will not go better another time.
pub(super) fn is_impossible(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => matches!(
            code,
            ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig
        ),
        None => matches!(error, rusqlite::Error::ToSqlConversionFailure(_)),
    }
}

fn signed(amount: MicroUsd) -> i64 {
    i64::try_from(amount.get()).expect("no amount in the books is above `MicroUsd::MAX`")
}

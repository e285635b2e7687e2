//! From the journal's entries to rows, many in one transaction.

use std::borrow::Borrow;

use bardo_ledger::{CapScope, CapWindow, ReceiptRecord, SettledCost};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use hashbrown::{Equivalent, HashMap};
use rusqlite::{Connection, ErrorCode};

use super::entry::{Ending, JournalEntry, JournalHold};
use super::inserts::{self, ChargeRow, Inserts, ReceiptRow};
use super::rows::{self, HoldRow};
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

/// Writes entries, and receipts that move no money. A hold that was made and ended among them leaves
/// no row.
pub(super) fn write<'a, E: Borrow<JournalEntry>>(
    connection: &Connection,
    known: &mut RowMemory,
    entries: &'a [E],
    records: impl IntoIterator<Item = &'a ReceiptRecord>,
) -> rusqlite::Result<TransactionEffects> {
    let mut written = TransactionEffects::default();
    let mut sums = PostingSums::default();
    let mut inserts = Inserts::new(connection)?;
    known.series.begin(connection)?;
    let endings: Vec<&Ending> = entries
        .iter()
        .filter_map(|entry| match entry.borrow() {
            JournalEntry::Ending(ending) => Some(&**ending),
            JournalEntry::Hold(_) | JournalEntry::Gone(_) => None,
        })
        .collect();
    for some in endings.chunks(inserts::ROWS) {
        write_endings(
            connection,
            known,
            &mut inserts,
            some,
            &mut sums,
            &mut written,
        )?;
    }
    for (key, held) in changed_holds(known, entries) {
        let amount = write_hold(connection, known, &key, held, &mut sums)?;
        written.holds.push((key, amount));
    }
    let mut rows = Vec::new();
    for record in records {
        rows.push((known.number(connection, &record.account)?, record));
    }
    write_receipts(known, &mut inserts, &rows)?;
    sums.write(connection)?;
    Ok(written)
}

/// The holds that have another row afterwards than before.
fn changed_holds<'a, E: Borrow<JournalEntry>>(known: &RowMemory, entries: &'a [E]) -> Changed<'a> {
    let mut changed = Changed::new();
    for entry in entries {
        match entry.borrow() {
            JournalEntry::Ending(ending) => {
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
    changed
}

/// Writes the transfers of ends and their receipts. A request that was charged before is charged no
/// more, and keeps its receipt.
fn write_endings<'a>(
    connection: &Connection,
    known: &mut RowMemory,
    inserts: &mut Inserts<'_>,
    endings: &[&'a Ending],
    sums: &mut PostingSums<'a>,
    written: &mut TransactionEffects,
) -> rusqlite::Result<()> {
    let mut charged = Vec::with_capacity(endings.len());
    let mut rows = Vec::with_capacity(endings.len());
    for (index, ending) in endings.iter().enumerate() {
        debug_assert!(ending.figures.is_none(), "the receipt is complete");
        if ending.paid == SettledCost::default() {
            continue;
        }
        charged.push(index);
        rows.push(ChargeRow {
            at_ms: ending.now_ms,
            account: known.number(connection, &ending.account)?,
            request: ending.request.as_str(),
            provider: &ending.provider,
            paid: ending.paid,
        });
    }
    let made = inserts.charges(&rows)?;
    let mut is_again = vec![false; endings.len()];
    for ((index, row), made) in charged.into_iter().zip(&rows).zip(made) {
        let ending = endings[index];
        if made {
            sums.add(row.account, ending);
        } else {
            is_again[index] = true;
            written.again.push(DuplicateCharge {
                account: ending.account.clone(),
                charged: ending.paid.charged(),
                counters: ending.counters.clone(),
            });
        }
    }
    let mut rows = Vec::with_capacity(endings.len());
    for (ending, is_again) in endings.iter().zip(is_again) {
        if let Some(record) = ending.record.as_ref().filter(|_| !is_again) {
            rows.push((known.number(connection, &record.account)?, record));
        }
    }
    write_receipts(known, inserts, &rows)
}

/// Writes receipts, and adds the new ones to the sums of their series.
fn write_receipts(
    known: &mut RowMemory,
    inserts: &mut Inserts<'_>,
    rows: &[ReceiptRow<'_>],
) -> rusqlite::Result<()> {
    let numbers = inserts.receipts(rows)?;
    for ((_, record), no) in rows.iter().zip(numbers) {
        if let Some(no) = no {
            known.series.add(no, record);
        }
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

impl<'a> PostingSums<'a> {
    /// Adds a charge.
    fn add(&mut self, account: i64, ending: &'a Ending) {
        let charged = ending.paid.charged();
        self.accounts.entry(account).or_default().0 += signed(charged);
        for (scope, window, start) in &ending.counters {
            let sum = self
                .caps
                .entry((account, scope, *window, *start))
                .or_default();
            *sum = sum.checked_add(charged).unwrap_or(MicroUsd::MAX);
        }
    }

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

//! The reference store: the books, a list of postings and a list of receipts, in memory.
//!
//! It keeps nothing beyond the process and grows for ever: for tests, and for reading. The real
//! stores answer as this one does.

mod series;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

use crate::book::{Book, SettledCost, Settlement};
use crate::command::{
    Balance, Deposit, End, HoldView, LedgerRefusal, Posting, PostingKind, ReceiptRecord,
    Reservation, Reserve, Settle, Settled, Verification,
};
use crate::port::{Accounts, Funds, Holds, LedgerFuture, Receipts, StoreError};
use crate::receipts::{Cursor, Group, ListQuery, SumQuery, SumRow, Sums};
use crate::series::SeriesKeep;

/// Books that end with the process.
#[derive(Debug, Default)]
pub struct MemoryLedger(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    book: Book,
    postings: Vec<Posting>,
    transfers: u64,
    deposits: HashSet<(AccountId, String)>,
    records: Vec<ReceiptRecord>,
    recorded: HashMap<(AccountId, RequestId), usize>,
    /// Receipts that were rolled up.
    rolled_up: usize,
    keep: SeriesKeep,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            // There is no index to ask for the ends that are forgotten, so none is.
            book: Book::with_memory(usize::MAX, u64::MAX),
            postings: Vec::new(),
            transfers: 0,
            deposits: HashSet::new(),
            records: Vec::new(),
            recorded: HashMap::new(),
            rolled_up: 0,
            keep: SeriesKeep::default(),
        }
    }
}

impl MemoryLedger {
    /// A ledger without accounts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no command panics half-way")
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> LedgerFuture<'a, Result<T, StoreError>> {
    Box::pin(std::future::ready(Ok(value)))
}

impl Inner {
    /// Writes one transfer: lines of book and amount, which add up to zero.
    fn post(&mut self, at_ms: u64, kind: PostingKind, reference: &str, lines: Vec<(String, i64)>) {
        self.transfers += 1;
        for (book, amount) in lines.into_iter().filter(|(_, amount)| *amount != 0) {
            self.postings.push(Posting {
                transfer: self.transfers,
                at_ms,
                kind,
                book,
                amount,
                reference: reference.to_owned(),
            });
        }
    }

    fn deposit(&mut self, command: &Deposit) -> Result<Balance, LedgerRefusal> {
        let reference = (command.account.clone(), command.reference.clone());
        if self.deposits.contains(&reference) {
            return Ok(self.book.balance(&command.account).unwrap_or_default());
        }
        let balance = self.book.deposit(command)?;
        let source = command.reference.split(':').next().unwrap_or_default();
        self.post(
            command.now_ms,
            PostingKind::Deposit,
            &command.reference,
            vec![
                (format!("funding:{source}"), -signed(command.amount)),
                (customer(&command.account), signed(command.amount)),
            ],
        );
        self.deposits.insert(reference);
        Ok(balance)
    }

    fn settle(&mut self, command: &Settle) -> Settlement {
        let settlement = self.book.settle(command);
        if settlement.repeated {
            return settlement;
        }
        if let End::Capture(charge) = &command.end {
            let SettledCost {
                provider_cost,
                spread,
                ..
            } = settlement.paid;
            let charged = settlement.paid.charged();
            if charged > MicroUsd::ZERO {
                self.post(
                    command.now_ms,
                    PostingKind::Charge,
                    command.request.as_str(),
                    vec![
                        (customer(&command.account), -signed(charged)),
                        (
                            format!("provider:{}", charge.provider),
                            signed(provider_cost),
                        ),
                        ("spread".to_owned(), signed(spread)),
                    ],
                );
            }
        }
        if let Some(record) = &command.record {
            self.keep(match command.end {
                End::Capture(_) => record.with_final(&settlement.final_figures()),
                End::Release | End::Unknown => record.clone(),
            });
        }
        settlement
    }

    /// Keeps a receipt in the place of an earlier one of the same request.
    fn keep(&mut self, record: ReceiptRecord) {
        let key = (record.account.clone(), record.request.clone());
        match self.recorded.get(&key) {
            Some(at) => self.records[*at] = record,
            None => {
                self.recorded.insert(key, self.records.len());
                self.records.push(record);
            }
        }
    }

    /// Whole transfers until `limit` lines are reached, so that none is cut in two.
    fn postings(&self, account: &AccountId, after: u64, limit: u32) -> Vec<Posting> {
        let book = customer(account);
        let transfers: HashSet<u64> = self
            .postings
            .iter()
            .filter(|line| line.book == book && line.transfer > after)
            .map(|line| line.transfer)
            .collect();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut page: Vec<Posting> = Vec::new();
        for line in &self.postings {
            if !transfers.contains(&line.transfer) {
                continue;
            }
            let begins = page
                .last()
                .is_none_or(|last| last.transfer != line.transfer);
            if begins && page.len() >= limit {
                break;
            }
            page.push(line.clone());
        }
        page
    }

    fn verify(&self) -> Verification {
        let mut problems = self.book.audit();
        let mut transfers: BTreeMap<u64, i128> = BTreeMap::new();
        let mut books: HashMap<&str, i128> = HashMap::new();
        for line in &self.postings {
            *transfers.entry(line.transfer).or_default() += i128::from(line.amount);
            *books.entry(&line.book).or_default() += i128::from(line.amount);
        }
        for (transfer, sum) in transfers {
            if sum != 0 {
                problems.push(format!("transfer {transfer} adds up to {sum}"));
            }
        }
        let accounts: HashSet<&AccountId> =
            self.deposits.iter().map(|(account, _)| account).collect();
        for account in accounts {
            let balance = self.book.balance(account).unwrap_or_default();
            let posted = books.get(&*customer(account)).copied().unwrap_or_default();
            let owned = i128::from(balance.deposited.get()) - i128::from(balance.spent.get());
            if posted != owned {
                problems.push(format!("`{account}`: {posted} is posted, {owned} is owned"));
            }
        }
        Verification {
            accounts: count(self.book.accounts()),
            postings: count(self.postings.len()),
            holds: count(self.book.holds(None).len()),
            problems,
        }
    }

    fn receipt(&self, account: &AccountId, id: &str) -> Option<String> {
        let own = |record: &&ReceiptRecord| record.account == *account;
        let named = self
            .records
            .iter()
            .filter(own)
            .find(|record| record.request.as_str() == id);
        named
            .or_else(|| {
                self.records
                    .iter()
                    .filter(own)
                    .filter(|record| record.client_request_id.as_deref() == Some(id))
                    .max_by_key(|record| record.at_ms)
            })
            .map(|record| record.json.json().into_owned())
    }

    fn sums(&self, query: &SumQuery) -> Vec<SumRow> {
        let mut rows: BTreeMap<Group, Sums> = BTreeMap::new();
        for record in &self.records {
            if query.filter.covers(record) {
                let sums = rows.entry(query.group(record)).or_default();
                sums.add(&Sums::of(record));
            }
        }
        rows.into_iter()
            .map(|(group, sums)| SumRow { group, sums })
            .take(usize::try_from(query.limit).unwrap_or(usize::MAX))
            .collect()
    }

    fn list(&self, query: &ListQuery) -> Vec<ReceiptRecord> {
        let is_after = |record: &ReceiptRecord| {
            let last = query.after.as_ref();
            last.is_none_or(|last| Cursor::of(record) < *last)
        };
        let records = self.records.iter();
        let mut listed: Vec<ReceiptRecord> = records
            .filter(|record| query.filter.covers(record) && is_after(record))
            .cloned()
            .collect();
        listed.sort_by_key(|record| Reverse(Cursor::of(record)));
        listed.truncate(usize::try_from(query.limit).unwrap_or(usize::MAX));
        listed
    }
}

fn customer(account: &AccountId) -> String {
    format!("customer:{account}")
}

fn signed(amount: MicroUsd) -> i64 {
    i64::try_from(amount.get()).expect("no amount in the books is above `MicroUsd::MAX`")
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

impl Funds for MemoryLedger {
    fn balance<'a>(
        &'a self,
        account: &'a AccountId,
    ) -> LedgerFuture<'a, Result<Option<Balance>, StoreError>> {
        ready(self.inner().book.balance(account))
    }

    fn deposit(
        &self,
        command: Deposit,
    ) -> LedgerFuture<'_, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        ready(self.inner().deposit(&command))
    }
}

impl Holds for MemoryLedger {
    fn deposit_for<'a>(
        &'a self,
        command: Deposit,
        request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        let mut inner = self.inner();
        let before = inner.deposits.len();
        let deposited = inner.deposit(&command);
        let is_new = inner.deposits.len() > before;
        let held = is_new.then(|| inner.book.reserve(&command.hold_for(request)));
        let answer = match held {
            None | Some(Err(_)) => deposited,
            Some(Ok(_)) => Ok(inner.book.balance(&command.account).unwrap_or_default()),
        };
        drop(inner);
        ready(answer)
    }

    fn reserve(
        &self,
        command: Reserve,
    ) -> LedgerFuture<'_, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        ready(self.inner().book.reserve(&command))
    }

    fn persist<'a>(
        &'a self,
        _account: &'a AccountId,
        _request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<(), StoreError>> {
        ready(())
    }

    fn extend<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
        by: MicroUsd,
        _now_ms: u64,
    ) -> LedgerFuture<'a, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        ready(self.inner().book.extend(account, request, by))
    }

    fn settle(&self, command: Settle) -> LedgerFuture<'_, Result<Settled, StoreError>> {
        ready(self.inner().settle(&command).settled())
    }

    fn release(&self, account: &AccountId, request: &RequestId, now_ms: u64) {
        self.inner().settle(&Settle {
            account: account.clone(),
            request: request.clone(),
            end: End::Release,
            record: None,
            now_ms,
        });
    }

    fn record(&self, record: ReceiptRecord) {
        self.inner().keep(record);
    }
}

impl Accounts for MemoryLedger {
    fn postings<'a>(
        &'a self,
        account: &'a AccountId,
        after: u64,
        limit: u32,
    ) -> LedgerFuture<'a, Result<Vec<Posting>, StoreError>> {
        ready(self.inner().postings(account, after, limit))
    }

    fn holds<'a>(
        &'a self,
        account: Option<&'a AccountId>,
    ) -> LedgerFuture<'a, Result<Vec<HoldView>, StoreError>> {
        ready(self.inner().book.holds(account))
    }

    fn expire(&self, now_ms: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        ready(count(self.inner().book.expire(now_ms).len()))
    }

    fn verify(&self) -> LedgerFuture<'_, Result<Verification, StoreError>> {
        ready(self.inner().verify())
    }
}

impl Receipts for MemoryLedger {
    fn receipt<'a>(
        &'a self,
        account: &'a AccountId,
        id: &'a str,
    ) -> LedgerFuture<'a, Result<Option<String>, StoreError>> {
        ready(self.inner().receipt(account, id))
    }

    fn sums(&self, query: SumQuery) -> LedgerFuture<'_, Result<Vec<SumRow>, StoreError>> {
        ready(self.inner().sums(&query))
    }

    fn list(&self, query: ListQuery) -> LedgerFuture<'_, Result<Vec<ReceiptRecord>, StoreError>> {
        ready(self.inner().list(&query))
    }

    fn dropped(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::contract;

    #[test]
    fn the_reference_store_keeps_the_contract() {
        for case in contract::cases() {
            println!("{}", case.name);
            contract::block_on(case.run(Arc::new(MemoryLedger::new())));
        }
    }

    #[test]
    fn of_1000_requests_of_8_threads_on_money_for_37_exactly_37_are_held() {
        let ledger = MemoryLedger::new();
        let account = AccountId::parse("acct").unwrap();
        let deposit = Deposit {
            account: account.clone(),
            amount: MicroUsd::new(37 * 500 + 499),
            reference: "operator:1".to_owned(),
            now_ms: 0,
        };
        contract::block_on(ledger.deposit(deposit))
            .unwrap()
            .unwrap();
        let held = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (ledger, account, held) = (&ledger, &account, &held);
                scope.spawn(move || {
                    for number in 0..125 {
                        let command = Reserve {
                            request: RequestId::parse(&format!("req_{thread}_{number}")).unwrap(),
                            account: account.clone(),
                            key: None,
                            amount: MicroUsd::new(500),
                            caps: Vec::new(),
                            expires_at_ms: 1,
                            now_ms: 0,
                        };
                        let answer = contract::block_on(ledger.reserve(command)).unwrap();
                        held.fetch_add(u64::from(answer.is_ok()), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(held.into_inner(), 37);
        let balance = contract::block_on(ledger.balance(&account))
            .unwrap()
            .unwrap();
        assert_eq!(balance.available, MicroUsd::new(499));
    }
}

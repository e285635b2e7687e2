//! The plainest store of claims, in memory: for tests, and for reading.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

use bardo_types::money::MicroUsd;

use super::chain_deposit::{ChainDeposit, ChainDepositState, ChainLog};
use super::key::{AuthorizationKey, ChainHash, WalletId};
use super::port::{ClaimChange, ClaimQuery, ClaimStore, ClaimTotals, ClaimView, PROOF_MARKS};
use super::record::{ClaimRecord, ClaimStage, WalletRecord};
use crate::port::{LedgerFuture, StoreError};

/// Claims that end with the process.
#[derive(Debug, Default)]
pub struct MemoryClaims(Mutex<ClaimRows>);

#[derive(Debug, Default)]
struct ClaimRows {
    claims: HashMap<AuthorizationKey, ClaimRecord>,
    /// Figures by the wallet's text.
    wallets: BTreeMap<String, WalletRecord>,
    /// Transfers by the text of their log.
    deposits: BTreeMap<String, ChainDeposit>,
    values: HashMap<String, String>,
    transactions: HashMap<(u64, ChainHash), AuthorizationKey>,
    last_no: u64,
}

impl MemoryClaims {
    /// A store without claims.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn rows(&self) -> MutexGuard<'_, ClaimRows> {
        self.0.lock().expect("no command panics half-way")
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> LedgerFuture<'a, Result<T, StoreError>> {
    Box::pin(std::future::ready(Ok(value)))
}

impl ClaimRows {
    fn commit(&mut self, change: ClaimChange) -> bool {
        let ClaimChange {
            mut wallet,
            mut claim,
            is_removed,
        } = change;
        let name = wallet.wallet.to_string();
        let wallet_version = self.wallets.get(&name).map_or(0, |found| found.version);
        let claim_version = self.claims.get(&claim.key).map_or(0, |found| found.version);
        if (wallet_version, claim_version) != (wallet.version, claim.version) {
            return false;
        }
        wallet.version += 1;
        self.wallets.insert(name, wallet);
        if is_removed {
            self.claims.remove(&claim.key);
            return true;
        }
        if claim.no == 0 {
            self.last_no += 1;
            claim.no = self.last_no;
        }
        claim.version += 1;
        for hash in claim.transaction_hashes() {
            self.transactions
                .insert((claim.key.chain_id, hash), claim.key);
        }
        self.claims.insert(claim.key, claim);
        true
    }

    fn lease(&mut self, owner: &str, now_ms: u64, until_ms: u64, limit: u32) -> Vec<ClaimRecord> {
        let is_due = |claim: &&ClaimRecord| {
            claim.due_at_ms.is_some_and(|due| due <= now_ms) && claim.lease_until_ms <= now_ms
        };
        let mut due: Vec<_> = self.claims.values().filter(is_due).collect();
        due.sort_by_key(|claim| (claim.due_at_ms, claim.no));
        due.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let keys: Vec<_> = due.iter().map(|claim| claim.key).collect();
        let mut leased = Vec::new();
        for key in keys {
            let claim = self.claims.get_mut(&key).expect("it was found before");
            owner.clone_into(&mut claim.lease_owner);
            claim.lease_no += 1;
            claim.lease_until_ms = until_ms;
            claim.version += 1;
            leased.push(claim.clone());
        }
        leased
    }

    fn totals(&self) -> ClaimTotals {
        let mut totals = ClaimTotals {
            wallets: self.wallets.len() as u64,
            ..ClaimTotals::default()
        };
        let add = |sum: &mut MicroUsd, more: MicroUsd| {
            *sum = sum.checked_add(more).unwrap_or(MicroUsd::MAX);
        };
        for claim in self.claims.values() {
            for (stage, total) in ClaimStage::ALL.iter().zip(&mut totals.stages) {
                if *stage == claim.stage {
                    total.count += 1;
                    let is_claimed = claim.stage == ClaimStage::Claimed;
                    let amount = if is_claimed {
                        claim.ceiling
                    } else {
                        claim.amount
                    };
                    add(&mut total.amount, amount);
                }
            }
        }
        for wallet in self.wallets.values() {
            add(&mut totals.exposure, wallet.exposure);
            add(&mut totals.debt, wallet.debt);
            add(&mut totals.settled, wallet.settled);
            add(&mut totals.booked, wallet.booked);
        }
        totals
    }
}

fn matches(query: &ClaimQuery, claim: &ClaimRecord) -> bool {
    query.stage.is_none_or(|stage| claim.stage == stage)
        && query
            .wallet
            .is_none_or(|wallet| claim.key.wallet() == wallet)
        && query
            .account
            .as_ref()
            .is_none_or(|account| claim.account == *account)
        && query
            .request
            .as_ref()
            .is_none_or(|request| claim.request == *request)
        && (!query.only_debts || claim.debt() > MicroUsd::ZERO)
        && query
            .since_ms
            .is_none_or(|since| claim.claimed_at_ms >= since)
        && query
            .before_ms
            .is_none_or(|before| claim.claimed_at_ms < before)
        && query.below_no.is_none_or(|no| claim.no < no)
}

impl ClaimStore for MemoryClaims {
    fn view<'a>(
        &'a self,
        key: &'a AuthorizationKey,
    ) -> LedgerFuture<'a, Result<ClaimView, StoreError>> {
        let rows = self.rows();
        let wallet = rows.wallets.get(&key.wallet().to_string()).cloned();
        let wallet = wallet.unwrap_or_else(|| WalletRecord::new(key.wallet()));
        let claim = rows.claims.get(key).cloned();
        ready(ClaimView { wallet, claim })
    }

    fn commit(&self, change: ClaimChange) -> LedgerFuture<'_, Result<bool, StoreError>> {
        ready(self.rows().commit(change))
    }

    fn lease_due<'a>(
        &'a self,
        owner: &'a str,
        now_ms: u64,
        until_ms: u64,
        limit: u32,
    ) -> LedgerFuture<'a, Result<Vec<ClaimRecord>, StoreError>> {
        ready(self.rows().lease(owner, now_ms, until_ms, limit))
    }

    fn claims(&self, query: ClaimQuery) -> LedgerFuture<'_, Result<Vec<ClaimRecord>, StoreError>> {
        let rows = self.rows();
        let found = rows.claims.values().filter(|claim| matches(&query, claim));
        let mut found: Vec<_> = found.cloned().collect();
        found.sort_by_key(|claim| std::cmp::Reverse(claim.no));
        found.truncate(usize::try_from(query.limit).unwrap_or(usize::MAX));
        ready(found)
    }

    fn wallet(
        &self,
        wallet: WalletId,
    ) -> LedgerFuture<'_, Result<Option<WalletRecord>, StoreError>> {
        ready(self.rows().wallets.get(&wallet.to_string()).cloned())
    }

    fn wallets(
        &self,
        after: Option<WalletId>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<WalletRecord>, StoreError>> {
        let after = after.map(|wallet| wallet.to_string()).unwrap_or_default();
        let rows = self.rows();
        let page = rows.wallets.iter().filter(|(name, _)| **name > after);
        let page = page.map(|(_, wallet)| wallet.clone());
        ready(
            page.take(usize::try_from(limit).unwrap_or(usize::MAX))
                .collect(),
        )
    }

    fn totals(&self) -> LedgerFuture<'_, Result<ClaimTotals, StoreError>> {
        ready(self.rows().totals())
    }

    fn claim_of_transaction(
        &self,
        chain_id: u64,
        transaction: ChainHash,
    ) -> LedgerFuture<'_, Result<Option<AuthorizationKey>, StoreError>> {
        ready(
            self.rows()
                .transactions
                .get(&(chain_id, transaction))
                .copied(),
        )
    }

    fn prune_claims(&self, before_s: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        let mut rows = self.rows();
        let before = rows.claims.len();
        rows.claims
            .retain(|_, claim| !claim.is_prunable() || claim.deadline_s >= before_s);
        ready((before - rows.claims.len()) as u64)
    }

    fn chain_deposit(
        &self,
        log: ChainLog,
    ) -> LedgerFuture<'_, Result<Option<ChainDeposit>, StoreError>> {
        ready(self.rows().deposits.get(&log.to_string()).cloned())
    }

    fn put_chain_deposit(
        &self,
        mut deposit: ChainDeposit,
    ) -> LedgerFuture<'_, Result<bool, StoreError>> {
        let mut rows = self.rows();
        let name = deposit.log.to_string();
        let version = rows.deposits.get(&name).map_or(0, |found| found.version);
        if version != deposit.version {
            return ready(false);
        }
        deposit.version += 1;
        rows.deposits.insert(name, deposit);
        ready(true)
    }

    fn chain_deposits(
        &self,
        state: ChainDepositState,
        after: Option<ChainLog>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<ChainDeposit>, StoreError>> {
        let after = after.map(|log| log.to_string()).unwrap_or_default();
        let rows = self.rows();
        let page = rows.deposits.iter().filter(|(name, _)| **name > after);
        let page = page
            .map(|(_, deposit)| deposit)
            .filter(|each| each.state == state);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        ready(page.take(limit).cloned().collect())
    }

    fn chain_value<'a>(
        &'a self,
        name: &'a str,
    ) -> LedgerFuture<'a, Result<Option<String>, StoreError>> {
        ready(self.rows().values.get(name).cloned())
    }

    fn swap_chain_value<'a>(
        &'a self,
        name: &'a str,
        from: Option<String>,
        to: String,
    ) -> LedgerFuture<'a, Result<bool, StoreError>> {
        let mut rows = self.rows();
        let is_same = rows.values.get(name) == from.as_ref();
        if is_same {
            rows.values.insert(name.to_owned(), to);
        }
        ready(is_same)
    }

    fn prune_proofs(&self, before_s: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        let mut rows = self.rows();
        let before = rows.values.len();
        let has_ended = |until: &str| until.parse().is_ok_and(|until: u64| until < before_s);
        rows.values
            .retain(|name, until| !name.starts_with(PROOF_MARKS) || !has_ended(until));
        ready((before - rows.values.len()) as u64)
    }
}

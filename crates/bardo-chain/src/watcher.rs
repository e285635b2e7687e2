//! Transfers to the gateway's address, which become credit of the wallets that sent them.

use std::sync::{Arc, Mutex, PoisonError};

use bardo_ledger::claims::{
    AuthorizationKey, ChainAddress, ChainDeposit, ChainDepositRefusal, ChainDepositState,
    ChainHash, ChainLog, ChainProgress, ClaimBook, WalletId,
};
use bardo_ledger::{Funds, StoreError};
use bardo_types::money::MicroUsd;
use bardo_x402::evm::{U256, calls};
use bardo_x402::token::TokenAmount;
use serde_json::{Value, json};

use crate::hex;
use crate::reader::{ChainReader, ReadError};
use crate::receipt::{ChainReceipt, TokenTransfer};
use crate::rpc::RpcFuture;

/// Which transfers are watched.
#[derive(Debug, Clone, Copy)]
pub struct WatcherTerms {
    /// The token that is credited.
    pub token: [u8; 20],
    /// The address that is paid.
    pub pay_to: [u8; 20],
    /// Blocks after which a transfer is credited.
    pub confirmations: u64,
    /// Smaller transfers are ignored.
    pub least: MicroUsd,
}

/// Watches one address for transfers of one token. Several may share a store: one of them gets on
/// at a time.
pub struct TransferWatcher {
    claims: ClaimBook,
    ledger: Arc<dyn Funds>,
    reader: ChainReader,
    terms: WatcherTerms,
    block: Mutex<Option<u64>>,
}

/// Why a round of watching ended early. The next one goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The chain does not answer.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The most blocks whose logs are read at once.
const RANGE: u64 = 1_000;
/// How far back a watcher goes after a reorganization.
const BACK: u64 = 64;
/// Deposits that are confirmed in one round.
const AT_ONCE: u32 = 100;

impl TransferWatcher {
    /// A watcher that begins at the newest block, or where one before it ended.
    #[must_use]
    pub fn new(
        claims: ClaimBook,
        ledger: Arc<dyn Funds>,
        reader: ChainReader,
        terms: WatcherTerms,
    ) -> Self {
        Self {
            claims,
            ledger,
            reader,
            terms,
            block: Mutex::default(),
        }
    }

    /// The block up to which transfers are read, and booked if they have their confirmations; `None`
    /// before the first round. Watchers that share a store have it in common.
    #[must_use]
    pub fn block(&self) -> Option<u64> {
        *self.block.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_block(&self, block: u64) {
        *self.block.lock().unwrap_or_else(PoisonError::into_inner) = Some(block);
    }

    /// Reads the next blocks, and credits the transfers that have their confirmations.
    ///
    /// # Errors
    /// When the chain or the store does not answer.
    pub fn look(&self, now_ms: u64) -> RpcFuture<'_, Result<(), WatchError>> {
        // Boxed, so that it is compiled in this crate.
        Box::pin(self.follow(now_ms))
    }

    async fn follow(&self, now_ms: u64) -> Result<(), WatchError> {
        let head = self.reader.fresh_head().await?;
        let (chain_id, name) = (self.reader.chain_id(), self.name());
        let known = self.claims.progress(chain_id, &name).await?;
        let from = match known {
            None => {
                let start = ChainProgress {
                    block: head.number,
                    hash: ChainHash(head.hash),
                };
                tracing::info!(
                    block = head.number,
                    "transfers are watched from this block on"
                );
                self.claims
                    .move_progress(chain_id, &name, None, start)
                    .await?;
                self.set_block(head.number);
                return Ok(());
            }
            Some(known) if self.reader.block_hash(known.block).await? != Some(known.hash.0) => {
                let block = known.block.saturating_sub(BACK);
                tracing::warn!(
                    block = known.block,
                    "the chain was reorganized; its blocks are read again"
                );
                self.move_to(known, block).await?;
                return Ok(());
            }
            Some(known) => known,
        };
        let to = head.number.min(from.block + RANGE).max(from.block);
        if to > from.block {
            for transfer in self.transfers(from.block + 1, to, now_ms).await? {
                self.claims.see_transfer(&transfer).await?;
            }
            self.move_to(from, to).await?;
        }
        self.confirm(head.number, now_ms).await?;
        self.credit(now_ms).await?;
        self.set_block(to);
        Ok(())
    }

    fn name(&self) -> String {
        let Self { terms, .. } = self;
        format!(
            "transfers:{}:{}",
            hex::of_bytes(&terms.token),
            hex::of_bytes(&terms.pay_to)
        )
    }

    async fn move_to(&self, from: ChainProgress, block: u64) -> Result<(), WatchError> {
        // Where the block is gone by now, the next round finds out.
        let Some(hash) = self.reader.block_hash(block).await? else {
            return Ok(());
        };
        let to = ChainProgress {
            block,
            hash: ChainHash(hash),
        };
        let chain_id = self.reader.chain_id();
        self.claims
            .move_progress(chain_id, &self.name(), Some(from), to)
            .await?;
        Ok(())
    }

    /// The transfers of some blocks.
    async fn transfers(
        &self,
        from: u64,
        to: u64,
        now_ms: u64,
    ) -> Result<Vec<ChainDeposit>, WatchError> {
        let mut payee = [0; 32];
        payee[12..].copy_from_slice(&self.terms.pay_to);
        let filter = json!({
            "address": hex::of_bytes(&self.terms.token),
            "topics": [calls::TRANSFER_LOG.to_string(), Value::Null, hex::of_bytes(&payee)],
        });
        let logs = self.reader.logs(filter, (from, to)).await?;
        let read = logs.iter().map(|log| self.deposit(log, now_ms));
        let read: Option<Vec<_>> = read.collect();
        let read = read.ok_or_else(|| ReadError::Unknown("a log cannot be read".to_owned()))?;
        Ok(read.into_iter().flatten().collect())
    }

    /// The deposit of a log; `Some(None)` where it is too small, `None` where it cannot be read.
    fn deposit(&self, log: &Value, now_ms: u64) -> Option<Option<ChainDeposit>> {
        let transfer = TokenTransfer::read(log)?;
        let chain_id = self.reader.chain_id();
        let wallet = WalletId {
            chain_id,
            address: ChainAddress(transfer.from),
        };
        let units = u64::try_from(transfer.value.min(U256::from(i64::MAX.unsigned_abs()))).ok()?;
        let amount = TokenAmount::new(units).to_usd();
        let deposit = ChainDeposit {
            log: ChainLog {
                chain_id,
                transaction: ChainHash(hex::word(&log["transactionHash"])?),
                log_index: transfer.log_index,
            },
            version: 0,
            from: wallet,
            account: wallet.account(),
            amount,
            block: hex::number(&log["blockNumber"])?,
            block_hash: ChainHash(hex::word(&log["blockHash"])?),
            state: ChainDepositState::Pending,
            changed_at_ms: now_ms,
        };
        Some((amount >= self.terms.least).then_some(deposit))
    }

    /// Moves pending deposits on whose blocks are old enough, or gone.
    async fn confirm(&self, head: u64, now_ms: u64) -> Result<(), WatchError> {
        let (store, pending) = (self.claims.store(), ChainDepositState::Pending);
        let mut after = None;
        loop {
            let page = store.chain_deposits(pending, after, AT_ONCE).await?;
            for deposit in &page {
                if deposit.log.chain_id == self.reader.chain_id() {
                    self.confirm_one(deposit, head, now_ms).await?;
                }
            }
            match page.last() {
                Some(last) if page.len() == AT_ONCE as usize => after = Some(last.log),
                _ => return Ok(()),
            }
        }
    }

    async fn confirm_one(
        &self,
        deposit: &ChainDeposit,
        head: u64,
        now_ms: u64,
    ) -> Result<(), WatchError> {
        let receipts = self.reader.receipts(&[deposit.log.transaction.0]).await?;
        let receipt = receipts.into_iter().next().flatten();
        let Some(receipt) = receipt.filter(|receipt| self.shows(receipt, deposit)) else {
            // A receipt that is missing says nothing; another block in its place does.
            let block = self.reader.block_hash(deposit.block).await?;
            if block.is_some_and(|hash| hash != deposit.block_hash.0) {
                self.reverse(deposit, now_ms).await?;
            }
            return Ok(());
        };
        if head < deposit.block + self.terms.confirmations || self.is_claimed(&receipt).await? {
            return Ok(());
        }
        let confirmed = ChainDepositState::Confirmed;
        let moved = self.claims.move_deposit(deposit.log, confirmed, now_ms);
        if moved.await? == Err(ChainDepositRefusal::Settlement) {
            self.reverse(deposit, now_ms).await?;
        }
        Ok(())
    }

    async fn reverse(&self, deposit: &ChainDeposit, now_ms: u64) -> Result<(), StoreError> {
        let reversed = ChainDepositState::Reversed;
        let moved = self.claims.move_deposit(deposit.log, reversed, now_ms);
        moved.await.map(drop)
    }

    /// Whether a receipt has the transfer of a deposit, in its block.
    fn shows(&self, receipt: &ChainReceipt, deposit: &ChainDeposit) -> bool {
        let value = U256::from(TokenAmount::from_usd(deposit.amount).get());
        let is_it = |one: &TokenTransfer| {
            one.log_index == deposit.log.log_index
                && one.token == self.terms.token
                && one.to == self.terms.pay_to
                && one.from == deposit.from.address.0
                && one.value == value
        };
        let is_there = receipt.succeeded && receipt.block_hash == deposit.block_hash.0;
        is_there && receipt.transfers.iter().any(is_it)
    }

    /// Whether a transaction uses an authorization that is claimed here and not settled yet: its
    /// transfer is that claim's, whoever sent it.
    async fn is_claimed(&self, receipt: &ChainReceipt) -> Result<bool, StoreError> {
        for used in &receipt.authorizations {
            let key = AuthorizationKey {
                chain_id: self.reader.chain_id(),
                contract: ChainAddress(used.token),
                payer: ChainAddress(used.authorizer),
                nonce: ChainHash(used.nonce),
            };
            let claim = self.claims.store().view(&key).await?.claim;
            if claim.is_some_and(|claim| claim.is_open()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Books what is confirmed.
    async fn credit(&self, now_ms: u64) -> Result<(), WatchError> {
        let store = self.claims.store();
        let confirmed = ChainDepositState::Confirmed;
        for deposit in store.chain_deposits(confirmed, None, AT_ONCE).await? {
            let credited = self
                .claims
                .credit_deposit(&*self.ledger, &deposit, now_ms)
                .await?;
            if credited.is_ok() {
                let (account, amount) = (&deposit.account, deposit.amount);
                tracing::info!(%account, %amount, log = %deposit.log, "a transfer is credited");
            }
        }
        Ok(())
    }
}

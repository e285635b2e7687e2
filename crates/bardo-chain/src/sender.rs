//! Transactions of one account: nonces, fees, gas, and the budget of a day.

use std::sync::Arc;

use bardo_ledger::StoreError;
use bardo_ledger::claims::{
    ChainAddress, ChainHash, ClaimBook, GasBudgetRefusal, GasDay, SettlementTransaction,
};
use bardo_x402::evm::{Address, DynamicFeeTransaction, Revert, Signer, U256};
use serde_json::{Value, json};

use crate::hex;
use crate::reader::{ChainReader, ReadError};
use crate::rpc::{self, RpcCall};

/// What transactions may cost.
#[derive(Debug, Clone, Copy)]
pub struct SenderTerms {
    /// The most gas of a day (UTC), in wei.
    pub gas_per_day: u128,
    /// The most that is paid for one unit of gas, in wei.
    pub max_fee: u128,
}

/// Signs and sends transactions of one account. Several instances may share the account: nonces are
/// given out by the store.
pub struct ChainSender {
    reader: ChainReader,
    signer: Signer,
    claims: ClaimBook,
    terms: SenderTerms,
    /// One transaction is made at a time.
    making: tokio::sync::Mutex<()>,
}

/// Why there is no transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    /// The call would fail on the chain.
    #[error("{0}")]
    Reverts(Revert),
    /// The gas of the day is used up.
    #[error(transparent)]
    GasBudget(GasBudgetRefusal),
    /// Gas is dearer than the operator pays.
    #[error("gas costs {fee} wei, and the most is {max}")]
    TooDear {
        /// The price of gas, in wei.
        fee: u128,
        /// The most that is paid, in wei.
        max: u128,
    },
    /// The chain does not answer.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The least tip, in wei per gas: blocks of Base are not full.
const LEAST_TIP: u128 = 1_000_000;
/// Gas of a plain transfer.
const TRANSFER_GAS: u64 = 21_000;
const DAY_MS: u64 = 86_400_000;
/// How often a nonce is tried that another instance takes first.
const TRIES: u32 = 100;

impl ChainSender {
    /// A sender for the account of a key.
    #[must_use]
    pub fn new(reader: ChainReader, signer: Signer, claims: ClaimBook, terms: SenderTerms) -> Self {
        Self {
            reader,
            signer,
            claims,
            terms,
            making: tokio::sync::Mutex::new(()),
        }
    }

    /// The account that pays for gas.
    #[must_use]
    pub fn address(&self) -> Address {
        self.signer.address()
    }

    /// A signed transaction for a call, with a nonce of its own. Nothing is sent.
    ///
    /// # Errors
    /// When the call would fail, gas is too dear, or somebody does not answer.
    pub async fn make(
        &self,
        to: Address,
        data: Vec<u8>,
        now_ms: u64,
    ) -> Result<SettlementTransaction, TransactionError> {
        let gas = self.estimate(to, &data).await?;
        let (max_fee, tip) = self.fees().await?;
        let _one = self.making.lock().await;
        let nonce = self.take_nonce().await?;
        if let Err(error) = self.set_gas_aside(nonce, gas, max_fee, now_ms).await {
            self.give_back(nonce).await;
            return Err(error);
        }
        Ok(self.signed(nonce, gas, (max_fee, tip), to, data))
    }

    /// A transaction that replaces one that is in no block: the same nonce, at fees that are an
    /// eighth higher than those of the last, or at those of now where these are still higher.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub async fn replace(
        &self,
        last: &SettlementTransaction,
        to: Address,
        data: Vec<u8>,
        now_ms: u64,
    ) -> Result<SettlementTransaction, TransactionError> {
        let gas = self.estimate(to, &data).await?;
        let (now_fee, now_tip) = self.fees().await?;
        let nonce = last.sender_nonce;
        let (fee, tip) = DynamicFeeTransaction::fees_of(&last.raw).unwrap_or_default();
        let (max_fee, tip) = (raised(fee).max(now_fee), raised(tip).max(now_tip));
        self.affordable(max_fee)?;
        self.set_gas_aside(nonce, gas, max_fee, now_ms).await?;
        Ok(self.signed(nonce, gas, (max_fee, tip), to, data))
    }

    /// A transfer of nothing to the account itself, which uses up a nonce that nothing else uses.
    /// Each of `tries` that came before makes it dearer by an eighth, since the nonce may have a
    /// transaction that no block takes. No budget of gas holds it up: transactions behind it do.
    ///
    /// # Errors
    /// When gas is too dear, or the chain or the store does not answer.
    pub async fn filler(
        &self,
        nonce: u64,
        tries: u32,
        now_ms: u64,
    ) -> Result<SettlementTransaction, TransactionError> {
        let (mut max_fee, mut tip) = self.fees().await?;
        for _ in 0..tries {
            (max_fee, tip) = (raised(max_fee), raised(tip));
        }
        self.affordable(max_fee)?;
        self.set_gas_aside_within(u128::MAX, nonce, TRANSFER_GAS, max_fee, now_ms)
            .await?;
        let (gas, to) = (TRANSFER_GAS, self.address());
        Ok(self.signed(nonce, gas, (max_fee, tip), to, Vec::new()))
    }

    /// Sends a transaction to all endpoints. Whatever they say, it may be in a block later: only its
    /// receipt tells.
    pub async fn broadcast(&self, transaction: &SettlementTransaction) {
        let call = RpcCall::new(
            "eth_sendRawTransaction",
            json!([hex::of_bytes(&transaction.raw)]),
        );
        let transport: &Arc<_> = &self.reader.transport;
        let calls = [call];
        let sent = (0..transport.endpoints()).map(|one| rpc::batch(&**transport, one, &calls));
        for answer in futures_util::future::join_all(sent).await {
            let told = match answer {
                Ok(answers) => answers
                    .into_iter()
                    .find_map(Result::err)
                    .map(|no| no.to_string()),
                Err(failure) => Some(failure.to_string()),
            };
            if let Some(told) = told {
                tracing::debug!(hash = %transaction.hash, %told, "an endpoint refuses a transaction");
            }
        }
    }

    /// Number of transactions of the account that are in blocks.
    ///
    /// # Errors
    /// When the chain does not answer.
    pub async fn mined_nonce(&self) -> Result<u64, ReadError> {
        self.count("latest").await
    }

    /// The next nonce that would be given out; `None` before the first.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn next_nonce(&self) -> Result<Option<u64>, StoreError> {
        let value = self.claims.store().chain_value(&self.nonce_name()).await?;
        Ok(value.as_deref().and_then(|text| text.parse().ok()))
    }

    /// Counts what a transaction cost, in wei, in the day for which its gas was set aside: today or
    /// yesterday.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn spent(&self, nonce: u64, cost: u128, now_ms: u64) -> Result<(), StoreError> {
        for day_ms in [now_ms, now_ms.saturating_sub(DAY_MS)] {
            self.claims.spend_gas(self.day(day_ms), nonce, cost).await?;
        }
        Ok(())
    }

    fn day(&self, now_ms: u64) -> GasDay {
        let sender = ChainAddress(self.address().0.0);
        GasDay::at(self.reader.chain_id(), sender, now_ms)
    }

    fn account(&self) -> String {
        hex::of_bytes(self.address().as_slice())
    }

    fn nonce_name(&self) -> String {
        format!("nonce:{}:{}", self.reader.chain_id(), self.account())
    }

    fn signed(
        &self,
        nonce: u64,
        gas: u64,
        (max_fee, tip): (u128, u128),
        to: Address,
        data: Vec<u8>,
    ) -> SettlementTransaction {
        let transaction = DynamicFeeTransaction {
            chain_id: self.reader.chain_id(),
            nonce,
            max_priority_fee_per_gas: tip,
            max_fee_per_gas: max_fee,
            gas_limit: gas,
            to,
            value: U256::ZERO,
            data,
        };
        let signed = transaction.sign(&self.signer);
        SettlementTransaction {
            hash: ChainHash(signed.hash.0),
            sender: ChainAddress(self.address().0.0),
            sender_nonce: nonce,
            raw: signed.raw,
        }
    }

    async fn estimate(&self, to: Address, data: &[u8]) -> Result<u64, TransactionError> {
        let call = json!({
            "from": self.account(),
            "to": hex::of_bytes(to.as_slice()),
            "data": hex::of_bytes(data),
        });
        // The amount differs between endpoints; that it reverts does not.
        let call = RpcCall {
            compared: |_| Value::Null,
            ..RpcCall::new("eth_estimateGas", json!([call]))
        };
        let answers = self.reader.agreeing(&[call]).await?;
        let mut told = answers.into_iter().flatten().collect::<Vec<_>>();
        // The one in the middle, which no single endpoint can move far.
        told.sort_by_key(|gas| gas.as_ref().ok().and_then(hex::number));
        match told.get(told.len() / 2) {
            Some(Ok(gas)) => {
                let gas = hex::number(gas).ok_or_else(|| unread("gas"))?;
                Ok(gas.saturating_mul(5) / 4)
            }
            Some(Err(refusal)) if refusal.is_revert() => {
                let data = refusal.data.as_deref().filter(|data| !data.is_empty());
                let revert = data.map_or(Revert::Empty, Revert::decode);
                Err(TransactionError::Reverts(revert))
            }
            // An endpoint that limits requests, or an account without money for the gas.
            Some(Err(refusal)) => Err(ReadError::Unknown(refusal.to_string()).into()),
            None => Err(unread("gas").into()),
        }
    }

    /// The most and the tip per gas, in wei.
    async fn fees(&self) -> Result<(u128, u128), TransactionError> {
        let base = self.reader.head().await?.base_fee;
        let max_fee = base.saturating_mul(2).saturating_add(LEAST_TIP);
        self.affordable(max_fee)?;
        Ok((max_fee, LEAST_TIP))
    }

    fn affordable(&self, fee: u128) -> Result<(), TransactionError> {
        let max = self.terms.max_fee;
        match fee > max {
            true => Err(TransactionError::TooDear { fee, max }),
            false => Ok(()),
        }
    }

    async fn set_gas_aside(
        &self,
        nonce: u64,
        gas: u64,
        max_fee: u128,
        now_ms: u64,
    ) -> Result<(), TransactionError> {
        let budget = self.terms.gas_per_day;
        self.set_gas_aside_within(budget, nonce, gas, max_fee, now_ms)
            .await
    }

    async fn set_gas_aside_within(
        &self,
        budget: u128,
        nonce: u64,
        gas: u64,
        max_fee: u128,
        now_ms: u64,
    ) -> Result<(), TransactionError> {
        let wei = u128::from(gas).saturating_mul(max_fee);
        let set = self
            .claims
            .set_gas_aside(self.day(now_ms), nonce, wei, budget);
        set.await?.map(drop).map_err(TransactionError::GasBudget)
    }

    async fn count(&self, block: &str) -> Result<u64, ReadError> {
        let call = RpcCall::new("eth_getTransactionCount", json!([self.account(), block]));
        let answers = self.reader.agreed(&[call]).await?;
        let count = answers.into_iter().next().and_then(Result::ok);
        count
            .as_ref()
            .and_then(hex::number)
            .ok_or_else(|| unread("nonce"))
    }

    /// Gives the last nonce back. Where another was taken meanwhile, the gap is filled later.
    async fn give_back(&self, nonce: u64) {
        let name = self.nonce_name();
        let taken = Some((nonce + 1).to_string());
        let store = self.claims.store();
        let _ = store
            .swap_chain_value(&name, taken, nonce.to_string())
            .await;
    }

    /// Takes the next nonce, so that no other instance gets it.
    async fn take_nonce(&self) -> Result<u64, TransactionError> {
        let name = self.nonce_name();
        let mined = self.mined_nonce().await?;
        for _ in 0..TRIES {
            let known = self.claims.store().chain_value(&name).await?;
            let next = known.as_deref().and_then(|text| text.parse().ok());
            let nonce = next.unwrap_or(0).max(mined);
            let after = (nonce + 1).to_string();
            if self
                .claims
                .store()
                .swap_chain_value(&name, known, after)
                .await?
            {
                return Ok(nonce);
            }
        }
        Err(StoreError::Unavailable("too many instances want a nonce at once".to_owned()).into())
    }
}

/// A fee that is an eighth higher: nodes ask for a tenth more than the one before.
fn raised(fee: u128) -> u128 {
    fee.saturating_add(fee.div_ceil(8))
}

fn unread(what: &str) -> ReadError {
    ReadError::Unknown(format!("the {what} cannot be read"))
}

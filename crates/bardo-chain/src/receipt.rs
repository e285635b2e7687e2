//! What a chain says of a transaction.

use bardo_x402::evm::{B256, U256, calls};
use serde_json::{Value, json};

use crate::hex;
use crate::reader::{ChainReader, ReadError};
use crate::rpc::RpcCall;

/// A transaction in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReceipt {
    /// Hash of the transaction.
    pub transaction: [u8; 32],
    /// Whether it did what it was to do.
    pub succeeded: bool,
    /// Number of its block.
    pub block: u64,
    /// Hash of its block.
    pub block_hash: [u8; 32],
    /// What its gas cost, in wei.
    pub cost: u128,
    /// The transfers of tokens in it.
    pub transfers: Vec<TokenTransfer>,
    /// The authorizations of transfers that it used (ERC-3009).
    pub authorizations: Vec<UsedAuthorization>,
}

/// An authorization that a transaction used, as the token logged it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedAuthorization {
    /// The contract of the token.
    pub token: [u8; 20],
    /// The account that signed it.
    pub authorizer: [u8; 20],
    /// The nonce that it chose.
    pub nonce: [u8; 32],
}

/// A transfer of tokens, as its contract logged it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenTransfer {
    /// The contract of the token.
    pub token: [u8; 20],
    /// The account that paid.
    pub from: [u8; 20],
    /// The account that was paid.
    pub to: [u8; 20],
    /// Smallest units of the token.
    pub value: U256,
    /// The place of the log in its block.
    pub log_index: u32,
}

impl ChainReceipt {
    fn read(receipt: &Value) -> Option<Self> {
        let gas = hex::wide(&receipt["gasUsed"])?;
        let price = hex::wide(&receipt["effectiveGasPrice"]).unwrap_or(0);
        let logs = receipt["logs"].as_array()?;
        Some(Self {
            transaction: hex::word(&receipt["transactionHash"])?,
            succeeded: hex::number(&receipt["status"])? == 1,
            block: hex::number(&receipt["blockNumber"])?,
            block_hash: hex::word(&receipt["blockHash"])?,
            cost: gas.saturating_mul(price),
            transfers: logs.iter().filter_map(TokenTransfer::read).collect(),
            authorizations: logs.iter().filter_map(UsedAuthorization::read).collect(),
        })
    }

    /// The amount of a token that went from one account to another; `None` where none did.
    pub(crate) fn moved(&self, token: [u8; 20], from: [u8; 20], to: [u8; 20]) -> Option<U256> {
        let transfers = self.transfers.iter();
        transfers
            .filter(|one| one.token == token && one.from == from && one.to == to)
            .map(|one| one.value)
            .reduce(U256::saturating_add)
    }
}

/// The account in a topic of a log.
fn account(topic: &Value) -> Option<[u8; 20]> {
    let word: [u8; 32] = hex::word(topic)?;
    word[12..].try_into().ok()
}

/// The three topics of a log of this kind.
fn topics(log: &Value, kind: B256) -> Option<(&Value, &Value)> {
    let topics = log["topics"].as_array()?;
    let [found, second, third] = topics.as_slice() else {
        return None;
    };
    (B256::from(hex::word::<32>(found)?) == kind).then_some((second, third))
}

impl TokenTransfer {
    pub(crate) fn read(log: &Value) -> Option<Self> {
        let (from, to) = topics(log, calls::TRANSFER_LOG)?;
        Some(Self {
            token: hex::word(&log["address"])?,
            from: account(from)?,
            to: account(to)?,
            value: U256::from_be_bytes(hex::word::<32>(&log["data"])?),
            log_index: u32::try_from(hex::number(&log["logIndex"])?).ok()?,
        })
    }
}

impl UsedAuthorization {
    fn read(log: &Value) -> Option<Self> {
        let (authorizer, nonce) = topics(log, calls::AUTHORIZATION_USED_LOG)?;
        Some(Self {
            token: hex::word(&log["address"])?,
            authorizer: account(authorizer)?,
            nonce: hex::word(nonce)?,
        })
    }
}

/// The members of a receipt that decide about money.
fn essence(receipt: &Value) -> Value {
    let logs = receipt["logs"].as_array().map(|logs| {
        let logs = logs.iter();
        logs.map(|log| json!([log["address"], log["topics"], log["data"], log["logIndex"]]))
            .collect::<Vec<_>>()
    });
    json!([
        receipt["transactionHash"],
        receipt["status"],
        receipt["blockHash"],
        logs
    ])
}

/// The transactions of logs.
fn transactions(logs: &Value) -> Value {
    let logs = logs.as_array();
    let hashes = logs.map(|logs| logs.iter().map(|log| log["transactionHash"].clone()));
    json!(hashes.map(Iterator::collect::<Vec<_>>))
}

impl ChainReader {
    /// The receipts of transactions, in their order; `None` for one that is in no block.
    ///
    /// # Errors
    /// When too few endpoints agree.
    pub async fn receipts(
        &self,
        transactions: &[[u8; 32]],
    ) -> Result<Vec<Option<ChainReceipt>>, ReadError> {
        let calls: Vec<_> = transactions
            .iter()
            .map(|hash| RpcCall {
                compared: essence,
                ..RpcCall::new("eth_getTransactionReceipt", json!([hex::of_bytes(hash)]))
            })
            .collect();
        let answers = self.agreed(&calls).await?;
        answers
            .into_iter()
            .map(|answer| match answer {
                Ok(Value::Null) => Ok(None),
                Ok(receipt) => ChainReceipt::read(&receipt)
                    .map(Some)
                    .ok_or_else(|| ReadError::Unknown("a receipt cannot be read".to_owned())),
                Err(refusal) => Err(ReadError::Unknown(refusal.to_string())),
            })
            .collect()
    }

    /// The transaction that used the nonce of an authorization (ERC-3009) within the last `blocks`;
    /// `None` where none is found.
    ///
    /// # Errors
    /// When too few endpoints agree.
    pub(crate) async fn authorization_used(
        &self,
        token: [u8; 20],
        payer: [u8; 20],
        nonce: [u8; 32],
        blocks: u64,
    ) -> Result<Option<[u8; 32]>, ReadError> {
        let head = self.fresh_head().await?.number;
        let mut topic = [0; 32];
        topic[12..].copy_from_slice(&payer);
        let filter = json!({
            "address": hex::of_bytes(&token),
            "topics": [calls::AUTHORIZATION_USED_LOG.to_string(), hex::of_bytes(&topic), hex::of_bytes(&nonce)],
            "fromBlock": hex::of_number(head.saturating_sub(blocks)),
            "toBlock": hex::of_number(head),
        });
        let logs = self.logs(filter).await?;
        Ok(logs
            .first()
            .and_then(|log| hex::word(&log["transactionHash"])))
    }

    /// The logs of a filter (`eth_getLogs`).
    ///
    /// # Errors
    /// When too few endpoints agree.
    pub(crate) async fn logs(&self, filter: Value) -> Result<Vec<Value>, ReadError> {
        let call = RpcCall {
            compared: transactions,
            ..RpcCall::new("eth_getLogs", json!([filter]))
        };
        let answers = self.agreed(&[call]).await?;
        match answers.into_iter().next() {
            Some(Ok(Value::Array(logs))) => Ok(logs),
            Some(Err(refusal)) => Err(ReadError::Unknown(refusal.to_string())),
            _ => Err(ReadError::Unknown("logs cannot be read".to_owned())),
        }
    }

    /// The hash of a block; `None` where the chain has none of this number.
    ///
    /// # Errors
    /// When too few endpoints agree.
    pub(crate) async fn block_hash(&self, block: u64) -> Result<Option<[u8; 32]>, ReadError> {
        let call = RpcCall {
            compared: |block| block["hash"].clone(),
            ..RpcCall::new(
                "eth_getBlockByNumber",
                json!([hex::of_number(block), false]),
            )
        };
        let answers = self.agreed(&[call]).await?;
        match answers.into_iter().next() {
            Some(Ok(Value::Null)) => Ok(None),
            Some(Ok(block)) => hex::word(&block["hash"])
                .map(Some)
                .ok_or_else(|| ReadError::Unknown("a block cannot be read".to_owned())),
            _ => Err(ReadError::Unknown("a block cannot be read".to_owned())),
        }
    }
}

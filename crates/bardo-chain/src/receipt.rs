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

impl TokenTransfer {
    fn read(log: &Value) -> Option<Self> {
        let topics = log["topics"].as_array()?;
        let [kind, from, to] = topics.as_slice() else {
            return None;
        };
        let account = |topic: &Value| -> Option<[u8; 20]> {
            let word: [u8; 32] = hex::word(topic)?;
            word[12..].try_into().ok()
        };
        if B256::from(hex::word::<32>(kind)?) != calls::TRANSFER_LOG {
            return None;
        }
        Some(Self {
            token: hex::word(&log["address"])?,
            from: account(from)?,
            to: account(to)?,
            value: U256::from_be_bytes(hex::word::<32>(&log["data"])?),
            log_index: u32::try_from(hex::number(&log["logIndex"])?).ok()?,
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
        let call = RpcCall {
            compared: transactions,
            ..RpcCall::new("eth_getLogs", json!([filter]))
        };
        let answers = self.agreed(&[call]).await?;
        let logs = match answers.into_iter().next() {
            Some(Ok(Value::Array(logs))) => logs,
            Some(Err(refusal)) => return Err(ReadError::Unknown(refusal.to_string())),
            _ => return Err(ReadError::Unknown("logs cannot be read".to_owned())),
        };
        Ok(logs
            .first()
            .and_then(|log| hex::word(&log["transactionHash"])))
    }
}

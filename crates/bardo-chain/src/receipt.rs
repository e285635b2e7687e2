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
    /// The place of the log in its block.
    pub log_index: u32,
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
        // Chains of the OP stack, such as Base, take a fee for the data besides.
        let data = hex::wide(&receipt["l1Fee"]).unwrap_or(0);
        let logs = receipt["logs"].as_array()?;
        Some(Self {
            transaction: hex::word(&receipt["transactionHash"])?,
            succeeded: hex::number(&receipt["status"])? == 1,
            block: hex::number(&receipt["blockNumber"])?,
            block_hash: hex::word(&receipt["blockHash"])?,
            cost: gas.saturating_mul(price).saturating_add(data),
            transfers: logs.iter().filter_map(TokenTransfer::read).collect(),
            authorizations: logs.iter().filter_map(UsedAuthorization::read).collect(),
        })
    }

    /// The transfer to an account that used one authorization (ERC-3009); `None` where none did.
    /// A token logs the use and its transfer one right after the other, so that several
    /// authorizations of one transaction are told apart, and another one with the same nonce too.
    pub(crate) fn authorized(
        &self,
        (token, payer, nonce): ([u8; 20], [u8; 20], [u8; 32]),
        to: [u8; 20],
    ) -> Option<&TokenTransfer> {
        let is_it = |used: &&UsedAuthorization| {
            used.token == token && used.authorizer == payer && used.nonce == nonce
        };
        let used = self.authorizations.iter().find(is_it)?;
        let mut transfers = self.transfers.iter();
        transfers.find(|one| {
            (one.token, one.from, one.to) == (token, payer, to)
                && Some(one.log_index) == used.log_index.checked_add(1)
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

/// Every endpoint gives the logs of so many blocks, or none.
const FEW: u64 = 8;

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
            log_index: u32::try_from(hex::number(&log["logIndex"])?).ok()?,
        })
    }
}

/// The members of a receipt that decide about money; null where there is no receipt.
fn essence(receipt: &Value) -> Value {
    if receipt.is_null() {
        return Value::Null;
    }
    let logs = receipt["logs"].as_array().map(|logs| {
        let logs = logs.iter();
        logs.map(|log| json!([log["address"], log["topics"], log["data"], log["logIndex"]]))
            .collect::<Vec<_>>()
    });
    json!([
        receipt["transactionHash"],
        receipt["status"],
        receipt["blockHash"],
        receipt["blockNumber"],
        receipt["gasUsed"],
        receipt["effectiveGasPrice"],
        receipt["l1Fee"],
        logs
    ])
}

/// The members of logs that decide about money.
fn told(logs: &Value) -> Value {
    const MEMBERS: [&str; 7] = [
        "address",
        "topics",
        "data",
        "logIndex",
        "transactionHash",
        "blockHash",
        "blockNumber",
    ];
    let logs = logs.as_array().map(|logs| {
        let logs = logs.iter();
        logs.map(|log| MEMBERS.map(|member| log[member].clone()))
            .collect::<Vec<_>>()
    });
    json!(logs)
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
        });
        let from = head.saturating_sub(blocks);
        let logs = self.logs(filter, (from, head)).await?;
        Ok(logs
            .first()
            .and_then(|log| hex::word(&log["transactionHash"])))
    }

    /// The logs of a filter in these blocks, both included (`eth_getLogs`). Where endpoints refuse so
    /// many blocks, they are asked for half of them.
    ///
    /// # Errors
    /// When too few endpoints agree, or refuse a few blocks too.
    pub(crate) async fn logs(
        &self,
        filter: Value,
        blocks: (u64, u64),
    ) -> Result<Vec<Value>, ReadError> {
        let (mut found, mut open) = (Vec::new(), vec![blocks]);
        while let Some((from, to)) = open.pop() {
            let mut filter = filter.clone();
            filter["fromBlock"] = json!(hex::of_number(from));
            filter["toBlock"] = json!(hex::of_number(to));
            let call = RpcCall {
                compared: told,
                ..RpcCall::new("eth_getLogs", json!([filter]))
            };
            let answers = self.agreed(&[call]).await?;
            match answers.into_iter().next() {
                Some(Ok(Value::Array(logs))) => found.extend(logs),
                Some(Err(_)) if to.saturating_sub(from) > FEW => {
                    let middle = u64::midpoint(from, to);
                    open.extend([(middle + 1, to), (from, middle)]);
                }
                Some(Err(refusal)) => return Err(ReadError::Unknown(refusal.to_string())),
                _ => return Err(ReadError::Unknown("logs cannot be read".to_owned())),
            }
        }
        Ok(found)
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

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: [u8; 20] = [1; 20];
    const PAYER: [u8; 20] = [2; 20];
    const PAYEE: [u8; 20] = [3; 20];

    fn receipt(transfers: &[(u32, u64)], authorizations: &[(u32, u8)]) -> ChainReceipt {
        let transfers = transfers.iter().map(|&(log_index, value)| TokenTransfer {
            token: TOKEN,
            from: PAYER,
            to: PAYEE,
            value: U256::from(value),
            log_index,
        });
        let authorizations = authorizations
            .iter()
            .map(|&(log_index, nonce)| UsedAuthorization {
                token: TOKEN,
                authorizer: PAYER,
                nonce: [nonce; 32],
                log_index,
            });
        ChainReceipt {
            transaction: [9; 32],
            succeeded: true,
            block: 1,
            block_hash: [8; 32],
            cost: 0,
            transfers: transfers.collect(),
            authorizations: authorizations.collect(),
        }
    }

    #[test]
    fn an_authorization_moved_what_follows_its_own_log() {
        let moved = |receipt: &ChainReceipt, nonce: u8| {
            let transfer = receipt.authorized((TOKEN, PAYER, [nonce; 32]), PAYEE);
            transfer.map(|transfer| transfer.value)
        };
        // Two authorizations in one transaction each have their own transfer.
        let two = receipt(&[(1, 70), (3, 5)], &[(0, 1), (2, 2)]);
        assert_eq!(moved(&two, 1), Some(U256::from(70)));
        assert_eq!(moved(&two, 2), Some(U256::from(5)));
        assert_eq!(moved(&two, 3), None);
        // One transfer does not count for two of them.
        let one = receipt(&[(2, 70)], &[(0, 1), (1, 2)]);
        assert_eq!(moved(&one, 1), None);
        assert_eq!(moved(&one, 2), Some(U256::from(70)));
        let other_payee = one.authorized((TOKEN, PAYER, [2; 32]), [7; 20]);
        assert_eq!(other_payee, None);
    }
}

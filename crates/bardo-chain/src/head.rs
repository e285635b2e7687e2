//! The newest block that enough endpoints have.

use serde_json::{Value, json};

use crate::hex;

/// A block at the end of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// Number of the block.
    pub number: u64,
    /// Hash of the block.
    pub hash: [u8; 32],
    /// Its time, in Unix seconds. Contracts compare deadlines with it.
    pub time_s: u64,
    /// Its base fee, in wei per gas.
    pub base_fee: u128,
}

impl ChainHead {
    pub(crate) fn read(block: &Value) -> Option<Self> {
        Some(Self {
            number: hex::number(&block["number"])?,
            hash: hex::word(&block["hash"])?,
            time_s: hex::number(&block["timestamp"])?,
            base_fee: hex::wide(&block["baseFeePerGas"]).unwrap_or(0),
        })
    }

    /// The members of a block that are read; null where there is no block.
    pub(crate) fn compared(block: &Value) -> Value {
        const MEMBERS: [&str; 4] = ["number", "hash", "timestamp", "baseFeePerGas"];
        match block.is_null() {
            true => Value::Null,
            false => json!(MEMBERS.map(|member| &block[member])),
        }
    }
}

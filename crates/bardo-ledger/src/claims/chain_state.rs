//! How far a watcher has read a chain, and what gas has cost.

use std::collections::BTreeMap;

use super::key::{ChainAddress, ChainHash, InvalidChainText};

/// The last block that a watcher has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainProgress {
    /// Number of the block.
    pub block: u64,
    /// Hash of the block, by which a reorganization is seen.
    pub hash: ChainHash,
}

impl ChainProgress {
    pub(super) fn name(chain_id: u64, watcher: &str) -> String {
        format!("progress:{chain_id}:{watcher}")
    }

    pub(super) fn encode(&self) -> String {
        format!("{} {}", self.block, self.hash)
    }

    pub(super) fn decode(text: &str) -> Result<Self, InvalidChainText> {
        let invalid = || InvalidChainText(text.to_owned());
        let (block, hash) = text.split_once(' ').ok_or_else(invalid)?;
        Ok(Self {
            block: block.parse().map_err(|_| invalid())?,
            hash: hash.parse()?,
        })
    }
}

/// The day in which a sender's gas is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GasDay {
    /// The chain's id (EIP-155).
    pub chain_id: u64,
    /// The account that pays the gas.
    pub sender: ChainAddress,
    /// Days since 1970-01-01, UTC.
    pub day: u64,
}

impl GasDay {
    /// The day of this Unix millisecond.
    #[must_use]
    pub fn at(chain_id: u64, sender: ChainAddress, now_ms: u64) -> Self {
        let day = now_ms / 86_400_000;
        Self {
            chain_id,
            sender,
            day,
        }
    }

    pub(super) fn name(&self) -> String {
        format!("gas:{}:{}:{}", self.chain_id, self.sender, self.day)
    }
}

/// The gas of a transaction does not fit into the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{used} wei of gas are spent or set aside today, and {needed} more are needed; the budget is {budget}"
)]
pub struct GasBudgetRefusal {
    /// Wei that are spent or set aside today.
    pub used: u128,
    /// Wei that are needed beyond that.
    pub needed: u128,
    /// Wei that may be spent in a day.
    pub budget: u128,
}

/// The gas of a sender in a day: what was spent, and by nonce what is set aside for transactions
/// that may be in no block yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct GasUse {
    spent: u128,
    set_aside: BTreeMap<u64, u128>,
}

impl GasUse {
    pub(super) fn total(&self) -> u128 {
        let open = self.set_aside.values().copied();
        open.fold(self.spent, u128::saturating_add)
    }

    /// Sets `wei` aside for the transaction of a nonce; where less is set aside for it, the rest.
    pub(super) fn set_aside(
        &mut self,
        sender_nonce: u64,
        wei: u128,
        budget: u128,
    ) -> Result<(), GasBudgetRefusal> {
        let used = self.total();
        let before = self.set_aside.get(&sender_nonce).copied().unwrap_or(0);
        let needed = wei.saturating_sub(before);
        if used.checked_add(needed).is_none_or(|sum| sum > budget) {
            return Err(GasBudgetRefusal {
                used,
                needed,
                budget,
            });
        }
        self.set_aside.insert(sender_nonce, before.max(wei));
        Ok(())
    }

    /// Counts what the transaction of a nonce cost in place of what was set aside; changes nothing
    /// where nothing is.
    pub(super) fn spend(&mut self, sender_nonce: u64, wei: u128) {
        if self.set_aside.remove(&sender_nonce).is_some() {
            self.spent = self.spent.saturating_add(wei);
        }
    }

    pub(super) fn encode(&self) -> String {
        let open = self.set_aside.iter();
        let open: Vec<_> = open.map(|(nonce, wei)| format!("{nonce}={wei}")).collect();
        format!("{} {}", self.spent, open.join(","))
    }

    pub(super) fn decode(text: &str) -> Result<Self, InvalidChainText> {
        let invalid = || InvalidChainText(text.to_owned());
        let (spent, open) = text.split_once(' ').ok_or_else(invalid)?;
        let mut set_aside = BTreeMap::new();
        for each in open.split(',').filter(|each| !each.is_empty()) {
            let (nonce, wei) = each.split_once('=').ok_or_else(invalid)?;
            let nonce = nonce.parse().map_err(|_| invalid())?;
            set_aside.insert(nonce, wei.parse().map_err(|_| invalid())?);
        }
        Ok(Self {
            spent: spent.parse().map_err(|_| invalid())?,
            set_aside,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gas_is_set_aside_up_to_the_budget_and_counted_once() {
        let mut gas = GasUse::default();
        gas.set_aside(1, 60, 100).unwrap();
        gas.set_aside(1, 70, 100).unwrap();
        let refused = gas.set_aside(2, 31, 100).unwrap_err();
        assert_eq!((refused.used, refused.needed), (70, 31));
        gas.spend(1, 50);
        gas.spend(1, 50);
        assert_eq!(gas.total(), 50);
        gas.set_aside(2, 50, 100).unwrap();
        assert_eq!(GasUse::decode(&gas.encode()), Ok(gas));
        assert!(GasUse::decode("1").is_err());
        let most = GasUse {
            spent: u128::MAX,
            ..GasUse::default()
        };
        assert_eq!(GasUse::decode(&most.encode()), Ok(most.clone()));
        assert!(most.clone().set_aside(1, 1, u128::MAX).is_err());
    }
}

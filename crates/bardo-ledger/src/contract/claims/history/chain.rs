//! A chain in memory: each authorization pays once, unless its block is undone.

use std::collections::HashMap;

use bardo_types::money::MicroUsd;

use crate::claims::{
    AuthorizationKey, ChainAddress, ChainHash, ClaimRecord, ClaimScheme, OnChainSettlement,
    SettlementTransaction,
};

/// A random number generator with a seed (SplitMix64).
pub(super) struct ClaimDice(u64);

impl ClaimDice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }
}

/// What the chain has, and the transactions that it has heard of.
#[derive(Default)]
pub(super) struct SimulatedChain {
    paid: HashMap<AuthorizationKey, OnChainSettlement>,
    /// Authorizations whose payer has cancelled them or moved the money away.
    withdrawn: HashMap<AuthorizationKey, ()>,
    block: u64,
}

impl SimulatedChain {
    pub(super) fn paid(&self, key: &AuthorizationKey) -> Option<OnChainSettlement> {
        self.paid.get(key).copied()
    }

    pub(super) fn is_withdrawn(&self, key: &AuthorizationKey) -> bool {
        self.withdrawn.contains_key(key)
    }

    pub(super) fn withdraw(&mut self, key: AuthorizationKey) {
        self.withdrawn.insert(key, ());
    }

    /// Takes a transaction: it pays, unless the authorization has paid before or was withdrawn.
    pub(super) fn send(&mut self, claim: &ClaimRecord, transaction: ChainHash) {
        if self.paid.contains_key(&claim.key) || self.is_withdrawn(&claim.key) {
            return;
        }
        self.block += 1;
        let amount = match claim.scheme {
            ClaimScheme::Exact => claim.ceiling,
            ClaimScheme::Upto => claim.amount,
        };
        let settlement = OnChainSettlement {
            transaction,
            amount,
            block: self.block,
        };
        self.paid.insert(claim.key, settlement);
    }

    /// Undoes the block in which an authorization was paid.
    pub(super) fn undo(&mut self, key: &AuthorizationKey) {
        self.paid.remove(key);
    }

    pub(super) fn total(&self) -> MicroUsd {
        let amounts = self.paid.values().map(|paid| paid.amount.get());
        MicroUsd::new(amounts.sum())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&AuthorizationKey, &OnChainSettlement)> {
        self.paid.iter()
    }
}

/// A transaction that no other is equal to.
pub(super) fn transaction(dice: &mut ClaimDice) -> SettlementTransaction {
    let mut hash = [0; 32];
    for part in hash.chunks_exact_mut(8) {
        part.copy_from_slice(&dice.next().to_be_bytes());
    }
    SettlementTransaction {
        hash: ChainHash(hash),
        sender: ChainAddress([9; 20]),
        sender_nonce: dice.below(1_000),
        raw: vec![2],
    }
}

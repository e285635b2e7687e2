use crate::ttl::Lifetimes;

/// What a store keeps within bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all entries, indexes included.
    pub bytes: u64,
    /// Bytes of one entry at most; cut to an eighth of [`Self::bytes`].
    pub entry_bytes: u64,
    /// Share of the budget that a tenant keeps when the store is full and others want room, in
    /// percent. While there is room, a tenant may take all of it.
    pub tenant_percent: u8,
    /// How long entries live.
    pub lifetimes: Lifetimes,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            entry_bytes: 1 << 20,
            tenant_percent: 25,
            lifetimes: Lifetimes::default(),
        }
    }
}

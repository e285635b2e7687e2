//! Why a candidate may not answer, cheaply kept and put in words when somebody asks.

/// Several reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reasons(u32);

/// One reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reason {
    /// The caller's key or tier leaves it out, or it cannot be billed.
    NotAllowed,
    /// It keeps requests less well than this one needs.
    Security,
    /// What the request brings cannot be sealed.
    Unsealable,
    /// It lacks what nobody may go without.
    Missing,
    /// It lacks what is required and may be given up.
    Lacking,
    /// It is not of the family that was asked for.
    Family,
    /// The prompt does not fit.
    Context,
    /// It answers more briefly than was asked for.
    Output,
    /// Its tier is below what the request needs, and others reach it.
    Tier,
    /// Its tier is above what the agent still buys.
    Ceiling,
    /// It is free, and the request deserves better.
    Free,
    /// Its service has models of every kind, and nobody vetted it.
    Unvetted,
    /// Its service is for what has to be kept.
    NotPrivate,
    /// Its key is for what only the maker's API has.
    NotNative,
    /// Its wallet is for parts that earn their keep.
    NotFunded,
    /// It could cost more than the request may.
    Cost,
    /// It could cost more than the agent's revenue allows.
    Revenue,
    /// It is too slow, and the owner is strict.
    Slow,
    /// It does not answer, and others do.
    Down,
    /// It keeps requests less well than the one that is asked first.
    Weaker,
    /// It gives one answer, and several are asked for.
    OneAnswer,
    /// It does not think, and hard thinking is asked for.
    Effort,
}

impl Reasons {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn of(reason: Reason) -> Self {
        Self(1 << reason as u8)
    }

    pub(crate) const fn with(self, reason: Reason) -> Self {
        Self(self.0 | Self::of(reason).0)
    }

    pub(crate) const fn with_if(self, condition: bool, reason: Reason) -> Self {
        if condition { self.with(reason) } else { self }
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn has(self, reason: Reason) -> bool {
        self.0 & Self::of(reason).0 != 0
    }

    /// Whether there are none but these.
    pub(crate) const fn within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    pub(crate) const fn minus(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn len(self) -> u32 {
        self.0.count_ones()
    }
}

//! Why a candidate may not answer, cheaply kept and put in words when somebody asks.

/// A set of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reasons(u32);

/// A reason against a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reason {
    /// The caller's key or tier leaves it out, or it cannot be billed.
    NotAllowed,
    /// Its privacy class is below the class of the request.
    Security,
    /// A part of the request cannot be sealed.
    Unsealable,
    /// A required feature is missing.
    Missing,
    /// A required feature is missing, and the request accepts that.
    Lacking,
    /// The model is not of the requested family.
    Family,
    /// The prompt does not fit.
    Context,
    /// Its output limit is below the requested one.
    Output,
    /// Its tier is below what the request needs, and others reach it.
    Tier,
    /// Its tier is above what the agent still buys.
    Ceiling,
    /// The model is free, and free models are not allowed for this quality.
    Free,
    /// Its service has models of every kind, and nobody vetted it.
    Unvetted,
    /// Its service is for what has to be kept.
    NotPrivate,
    /// Its key is for what only the maker's API has.
    NotNative,
    /// Its wallet is for parts that earn their keep.
    NotFunded,
    /// The request could cost more there than its limit.
    Cost,
    /// The request could cost more there than the agent's revenue allows.
    Revenue,
    /// The backend is too slow, and the latency limit is strict.
    Slow,
    /// The backend is down, and others are not.
    Down,
    /// Its privacy class is below the class of the first choice.
    Weaker,
    /// The backend gives one answer per request, and several are requested.
    OneAnswer,
    /// The model does not think, and high effort is requested.
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

//! The part that a key gives the gateway's cache in its requests.

/// What the owner of a key wants of the cache of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CachePermission {
    /// No request of the key is served from the cache or stored, whatever it says.
    Off,
    /// Requests without a word of their own say `cache: default`.
    Default,
    /// Default, and answers to requests of the same meaning may be served too.
    Semantic,
}

impl CachePermission {
    /// All values of the scope.
    pub const ALL: [Self; 3] = [Self::Off, Self::Default, Self::Semantic];

    /// The value as scopes are written and stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Default => "default",
            Self::Semantic => "semantic",
        }
    }

    /// Reads what [`Self::as_str`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

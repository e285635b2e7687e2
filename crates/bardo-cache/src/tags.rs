//! What an answer depends on, so that it can be found when that changes.

use std::sync::Arc;

use bardo_types::chat::ChatRequest;

/// Tags of one entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags {
    /// Domain of the request: `defi`, `code`, …; lower case.
    pub domain: Option<Arc<str>>,
    /// Tokens that the prompt names: `ETH`, `USDC`; upper case, sorted.
    pub tokens: Box<[Arc<str>]>,
    /// Addresses of pools and contracts that the prompt names; lower case, sorted.
    pub pools: Box<[Arc<str>]>,
    /// Digest of the playbook that the prompt carries, as hex.
    pub playbook: Option<Arc<str>>,
}

/// One thing that an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Tag {
    /// A domain, in any case.
    Domain(Arc<str>),
    /// A token by its ticker, in any case.
    Token(Arc<str>),
    /// A pool or contract by its address, in any case.
    Pool(Arc<str>),
    /// A playbook by its digest.
    Playbook(Arc<str>),
}

impl Tags {
    /// Reads the tags of a request. Each list holds up to [`Self::MOST`] names; a request that
    /// names more gets `None` and must not be stored, for a flush would miss it.
    #[must_use]
    pub fn of(request: &ChatRequest, domain: Option<&str>) -> Option<Self> {
        let _ = request;
        Some(Self {
            domain: domain.map(|domain| domain.to_ascii_lowercase().into()),
            ..Self::default()
        })
    }

    /// Most tokens and most pools of one entry.
    pub const MOST: usize = 64;

    /// All tags, one by one.
    pub fn each(&self) -> impl Iterator<Item = Tag> + '_ {
        let one = |make: fn(Arc<str>) -> Tag| move |name: &Arc<str>| make(Arc::clone(name));
        self.domain
            .iter()
            .map(one(Tag::Domain))
            .chain(self.tokens.iter().map(one(Tag::Token)))
            .chain(self.pools.iter().map(one(Tag::Pool)))
            .chain(self.playbook.iter().map(one(Tag::Playbook)))
    }
}

impl Tag {
    /// The tag in the spelling that entries carry: tokens in upper case, the rest in lower case.
    #[must_use]
    pub fn normal(&self) -> Self {
        match self {
            Self::Domain(name) => Self::Domain(name.to_ascii_lowercase().into()),
            Self::Token(name) => Self::Token(name.to_ascii_uppercase().into()),
            Self::Pool(name) => Self::Pool(name.to_ascii_lowercase().into()),
            Self::Playbook(name) => Self::Playbook(name.to_ascii_lowercase().into()),
        }
    }
}

//! The callers that share answers: one agent, one clade, one tenant, or everybody.

use std::fmt;
use std::sync::LazyLock;

use bardo_types::ids::AccountId;
use bardo_types::privacy::SecurityClass;
use blake3::hazmat::hash_derive_key_context;

/// Separates namespaces from all other uses of the hash.
static CONTEXT: LazyLock<[u8; 32]> =
    LazyLock::new(|| hash_derive_key_context("bardo-cache namespace 2"));

/// How widely an answer is shared, from the narrowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Scope {
    /// One agent of one tenant.
    #[default]
    Agent,
    /// The agents of one clade within one tenant.
    Clade,
    /// All agents and keys of one tenant.
    Tenant,
    /// All tenants that agreed to share.
    Public,
}

impl Scope {
    /// All scopes, the narrowest first.
    pub const ALL: [Self; 4] = [Self::Agent, Self::Clade, Self::Tenant, Self::Public];

    /// The name in configuration, explanations and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Clade => "clade",
            Self::Tenant => "tenant",
            Self::Public => "public",
        }
    }

    /// Reads a name, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str().eq_ignore_ascii_case(name))
    }
}

/// Why a scope is closed to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The caller named no agent.
    #[error("the request names no agent")]
    NoAgent,
    /// The membership in a clade was not authenticated.
    #[error("the key is no member of a clade")]
    NoClade,
    /// The request is more private than the scope allows.
    #[error("answers of this privacy class serve one agent alone")]
    TooPrivate,
    /// The tenant did not agree to share with others.
    #[error("the tenant does not share answers with others")]
    NotShared,
}

/// The caller of a request, as authentication established it.
#[derive(Debug, Clone, Copy)]
pub struct CacheCaller<'a> {
    /// Account that pays.
    pub tenant: &'a AccountId,
    /// The agent by its own name. The name is untrusted and counts within the tenant alone.
    pub agent: Option<&'a str>,
    /// The clade that the *key* belongs to by the owner's settings. A hint never sets it.
    pub clade: Option<&'a str>,
    /// The owner agreed that answers without private content are shared with other tenants.
    pub shares_publicly: bool,
}

impl CacheCaller<'_> {
    /// The namespace of `scope` for a request of `class`.
    ///
    /// A request above [`SecurityClass::Standard`] gets [`Scope::Agent`] alone.
    ///
    /// # Errors
    /// When the scope is closed to this caller or to this class.
    pub fn namespace(&self, scope: Scope, class: SecurityClass) -> Result<Namespace, Closed> {
        if class > SecurityClass::Standard && scope != Scope::Agent {
            return Err(Closed::TooPrivate);
        }
        match scope {
            Scope::Agent => {
                let agent = self.agent.ok_or(Closed::NoAgent)?;
                Ok(Namespace::agent(self.tenant, agent))
            }
            Scope::Clade => {
                let clade = self.clade.ok_or(Closed::NoClade)?;
                Ok(Namespace::of(scope, self.tenant.as_str(), clade))
            }
            Scope::Tenant => Ok(Namespace::tenant(self.tenant)),
            Scope::Public if self.shares_publicly => Ok(Namespace::of(scope, "", "")),
            Scope::Public => Err(Closed::NotShared),
        }
    }
}

/// One partition of the cache. Two namespaces never share an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Namespace {
    scope: Scope,
    id: [u8; 32],
}

impl Namespace {
    /// The namespace of one agent of a tenant.
    #[must_use]
    pub fn agent(tenant: &AccountId, agent: &str) -> Self {
        Self::of(Scope::Agent, tenant.as_str(), agent)
    }

    /// The namespace of a whole tenant.
    #[must_use]
    pub fn tenant(tenant: &AccountId) -> Self {
        Self::of(Scope::Tenant, tenant.as_str(), "")
    }

    fn of(scope: Scope, tenant: &str, member: &str) -> Self {
        let mut parts = Vec::with_capacity(128);
        for part in [scope.as_str(), tenant, member] {
            // In few bytes, so that all parts fit into one block of the hash.
            let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
            parts.extend_from_slice(&length.to_le_bytes());
            parts.extend_from_slice(part.as_bytes());
        }
        Self {
            scope,
            id: *blake3::keyed_hash(&CONTEXT, &parts).as_bytes(),
        }
    }

    /// How widely its answers are shared.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// Digest of scope, tenant and member.
    #[must_use]
    pub const fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// The namespace with this digest, as a second level handed it back.
    pub(crate) const fn restored(scope: Scope, id: [u8; 32]) -> Self {
        Self { scope, id }
    }
}

/// The scope and the first bytes of the digest.
impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.id;
        write!(f, "{}:{a:02x}{b:02x}{c:02x}{d:02x}", self.scope.as_str())
    }
}

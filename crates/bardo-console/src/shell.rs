//! What surrounds every page: navigation, the session, notices.

use crate::assets;
use crate::parts::Tone;

/// A page in the navigation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NavItem {
    /// The name that a page gives as [`Shell::active`].
    pub id: &'static str,
    /// The words of the link.
    pub label: &'static str,
    /// The address that it leads to.
    pub href: &'static str,
    /// The heading above the first page of a group; empty for the others.
    pub group: &'static str,
    /// Words that find the page in the command palette.
    pub words: &'static str,
}

const fn item(
    group: &'static str,
    id: &'static str,
    label: &'static str,
    href: &'static str,
    words: &'static str,
) -> NavItem {
    NavItem {
        id,
        label,
        href,
        group,
        words,
    }
}

/// The pages, in the order of the navigation.
pub(crate) const NAV: [NavItem; 14] = [
    item(
        "Observe",
        "overview",
        "Overview",
        "/console/",
        "dashboard home spend latency errors live",
    ),
    item(
        "",
        "requests",
        "Requests",
        "/console/requests",
        "receipts logs traces timeline cost",
    ),
    item(
        "",
        "golems",
        "Golems",
        "/console/golems",
        "agents subsystems cost phase sustainability",
    ),
    item(
        "",
        "cache",
        "Cache",
        "/console/cache",
        "hit rate savings audits flush semantic miss",
    ),
    item(
        "Build",
        "playground",
        "Playground",
        "/console/playground",
        "try prompt compare models chat",
    ),
    item(
        "",
        "connect",
        "Connect",
        "/console/connect",
        "claude code codex aider cursor sdk setup key",
    ),
    item(
        "",
        "routing",
        "Routing",
        "/console/routing",
        "explain subsystem backend vitality degraded",
    ),
    item(
        "Manage",
        "keys",
        "Keys",
        "/console/keys",
        "create revoke rotate scopes caps",
    ),
    item(
        "",
        "accounts",
        "Accounts",
        "/console/accounts",
        "balance deposit ledger money",
    ),
    item(
        "",
        "payments",
        "Payments",
        "/console/payments",
        "x402 wallets debts settlements chain usdc exposure",
    ),
    item(
        "",
        "providers",
        "Providers",
        "/console/providers",
        "backends health circuits latency",
    ),
    item(
        "",
        "models",
        "Models",
        "/console/models",
        "catalog prices context aliases",
    ),
    item(
        "",
        "settings",
        "Settings",
        "/console/settings",
        "configuration reload version",
    ),
    item(
        "",
        "venice",
        "Venice",
        "/console/venice",
        "diem balance attestation",
    ),
];

/// What a session may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionRole {
    /// See and change everything.
    Operator,
    /// See everything and change nothing.
    ReadOnly,
}

impl SessionRole {
    /// The word for the role.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::ReadOnly => "read only",
        }
    }
}

/// A message above a page.
#[derive(Debug, Clone)]
pub struct PageNotice {
    /// The weight of what it says.
    pub tone: Tone,
    /// The message, a sentence.
    pub text: String,
    /// Where to mend or read it; empty: nowhere.
    pub href: String,
    /// The words of the link.
    pub link: String,
}

impl PageNotice {
    /// A sentence without a link.
    #[must_use]
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            tone,
            text: text.into(),
            href: String::new(),
            link: String::new(),
        }
    }

    /// Adds a link.
    #[must_use]
    pub fn link(mut self, words: impl Into<String>, href: impl Into<String>) -> Self {
        self.link = words.into();
        self.href = href.into();
        self
    }
}

/// What surrounds a page.
#[derive(Debug, Clone)]
pub struct Shell {
    /// Title of the page.
    pub title: String,
    /// Id of the page in the navigation.
    pub active: &'static str,
    /// Token that each POST carries; empty before the login.
    pub csrf: String,
    /// What the session may do.
    pub role: SessionRole,
    /// Whether there is a session to leave.
    pub can_leave: bool,
    /// Whether providers are simulated.
    pub sandbox: bool,
    /// Version of the gateway.
    pub version: &'static str,
    /// State of the gateway in a word, with its tone.
    pub health: (Tone, String),
    /// Messages above the page.
    pub notices: Vec<PageNotice>,
}

impl Shell {
    /// Whether the session may change something.
    #[must_use]
    pub(crate) fn may_change(&self) -> bool {
        self.role == SessionRole::Operator
    }

    /// The address of an asset.
    #[must_use]
    pub(crate) fn asset(&self, name: &str) -> String {
        assets::address(name)
    }

    /// The pages of the navigation.
    #[must_use]
    pub(crate) fn nav(&self) -> &'static [NavItem] {
        &NAV
    }
}

use askama::Template;

use crate::Shell;
use crate::parts::{FactList, PageTable, Tile};

/// The accounts, and whether the books add up.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/accounts.html")]
pub struct AccountListPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// The accounts with their balances.
    pub accounts: PageTable,
    /// Whether the books add up; empty until that is verified.
    pub books: FactList,
    /// Holds that wait for a decision.
    pub unknown: PageTable,
}

/// The page of one account.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/account.html")]
pub struct AccountPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Address of this page.
    pub here: String,
    /// Address of its requests.
    pub requests: String,
    /// The parts of its balance.
    pub tiles: Vec<Tile>,
    /// The keys that draw on it.
    pub keys: PageTable,
    /// The postings of its ledger, newest first.
    pub ledger: PageTable,
}

use askama::Template;

use crate::Shell;
use crate::parts::{FactList, FormChoice, PageTable, Tile};

/// The list of keys, and the form for another one.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/keys.html")]
pub struct KeysPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Whether the form is open.
    pub open: bool,
    /// Name in the form.
    pub draft_name: String,
    /// Account in the form.
    pub draft_account: String,
    /// Accounts to choose from.
    pub accounts: Vec<String>,
    /// Text that the listed keys contain.
    pub query: String,
    /// States to choose from.
    pub states: Vec<FormChoice>,
    /// The keys that match the search.
    pub keys: PageTable,
}

/// A new key with its text, which no other page shows.
#[derive(Clone, Template)]
#[template(path = "pages/key_made.html")]
pub struct KeyMadePage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// What was made.
    pub heading: String,
    /// The text of the key.
    pub key: String,
    /// What to know about it.
    pub warnings: Vec<String>,
    /// Its properties by their names.
    pub facts: FactList,
    /// Address of the page that connects a tool with it.
    pub connect: String,
    /// Address of its page.
    pub details: String,
}

/// The page of one key.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/key.html")]
pub struct KeyPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Id of the key.
    pub id: String,
    /// Address of this page.
    pub here: String,
    /// Address of its requests.
    pub requests: String,
    /// Address of its account.
    pub account: String,
    /// Whether it can be changed.
    pub active: bool,
    /// State of its limits that the page shows; a change of another state is refused.
    pub version: String,
    /// Figures that are missing, and why; empty: none.
    pub problem: String,
    /// Its properties by their names.
    pub facts: FactList,
    /// What it spent.
    pub tiles: Vec<Tile>,
    /// Its limits by their names.
    pub limits: FactList,
    /// Limits that can be changed.
    pub fields: Vec<FormChoice>,
}

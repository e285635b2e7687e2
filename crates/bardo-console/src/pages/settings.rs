use askama::Template;

use crate::Shell;
use crate::parts::{FactList, PageTable};

/// The configuration that is in force.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/settings.html")]
pub struct SettingsPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// The file, its digest and the last reload.
    pub facts: FactList,
    /// Text that the listed settings contain.
    pub query: String,
    /// Whether only settings are listed that differ from the defaults.
    pub changed: bool,
    /// The settings that match the search.
    pub settings: PageTable,
}

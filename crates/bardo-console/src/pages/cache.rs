use askama::Template;

use crate::Shell;
use crate::parts::{PageTable, Tile};

/// The page about stored answers.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/cache.html")]
pub struct CachePage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// The most important figures.
    pub tiles: Vec<Tile>,
    /// The accounts with the most stored answers.
    pub accounts: PageTable,
    /// What providers read from their own caches, by backend.
    pub prefixes: PageTable,
    /// Why answers were not served or stored.
    pub reasons: PageTable,
    /// How often answers were to be removed, by cause.
    pub removals: PageTable,
    /// Evidence about answers by meaning.
    pub domains: PageTable,
}

use askama::Template;

use crate::Shell;
use crate::parts::{PageTable, Tile};

/// What is known of Venice, and how well requests were protected.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/venice.html")]
pub struct VenicePage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// What this version does not verify.
    pub note: &'static str,
    /// Numbers of models by privacy.
    pub tiles: Vec<Tile>,
    /// The models with their privacy and its evidence.
    pub models: PageTable,
    /// Requests by the class that they asked for.
    pub classes: PageTable,
    /// The requests that are counted, in words.
    pub classes_note: String,
    /// Why figures are missing; empty: none are.
    pub problem: String,
}

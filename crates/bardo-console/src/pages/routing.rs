use askama::Template;

use crate::Shell;
use crate::parts::{FactList, FormChoice, PageTable};

/// Where requests of each subsystem would go, and why.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/routing.html")]
pub struct RoutingPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Model that the request names.
    pub model: String,
    /// Vitality of the agent in hundredths.
    pub vitality: u32,
    /// Revenue of the agent by its cost, in hundredths.
    pub sustainability: u32,
    /// Limit of the cost in USD as it was typed; empty: none.
    pub max_cost: String,
    /// Size of the prompt in tokens.
    pub tokens: u32,
    /// Phases of the agent to choose from.
    pub phases: Vec<FormChoice>,
    /// Privacy classes to choose from.
    pub classes: Vec<FormChoice>,
    /// Qualities to choose from.
    pub qualities: Vec<FormChoice>,
    /// Subsystems to choose from.
    pub subsystems: Vec<FormChoice>,
    /// Why the request cannot be explained; empty: it is.
    pub problem: String,
    /// The backend that is chosen, or why none is.
    pub choice: FactList,
    /// The backends that could serve the request, in their order, with reasons.
    pub candidates: PageTable,
    /// The reasons for which candidates were removed.
    pub removed: PageTable,
    /// What the request loses, and what mends it.
    pub lost: PageTable,
    /// The explanation in words.
    pub words: String,
    /// A row per subsystem with a cell per backend.
    pub table: PageTable,
    /// What subsystems lose, and the line of configuration that mends it.
    pub mended: PageTable,
}

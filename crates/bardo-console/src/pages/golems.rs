use askama::Template;

use crate::Shell;
use crate::parts::{FactList, PageChart, PageTable, Tab, Tile};

/// The agents, by cost.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/golems.html")]
pub struct GolemsPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Times to choose from.
    pub windows: Vec<Tab>,
    /// Why figures are missing; empty: none are.
    pub problem: String,
    /// Sums over all agents.
    pub tiles: Vec<Tile>,
    /// Cost per day of the dearest agents.
    pub chart: PageChart,
    /// A row per agent, or what an agent has to send.
    pub golems: PageTable,
    /// A row per subsystem over all agents.
    pub subsystems: PageTable,
}

/// An agent: its days, subsystems and sessions.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/golem.html")]
pub struct GolemPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Times to choose from.
    pub windows: Vec<Tab>,
    /// Address of its requests.
    pub requests: String,
    /// Sums over the requests of the agent.
    pub tiles: Vec<Tile>,
    /// State of the agent as its requests say it.
    pub facts: FactList,
    /// Cost per day.
    pub chart: PageChart,
    /// The figures of the chart as a table.
    pub days: PageTable,
    /// A row per subsystem.
    pub subsystems: PageTable,
    /// A row per session.
    pub sessions: PageTable,
    /// Number of requests that the sessions are read from, in words.
    pub sessions_note: String,
}

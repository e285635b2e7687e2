use askama::Template;

use crate::Shell;
use crate::parts::{Empty, PageChart, PageTable, Tab, Tile};

/// What the gateway does now and did of late.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/overview.html")]
pub struct OverviewPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// The times to choose from.
    pub windows: Vec<Tab>,
    /// The address of this page, which is read again now and then.
    pub refresh: String,
    /// Figures that are missing, and why.
    pub problems: Vec<String>,
    /// The most important figures.
    pub tiles: Vec<Tile>,
    /// Alerts whose causes last.
    pub alerts: PageTable,
    /// Whether there was no request yet.
    pub is_new: bool,
    /// What to do before the first request.
    pub welcome: Empty,
    /// Figures over time.
    pub charts: Vec<PageChart>,
    /// What each layer saved.
    pub savings: PageTable,
    /// The backends and their states.
    pub providers: PageTable,
    /// The models with the largest cost.
    pub models: PageTable,
    /// The keys with the largest cost.
    pub keys: PageTable,
}

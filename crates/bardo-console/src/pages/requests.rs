use askama::Template;

use crate::Shell;
use crate::parts::{FactList, FormChoice, PageTable, Tile};

/// A field of a filter, with values to choose from.
#[derive(Debug, Clone, Default)]
pub struct FilterField {
    /// Its name in the address.
    pub name: String,
    /// The words beside the field.
    pub label: String,
    /// The value that is filtered by; empty: all.
    pub value: String,
    /// Values to choose from.
    pub options: Vec<String>,
}

/// The list of requests.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/requests.html")]
pub struct RequestsPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// The time that is covered.
    pub covered: String,
    /// Beginning of a request's id.
    pub query: String,
    /// Times to choose from.
    pub times: Vec<FormChoice>,
    /// Outcomes to choose from.
    pub outcomes: Vec<FormChoice>,
    /// The other filters.
    pub fields: Vec<FilterField>,
    /// Why the list cannot be shown; empty: it can.
    pub problem: String,
    /// The requests that match, newest first.
    pub requests: PageTable,
}

/// A step in the life of a request.
#[derive(Debug, Clone, Default)]
pub struct TimelineStep {
    /// `stage`, `attempt` or `attempt failed`.
    pub kind: &'static str,
    /// What was done.
    pub name: String,
    /// More about it.
    pub note: String,
    /// Begin of its bar, of 1,000.
    pub from: u64,
    /// Length of its bar, of 1,000.
    pub length: u64,
    /// How long it took.
    pub took: String,
    /// What it cost; empty: nothing.
    pub cost: String,
}

/// The page of one request.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/receipt.html")]
pub struct TimelinePage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Address of the receipt as JSON.
    pub json: String,
    /// Why it failed; empty: it did not.
    pub failure: String,
    /// The most important figures.
    pub tiles: Vec<Tile>,
    /// What was done, in order.
    pub steps: Vec<TimelineStep>,
    /// The request and its caller.
    pub request: FactList,
    /// What it cost.
    pub cost: FactList,
    /// Its tokens by class.
    pub tokens: FactList,
    /// Why it went where it went.
    pub routing: FactList,
    /// What the answer lacks.
    pub degraded: PageTable,
    /// Backends that could not take it.
    pub passed_over: PageTable,
    /// The receipt as JSON.
    pub source: String,
}

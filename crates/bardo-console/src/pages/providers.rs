use askama::Template;

use crate::Shell;
use crate::parts::{FactList, FormChoice, PageTable, Tile};

/// The backends and their states.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/providers.html")]
pub struct ProvidersPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// The most important figures.
    pub tiles: Vec<Tile>,
    /// The backends with their states.
    pub backends: PageTable,
    /// What pays them.
    pub funds: PageTable,
    /// Backends that have failed of late with a model.
    pub circuits: PageTable,
    /// Lists of models that were read.
    pub lists: PageTable,
}

/// The page of one backend.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/provider.html")]
pub struct ProviderPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Address of its requests.
    pub requests: String,
    /// Its properties by their names.
    pub facts: FactList,
    /// The models that were requested of it.
    pub models: PageTable,
    /// Its circuits that are not closed.
    pub circuits: PageTable,
}

/// The models that callers may name.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/models.html")]
pub struct ModelsPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// How many are shown.
    pub shown: String,
    /// Text that the listed models contain.
    pub query: String,
    /// Backends to choose from.
    pub backends: Vec<FormChoice>,
    /// The models that match the search.
    pub models: PageTable,
}

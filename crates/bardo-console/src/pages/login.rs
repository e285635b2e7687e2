use askama::Template;

use crate::assets;

/// The page that asks for the admin token.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/login.html")]
pub struct LoginPage {
    /// Token that the form carries.
    pub csrf: String,
    /// Path of the console to open afterwards.
    pub next: String,
    /// Why the last try failed; empty: there was none.
    pub problem: String,
}

impl LoginPage {
    fn asset(&self, name: &str) -> String {
        assets::address(name)
    }
}

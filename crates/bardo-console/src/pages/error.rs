use askama::Template;

use crate::Shell;
use crate::parts::Empty;

/// A page that cannot be shown, with the next step.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/error.html")]
pub struct ErrorPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// What is missing, and what to do.
    pub empty: Empty,
}

//! Pages of the console: plain values in, HTML out. It knows no store, no engine and no socket.
//!
//! A page is a struct in [`pages`] with a template of its name in `templates/pages`; all of them
//! extend `templates/layout.html`, which reads a [`Shell`]. Pages are made of [`parts`]: tiles,
//! tables, charts and empty states.

pub mod assets;
pub mod format;
pub mod pages;
pub mod parts;
mod shell;

pub use shell::{PageNotice, SessionRole, Shell};

use askama::Template;

/// Renders a page or a part. A template that fails shows a sentence instead.
pub fn render(template: &impl Template) -> String {
    template.render().unwrap_or_else(|error| {
        format!(
            "The page cannot be shown: {}",
            format::escaped(&error.to_string())
        )
    })
}

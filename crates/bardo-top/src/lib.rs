//! The terminal view of a running gateway: answers of its admin API in, a screen of text out.
//!
//! [`ScreenFigures`] reads the answers, [`text`] draws them into a buffer, and [`run`] shows them in a
//! terminal until the reader quits. The crate opens no connection.

mod figures;
mod terminal;
mod view;

pub use figures::{AdminAnswers, Connection, ScreenFigures};
pub use terminal::run;
pub use view::text;

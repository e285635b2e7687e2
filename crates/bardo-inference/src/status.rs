//! What was spent, as one line for people and as JSON for programs.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::book::SpendBook;
use crate::payer::now_s;

/// Shows what was spent in a file, and on the terminal where that is free.
pub(crate) struct StatusLine {
    book: Arc<SpendBook>,
    file: Option<PathBuf>,
    /// Whether to write over the last line of the terminal.
    on_terminal: bool,
}

impl StatusLine {
    pub(crate) fn new(book: Arc<SpendBook>, file: Option<PathBuf>, on_terminal: bool) -> Self {
        let status = Self {
            book,
            file,
            on_terminal,
        };
        status.update_file();
        status
    }

    /// Shows the figures of now. A file that cannot be written is no reason to stop.
    pub(crate) fn update(&self) {
        self.update_file();
        if self.on_terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", self.line());
        }
    }

    fn update_file(&self) {
        if let Some(file) = &self.file {
            let line = format!("{}\n", self.line());
            let _ = match file.starts_with("/dev") {
                true => append(file, &line),
                false => replace(file, &line),
            };
        }
    }

    fn line(&self) -> String {
        let figures = self.book.figures();
        let open = match figures.open.get() {
            0 => String::new(),
            _ => format!(", {} of it not yet charged", figures.open),
        };
        let claims = match figures.false_claims {
            0 => String::new(),
            claims => format!(", {claims} with a wrong receipt"),
        };
        let plural = if figures.payments == 1 { "" } else { "s" };
        format!(
            "{}/{} USD in {} payment{plural}{open}{claims}",
            figures.session, figures.caps.session, figures.payments
        )
    }

    /// The figures as JSON; amounts are decimal USD.
    pub(crate) fn json(&self) -> String {
        let figures = self.book.figures();
        let caps = figures.caps;
        json!({
            "session": figures.session.to_string(),
            "open": figures.open.to_string(),
            "payments": figures.payments,
            "false_claims": figures.false_claims,
            "today": self.book.today(now_s()).ok().map(|today| today.to_string()),
            "caps": {
                "request": caps.request.to_string(),
                "session": caps.session.to_string(),
                "day": caps.day.to_string(),
            },
        })
        .to_string()
    }

    /// The line at the end of a session.
    pub(crate) fn summary(&self) -> String {
        let today = match self.book.today(now_s()) {
            Ok(today) => format!("; today {today} of {} USD", self.book.caps().day),
            Err(_) => String::new(),
        };
        format!("bardo-inference: spent {}{today}", self.line())
    }
}

/// Writes to a device, such as an open file of the caller.
fn append(file: &Path, line: &str) -> std::io::Result<()> {
    let mut device = std::fs::OpenOptions::new().append(true).open(file)?;
    device.write_all(line.as_bytes())
}

fn replace(file: &Path, line: &str) -> std::io::Result<()> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut new = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    new.write_all(line.as_bytes())?;
    new.persist(file)?;
    Ok(())
}

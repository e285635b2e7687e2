//! A request for a page, after the checks.

use std::sync::atomic::Ordering;

use bardo_console::parts::{Cell, Tone};
use bardo_console::{PageNotice, SessionRole, Shell};
use bardo_types::calendar::rfc3339;
use serde_json::Value;

use super::session::{Session, SessionAccess};
use crate::events::Feed;
use crate::operator::OperatorError;
use crate::ops::Ops;
use crate::ops::backends::Backends;
use crate::route::percent_decoded;

/// What a page answers.
pub(super) enum Shown {
    Html(String),
    /// Another page of the console.
    Redirect(String),
    Json(Value),
    File {
        name: String,
        kind: &'static str,
        body: String,
    },
    Feed(Feed),
}

/// Why a page cannot be shown, or a change was not made.
#[derive(Debug)]
pub(super) enum PageProblem {
    NotFound(String),
    Invalid(String),
    Conflict(String),
    Unavailable(String),
}

/// What a page answers, or why it cannot.
pub(super) type PageResult = Result<Shown, PageProblem>;

impl From<OperatorError> for PageProblem {
    fn from(error: OperatorError) -> Self {
        let text = error.to_string();
        match error {
            OperatorError::Invalid(_) | OperatorError::Parameter(_) => Self::Invalid(text),
            OperatorError::Conflict(_) => Self::Conflict(text),
            OperatorError::Unknown(_) | OperatorError::NoPayment(_) => Self::NotFound(text),
            OperatorError::Unavailable(_) => Self::Unavailable(text),
        }
    }
}

impl From<crate::usage::BadParameter> for PageProblem {
    fn from(error: crate::usage::BadParameter) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// Names with values, of a query or of a form. A name may stand several times.
#[derive(Debug, Default)]
pub(super) struct FormFields(Vec<(String, String)>);

impl FormFields {
    /// Reads `name=value` pairs that are separated by `&`.
    pub(super) fn read(text: &[u8]) -> Self {
        let plain = |text: &str| percent_decoded(&text.replace('+', " "));
        let text = String::from_utf8_lossy(text);
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (plain(name), plain(value)))
                .collect(),
        )
    }

    /// The first value of a name; `None` where it is missing or empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// The value of a name as a copy; empty where it is missing.
    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }
}

/// A request for a page.
pub(super) struct Visit<'a> {
    pub(super) ops: &'a Ops,
    pub(super) is_post: bool,
    /// The steps of the path below `/console`.
    pub(super) steps: Vec<String>,
    pub(super) query: FormFields,
    pub(super) form: FormFields,
    pub(super) session: Session,
    /// The page that the request comes from, as a path of the console.
    referer: Option<String>,
}

impl<'a> Visit<'a> {
    pub(super) fn new(
        ops: &'a Ops,
        head: &http::request::Parts,
        session: Session,
        form: FormFields,
    ) -> Self {
        let path = head.uri.path();
        let below = path.strip_prefix("/console").unwrap_or_default();
        let steps = below.split('/').filter(|step| !step.is_empty());
        let referer = head.headers.get(http::header::REFERER);
        let referer = referer
            .and_then(|value| value.to_str().ok())
            .and_then(|text| text.split_once("://"))
            .and_then(|(_, rest)| rest.find('/').map(|at| rest[at..].to_owned()));
        Self {
            ops,
            is_post: head.method == http::Method::POST,
            steps: steps.map(percent_decoded).collect(),
            query: FormFields::read(head.uri.query().unwrap_or_default().as_bytes()),
            form,
            session,
            referer,
        }
    }

    /// The page that the request comes from, else the first one.
    pub(super) fn back(&self) -> String {
        super::session::next_page(self.referer.as_deref())
    }

    /// What surrounds a page.
    pub(super) fn shell(&self, title: &str, active: &'static str) -> Shell {
        let edge = &self.ops.edge;
        let status = self.ops.status.load();
        let backends = Backends::of(&edge.engine);
        let (mode, down) = backends.mode();
        let health = match mode {
            _ if edge.draining.load(Ordering::Relaxed) => (Tone::Warn, "draining".to_owned()),
            "normal" => (Tone::Good, "healthy".to_owned()),
            "degraded" => (Tone::Warn, format!("{} down", down.len())),
            _ => (Tone::Bad, "all providers down".to_owned()),
        };
        let mut notices = Vec::new();
        if let Some(reason) = &status.reload_error {
            let text = format!(
                "The last reload was refused, and the settings before it are in force: {reason}"
            );
            notices.push(PageNotice::new(Tone::Bad, text).link("Settings", "/console/settings"));
        }
        if !status.restart_required.is_empty() {
            let text = format!(
                "These settings need a restart: {}.",
                status.restart_required.join(", ")
            );
            notices.push(PageNotice::new(Tone::Warn, text).link("Settings", "/console/settings"));
        }
        if let Some((tone, text)) = self.query.get("done").and_then(done) {
            notices.push(PageNotice::new(tone, text));
        }
        Shell {
            title: title.to_owned(),
            active,
            csrf: self.session.csrf.clone(),
            role: match self.session.access {
                SessionAccess::Change => SessionRole::Operator,
                SessionAccess::Read => SessionRole::ReadOnly,
            },
            can_leave: self.session.by_login,
            sandbox: edge.engine.snapshot().sandbox,
            version: env!("CARGO_PKG_VERSION"),
            health,
            notices,
        }
    }
}

/// A time in milliseconds since 1970; a dash where there is none.
pub(super) fn at(ms: &Value) -> Cell {
    match ms.as_u64() {
        Some(ms) => Cell::time(ms, rfc3339(ms)),
        None => Cell::text("–"),
    }
}

/// The sentence after a change, and whether all of it was made.
pub(super) fn done(name: &str) -> Option<(Tone, &'static str)> {
    let text = match name {
        "revoked" => "The key is revoked. Requests with it are refused from now on.",
        "limits" => "The limits are changed. They hold from the next request on.",
        "written_off" => "The debt is written off. The wallet can pay for requests again.",
        "deposited" => "The deposit is booked.",
        "flushed" => "The stored answers are removed.",
        "flushed_here" => {
            let text = "The stored answers are removed from this gateway, but Redis was not reached. Other gateways may \
                        still serve them. The gateway repeats the removal each second until Redis has it.";
            return Some((Tone::Warn, text));
        }
        "refresh" => "The lists of models are being read again. Reload in a few seconds.",
        _ => return None,
    };
    Some((Tone::Good, text))
}

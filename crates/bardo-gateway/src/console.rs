//! The console: pages for operators on their listener, below `/console/`.
//!
//! `bardo-console` makes the pages from plain values. Here are the routes, the checks of each
//! request, and a file per page that gathers its values.

mod accounts;
mod backends;
mod build;
mod cache;
mod export;
mod golem;
mod golems;
mod guard;
mod keys;
mod live;
mod models;
mod overview;
mod payments;
mod providers;
mod receipt;
mod relay;
mod reply;
mod requests;
mod route;
mod routing;
mod search;
mod session;
mod settings;
#[cfg(test)]
mod tests;
mod venice;
mod visit;

use std::net::SocketAddr;

use bardo_types::secret::Secret;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;

use self::guard::Guard;
use self::reply::{ConsoleReply, asset, page, plain, redirect};
use self::route::show;
use self::session::{ConsoleSessions, Session, SessionAccess};
use self::visit::{FormFields, Visit};
use crate::config::RawServer;
use crate::ops::Ops;

/// The largest form.
const FORM_MAX: usize = 64 << 10;

/// The sessions of the console, and the tokens that open them.
pub(crate) struct Console {
    sessions: ConsoleSessions,
    guard: Guard,
    /// The address for clients.
    listen: SocketAddr,
    /// Key of the sandbox, which draws on play money; empty elsewhere.
    sandbox_key: Secret,
}

impl Console {
    /// A console without sessions. It opens without a login if there is no admin token.
    pub(crate) fn new(server: &RawServer, listen: SocketAddr, sandbox_key: Option<&str>) -> Self {
        let (token, read_token) = (server.admin_token.clone(), server.admin_read_token.clone());
        Self {
            sessions: ConsoleSessions::new(token, read_token),
            guard: Guard,
            listen,
            sandbox_key: Secret::new(sandbox_key.unwrap_or_default().to_owned()),
        }
    }
}

/// Whether a path belongs to the console.
pub(crate) fn owns(path: &str) -> bool {
    path == "/" || path == "/console" || path.starts_with("/console/")
}

/// Answers a request for a path of the console.
pub(crate) async fn answer(ops: &Ops, request: Request<Incoming>) -> ConsoleReply {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let console = &ops.console;
    if let Some(reason) = console
        .guard
        .foreign(&head.headers, console.sessions.is_open())
    {
        return plain(StatusCode::FORBIDDEN, reason);
    }
    if !matches!(head.method, Method::GET | Method::HEAD | Method::POST) {
        return plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "the console takes GET, HEAD and POST",
        );
    }
    if matches!(path, "/" | "/console") {
        return redirect("/console/");
    }
    let is_post = head.method == Method::POST;
    if !is_post && let Some(reply) = asset(path) {
        return reply;
    }
    if is_post && let Some(reason) = console.guard.cross_site(&head.headers) {
        return plain(StatusCode::FORBIDDEN, reason);
    }
    if path == "/console/login" {
        return login(ops, &head, body).await;
    }
    let Some(session) = console.sessions.of(&head.headers, ops.now_ms()) else {
        return reply::not_logged_in(&head);
    };
    if is_post && path.starts_with(relay::PREFIX) {
        return relay::answer(ops, &session, head, body).await;
    }
    let mut form = FormFields::default();
    if is_post {
        let Ok(whole) = Limited::new(body, FORM_MAX).collect().await else {
            return plain(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the form is larger than 64 KiB or incomplete",
            );
        };
        form = FormFields::read(&whole.to_bytes());
        if let Some(refusal) = refused_change(&session, &head, &form) {
            return refusal;
        }
        if path == "/console/logout" {
            console.sessions.end(&head.headers);
            return reply::logged_out();
        }
    }
    let visit = Visit::new(ops, &head, session, form);
    let shown = show(&visit).await;
    page(&visit, shown)
}

/// Why a POST is refused: it lacks the token of its session, or the session may only read.
fn refused_change(
    session: &Session,
    head: &http::request::Parts,
    form: &FormFields,
) -> Option<ConsoleReply> {
    let sent = head.headers.get("x-csrf-token");
    let sent = sent.and_then(|value| value.to_str().ok());
    let sent = sent.or_else(|| form.get("csrf")).unwrap_or_default();
    if !session.takes(sent) {
        return Some(plain(
            StatusCode::FORBIDDEN,
            "nothing was changed: the form is from another session; load the page again",
        ));
    }
    let leaves = head.uri.path() == "/console/logout";
    if session.access == SessionAccess::Read && !leaves {
        return Some(plain(
            StatusCode::FORBIDDEN,
            "nothing was changed: this session is read only; log in with the admin token",
        ));
    }
    None
}

async fn login(ops: &Ops, head: &http::request::Parts, body: Incoming) -> ConsoleReply {
    let sessions = &ops.console.sessions;
    let query = FormFields::read(head.uri.query().unwrap_or_default().as_bytes());
    if sessions.is_open() {
        return redirect("/console/");
    }
    if head.method != Method::POST {
        let next = session::next_page(query.get("next"));
        if sessions.of(&head.headers, ops.now_ms()).is_some() {
            return redirect(&next);
        }
        return reply::login_page(sessions, next, "", StatusCode::OK);
    }
    let Ok(whole) = Limited::new(body, FORM_MAX).collect().await else {
        return plain(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the form is larger than 64 KiB or incomplete",
        );
    };
    let form = FormFields::read(&whole.to_bytes());
    let next = session::next_page(form.get("next"));
    if !sessions.takes_login(form.get("csrf").unwrap_or_default()) {
        let problem = "The form was too old. Try again.";
        return reply::login_page(sessions, next, problem, StatusCode::FORBIDDEN);
    }
    let token = Secret::new(form.get("token").unwrap_or_default().trim().to_owned());
    let Some(access) = sessions.access_of(&token) else {
        // Guessing takes its time.
        tokio::time::sleep(session::WRONG_TOKEN_WAIT).await;
        let problem = "This is neither the admin token nor the read-only token.";
        return reply::login_page(sessions, next, problem, StatusCode::UNAUTHORIZED);
    };
    let access = match form.get("read_only") {
        Some(_) => SessionAccess::Read,
        None => access,
    };
    match sessions.begin(access, ops.now_ms()) {
        Some(cookie) => reply::logged_in(&next, &cookie),
        None => plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "the system gives no random numbers; try again",
        ),
    }
}

//! Answers of the console, all with the same protective headers.

use bardo_console::assets;
use bardo_console::pages::{ErrorPage, LoginPage};
use bardo_console::parts::Empty;
use bardo_console::{format, render};
use bytes::Bytes;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap,
    HeaderName, HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{Response, StatusCode};

use super::session::{self, ConsoleSessions};
use super::visit::{PageProblem, PageResult, Shown, Visit};
use crate::reply::ReplyBody;

/// An answer of the console.
pub(crate) type ConsoleReply = Response<ReplyBody>;

/// Scripts, styles and requests of this origin alone; no frames, no inline code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// Headers that every answer carries.
const PROTECTION: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Adds the protective headers to an answer.
pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in PROTECTION {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn with(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> ConsoleReply {
    let mut reply = Response::new(ReplyBody::Whole(body.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    protect(headers);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}

/// The message, a sentence.
pub(super) fn plain(status: StatusCode, text: &str) -> ConsoleReply {
    with(status, TEXT, format!("{text}\n"))
}

/// Another page of the console.
pub(super) fn redirect(to: &str) -> ConsoleReply {
    let mut reply = with(StatusCode::SEE_OTHER, TEXT, Bytes::new());
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/console/"));
    reply.headers_mut().insert(LOCATION, to);
    reply
}

/// A script, a style or the icon; `None` for another path.
pub(super) fn asset(path: &str) -> Option<ConsoleReply> {
    let rest = path.strip_prefix("/console/assets/")?;
    let (tag, name) = rest.split_once('/').unwrap_or_default();
    let Some(found) = assets::find(name).filter(|asset| asset.tag() == tag) else {
        return Some(plain(StatusCode::NOT_FOUND, "there is no such file"));
    };
    let mut reply = with(StatusCode::OK, found.kind, Bytes::from_static(found.bytes));
    // The address changes with the content.
    let lasting = HeaderValue::from_static("public, max-age=31536000, immutable");
    reply.headers_mut().insert(CACHE_CONTROL, lasting);
    Some(reply)
}

/// The login page.
pub(super) fn login_page(
    sessions: &ConsoleSessions,
    next: String,
    problem: &str,
    status: StatusCode,
) -> ConsoleReply {
    let page = LoginPage {
        csrf: sessions.login_csrf().to_owned(),
        next,
        problem: problem.to_owned(),
    };
    with(status, HTML, render(&page))
}

/// The way to the login, back to the same page afterwards.
pub(super) fn not_logged_in(head: &http::request::Parts) -> ConsoleReply {
    let is_get = matches!(head.method, http::Method::GET | http::Method::HEAD);
    let of_page = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let here = head
        .uri
        .path_and_query()
        .map_or("/console/", |path| path.as_str());
    let login = |next: &str| format!("/console/login?next={}", format::encoded(next));
    if of_page("hx-request").is_some() {
        let mut reply = plain(StatusCode::UNAUTHORIZED, "the session ended; log in again");
        if let Ok(to) = HeaderValue::from_str("/console/login") {
            reply.headers_mut().insert("hx-redirect", to);
        }
        return reply;
    }
    let wants_page = of_page(ACCEPT.as_str()).is_some_and(|accept| accept.contains("text/html"));
    if is_get && wants_page {
        return redirect(&login(here));
    }
    if wants_page {
        // Where the form was: its path without the last step is a page.
        let to = login(here.split('?').next().unwrap_or_default());
        let html = format!(
            "<!doctype html><html lang=\"en\"><title>Session ended</title><h1>The session ended</h1>\
             <p>Nothing was changed. <a href=\"{}\">Log in again</a>, then repeat the change.</p></html>",
            format::escaped(&to)
        );
        return with(StatusCode::UNAUTHORIZED, HTML, html);
    }
    plain(
        StatusCode::UNAUTHORIZED,
        "log in at /console/login, or use the admin API with the admin token",
    )
}

/// The page after the login.
pub(super) fn logged_in(next: &str, id: &str) -> ConsoleReply {
    let mut reply = redirect(next);
    if let Ok(cookie) = HeaderValue::from_str(&session::set_cookie(id)) {
        reply.headers_mut().insert(SET_COOKIE, cookie);
    }
    reply
}

/// The login page after a logout.
pub(super) fn logged_out() -> ConsoleReply {
    logged_in("/console/login", "")
}

/// What a page showed, as an answer.
pub(super) fn page(visit: &Visit<'_>, shown: PageResult) -> ConsoleReply {
    match shown {
        Ok(Shown::Html(html)) => with(StatusCode::OK, HTML, html),
        Ok(Shown::Redirect(to)) => redirect(&to),
        Ok(Shown::Json(value)) => with(StatusCode::OK, JSON, value.to_string()),
        Ok(Shown::File { name, kind, body }) => {
            let mut reply = with(StatusCode::OK, kind, body);
            let named = format!("attachment; filename=\"{name}\"");
            if let Ok(named) = HeaderValue::from_str(&named) {
                reply.headers_mut().insert(CONTENT_DISPOSITION, named);
            }
            reply
        }
        Ok(Shown::Feed(feed)) => {
            let mut reply = with(StatusCode::OK, "text/event-stream", Bytes::new());
            *reply.body_mut() = ReplyBody::Feed(feed);
            reply
        }
        Err(problem) => failed(visit, &problem),
    }
}

fn failed(visit: &Visit<'_>, problem: &PageProblem) -> ConsoleReply {
    let (status, title, empty) = match problem {
        PageProblem::NotFound(what) => {
            let empty = Empty::new(what.clone(), "Open another page, or search with Ctrl+K.");
            (StatusCode::NOT_FOUND, "Not found", empty)
        }
        PageProblem::Invalid(why) => {
            let empty = Empty::new(
                why.clone(),
                "Nothing was changed. Go back and correct the entry.",
            );
            (StatusCode::BAD_REQUEST, "Not accepted", empty)
        }
        PageProblem::Conflict(why) => {
            let text = "Nothing was changed. Go back, load the page again and look at it before you repeat the change.";
            let empty = Empty::new(why.clone(), text);
            (StatusCode::CONFLICT, "Changed meanwhile", empty)
        }
        PageProblem::Unavailable(why) => {
            let text = "Requests of providers that are not billed go on. Check the store, then load this page again.";
            let empty = Empty::new(format!("The store does not answer: {why}"), text);
            (StatusCode::SERVICE_UNAVAILABLE, "Store unavailable", empty)
        }
    };
    let back = visit.back();
    let empty = empty.link("Go back", back);
    let shell = visit.shell(title, "");
    with(
        status,
        HTML,
        render(&ErrorPage {
            shell: &shell,
            empty,
        }),
    )
}

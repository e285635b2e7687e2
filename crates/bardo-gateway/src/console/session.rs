//! Sessions of operators: opened by a token, carried by a cookie, kept in memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bardo_types::secret::Secret;
use http::HeaderMap;
use http::header::COOKIE;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Name of the cookie.
const NAME: &str = "bardo_console";
/// A session ends after this time.
const LIFETIME_MS: u64 = 12 * 3_600_000;
/// A session ends after this time without a request.
const IDLE_MS: u64 = 2 * 3_600_000;
/// Number of sessions at once; the one that was used least lately ends for another.
const SESSIONS_MAX: usize = 64;
/// The wait after a wrong token.
pub(super) const WRONG_TOKEN_WAIT: Duration = Duration::from_millis(400);

/// What a session may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionAccess {
    /// See and change everything.
    Change,
    /// See everything and change nothing.
    Read,
}

/// The session of a request.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// What it may do.
    pub(super) access: SessionAccess,
    /// Token that each of its forms carries.
    pub(super) csrf: String,
    /// Whether it was opened by a login.
    pub(super) by_login: bool,
}

impl Session {
    /// Whether a form carries this session's token.
    pub(super) fn takes(&self, sent: &str) -> bool {
        same(&self.csrf, sent)
    }
}

struct OpenSession {
    session: Session,
    began_ms: u64,
    used_ms: u64,
}

/// The open sessions.
pub(super) struct ConsoleSessions {
    token: Secret,
    read_token: Secret,
    /// Token of forms without a session: the login, and a console without one.
    csrf: String,
    /// By the digest of the cookie's value.
    open: Mutex<HashMap<[u8; 32], OpenSession>>,
}

impl ConsoleSessions {
    /// No session. An empty `token` needs none.
    pub(super) fn new(token: Secret, read_token: Secret) -> Self {
        Self {
            token,
            read_token,
            csrf: random().unwrap_or_default(),
            open: Mutex::default(),
        }
    }

    /// Whether the console opens without a login.
    pub(super) fn is_open(&self) -> bool {
        self.token.is_empty()
    }

    /// Token of the login form.
    pub(super) fn login_csrf(&self) -> &str {
        &self.csrf
    }

    /// Whether a login form carries its token.
    pub(super) fn takes_login(&self, sent: &str) -> bool {
        same(&self.csrf, sent)
    }

    /// What a token opens.
    pub(super) fn access_of(&self, token: &Secret) -> Option<SessionAccess> {
        if !self.token.is_empty() && *token == self.token {
            return Some(SessionAccess::Change);
        }
        (!self.read_token.is_empty() && *token == self.read_token).then_some(SessionAccess::Read)
    }

    /// Opens a session. Answers the cookie's value.
    pub(super) fn begin(&self, access: SessionAccess, now_ms: u64) -> Option<String> {
        let (id, csrf) = (random()?, random()?);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, one| one.lives(now_ms));
        if open.len() >= SESSIONS_MAX {
            let oldest = open.iter().min_by_key(|(_, one)| one.used_ms);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                open.remove(&oldest);
            }
        }
        let session = Session {
            access,
            csrf,
            by_login: true,
        };
        open.insert(
            digest(&id),
            OpenSession {
                session,
                began_ms: now_ms,
                used_ms: now_ms,
            },
        );
        Some(id)
    }

    /// The session of a request.
    pub(super) fn of(&self, headers: &HeaderMap, now_ms: u64) -> Option<Session> {
        if self.is_open() {
            // Without random numbers no form is taken.
            let session = Session {
                access: SessionAccess::Change,
                csrf: self.csrf.clone(),
                by_login: false,
            };
            return Some(session);
        }
        let id = cookie(headers)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let found = open.get_mut(&digest(id))?;
        if !found.lives(now_ms) {
            open.remove(&digest(id));
            return None;
        }
        found.used_ms = now_ms;
        Some(found.session.clone())
    }

    /// Ends the session of a request.
    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(id) = cookie(headers) {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.remove(&digest(id));
        }
    }
}

impl OpenSession {
    fn lives(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.began_ms) < LIFETIME_MS
            && now_ms.saturating_sub(self.used_ms) < IDLE_MS
    }
}

/// The header that gives a browser its session, or takes it away where `id` is empty.
pub(super) fn set_cookie(id: &str) -> String {
    let age = if id.is_empty() {
        0
    } else {
        LIFETIME_MS / 1_000
    };
    format!("{NAME}={id}; Path=/console; Max-Age={age}; HttpOnly; SameSite=Strict")
}

/// The page to open after the login: one of the console, or its first.
pub(super) fn next_page(wanted: Option<&str>) -> String {
    let is_ours = |path: &&str| {
        path.starts_with("/console/")
            && !path.starts_with("/console/login")
            && !path.contains("//")
            && path.len() < 2_000
            && path
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    wanted.filter(is_ours).unwrap_or("/console/").to_owned()
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(COOKIE).iter();
    all.filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == NAME)
        .map(|(_, value)| value)
}

fn same(expected: &str, sent: &str) -> bool {
    !expected.is_empty() && bool::from(expected.as_bytes().ct_eq(sent.as_bytes()))
}

fn digest(id: &str) -> [u8; 32] {
    Sha256::digest(id.as_bytes()).into()
}

/// 256 random bits as hexadecimal text.
fn random() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

//! Where the issuer's keys come from, and when they are asked for again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, Transport};
use bytes::{Bytes, BytesMut};
use http::Request;
use http::header::{ACCEPT, HOST, HeaderValue, USER_AGENT};
use http_body_util::{BodyExt as _, Full};

use super::key_set::KeySet;

/// A set of keys is about 1 KiB.
const SET_MAX: usize = 256 << 10;
const FETCH_WAIT: Duration = Duration::from_secs(5);
/// A set this old is asked for again; until there is a newer one it is still good.
const REFRESH: Duration = Duration::from_secs(3_600);
/// A set this old is not believed any more, because a key may have been taken back since.
const EXPIRY: Duration = Duration::from_secs(86_400);
/// Tokens that name unknown keys cannot make this gateway ask more often than this.
const PAUSE: Duration = Duration::from_secs(30);
/// A source that failed is asked again sooner.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(3);

/// A published address.
pub(super) struct KeySetAddress {
    pub(super) origin: Arc<Origin>,
    path: String,
    transport: Transport,
}

impl KeySetAddress {
    pub(super) fn new(url: &str, transport: Transport) -> Result<Self, String> {
        let base = BaseUrl::parse(url).map_err(|error| error.to_string())?;
        let is_local = base.host == "localhost"
            || base
                .host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        if !base.https && !is_local {
            return Err(format!(
                "`{url}` must use https: without it, another machine on the network could replace the keys"
            ));
        }
        Ok(Self {
            origin: Origin::new(&base, false),
            path: base.path,
            transport,
        })
    }

    async fn fetch(&self) -> Result<KeySet, String> {
        let body = tokio::time::timeout(FETCH_WAIT, self.get())
            .await
            .map_err(|_| "the answer took too long")??;
        KeySet::parse(&body)
    }

    async fn get(&self) -> Result<Bytes, String> {
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = self.path.parse().map_err(|_| "the path is invalid")?;
        let headers = request.headers_mut();
        if let Ok(host) = HeaderValue::from_str(&self.origin.authority()) {
            headers.insert(HOST, host);
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("bardo-gateway/", env!("CARGO_PKG_VERSION"))),
        );
        let response = self
            .transport
            .send(&self.origin, request)
            .await
            .map_err(|error| error.to_string())?;
        if !response.status().is_success() {
            return Err(format!("status {}", response.status().as_u16()));
        }
        let mut body = response.into_body();
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| "the connection closed before the end of the key set")?;
            if let Some(data) = frame.data_ref() {
                if whole.len() + data.len() > SET_MAX {
                    return Err("the key set is too large".into());
                }
                whole.extend_from_slice(data);
            }
        }
        Ok(whole.freeze())
    }
}

/// A set, and when it was fetched.
pub(super) struct FetchedKeySet {
    pub(super) keys: KeySet,
    at: Instant,
}

/// The issuer's keys.
pub(super) struct KeySetSource {
    held: ArcSwapOption<FetchedKeySet>,
    /// Absent where the set is a file of the owner's, which is read with the configuration.
    published: Option<KeySetAddress>,
    /// One asks, the others wait for what it hears.
    asking: tokio::sync::Mutex<()>,
    not_before: Mutex<Option<Instant>>,
}

/// The key set at hand, and whether it is fresh.
pub(super) enum KeySetStatus {
    Good(Arc<FetchedKeySet>),
    Old(Arc<FetchedKeySet>),
    Nothing,
}

impl KeySetSource {
    pub(super) fn pinned(keys: KeySet, now: Instant) -> Self {
        Self {
            held: ArcSwapOption::from_pointee(FetchedKeySet { keys, at: now }),
            published: None,
            asking: tokio::sync::Mutex::default(),
            not_before: Mutex::default(),
        }
    }

    pub(super) fn published(published: KeySetAddress) -> Self {
        Self {
            held: ArcSwapOption::empty(),
            published: Some(published),
            asking: tokio::sync::Mutex::default(),
            not_before: Mutex::default(),
        }
    }

    pub(super) fn standing(&self, now: Instant) -> KeySetStatus {
        let Some(held) = self.held.load_full() else {
            return KeySetStatus::Nothing;
        };
        let age = now.saturating_duration_since(held.at);
        if self.published.is_none() || age < REFRESH {
            KeySetStatus::Good(held)
        } else if age < EXPIRY {
            KeySetStatus::Old(held)
        } else {
            KeySetStatus::Nothing
        }
    }

    /// Asks for the set anew, unless it was asked for a moment ago.
    pub(super) async fn refresh(&self, now: Instant) {
        let Some(published) = &self.published else {
            return;
        };
        let before = self.held.load().as_ref().map(|held| held.at);
        let _asking = match self.standing(now) {
            // It is still good, so only the one who asks waits for the answer.
            KeySetStatus::Old(_) => match self.asking.try_lock() {
                Ok(asking) => asking,
                Err(_) => return,
            },
            KeySetStatus::Good(_) | KeySetStatus::Nothing => self.asking.lock().await,
        };
        // While this one waited, another may have asked.
        let is_newer = self.held.load().as_ref().map(|held| held.at) != before;
        let not_before = *self.locked();
        if is_newer || not_before.is_some_and(|time| now < time) {
            return;
        }
        let pause = match published.fetch().await {
            Ok(keys) => {
                self.held
                    .store(Some(Arc::new(FetchedKeySet { keys, at: now })));
                PAUSE
            }
            Err(reason) => {
                tracing::warn!(reason, "cannot fetch the keys of the token issuer");
                PAUSE_AFTER_FAILURE
            }
        };
        *self.locked() = Some(now + pause);
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.not_before
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

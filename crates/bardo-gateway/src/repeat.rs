//! Requests with an `Idempotency-Key`, before they get to the engine.

use std::sync::Arc;
use std::time::Duration;

use bardo_engine::{Claim, Claimed, Idempotency, Kept, Principal};
use bardo_wire::headers::IDEMPOTENCY_KEY;
use http::{HeaderMap, HeaderName};
use tokio::time::Instant;

use crate::error::Problem;

/// Longer keys are refused.
const KEY_MAX: usize = 255;
/// How long the answer to the first request is waited for; SDKs wait for ten minutes in all.
const PATIENCE: Duration = Duration::from_secs(60);

/// The place of a request among those with the same key.
pub(crate) enum IdempotencyOutcome {
    /// To be carried out: the first with its key, or one without a key.
    Fresh(Option<Claimed>),
    /// Not the first, which has been answered.
    Replay(Arc<Kept>),
}

/// The key, where there is one.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    const NAME: HeaderName = HeaderName::from_static(IDEMPOTENCY_KEY);
    let mut all = headers.get_all(NAME).into_iter();
    let Some(key) = all.next() else {
        return Ok(None);
    };
    let is_good = all.next().is_none()
        && (1..=KEY_MAX).contains(&key.len())
        && key.as_bytes().iter().all(u8::is_ascii_graphic);
    match key.to_str() {
        Ok(key) if is_good => Ok(Some(key.to_owned())),
        _ => Err(Problem::bad_idempotency_key()),
    }
}

/// Finds out what this request is; waits while another is being answered as a whole.
pub(crate) async fn first(
    keys: &Idempotency,
    caller: &Principal,
    key: &str,
    path: &str,
    body: &[u8],
) -> Result<IdempotencyOutcome, Problem> {
    let (account, key) = (&caller.account, &caller.idempotency_name(key));
    let until = Instant::now() + PATIENCE;
    loop {
        match keys.claim_shared(account, key, path, body).await {
            Claim::Run(claimed) => return Ok(IdempotencyOutcome::Fresh(Some(claimed))),
            Claim::Replay(kept) => return Ok(IdempotencyOutcome::Replay(kept)),
            Claim::Wait(running) => tokio::time::timeout_at(until, running.ended())
                .await
                .map_err(|_| Problem::idempotency_in_progress())?,
            Claim::InProgress => return Err(Problem::idempotency_in_progress()),
            Claim::Mismatch => return Err(Problem::idempotency_mismatch()),
            Claim::Unknown => return Err(Problem::idempotency_unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(values: &[&'static str]) -> Result<Option<String>, u16> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(IDEMPOTENCY_KEY, HeaderValue::from_static(value));
        }
        key(&headers).map_err(|problem| problem.code.status())
    }

    #[test]
    fn a_key_is_one_word() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["a-1:\"x\""]), Ok(Some("a-1:\"x\"".into())));
        for bad in [&[""][..], &["two words"], &["a", "a"]] {
            assert_eq!(read(bad), Err(400), "{bad:?}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(IDEMPOTENCY_KEY, "k".repeat(256).parse().unwrap());
        assert!(key(&headers).is_err());
        headers.insert(IDEMPOTENCY_KEY, "k".repeat(255).parse().unwrap());
        assert!(key(&headers).is_ok());
        headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_bytes(b"\xff").unwrap());
        assert!(key(&headers).is_err());
    }
}

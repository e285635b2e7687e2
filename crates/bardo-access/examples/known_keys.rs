//! How long a key takes that was verified before, among 100,000 others:
//! `cargo run --release -p bardo-access --example known_keys`.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bardo_access::{
    Amendment, BoxFuture, KeyError, KeyKind, KeyRecord, KeyStore, KeyVerdict, Moment, PresentedKey,
    Scopes, Verifier, VerifierSettings,
};
use bardo_types::ids::{AccountId, KeyId};

const KEYS: usize = 100_000;
const CHECKS: usize = 2_000_000;
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A store that is never asked.
struct Nothing;

impl KeyStore for Nothing {
    fn find<'a>(&'a self, _: &'a KeyId) -> BoxFuture<'a, Result<Option<KeyRecord>, KeyError>> {
        Box::pin(async { Ok(None) })
    }

    fn insert(&self, _: KeyRecord) -> BoxFuture<'_, Result<(), KeyError>> {
        Box::pin(async { Ok(()) })
    }

    fn update(&self, _: KeyRecord, _: Amendment) -> BoxFuture<'_, Result<(), KeyError>> {
        Box::pin(async { Ok(()) })
    }

    fn list<'a>(
        &'a self,
        _: Option<&'a AccountId>,
    ) -> BoxFuture<'a, Result<Vec<KeyRecord>, KeyError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn revision(&self) -> u64 {
        0
    }

    fn is_empty(&self) -> BoxFuture<'_, Result<bool, KeyError>> {
        Box::pin(async { Ok(false) })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let verifier = Arc::new(Verifier::new(
        Arc::new(Nothing),
        VerifierSettings::default(),
        start,
    ));
    let now = Moment {
        unix_ms: 1,
        at: start,
    };
    let mut texts = Vec::with_capacity(KEYS);
    for _ in 0..KEYS {
        let key = PresentedKey::generate(KeyKind::Spend)?;
        let record = KeyRecord {
            id: key.id.clone(),
            account: AccountId::parse(key.id.as_str())?,
            kind: key.kind,
            name: String::new(),
            hash: "-".repeat(60),
            scopes: Scopes::default(),
            tier: None,
            spread: None,
            created_at_ms: 0,
            expires_at_ms: None,
            revoked_at_ms: None,
            replaces: None,
        };
        verifier.remember(&key, record, now);
        texts.push(key.text());
    }
    // A stride that is prime to the number of keys finds none of them in the processor's cache.
    measure("each in turn", |index| {
        let text = &texts[index * 7_919 % KEYS];
        matches!(
            verifier.check(text.expose(), HERE, now),
            KeyVerdict::Verified(_)
        )
    })?;
    measure("a hundred of them", |index| {
        let text = &texts[index % 100];
        matches!(
            verifier.check(text.expose(), HERE, now),
            KeyVerdict::Verified(_)
        )
    })?;
    Ok(())
}

fn measure(
    what: &str,
    mut check: impl FnMut(usize) -> bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut times = Vec::with_capacity(CHECKS);
    let mut verified = 0usize;
    for index in 0..CHECKS {
        let began = Instant::now();
        let is_verified = check(index);
        times.push(began.elapsed());
        verified += usize::from(is_verified);
    }
    times.sort_unstable();
    let at = |share: usize| times[CHECKS * share / 1_000];
    let sum: Duration = times.iter().sum();
    writeln!(
        std::io::stdout(),
        "{KEYS} keys, {what}: {verified} of {CHECKS} verified; mean {:?}, p50 {:?}, p99 {:?}, p99.9 {:?}",
        sum / u32::try_from(CHECKS)?,
        at(500),
        at(990),
        at(999),
    )?;
    Ok(())
}

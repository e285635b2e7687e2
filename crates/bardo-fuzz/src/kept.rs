//! Targets for what a second level of the cache hands back.

use bardo_cache::codec::{read_entry, read_events, write_entry, write_events};
use bardo_cache::entry::{CachedAnswer, Fresh};
use bardo_cache::key::Key;
use bardo_cache::scope::Namespace;
use bardo_cache::tags::Tags;
use bardo_cache::ttl::{AnswerKind, Lifetimes, MarketRegime};
use bardo_cache::vault::Vault;
use bardo_types::chat::StreamEvent;
use bardo_types::ids::AccountId;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::usage::Usage;

use crate::{Knobs, answers, world};

/// Whatever a second level holds, reading never panics; what reads is written to something that
/// reads the same; and nothing opens that was not encrypted with the operator's key.
pub fn cache_entry(data: &[u8]) {
    let Some((_, payload)) = Knobs::part(data) else {
        return;
    };
    if let Ok(entry) = read_entry(payload) {
        let events = entry.events().expect("an entry that reads can be served");
        assert_eq!(events.last(), Some(&StreamEvent::Done));
        assert!(entry.bytes() > payload.len() / 2, "it is counted as small");
        assert_eq!(read_entry(&write_entry(&entry)).as_ref(), Ok(&entry));
    }
    if let Ok(events) = read_events(payload) {
        assert_eq!(read_events(&write_events(&events)), Ok(events));
    }
    let vault = Vault::new(&[7; 32]).expect("the key is long enough");
    assert!(vault.open(&Key::from_bytes([0; 32]), payload).is_err());
}

/// The entry of an upstream's recorded stream, as a second level holds it before encryption.
/// `None` where the stream did not end well.
pub(crate) fn entry_of(upstream: Dialect, stream: &[u8]) -> Option<Vec<u8>> {
    let context = world::decode_context(Knobs([0; 4]), Dialect::Chat);
    let events = answers::steps(upstream, &context, stream);
    if events.last() != Some(&StreamEvent::Done) {
        return None;
    }
    let tenant = AccountId::parse("acct").ok()?;
    let fresh = Fresh {
        key: Key::from_bytes([1; 32]),
        namespace: Namespace::tenant(&tenant),
        tenant,
        events: &events,
        model: "gpt-5.5".into(),
        provider: "openai".into(),
        usage: Usage::default(),
        cost: MicroUsd::new(128),
        class: SecurityClass::Standard,
        kind: AnswerKind::Market,
        regime: Some(MarketRegime::Calm),
        tags: Tags {
            domain: Some("defi".into()),
            tokens: ["ETH".into(), "USDC".into()].into(),
            ..Tags::default()
        },
        degraded: Vec::new(),
        now_ms: 1_000,
    };
    Some(write_entry(&CachedAnswer::new(
        fresh,
        &Lifetimes::default(),
    )))
}

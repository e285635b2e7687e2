use std::collections::HashSet;

use bardo_types::chat::{Finish, StreamEvent};
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::usage::Usage;

use super::*;
use crate::entry::Fresh;
use crate::tags::Tags;
use crate::ttl::{Lifetimes, MarketRegime};

fn vault(byte: u8) -> Vault {
    Vault::new(&[byte; 32]).unwrap()
}

fn entry(tenant: &str, kind: AnswerKind, tokens: &[&str]) -> CachedAnswer {
    let tenant = AccountId::parse(tenant).unwrap();
    let fresh = Fresh {
        key: Key::from_bytes([7; 32]),
        namespace: Namespace::agent(&tenant, "g"),
        tenant,
        events: &[
            StreamEvent::Text {
                choice: 0,
                text: "a secret answer".into(),
            },
            StreamEvent::Finish {
                choice: 0,
                reason: Finish::Stop,
                stop_sequence: None,
                details: None,
            },
            StreamEvent::Done,
        ],
        model: "m".into(),
        provider: "p".into(),
        usage: Usage::default(),
        cost: MicroUsd::new(1),
        class: SecurityClass::Standard,
        kind,
        regime: Some(MarketRegime::Calm),
        tags: Tags {
            domain: Some("defi".into()),
            tokens: tokens.iter().map(|&token| token.into()).collect(),
            ..Tags::default()
        },
        degraded: Vec::new(),
        now_ms: 5,
    };
    CachedAnswer::new(fresh, &Lifetimes::default())
}

#[test]
fn a_value_opens_with_its_key_and_its_name_alone() {
    let entry = entry("acct", AnswerKind::Static, &[]);
    let value = vault(1).close(&entry, [3; 32]).unwrap();
    assert_eq!(vault(1).open(&entry.key, &value).unwrap(), entry);
    assert_eq!(vault(2).open(&entry.key, &value), Err(Loss::Foreign));
    let other = Key::from_bytes([8; 32]);
    assert_eq!(vault(1).open(&other, &value), Err(Loss::Foreign));
    for secret in [b"secret".as_slice(), b"acct", &[7; 32]] {
        assert!(!value.windows(secret.len()).any(|part| part == secret));
    }
}

#[test]
fn any_changed_or_missing_byte_makes_a_value_foreign() {
    let entry = entry("acct", AnswerKind::Static, &[]);
    let value = vault(1).close(&entry, [3; 32]).unwrap();
    for at in 0..value.len() {
        let mut changed = value.clone();
        changed[at] ^= 0x40;
        assert_eq!(
            vault(1).open(&entry.key, &changed),
            Err(Loss::Foreign),
            "{at}"
        );
        assert_eq!(
            vault(1).open(&entry.key, &value[..at]),
            Err(Loss::Foreign),
            "{at}"
        );
    }
}

#[test]
fn an_entry_that_is_private_stays_in_the_process() {
    for class in [
        SecurityClass::Private,
        SecurityClass::Tee,
        SecurityClass::E2ee,
    ] {
        let private = CachedAnswer {
            class,
            ..entry("acct", AnswerKind::Static, &[])
        };
        assert_eq!(vault(1).close(&private, [3; 32]), Err(Loss::Withheld));
    }
}

#[test]
fn a_short_key_makes_no_vault() {
    assert!(Vault::new(&[1; 31]).is_none());
}

#[test]
fn every_flush_finds_the_entries_that_it_names() {
    let vault = vault(1);
    let found = |entry: &CachedAnswer, flush: &Flush| {
        let sets: HashSet<String> = vault.sets(entry).into_iter().collect();
        vault
            .flushed_sets(flush)
            .iter()
            .any(|set| sets.contains(set))
    };
    let mut market = entry("a", AnswerKind::Market, &["ETH"]);
    market.tags.playbook = Some("p1".into());
    let many = entry("a", AnswerKind::Static, &[crate::tags::ANY]);
    let a = AccountId::parse("a").unwrap();
    let b = AccountId::parse("b").unwrap();
    let playbook = |agent, digest: &str| {
        Flush::PlaybookIn(a.clone(), Namespace::agent(&a, agent), digest.into())
    };
    let token = |name: &str| CacheTag::Token(name.into());
    for (flush, of_market, of_many) in [
        (Flush::All, true, true),
        (Flush::Tenant(a.clone()), true, true),
        (Flush::Tenant(b.clone()), false, false),
        (
            Flush::Namespace(a.clone(), Namespace::agent(&a, "g")),
            true,
            true,
        ),
        (
            Flush::Namespace(a.clone(), Namespace::agent(&a, "h")),
            false,
            false,
        ),
        (
            Flush::Namespace(b.clone(), Namespace::agent(&a, "g")),
            false,
            false,
        ),
        (Flush::Tag(None, token("eth")), true, true),
        (Flush::Tag(Some(a.clone()), token("eth")), true, true),
        (Flush::Tag(Some(b.clone()), token("eth")), false, false),
        (Flush::Tag(None, token("BTC")), false, true),
        (
            Flush::Tag(None, CacheTag::Domain("DEFI".into())),
            true,
            true,
        ),
        (Flush::Tag(None, CacheTag::Pool("eth".into())), false, false),
        (playbook("g", "p1"), true, false),
        (playbook("g", "p2"), false, false),
        (playbook("h", "p1"), false, false),
        (Flush::Market(None), true, false),
        (Flush::Market(Some(a.clone())), true, false),
        (Flush::Market(Some(b)), false, false),
    ] {
        assert_eq!(found(&market, &flush), of_market, "{flush:?}");
        assert_eq!(found(&many, &flush), of_many, "{flush:?}");
    }
}

#[test]
fn names_of_other_keys_are_other_names() {
    let key = Key::from_bytes([7; 32]);
    assert_ne!(vault(1).name(&key), vault(2).name(&key));
    assert_eq!(vault(1).name(&key).len(), 64);
}

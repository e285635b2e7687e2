use bardo_types::Degradation;
use bardo_types::chat::{Finish, Opaque, StreamEvent};
use bardo_types::ids::AccountId;
use bardo_types::json::RawJson;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::usage::Usage;

use super::*;
use crate::entry::{CachedAnswer, Fresh};
use crate::key::Key;
use crate::scope::Namespace;
use crate::tags::Tags;
use crate::ttl::{AnswerKind, Lifetimes, MarketRegime};

fn events() -> Vec<StreamEvent> {
    vec![
        StreamEvent::Start {
            id: Some("id".into()),
            model: None,
            created: Some(u64::MAX),
            service_tier: Some(String::new()),
        },
        StreamEvent::ReasoningEnd {
            choice: 0,
            opaque: Some(Opaque::OpenAiReasoning(
                RawJson::parse("{\"a\": 1.0}").unwrap(),
            )),
        },
        StreamEvent::Text {
            choice: 0,
            text: "h\u{e9}\u{1f600}".into(),
        },
        StreamEvent::Text {
            choice: 0,
            text: String::new(),
        },
        StreamEvent::Usage(Usage {
            fresh_input: 300,
            output: 12,
            reasoning: Some(0),
            provider_cost_usd: Some("0.10".into()),
            byok_fee: Some(MicroUsd::new(3)),
            ..Usage::default()
        }),
        StreamEvent::Finish {
            choice: 0,
            reason: Finish::StopSequence,
            stop_sequence: Some("END".into()),
            details: None,
        },
        StreamEvent::Done,
    ]
}

fn entry() -> CachedAnswer {
    let tenant = AccountId::parse("acct").unwrap();
    CachedAnswer::new(
        Fresh {
            key: Key::from_bytes([9; 32]),
            namespace: Namespace::agent(&tenant, "g"),
            tenant,
            events: &events(),
            model: "m".into(),
            provider: "p".into(),
            usage: Usage {
                output: 12,
                ..Usage::default()
            },
            cost: MicroUsd::new(128),
            class: SecurityClass::Standard,
            kind: AnswerKind::Market,
            regime: Some(MarketRegime::Calm),
            tags: Tags {
                domain: Some("defi".into()),
                tokens: ["ETH".into(), "USDC".into()].into(),
                pools: Box::default(),
                playbook: Some("p".into()),
            },
            degraded: vec![Degradation {
                feature: "max_tokens".into(),
                detail: "set by the balance".into(),
            }],
            now_ms: 1_000,
        },
        &Lifetimes::default(),
    )
}

#[test]
fn events_and_entries_come_back_as_they_were() {
    assert_eq!(read_events(&write_events(&events())).unwrap(), events());
    let entry = entry();
    let again = read_entry(&write_entry(&entry)).unwrap();
    assert_eq!(again, entry);
    assert_eq!(again.events().unwrap(), events());
}

#[test]
fn an_entry_that_is_cut_or_goes_on_is_none() {
    let bytes = write_entry(&entry());
    for len in 0..bytes.len() {
        assert_eq!(read_entry(&bytes[..len]), Err(Corrupt), "{len}");
    }
    let mut more = bytes;
    more.push(0);
    assert_eq!(read_entry(&more), Err(Corrupt));
}

#[test]
fn an_entry_of_another_version_is_none() {
    for at in 0..4 {
        let mut bytes = write_entry(&entry());
        bytes[at] ^= 1;
        assert_eq!(read_entry(&bytes), Err(Corrupt), "{at}");
    }
}

#[test]
fn no_byte_of_an_entry_can_be_changed_into_a_panic() {
    let bytes = write_entry(&entry());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            if let Ok(entry) = read_entry(&changed) {
                entry.events().unwrap();
            }
        }
    }
}

#[test]
fn a_length_beyond_the_bytes_allocates_nothing() {
    let mut bytes = vec![3, 0];
    bytes.extend([0xff; 9]);
    bytes.push(1);
    assert_eq!(read_events(&bytes), Err(Corrupt));
}

#[test]
fn an_answer_that_did_not_end_is_none() {
    let mut events = events();
    events.pop();
    assert_eq!(read_events(&write_events(&events)), Err(Corrupt));
    assert_eq!(read_events(&[]), Err(Corrupt));
}

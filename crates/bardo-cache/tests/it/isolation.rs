//! No answer crosses from one caller to another.

use std::collections::HashSet;

use bardo_cache::entry::Fresh;
use bardo_cache::key::{Key, KeySource, Steering, key_of};
use bardo_cache::scope::{CacheCaller, Namespace, Scope};
use bardo_cache::store::{CacheReader, Limits, Store};
use bardo_cache::tags::Tags;
use bardo_cache::ttl::AnswerKind;
use bardo_types::chat::{ChatRequest, Finish, Message, Part, Role, StreamEvent, Text};
use bardo_types::hints::RouteHints;
use bardo_types::ids::AccountId;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::usage::Usage;

/// A small generator, so that a failure repeats.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// One caller, as authentication established it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Who {
    tenant: AccountId,
    agent: String,
    clade: Option<String>,
    scope: Scope,
    class: SecurityClass,
}

impl Who {
    fn draw(dice: &mut Dice) -> Self {
        // Few names, and names that run into each other, so that pairs are often close.
        let names = ["a", "b", "ab", "a:b", "agent", ""];
        let name = |dice: &mut Dice| names[dice.below(6) as usize].to_owned();
        let tenants = ["a", "ab", "agent", "t:agent"];
        let tenant = tenants[dice.below(4) as usize];
        let has_clade = dice.below(2) == 0;
        Self {
            tenant: AccountId::parse(tenant).unwrap(),
            agent: name(dice),
            clade: has_clade.then(|| name(dice)),
            scope: Scope::ALL[dice.below(4) as usize],
            class: SecurityClass::ALL[dice.below(2) as usize],
        }
    }

    fn namespace(&self) -> Option<Namespace> {
        let caller = CacheCaller {
            tenant: &self.tenant,
            agent: Some(&self.agent),
            clade: self.clade.as_deref(),
            shares_publicly: true,
        };
        caller.namespace(self.scope, self.class).ok()
    }

    /// Whether an answer of `self` may serve `other`, written without the code under test.
    fn may_serve(&self, other: &Self) -> bool {
        let same_tenant = self.tenant == other.tenant;
        self.class == other.class
            && self.scope == other.scope
            && match self.scope {
                Scope::Agent => same_tenant && self.agent == other.agent,
                Scope::Clade => same_tenant && self.clade.is_some() && self.clade == other.clade,
                Scope::Tenant => same_tenant,
                Scope::Public => true,
            }
    }
}

fn request() -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "m");
    let parts = vec![Part::Text(Text::new("the same prompt"))];
    request.messages.push(Message::new(Role::User, parts));
    request
}

fn key(namespace: &Namespace, class: SecurityClass) -> Key {
    key_of(&KeySource {
        request: &request(),
        hints: &RouteHints::default(),
        steering: Steering::Raw,
        namespace,
        class,
        settings: b"",
        enrichment: b"",
        unread: b"",
        ephemeral: &[],
    })
}

fn answer() -> Vec<StreamEvent> {
    vec![
        StreamEvent::Text {
            choice: 0,
            text: "an answer".to_owned(),
        },
        StreamEvent::Finish {
            choice: 0,
            reason: Finish::Stop,
            stop_sequence: None,
            details: None,
        },
        StreamEvent::Done,
    ]
}

fn fresh<'a>(who: &Who, key: Key, namespace: Namespace, events: &'a [StreamEvent]) -> Fresh<'a> {
    Fresh {
        key,
        namespace,
        tenant: who.tenant.clone(),
        events,
        model: "m".into(),
        provider: "p".into(),
        usage: Usage::default(),
        cost: MicroUsd::new(5),
        class: who.class,
        kind: AnswerKind::Static,
        regime: None,
        tags: Tags::default(),
        degraded: Vec::new(),
        now_ms: 1_000,
    }
}

fn reads(store: &Store, who: &Who, namespace: &Namespace, key: &Key) -> bool {
    let reading = CacheReader {
        tenant: &who.tenant,
        namespace,
        class: who.class,
        regime: None,
        now_ms: 1_001,
    };
    store.get(key, &reading).is_some()
}

#[test]
fn no_hit_crosses_in_ten_thousand_pairs() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let events = answer();
    let (mut pairs, mut shared) = (0, 0);
    while pairs < 10_000 {
        let (writer, reader) = (Who::draw(&mut dice), Who::draw(&mut dice));
        let (Some(written), Some(read)) = (writer.namespace(), reader.namespace()) else {
            continue;
        };
        pairs += 1;
        let sealer = bardo_cache::sealed::Sealer::new([7; 32].into());
        let store = Store::new(Limits::default(), Some(sealer));
        let (write_key, read_key) = (key(&written, writer.class), key(&read, reader.class));
        store
            .insert(fresh(&writer, write_key, written, &events))
            .unwrap();
        let is_hit = reads(&store, &reader, &read, &read_key);
        assert_eq!(is_hit, writer.may_serve(&reader), "{writer:?} {reader:?}");
        shared += usize::from(is_hit);
        // A reader with the writer's key, by whatever mistake, gets nothing either.
        if written != read {
            assert!(!reads(&store, &reader, &read, &write_key));
        }
    }
    assert!((100..9_000).contains(&shared), "{shared} pairs share");
}

#[test]
fn every_namespace_of_a_caller_is_another() {
    let mut seen = HashSet::new();
    let names = ["a", "b", "ab"];
    for tenant in names {
        let tenant = AccountId::parse(tenant).unwrap();
        for member in names {
            let caller = CacheCaller {
                tenant: &tenant,
                agent: Some(member),
                clade: Some(member),
                shares_publicly: true,
            };
            for scope in [Scope::Agent, Scope::Clade] {
                let space = caller.namespace(scope, SecurityClass::Standard).unwrap();
                assert!(seen.insert(space), "{tenant} {member} {scope:?}");
            }
        }
        assert!(seen.insert(Namespace::tenant(&tenant)));
    }
}

//! What keys and look-ups cost: `cargo run --release -p bardo-cache --example cache_cost`.
//!
//! Printed are the hash functions side by side, the key of a small chat and of an agent's request,
//! a look-up among 5,000 entries, and the memory of a full store beside its budget. Times are the
//! best of many short runs, for other processes disturb the mean; the 99th percentile is of single
//! look-ups.

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use bardo_cache::entry::Fresh;
use bardo_cache::key::{Key, KeySource, Steering, key_of};
use bardo_cache::scope::Namespace;
use bardo_cache::store::{CacheReader, Limits, Store};
use bardo_cache::tags::Tags;
use bardo_cache::ttl::AnswerKind;
use bardo_types::chat::{ChatRequest, Finish, Message, Part, Role, StreamEvent, Text, Tool};
use bardo_types::hints::RouteHints;
use bardo_types::ids::AccountId;
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::usage::Usage;
use sha2::{Digest, Sha256};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout();
    hashes(&mut out)?;
    keys(&mut out)?;
    look_ups(&mut out)?;
    memory(&mut out)?;
    Ok(())
}

/// Nanoseconds of one call, in the best of 400 short runs.
fn best<T>(calls: usize, mut call: impl FnMut() -> T) -> f64 {
    let run = |_| {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(call());
        }
        start.elapsed().as_nanos() as f64 / calls as f64
    };
    (0..400).map(run).fold(f64::MAX, f64::min)
}

fn hashes(out: &mut impl Write) -> std::io::Result<()> {
    for bytes in [300, 1_024, 16 * 1_024, 118 * 1_024] {
        let data: Vec<u8> = (0..bytes).map(|at: usize| (at * 31) as u8).collect();
        let calls = (100_000 / bytes).max(3);
        let blake3 = best(calls, || blake3::hash(&data));
        let sha256 = best(calls, || Sha256::digest(&data));
        let ratio = sha256 / blake3;
        writeln!(
            out,
            "{bytes:>7} B: BLAKE3 {blake3:>7.0} ns, SHA-256 {sha256:>7.0} ns, ratio {ratio:.2}"
        )?;
    }
    Ok(())
}

fn chat(turns: usize, bytes: usize, tools: usize) -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "gpt-5.5");
    request.sampling.temperature = RawJson::parse("0").ok();
    for turn in 0..turns {
        let role = match turn % 2 {
            0 => Role::User,
            _ => Role::Assistant,
        };
        let text = format!("{turn} {}", "word ".repeat(bytes / turns / 5));
        let parts = vec![Part::Text(Text::new(text))];
        request.messages.push(Message::new(role, parts));
    }
    for tool in 0..tools {
        request.tools.push(Tool::Function {
            name: format!("tool_{tool}"),
            description: Some("does something ".repeat(30)),
            schema: RawJson::of(&"s".repeat(500)).ok(),
            strict: None,
            cache: None,
            extra: Vec::new(),
        });
    }
    request
}

fn key(request: &ChatRequest, namespace: &Namespace) -> Key {
    key_of(&KeySource {
        request,
        hints: &RouteHints::default(),
        steering: Steering::Raw,
        namespace,
        class: SecurityClass::Standard,
        settings: b"1",
        enrichment: b"",
        unread: b"",
        ephemeral: &[],
    })
}

fn tenant() -> AccountId {
    AccountId::parse("acct_1").expect("a plain id")
}

fn keys(out: &mut impl Write) -> std::io::Result<()> {
    let namespace = Namespace::agent(&tenant(), "agent");
    for (name, request, calls) in [
        ("small chat", chat(1, 300, 0), 200),
        ("chat of 1 kB", chat(3, 1_000, 0), 100),
        ("agent's request of 118 kB", chat(40, 88_000, 30), 5),
    ] {
        let ns = best(calls, || key(&request, &namespace));
        writeln!(out, "key of a {name}: {ns:.0} ns")?;
    }
    let space = best(200, || Namespace::agent(&tenant(), "agent"));
    writeln!(out, "a namespace: {space:.0} ns")
}

fn answer(chunks: usize) -> Vec<StreamEvent> {
    let text = |at| StreamEvent::Text {
        choice: 0,
        text: format!("word number {at}, "),
    };
    let mut events: Vec<StreamEvent> = (0..chunks).map(text).collect();
    events.push(StreamEvent::Finish {
        choice: 0,
        reason: Finish::Stop,
        stop_sequence: None,
        details: None,
    });
    events.push(StreamEvent::Done);
    events
}

fn put(store: &Store, number: u64, events: &[StreamEvent]) -> Key {
    let tenant = tenant();
    let key = Key::from_bytes(*blake3::hash(&number.to_le_bytes()).as_bytes());
    let fresh = Fresh {
        key,
        namespace: Namespace::tenant(&tenant),
        tenant,
        events,
        model: "gpt-5.5".into(),
        provider: "openai".into(),
        usage: Usage::default(),
        cost: MicroUsd::new(5),
        class: SecurityClass::Standard,
        kind: AnswerKind::Static,
        regime: None,
        tags: Tags {
            domain: Some("defi".into()),
            tokens: ["ETH".into(), "USDC".into()].into(),
            ..Tags::default()
        },
        degraded: Vec::new(),
        now_ms: 1_000,
    };
    store.insert(fresh).expect("it fits");
    key
}

fn look_ups(out: &mut impl Write) -> std::io::Result<()> {
    const ENTRIES: u64 = 5_000;
    let store = Store::new(Limits::default(), None);
    let events = answer(50);
    let keys: Vec<Key> = (0..ENTRIES)
        .map(|number| put(&store, number, &events))
        .collect();
    let tenant = tenant();
    let namespace = Namespace::tenant(&tenant);
    let reading = CacheReader {
        tenant: &tenant,
        namespace: &namespace,
        class: SecurityClass::Standard,
        regime: None,
        now_ms: 2_000,
    };
    let mut each: Vec<u128> = (0..200_000)
        .map(|at| {
            let key = &keys[(at * 7_919) % keys.len()];
            let start = Instant::now();
            black_box(store.get(key, &reading));
            start.elapsed().as_nanos()
        })
        .collect();
    each.sort_unstable();
    let at = |percent: usize| each[each.len() * percent / 100 - 1];
    let absent = Key::from_bytes([0; 32]);
    let miss = best(500, || store.get(&absent, &reading));
    let hit = store.get(&keys[1], &reading).expect("it is there");
    let replay = best(20, || hit.entry.events());
    writeln!(
        out,
        "look-up among {ENTRIES}: p50 {} ns, p99 {} ns; a miss {miss:.0} ns; 50 chunks read {replay:.0} ns",
        at(50),
        at(99)
    )?;
    let mut number = ENTRIES;
    let insert = best(20, || {
        number += 1;
        put(&store, number, &events)
    });
    let entry = hit.entry.bytes();
    writeln!(
        out,
        "an insert: {insert:.0} ns; an entry of 50 chunks: {entry} bytes"
    )
}

/// Resident bytes of this process.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_u64) * 4_096
}

fn memory(out: &mut impl Write) -> std::io::Result<()> {
    let mut stores = Vec::new();
    for chunks in [1, 50] {
        let before = resident();
        let store = Store::new(Limits::default(), None);
        let events = answer(chunks);
        for number in 0..300_000 {
            put(&store, number, &events);
        }
        let stats = store.stats();
        let (used, budget) = (resident().saturating_sub(before), store.limits().bytes);
        writeln!(
            out,
            "full with answers of {chunks} chunks: {} entries, {} MiB of {} MiB in the books, {} MiB resident",
            stats.entries,
            stats.bytes >> 20,
            budget >> 20,
            used >> 20
        )?;
        // What the first gave back would hide what the second takes.
        stores.push(store);
    }
    Ok(())
}

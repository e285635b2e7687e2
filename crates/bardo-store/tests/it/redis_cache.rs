//! Cached answers that processes share, on a real Redis server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bardo_cache::entry::{CachedAnswer, Fresh};
use bardo_cache::key::Key;
use bardo_cache::scope::Namespace;
use bardo_cache::second::{FlushNews, LastFlush, Loss, SecondFetch, SecondLevel};
use bardo_cache::store::Flush;
use bardo_cache::tags::{CacheTag, Tags};
use bardo_cache::ttl::{AnswerKind, Lifetimes, MarketRegime};
use bardo_cache::vault::Vault;
use bardo_ledger::contract::{block_on, join_all};
use bardo_store::redis::InvalidRedis;
use bardo_store::redis::cache::{RedisCache, RedisCacheOptions};
use bardo_store::servers::RedisServer;
use bardo_types::chat::{Finish, StreamEvent};
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::secret::Secret;
use bardo_types::usage::Usage;

use crate::wait::until;

const OPERATOR: &str = "an operator's key of more than thirty-two bytes";

/// The usual options, but for machines that are busy with other tests.
fn patient(server: &RedisServer, key: &str) -> RedisCacheOptions {
    RedisCacheOptions {
        timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
        ..RedisCacheOptions::new(Secret::new(server.url()), Secret::new(key.to_owned()))
    }
}

fn connected(options: &RedisCacheOptions) -> RedisCache {
    let cache = RedisCache::new(options).unwrap();
    until("the cache is connected", || cache.mode() == "up");
    cache
}

fn account(name: &str) -> AccountId {
    AccountId::parse(name).unwrap()
}

/// An entry that no other test has.
fn entry(tenant: &str, tokens: &[&str]) -> CachedAnswer {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_le_bytes());
    let tenant = account(tenant);
    let fresh = Fresh {
        key: Key::from_bytes(key),
        namespace: Namespace::tenant(&tenant),
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
        kind: AnswerKind::Market,
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

fn get(cache: &RedisCache, entry: &CachedAnswer) -> SecondFetch {
    block_on(cache.get(&entry.key))
}

fn put(cache: &RedisCache, entry: &CachedAnswer) {
    let last = block_on(cache.flushes(None)).unwrap().last;
    block_on(cache.put(entry, 60_000, last)).unwrap();
}

fn name(key: &str, entry: &CachedAnswer) -> String {
    let vault = Vault::new(key.as_bytes()).unwrap();
    format!("bardo:{{cache}}:e:{}", vault.name(&entry.key))
}

#[test]
fn an_entry_of_one_process_is_found_by_another_and_goes_in_time() {
    let server = RedisServer::start().unwrap();
    let options = patient(&server, OPERATOR);
    let (here, there) = (connected(&options), connected(&options));
    let entry = entry("a", &["ETH"]);
    assert_eq!(get(&there, &entry), SecondFetch::Absent);
    put(&here, &entry);
    assert_eq!(
        get(&there, &entry),
        SecondFetch::Entry(Box::new(entry.clone()))
    );
    let left = server.command(&["PTTL", &name(OPERATOR, &entry)]).unwrap();
    let left: i64 = left.trim().parse().unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
    block_on(here.put(&entry, 1, LastFlush::default())).unwrap();
    until("it expired", || get(&there, &entry) == SecondFetch::Absent);
    let losses = Loss::ALL.map(|loss| here.losses().of(loss) + there.losses().of(loss));
    assert_eq!(losses, [0; Loss::ALL.len()]);
}

#[test]
fn redis_sees_neither_prompt_nor_answer_nor_tenant() {
    let server = RedisServer::start().unwrap();
    let cache = connected(&patient(&server, OPERATOR));
    put(&cache, &entry("tenant_of_note", &["ETH"]));
    let keys = server.command(&["DBSIZE"]).unwrap();
    assert!(keys.trim().parse::<u64>().unwrap() > 4);
    for pattern in ["*tenant*", "*ETH*", "*defi*"] {
        let found = server.command(&[
            "EVAL",
            &format!("\"return#redis.call('KEYS','{pattern}')\""),
            "0",
        ]);
        assert_eq!(found.unwrap().trim(), "0", "{pattern}");
    }
}

#[test]
fn a_value_of_another_operator_or_of_anybody_is_a_miss_and_a_count() {
    let server = RedisServer::start().unwrap();
    let ours = connected(&patient(&server, OPERATOR));
    let theirs_key = "another operator's key of more than thirty-two bytes";
    let theirs = connected(&patient(&server, theirs_key));
    let entry = entry("a", &[]);
    put(&theirs, &entry);
    assert_eq!(
        get(&ours, &entry),
        SecondFetch::Absent,
        "it has another name"
    );
    let (from, to) = (name(theirs_key, &entry), name(OPERATOR, &entry));
    server.command(&["RENAME", &from, &to]).unwrap();
    assert_eq!(get(&ours, &entry), SecondFetch::Lost(Loss::Foreign));
    server.command(&["SET", &to, "garbage"]).unwrap();
    assert_eq!(get(&ours, &entry), SecondFetch::Lost(Loss::Foreign));
    server.command(&["DEL", &to]).unwrap();
    server.command(&["LPUSH", &to, "x"]).unwrap();
    assert_eq!(get(&ours, &entry), SecondFetch::Lost(Loss::Foreign));
    assert_eq!(ours.losses().of(Loss::Foreign), 3);
    assert_eq!(ours.mode(), "up", "such an answer costs no connection");
    put(&ours, &entry);
    assert_eq!(
        get(&ours, &entry),
        SecondFetch::Entry(Box::new(entry.clone()))
    );
}

#[test]
fn a_value_that_was_moved_or_changed_serves_nobody() {
    let server = RedisServer::start().unwrap();
    let cache = connected(&patient(&server, OPERATOR));
    let (one, other) = (entry("a", &[]), entry("b", &[]));
    put(&cache, &one);
    let (from, to) = (name(OPERATOR, &one), name(OPERATOR, &other));
    server.command(&["COPY", &from, &to]).unwrap();
    assert_eq!(get(&cache, &other), SecondFetch::Lost(Loss::Foreign));
    server.command(&["SETRANGE", &from, "60", "x"]).unwrap();
    assert_eq!(get(&cache, &one), SecondFetch::Lost(Loss::Foreign));
    server.command(&["APPEND", &to, "x"]).unwrap();
    assert_eq!(get(&cache, &other), SecondFetch::Lost(Loss::Foreign));
}

#[test]
fn a_flush_removes_what_it_names_and_nothing_else() {
    let server = RedisServer::start().unwrap();
    let cache = connected(&patient(&server, OPERATOR));
    let token = |name: &str| CacheTag::Token(name.into());
    let a = || account("a");
    let whole = Namespace::tenant(&a());
    let agent = Namespace::agent(&a(), "g");
    for (flush, left) in [
        (Flush::Tag(None, token("eth")), vec![1]),
        (Flush::Tag(Some(a()), token("ETH")), vec![1, 2]),
        (Flush::Tenant(a()), vec![2]),
        (Flush::Namespace(a(), Namespace::tenant(&a())), vec![2]),
        (Flush::Market(Some(account("b"))), vec![0, 1]),
        (Flush::MarketIn(a(), whole), vec![2]),
        (Flush::MarketIn(a(), agent), vec![0, 1, 2]),
        (Flush::PlaybookIn(a(), whole, "p1".into()), vec![1, 2]),
        (Flush::PlaybookIn(a(), agent, "p1".into()), vec![0, 1, 2]),
        (Flush::PlaybookIn(a(), whole, "p2".into()), vec![0, 1, 2]),
        (Flush::Tenant(account("c")), vec![0, 1, 2]),
        (Flush::All, vec![]),
    ] {
        let mut entries = [
            entry("a", &["ETH"]),
            entry("a", &["BTC"]),
            entry("b", &["ETH"]),
        ];
        entries[0].tags.playbook = Some("p1".into());
        entries.iter().for_each(|entry| put(&cache, entry));
        let removed = block_on(cache.flush(&flush)).unwrap();
        let kept: Vec<usize> = (0..3)
            .filter(|&place| get(&cache, &entries[place]) != SecondFetch::Absent)
            .collect();
        assert_eq!(kept, left, "{flush:?}");
        assert_eq!(removed, 3 - left.len() as u64, "{flush:?}");
        block_on(cache.flush(&Flush::All)).unwrap();
    }
}

#[test]
fn a_flush_of_more_than_one_batch_removes_all() {
    let server = RedisServer::start().unwrap();
    let cache = connected(&patient(&server, OPERATOR));
    let entries: Vec<CachedAnswer> = (0..1_203).map(|_| entry("a", &[])).collect();
    let puts = entries
        .iter()
        .map(|entry| cache.put(entry, 60_000, LastFlush::default()));
    let stored = block_on(join_all(puts.collect()));
    let kept = stored.iter().filter(|kept| kept.is_ok()).count() as u64;
    assert!(kept >= 1_000, "{kept}");
    assert_eq!(
        block_on(cache.flush(&Flush::Tenant(account("a")))).unwrap(),
        kept
    );
    assert_eq!(block_on(cache.flush(&Flush::All)).unwrap(), 0);
}

#[test]
fn names_of_expired_entries_leave_their_sets() {
    let server = RedisServer::start().unwrap();
    let cache = connected(&patient(&server, OPERATOR));
    let vault = Vault::new(OPERATOR.as_bytes()).unwrap();
    let set = &vault.flushed_sets(&Flush::All)[0];
    let set = format!("bardo:{{cache}}:s:{set}");
    for _ in 0..20 {
        block_on(cache.put(&entry("a", &[]), 1, LastFlush::default())).unwrap();
    }
    until("old names are gone", || {
        put(&cache, &entry("a", &[]));
        let held = server.command(&["ZCOUNT", &set, "-inf", "+inf"]).unwrap();
        let puts = server.command(&["DBSIZE"]).unwrap();
        held.trim().parse::<u64>().unwrap() < puts.trim().parse::<u64>().unwrap()
    });
    let left = server.command(&["PTTL", &set]).unwrap();
    assert!((1..=60_000).contains(&left.trim().parse::<i64>().unwrap()));
}

#[test]
fn a_redis_that_dies_is_a_miss_and_comes_back() {
    let mut server = RedisServer::start().unwrap();
    let cache = connected(&patient(&server, OPERATOR));
    let entry = entry("a", &[]);
    put(&cache, &entry);
    server.stop();
    until("it is missed", || {
        get(&cache, &entry) == SecondFetch::Lost(Loss::Down)
    });
    assert!(cache.losses().of(Loss::Down) > 0);
    assert_eq!(
        block_on(cache.put(&entry, 9, LastFlush::default())),
        Err(Loss::Down)
    );
    // What no request asks for is repeated until Redis is back, and says nothing of requests.
    let lost = cache.losses().of(Loss::Down);
    assert_eq!(block_on(cache.flush(&Flush::All)), Err(Loss::Down));
    assert_eq!(block_on(cache.flushes(None)), Err(Loss::Down));
    assert_eq!(cache.losses().of(Loss::Down), lost);
    server.resume().unwrap();
    until("it is back", || {
        block_on(cache.flushes(Some(LastFlush::default()))).is_ok()
    });
    assert_eq!(get(&cache, &entry), SecondFetch::Absent);
    put(&cache, &entry);
    assert_eq!(
        get(&cache, &entry),
        SecondFetch::Entry(Box::new(entry.clone()))
    );
}

#[test]
fn a_redis_that_says_nothing_is_a_miss_within_the_budget_and_then_at_once() {
    let server = RedisServer::start().unwrap();
    let url = Secret::new(server.url());
    let options = RedisCacheOptions {
        connect_timeout: Duration::from_secs(20),
        ..RedisCacheOptions::new(url, Secret::new(OPERATOR.to_owned()))
    };
    assert_eq!(options.timeout, Duration::from_millis(20));
    let cache = connected(&options);
    let entry = entry("a", &[]);
    server.freeze();
    // The first that asks waits for its budget, which a busy machine may stretch; the rest do not
    // wait at all.
    until("the silence is felt", || {
        matches!(
            get(&cache, &entry),
            SecondFetch::Lost(Loss::Slow | Loss::Down)
        )
    });
    let started = Instant::now();
    for _ in 0..1_000 {
        assert_eq!(get(&cache, &entry), SecondFetch::Lost(Loss::Down));
    }
    let budget = options.timeout * 1_000;
    assert!(started.elapsed() < budget, "a thousand waited for one each");
    server.thaw();
    until("it is back", || get(&cache, &entry) == SecondFetch::Absent);
}

#[test]
fn something_else_with_the_name_of_a_set_hides_no_entry_and_fails_no_flush() {
    let server = RedisServer::start().unwrap();
    let cache = connected(&patient(&server, OPERATOR));
    let one = entry("a", &["ETH"]);
    for set in Vault::new(OPERATOR.as_bytes()).unwrap().sets(&one) {
        let set = format!("bardo:{{cache}}:s:{set}");
        server.command(&["SET", &set, "garbage"]).unwrap();
    }
    let last = block_on(cache.flushes(None)).unwrap().last;
    let refused = block_on(cache.put(&one, 9_000, last));
    assert_eq!(refused, Err(Loss::Refused));
    assert_eq!(get(&cache, &one), SecondFetch::Absent);
    block_on(cache.flush(&Flush::All)).unwrap();
    block_on(cache.flush(&Flush::Tenant(account("a")))).unwrap();
}

#[test]
fn entries_whose_set_was_overwritten_go_with_the_flush_that_was_meant_for_them() {
    let server = RedisServer::start().unwrap();
    let [cache, other] = [(); 2].map(|()| connected(&patient(&server, OPERATOR)));
    let one = entry("a", &[]);
    put(&cache, &one);
    let found = || get(&other, &one) != SecondFetch::Absent;
    assert!(found());
    let tenant = Flush::Tenant(account("a"));
    let vault = Vault::new(OPERATOR.as_bytes()).unwrap();
    let set = format!("bardo:{{cache}}:s:{}", vault.flushed_sets(&tenant)[0]);
    server.command(&["SET", &set, "garbage"]).unwrap();
    // More names than one look finds, and one that is none of the cache.
    let fill = "\"for i = 1, 1200 do redis.call('SET', 'bardo:{cache}:e:' .. i, i) end\"";
    server.command(&["EVAL", fill, "0"]).unwrap();
    server.command(&["SET", "bardo:other", "kept"]).unwrap();
    assert_eq!(block_on(cache.flush(&tenant)), Ok(1_201));
    assert!(!found());
    let kept = server.command(&["EXISTS", "bardo:other"]).unwrap();
    assert_eq!(kept.trim(), "1");
    // The set can be used again.
    put(&cache, &one);
    assert!(found());
    assert_eq!(block_on(cache.flush(&tenant)), Ok(1));
}

#[test]
fn an_entry_that_is_private_or_large_never_leaves_the_process() {
    let server = RedisServer::start().unwrap();
    let cache = connected(&RedisCacheOptions {
        value_bytes: 400,
        ..patient(&server, OPERATOR)
    });
    let mut private = entry("a", &[]);
    private.class = SecurityClass::Private;
    assert_eq!(
        block_on(cache.put(&private, 9, LastFlush::default())),
        Err(Loss::Withheld)
    );
    let mut large = entry("a", &[]);
    large.model = "m".repeat(400).into();
    assert_eq!(
        block_on(cache.put(&large, 9, LastFlush::default())),
        Err(Loss::Withheld)
    );
    assert_eq!(
        block_on(cache.put(&entry("a", &[]), 0, LastFlush::default())),
        Err(Loss::Withheld)
    );
    assert_eq!(server.command(&["DBSIZE"]).unwrap().trim(), "0");
}

#[test]
fn a_full_redis_refuses_and_keeps_serving() {
    let server = RedisServer::start().unwrap();
    let cache = connected(&patient(&server, OPERATOR));
    let kept = entry("a", &[]);
    put(&cache, &kept);
    server
        .command(&["CONFIG", "SET", "maxmemory", "1"])
        .unwrap();
    assert_eq!(
        block_on(cache.put(&entry("a", &[]), 9_000, LastFlush::default())),
        Err(Loss::Refused)
    );
    assert_eq!(
        get(&cache, &kept),
        SecondFetch::Entry(Box::new(kept.clone()))
    );
}

#[test]
fn it_starts_without_redis_and_refuses_what_can_never_work() {
    let nobody = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let options = |url: &str, key: &str| {
        RedisCacheOptions::new(Secret::new(url.to_owned()), Secret::new(key.to_owned()))
    };
    let away = format!("redis://127.0.0.1:{port}/");
    let cache: Arc<dyn SecondLevel> = Arc::new(RedisCache::new(&options(&away, OPERATOR)).unwrap());
    assert_eq!(cache.mode(), "down");
    let key = Key::from_bytes([1; 32]);
    assert_eq!(block_on(cache.get(&key)), SecondFetch::Lost(Loss::Down));
    let short = RedisCache::new(&options(&away, "short")).unwrap_err();
    assert!(matches!(short, InvalidRedis::Key), "{short}");
    for wrong in ["http://u:hunter2@h/", "rediss://u:hunter2@h/", "hunter2"] {
        let error = RedisCache::new(&options(wrong, OPERATOR)).unwrap_err();
        assert!(matches!(error, InvalidRedis::Url(_)));
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn a_flush_is_told_to_the_other_processes_and_a_gap_in_the_news_empties_them() {
    let server = RedisServer::start().unwrap();
    let [one, other] = [(); 2].map(|()| connected(&patient(&server, OPERATOR)));
    let news = |after| block_on(other.flushes(Some(after))).unwrap();
    let last = || block_on(other.flushes(None)).unwrap().last;
    let mut places = vec![last()];
    assert_eq!(places, [LastFlush::default()]);
    let all = [
        Flush::Tag(None, CacheTag::Token("ETH".into())),
        Flush::Tenant(account("a")),
        Flush::Tenant(account("a")),
    ];
    for flush in &all {
        block_on(one.flush(flush)).unwrap();
        places.push(last());
    }
    assert_eq!(places[3].number, 3);
    let expected = |flushes: Option<&[Flush]>| FlushNews {
        last: places[3],
        flushes: flushes.map(<[Flush]>::to_vec),
        is_back: false,
    };
    assert_eq!(news(places[0]), expected(Some(&all)));
    assert_eq!(news(places[2]), expected(Some(&all[2..])));
    assert_eq!(news(places[3]), expected(Some(&[])));
    // An order that cannot be read, or is gone, may have named anything.
    let stranger = connected(&patient(
        &server,
        "another key of more than thirty-two bytes",
    ));
    let unread = block_on(stranger.flushes(Some(places[0])));
    assert_eq!(unread, Ok(expected(None)));
    let first = ["ZREMRANGEBYRANK", "bardo:{cache}:f", "0", "0"];
    server.command(&first).unwrap();
    assert_eq!(news(places[0]), expected(None));
    server.command(&["FLUSHALL"]).unwrap();
    let reset = FlushNews {
        last: LastFlush::default(),
        flushes: None,
        is_back: true,
    };
    assert_eq!(news(places[3]), reset);
}

#[test]
fn a_redis_that_lost_its_removals_is_known_by_them_when_their_number_is_reached_again() {
    let server = RedisServer::start().unwrap();
    let [one, other] = [(); 2].map(|()| connected(&patient(&server, OPERATOR)));
    let flush = Flush::Tenant(account("a"));
    block_on(one.flush(&flush)).unwrap();
    let known = block_on(other.flushes(None)).unwrap().last;
    server.command(&["FLUSHALL"]).unwrap();
    for number in 1..=2 {
        block_on(one.flush(&flush)).unwrap();
        let news = block_on(other.flushes(Some(known))).unwrap();
        assert_eq!(news.last.number, number);
        assert!(news.is_back && news.flushes.is_none(), "{news:?}");
    }
    let entry = entry("b", &[]);
    block_on(other.put(&entry, 60_000, LastFlush { number: 2, ..known })).unwrap();
    assert_eq!(get(&one, &entry), SecondFetch::Absent);
    put(&other, &entry);
    assert!(matches!(get(&one, &entry), SecondFetch::Entry(_)));
}

#[test]
fn a_redis_that_starts_from_before_a_flush_serves_nothing_until_that_is_known() {
    let mut server = RedisServer::start().unwrap();
    let cache = connected(&patient(&server, OPERATOR));
    let entry = entry("a", &[]);
    block_on(cache.flush(&Flush::Tenant(account("z")))).unwrap();
    let known = block_on(cache.flushes(None)).unwrap().last;
    block_on(cache.put(&entry, 60_000, known)).unwrap();
    server.command(&["SAVE"]).unwrap();
    // Nobody has read of this flush when the server dies.
    block_on(cache.flush(&Flush::Tenant(account("a")))).unwrap();
    server.stop();
    server.resume().unwrap();
    until("it is back", || {
        let fetched = get(&cache, &entry);
        assert_eq!(fetched, SecondFetch::Lost(Loss::Down), "it was removed");
        cache.mode() == "up"
    });
    assert_eq!(get(&cache, &entry), SecondFetch::Lost(Loss::Down));
    let news = block_on(cache.flushes(Some(known))).unwrap();
    assert!(news.is_back, "{news:?}");
    assert_eq!(get(&cache, &entry), SecondFetch::Lost(Loss::Down));
    block_on(cache.flush(&Flush::All)).unwrap();
    assert!(!block_on(cache.flushes(Some(news.last))).unwrap().is_back);
    assert_eq!(get(&cache, &entry), SecondFetch::Absent);
}

#[test]
fn a_process_that_missed_more_removals_than_are_kept_takes_no_redis_for_one_that_lost_them() {
    let server = RedisServer::start().unwrap();
    let [one, other] = [(); 2].map(|()| connected(&patient(&server, OPERATOR)));
    let flush = Flush::Tenant(account("a"));
    block_on(one.flush(&flush)).unwrap();
    let known = block_on(other.flushes(None)).unwrap().last;
    for _ in 0..1_000 {
        block_on(one.flush(&flush)).unwrap();
    }
    let news = block_on(other.flushes(Some(known))).unwrap();
    assert!(!news.is_back && news.flushes.is_none());
}

#[test]
fn a_process_that_does_not_know_of_a_flush_stores_nothing_behind_it() {
    let server = RedisServer::start().unwrap();
    let [one, other] = [(); 2].map(|()| connected(&patient(&server, OPERATOR)));
    let entry = entry("a", &[]);
    let known = block_on(one.flushes(None)).unwrap().last;
    block_on(other.flush(&Flush::Tenant(account("a")))).unwrap();
    block_on(one.put(&entry, 60_000, known)).unwrap();
    assert_eq!(get(&other, &entry), SecondFetch::Absent);
    put(&one, &entry);
    assert!(matches!(get(&other, &entry), SecondFetch::Entry(_)));
}

#[test]
fn a_flush_is_no_news_to_the_process_that_gave_it() {
    let server = RedisServer::start().unwrap();
    let [one, other] = [(); 2].map(|()| connected(&patient(&server, OPERATOR)));
    let flush = Flush::Tenant(account("a"));
    block_on(one.flush(&flush)).unwrap();
    let last = block_on(other.flushes(None)).unwrap().last;
    let begin = Some(LastFlush::default());
    let news = |cache: &RedisCache| block_on(cache.flushes(begin)).unwrap();
    let told = |flushes| FlushNews {
        last,
        flushes: Some(flushes),
        is_back: false,
    };
    for _ in 0..2 {
        assert_eq!(news(&one), told(Vec::new()));
        assert_eq!(news(&other), told(vec![flush.clone()]));
    }
}

//! Shared limits, on a real Redis server.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use bardo_access::{Admission, Allowance, LimitRequest, LimitStore, LocalLimits, Throttled};
use bardo_ledger::contract::{block_on, join_all};
use bardo_store::redis::{InvalidRedis, LimitClock, RedisLimits, RedisOptions};
use bardo_store::servers::RedisServer;
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::secret::Secret;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::wait::until;

const HOUR_MS: u64 = 3_600_000;

/// One server for all tests that do not stop it; each has accounts of its own.
fn server() -> &'static RedisServer {
    static SERVER: OnceLock<RedisServer> = OnceLock::new();
    SERVER.get_or_init(|| RedisServer::start().expect("a Redis to test with"))
}

/// The usual options, but for machines that are busy with other tests.
fn options(server: &RedisServer) -> RedisOptions {
    RedisOptions {
        timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
        ..RedisOptions::new(Secret::new(server.url()))
    }
}

/// One process's limits, connected.
fn limits(options: &RedisOptions) -> RedisLimits {
    let local = Arc::new(LocalLimits::default());
    let limits = block_on(RedisLimits::connect(options, local)).unwrap();
    assert_eq!(limits.mode(), "shared");
    limits
}

fn request(account: &str) -> LimitRequest {
    LimitRequest {
        account: AccountId::parse(account).unwrap(),
        key: None,
        requests_per_minute: None,
        tokens_per_minute: None,
        allowance: None,
        own_allowance: false,
        tokens: 0,
        now_ms: 0,
    }
}

fn admit(limits: &impl LimitStore, request: &LimitRequest) -> Result<Admission, Throttled> {
    block_on(limits.admit(request))
}

/// Something that happens to limits, after some time.
#[derive(Debug, Clone)]
enum Step {
    Admit {
        pause_ms: u64,
        limits: usize,
        tokens: u64,
    },
    /// The last one that was let in used so many.
    Correct { pause_ms: u64, used: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let pause = || prop_oneof![0..50_u64, 0..30_000_u64, Just(HOUR_MS)];
    prop_oneof![
        4 => (pause(), 0..5_usize, 0..900_u64)
            .prop_map(|(pause_ms, limits, tokens)| Step::Admit { pause_ms, limits, tokens }),
        1 => (pause(), 0..2_000_u64)
            .prop_map(|(pause_ms, used)| Step::Correct { pause_ms, used }),
    ]
}

/// Limits change while they are in use: the rows of this table are drawn at random.
fn with_limits(request: LimitRequest, row: usize) -> LimitRequest {
    let hour = |tokens, overage| Some(Allowance { tokens, overage });
    let (requests_per_minute, tokens_per_minute, allowance, own_allowance) = [
        (Some(7), None, None, false),
        (Some(20), Some(1_000), hour(4_000, false), false),
        (None, Some(333), hour(2_000, true), true),
        (Some(0), Some(0), hour(0, false), false),
        (None, Some(500), None, false),
    ][row];
    LimitRequest {
        key: Some(KeyId::parse("k").unwrap()),
        requests_per_minute,
        tokens_per_minute,
        allowance,
        own_allowance,
        ..request
    }
}

#[test]
fn redis_counts_as_one_process_does_to_the_unit() {
    let shared = limits(&RedisOptions {
        clock: LimitClock::Request,
        ..options(server())
    });
    let number = AtomicU32::new(0);
    let histories = prop::collection::vec(step(), 1..40);
    let outcome = TestRunner::default().run(&histories, |steps| {
        let account = format!("history:{}", number.fetch_add(1, Ordering::Relaxed));
        let local = LocalLimits::default();
        let mut now_ms = 490_000 * HOUR_MS;
        let mut open: Vec<(LimitRequest, u64)> = Vec::new();
        for step in steps {
            match step {
                Step::Admit {
                    pause_ms,
                    limits,
                    tokens,
                } => {
                    now_ms += pause_ms;
                    let request = LimitRequest {
                        tokens,
                        now_ms,
                        key: (tokens % 3 == 0).then(|| KeyId::parse("k").unwrap()),
                        ..with_limits(request(&account), limits)
                    };
                    let expected = admit(&local, &request);
                    prop_assert_eq!(admit(&shared, &request), expected.clone());
                    // Where no tokens are counted there is nothing to correct.
                    if let Ok(taken) = expected
                        && request.tokens_per_minute.is_some()
                    {
                        open.push((request, taken.reserved_tokens));
                    }
                }
                Step::Correct { pause_ms, used } => {
                    now_ms += pause_ms;
                    if let Some((request, reserved)) = open.pop() {
                        local.correct(&request, reserved, used, now_ms);
                        shared.correct(&request, reserved, used, now_ms);
                    }
                }
            }
        }
        Ok(())
    });
    outcome.unwrap();
}

/// The limit does not multiply with the number of processes.
#[test]
fn three_processes_let_in_no_more_than_the_limit() {
    let mut options = options(server());
    options.instances = NonZeroU32::new(3).unwrap();
    let processes = [limits(&options), limits(&options), limits(&options)];
    let asked = LimitRequest {
        requests_per_minute: Some(300),
        tokens_per_minute: Some(2_000_000),
        tokens: 10,
        ..request("three")
    };
    let started = Instant::now();
    let let_in: usize = thread::scope(|scope| {
        let run = |limits| {
            let asked = &asked;
            scope.spawn(move || {
                let all = (0..400).map(|_| LimitStore::admit(limits, asked)).collect();
                block_on(join_all(all))
                    .iter()
                    .filter(|answer| answer.is_ok())
                    .count()
            })
        };
        let running: Vec<_> = processes.iter().map(run).collect();
        running.into_iter().map(|each| each.join().unwrap()).sum()
    });
    // The slack: what the bucket was filled with meanwhile, five in a second.
    let filled = started.elapsed().as_millis() as usize * 300 / 60_000 + 1;
    assert!(
        (300..=300 + filled).contains(&let_in),
        "{let_in} of 300 and {filled}"
    );
    assert!(processes.iter().all(|limits| limits.mode() == "shared"));
    let refused = admit(&processes[0], &asked);
    assert!(
        matches!(
            refused,
            Err(Throttled {
                limit: "requests",
                ..
            })
        ) || filled > 1
    );
}

#[test]
fn a_correction_at_one_process_is_felt_at_another() {
    let (here, there) = (limits(&options(server())), limits(&options(server())));
    let asked = LimitRequest {
        tokens_per_minute: Some(100),
        tokens: 100,
        ..request("corrected")
    };
    let taken = admit(&here, &asked).unwrap();
    assert_eq!(taken.reserved_tokens, 100);
    let refused = admit(&there, &asked).unwrap_err();
    assert_eq!(refused.limit, "tokens");
    here.correct(&asked, 100, 0, 0);
    until("the tokens are back", || admit(&there, &asked).is_ok());
}

#[test]
fn counters_go_by_themselves_and_scripts_come_back() {
    let server = RedisServer::start().unwrap();
    let limits = limits(&options(&server));
    let asked = LimitRequest {
        requests_per_minute: Some(60),
        allowance: Some(Allowance {
            tokens: 100,
            overage: false,
        }),
        ..request("ttl")
    };
    admit(&limits, &asked).unwrap();
    server.command(&["SCRIPT", "FLUSH"]).unwrap();
    let left = admit(&limits, &asked).unwrap();
    assert_eq!(limits.mode(), "shared");
    assert!(left.requests.unwrap().remaining <= 59);
    for key in ["bardo:{ttl}:rate", "bardo:{ttl}:hour"] {
        let seconds: i64 = server
            .command(&["TTL", key])
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        assert!((1..=7_200).contains(&seconds), "{key} lives {seconds} s");
    }
}

#[test]
fn while_redis_is_away_each_process_grants_its_share_and_then_shares_again() {
    let mut server = RedisServer::start().unwrap();
    let options = RedisOptions {
        instances: NonZeroU32::new(4).unwrap(),
        // The clock of the requests stands, so that no token comes back while the test waits.
        clock: LimitClock::Request,
        ..options(&server)
    };
    let limits = limits(&options);
    let asked = |account: &str| LimitRequest {
        requests_per_minute: Some(8),
        tokens_per_minute: Some(400),
        tokens: 40,
        ..request(account)
    };
    assert_eq!(
        admit(&limits, &asked("before"))
            .unwrap()
            .requests
            .unwrap()
            .limit,
        8
    );
    server.stop();
    until("it is missed", || {
        admit(&limits, &asked("probe"))
            .unwrap_or_else(|refused| refused.state)
            .requests
            .unwrap()
            .limit
            == 2
    });
    assert_eq!(limits.mode(), "degraded");
    // A quarter of everything, from counters that do not move: the request's clock stands.
    let first = admit(&limits, &asked("alone")).unwrap();
    assert_eq!(
        (first.tokens.unwrap().limit, first.reserved_tokens),
        (100, 40)
    );
    admit(&limits, &asked("alone")).unwrap();
    assert_eq!(
        admit(&limits, &asked("alone")).unwrap_err().limit,
        "requests"
    );
    server.resume().unwrap();
    until("it is shared again", || limits.mode() == "shared");
    assert_eq!(
        admit(&limits, &asked("alone"))
            .unwrap()
            .requests
            .unwrap()
            .limit,
        8
    );
    // What was granted alone is corrected there and gives nothing away here.
    limits.correct(&asked("alone"), 40, 0, 0);
    let after = admit(&limits, &asked("alone")).unwrap();
    assert!(after.tokens.unwrap().remaining <= 321, "{after:?}");
}

#[test]
fn a_redis_that_says_nothing_holds_nobody_up() {
    let server = RedisServer::start().unwrap();
    let options = RedisOptions {
        timeout: Duration::from_millis(50),
        connect_timeout: Duration::from_millis(50),
        ..RedisOptions::new(Secret::new(server.url()))
    };
    let local = Arc::new(LocalLimits::default());
    let limits = RedisLimits::new(&options, local).unwrap();
    until("it is shared", || limits.mode() == "shared");
    let asked = LimitRequest {
        requests_per_minute: Some(1_000_000),
        ..request("silent")
    };
    server.freeze();
    until("the silence is felt", || {
        admit(&limits, &asked).unwrap();
        limits.mode() == "degraded"
    });
    // Nobody waits for it any more: the connection is not even tried by these.
    for _ in 0..1_000 {
        admit(&limits, &asked).unwrap();
    }
    server.thaw();
    until("it is shared again", || limits.mode() == "shared");
}

#[test]
fn it_starts_without_redis_and_refuses_urls_that_can_never_work() {
    let nobody = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let url = |url: String| RedisOptions::new(Secret::new(url));
    let local = || Arc::new(LocalLimits::default());
    let away = url(format!("redis://127.0.0.1:{port}/"));
    let limits = block_on(RedisLimits::connect(&away, local())).unwrap();
    assert_eq!(limits.mode(), "degraded");
    assert!(admit(&limits, &request("anybody")).is_ok());
    for wrong in ["http://u:hunter2@h/", "rediss://u:hunter2@h/", "hunter2"] {
        let error = RedisLimits::new(&url(wrong.to_owned()), local()).unwrap_err();
        assert!(matches!(error, InvalidRedis::Url(_)));
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

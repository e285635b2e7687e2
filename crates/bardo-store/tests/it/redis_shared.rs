//! Short-lived values that processes share, on a real Redis server.

use std::time::Duration;

use bardo_cache::second::Loss;
use bardo_cache::shared::{SharedClaim, SharedLease, SharedName, SharedValues};
use bardo_ledger::contract::block_on;
use bardo_store::redis::shared::{RedisShared, RedisSharedOptions};
use bardo_store::servers::RedisServer;
use bardo_types::secret::Secret;

use crate::wait::until;

const OPERATOR: &str = "an operator's key of more than thirty-two bytes";
const HOUR: Duration = Duration::from_secs(3_600);

/// The usual options, but for machines that are busy with other tests.
fn process(server: &RedisServer, key: &str) -> RedisShared {
    let options = RedisSharedOptions {
        timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
        ..RedisSharedOptions::new(Secret::new(server.url()), Secret::new(key.to_owned()))
    };
    let shared = RedisShared::new(&options).unwrap();
    until("it is connected", || shared.mode() == "up");
    shared
}

fn held(claim: Result<SharedClaim, Loss>) -> SharedLease {
    match claim {
        Ok(SharedClaim::Held(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_process_claims_a_name_and_the_others_see_what_became_of_it() {
    let server = RedisServer::start().unwrap();
    let [one, two] = [process(&server, OPERATOR), process(&server, OPERATOR)];
    let name = SharedName::new("answer", &["acct_1", "key"]);
    let lease = held(block_on(one.claim(&name, b"running", HOUR, HOUR)));
    let taken = |value: &[u8], is_alive| {
        let value = value.to_vec();
        Ok(SharedClaim::Taken { value, is_alive })
    };
    assert_eq!(
        block_on(two.claim(&name, b"mine", HOUR, HOUR)),
        taken(b"running", true)
    );
    block_on(one.change(&lease, b"streams", HOUR, HOUR)).unwrap();
    assert_eq!(block_on(two.read(&name)), Ok(Some(b"streams".to_vec())));
    block_on(one.end(&lease, Some((b"answered", HOUR)))).unwrap();
    assert_eq!(
        block_on(two.claim(&name, b"mine", HOUR, HOUR)),
        taken(b"answered", false)
    );
    // What ended without a value is free again, and its old claim changes nothing any more.
    let other = SharedName::new("answer", &["acct_1", "other"]);
    let first = held(block_on(one.claim(&other, b"running", HOUR, HOUR)));
    block_on(one.end(&first, None)).unwrap();
    let second = held(block_on(two.claim(&other, b"again", HOUR, HOUR)));
    assert_ne!(first.token, second.token);
    assert_eq!(
        block_on(one.end(&first, Some((b"late", HOUR)))),
        Err(Loss::Foreign)
    );
    assert_eq!(block_on(one.read(&other)), Ok(Some(b"again".to_vec())));
}

#[test]
fn a_claimant_that_died_is_seen_and_its_value_stays() {
    let server = RedisServer::start().unwrap();
    let [one, two] = [process(&server, OPERATOR), process(&server, OPERATOR)];
    let name = SharedName::new("answer", &["acct_1", "key"]);
    let lease = Duration::from_millis(300);
    let _gone = held(block_on(one.claim(&name, b"running", HOUR, lease)));
    until("the lease expires", || {
        let seen = block_on(two.claim(&name, b"mine", HOUR, HOUR));
        seen == Ok(SharedClaim::Taken {
            value: b"running".to_vec(),
            is_alive: false,
        })
    });
}

#[test]
fn a_lease_that_is_renewed_outlives_its_first_time() {
    let server = RedisServer::start().unwrap();
    let one = process(&server, OPERATOR);
    let name = SharedName::new("answer", &["acct_1", "key"]);
    let short = Duration::from_millis(500);
    let lease = held(block_on(one.claim(&name, b"running", HOUR, short)));
    block_on(one.renew(&lease, HOUR)).unwrap();
    // A name without a claim, which goes when the first time of the lease is over.
    let clock = SharedName::new("clock", &[]);
    block_on(one.write(&clock, b"tick", Duration::from_millis(700))).unwrap();
    until("time passes", || block_on(one.read(&clock)) == Ok(None));
    let seen = block_on(one.claim(&name, b"mine", HOUR, HOUR));
    assert!(
        matches!(seen, Ok(SharedClaim::Taken { is_alive: true, .. })),
        "{seen:?}"
    );
}

#[test]
fn redis_sees_neither_names_nor_values_and_another_operators_key_opens_nothing() {
    let server = RedisServer::start().unwrap();
    let [own, foreign] = [
        process(&server, OPERATOR),
        process(&server, "the key of another operator, long enough"),
    ];
    let name = SharedName::new("thinking", &["acct_secret", "call_1"]);
    block_on(own.write(&name, b"a secret thought", HOUR)).unwrap();
    assert_eq!(
        block_on(own.read(&name)),
        Ok(Some(b"a secret thought".to_vec()))
    );
    assert_eq!(block_on(foreign.read(&name)), Ok(None));
    assert_eq!(server.command(&["DBSIZE"]).unwrap().trim(), "1");
    for pattern in ["*secret*", "*thinking*", "*call_1*"] {
        let script = format!("\"return#redis.call('KEYS','{pattern}')\"");
        let found = server.command(&["EVAL", &script, "0"]);
        assert_eq!(found.unwrap().trim(), "0", "{pattern}");
    }
}

#[test]
fn a_redis_that_dies_is_a_loss_and_comes_back() {
    let mut server = RedisServer::start().unwrap();
    let one = process(&server, OPERATOR);
    let name = SharedName::new("thinking", &["a"]);
    server.stop();
    until("the loss is noticed", || {
        block_on(one.read(&name)) == Err(Loss::Down)
    });
    server.resume().unwrap();
    until("it is back", || {
        block_on(one.write(&name, b"x", HOUR)).is_ok()
    });
    assert!(one.losses().of(Loss::Down) > 0);
}

#[test]
fn messages_of_a_channel_reach_every_process_in_their_order() {
    let server = RedisServer::start().unwrap();
    let [one, two] = [process(&server, OPERATOR), process(&server, OPERATOR)];
    let begun = block_on(two.posts("events", None)).unwrap();
    assert!(begun.messages.is_empty());
    for message in [&b"a"[..], b"b", b"b"] {
        block_on(one.post("events", message)).unwrap();
    }
    block_on(one.post("health", b"other")).unwrap();
    let read = block_on(two.posts("events", Some(begun.last))).unwrap();
    assert_eq!(read.messages, [b"a", b"b", b"b"]);
    assert_eq!(read.last, begun.last + 3);
    let again = block_on(two.posts("events", Some(read.last))).unwrap();
    assert!(again.messages.is_empty());
    let foreign = process(&server, "the key of another operator, long enough");
    assert!(
        block_on(foreign.posts("events", Some(0)))
            .unwrap()
            .messages
            .is_empty()
    );
}

//! Keys, and how other processes hear of their changes.

use std::time::Duration;

use bardo_access::{
    Allowance, Amendment, CachePermission, CapRange, CapRanges, KeyError, KeyKind, KeyRecord,
    KeyStore, KeyTier, Network, Scopes, SpendCaps,
};
use bardo_ledger::contract::block_on;
use bardo_store::postgres::{PostgresOptions, PostgresStore};
use bardo_types::ids::KeyId;
use bardo_types::money::{BasisPoints, MicroUsd};

use super::{NOW_MS, account, options, server, store};
use crate::wait::until;

fn plain(id: &str) -> KeyRecord {
    KeyRecord {
        id: KeyId::parse(id).unwrap(),
        account: account("acct"),
        kind: KeyKind::Spend,
        name: String::new(),
        hash: format!("$2b$04${id}"),
        scopes: Scopes::default(),
        tier: None,
        spread: None,
        created_at_ms: NOW_MS,
        expires_at_ms: None,
        revoked_at_ms: None,
        replaces: None,
    }
}

fn full(id: &str) -> KeyRecord {
    KeyRecord {
        account: account("other"),
        kind: KeyKind::ReadOnly,
        name: "für Ada, \"quoted\" {a,b}".to_owned(),
        scopes: Scopes {
            models: vec!["gpt-*".to_owned(), "NULL".to_owned()],
            backends: vec!["direct/openai".to_owned()],
            networks: vec![network("10.0.0.0", 8), network("2001:db8::", 32)],
            requests_per_minute: Some(u32::MAX),
            tokens_per_minute: Some(0),
            subsystem_caps: [("dream_rem".to_owned(), MicroUsd::new(250_000))].into(),
            cache: Some(CachePermission::Semantic),
            spend: SpendCaps {
                session: Some(MicroUsd::ZERO),
                day: Some(MicroUsd::new(1)),
                month: Some(MicroUsd::MAX),
                total: None,
            },
            allowance: Some(Allowance {
                tokens: u64::MAX,
                overage: true,
            }),
            ranges: CapRanges {
                day: CapRange::new(MicroUsd::ZERO, MicroUsd::MAX),
                month: None,
            },
        },
        tier: Some(KeyTier::Golem),
        spread: Some(BasisPoints::MAX),
        expires_at_ms: Some(NOW_MS + 1),
        revoked_at_ms: Some(NOW_MS + 2),
        replaces: Some(KeyId::parse("older").unwrap()),
        ..plain(id)
    }
}

fn network(address: &str, bits: u8) -> Network {
    Network {
        address: address.parse().unwrap(),
        bits,
    }
}

#[test]
fn keys_are_kept_as_they_were_given() {
    let store = store(&server().database().unwrap());
    assert!(block_on(store.is_empty()).unwrap());
    for record in [plain("k1"), full("k2")] {
        block_on(store.insert(record.clone())).unwrap();
        assert_eq!(block_on(store.find(&record.id)).unwrap(), Some(record));
    }
    assert!(!block_on(store.is_empty()).unwrap());
    assert_eq!(
        block_on(store.list(None)).unwrap(),
        [plain("k1"), full("k2")]
    );
    let other = account("other");
    assert_eq!(block_on(store.list(Some(&other))).unwrap(), [full("k2")]);
    let nobody = KeyId::parse("k3").unwrap();
    assert_eq!(block_on(store.find(&nobody)).unwrap(), None);
}

#[test]
fn an_id_is_taken_once_and_an_update_keeps_what_may_not_change() {
    let store = store(&server().database().unwrap());
    block_on(store.insert(plain("k1"))).unwrap();
    let taken = block_on(store.insert(full("k1")));
    // The same hash is the same call sent again.
    assert_eq!(taken, Ok(()));
    let another = KeyRecord {
        hash: "$2b$04$other".to_owned(),
        ..plain("k1")
    };
    let taken = block_on(store.insert(another.clone()));
    assert_eq!(taken, Err(KeyError::Exists(another.id.clone())));
    let changed = KeyRecord {
        hash: "$2b$04$other".to_owned(),
        ..full("k1")
    };
    block_on(store.update(changed, Amendment::default())).unwrap();
    let kept = KeyRecord {
        account: account("acct"),
        kind: KeyKind::Spend,
        replaces: None,
        ..full("k1")
    };
    assert_eq!(block_on(store.find(&kept.id)).unwrap(), Some(kept));
    let unknown = plain("k2");
    let answer = block_on(store.update(unknown.clone(), Amendment::default()));
    assert_eq!(answer, Err(KeyError::Unknown(unknown.id)));
}

#[test]
fn a_change_is_heard_of_here_at_once_and_elsewhere_by_notice() {
    let url = server().database().unwrap();
    // So seldom that only a notice can be in time.
    let seldom = PostgresOptions {
        revision_poll: Duration::from_secs(24 * 3_600),
        ..options(&url)
    };
    let here = store(&url);
    let there = block_on(PostgresStore::connect(&seldom)).unwrap();
    block_on(here.insert(plain("first"))).unwrap();
    // Listening begins by itself; once a change was heard of, it has.
    let mut number = 0;
    let before = there.revision();
    until("it listens", || {
        number += 1;
        block_on(here.insert(plain(&format!("k{number}")))).unwrap();
        there.revision() > before + 2
    });
    let mine = here.revision();
    let theirs = there.revision();
    block_on(here.update(full("first"), Amendment::default())).unwrap();
    assert!(here.revision() > mine);
    until("the change is heard of", || there.revision() > theirs);
    assert!(
        block_on(there.find(&plain("first").id))
            .unwrap()
            .unwrap()
            .revoked_at_ms
            .is_some()
    );
}

#[test]
fn a_change_without_a_notice_is_found_by_asking() {
    let url = server().database().unwrap();
    let often = PostgresOptions {
        revision_poll: Duration::from_millis(20),
        ..options(&url)
    };
    let store = block_on(PostgresStore::connect(&often)).unwrap();
    until("it has asked", || store.revision() > 0);
    let before = store.revision();
    // Backwards too: a backup was restored.
    let sql = "UPDATE bardo.key_revision SET revision = 0";
    server().execute(&url, sql).unwrap();
    until("the change is found", || store.revision() > before);
}

#[test]
fn a_change_is_refused_once_another_came_first_and_no_revocation_is_taken_back() {
    let url = server().database().unwrap();
    let store = store(&url);
    block_on(store.insert(plain("k1"))).unwrap();
    let from = |scopes: Scopes| Amendment {
        note: "by a test".to_owned(),
        from: Some(scopes),
    };
    let narrow = KeyRecord {
        scopes: full("k1").scopes,
        ..plain("k1")
    };
    block_on(store.update(narrow.clone(), from(Scopes::default()))).unwrap();
    // The same call again, as after a lost connection.
    block_on(store.update(narrow.clone(), from(Scopes::default()))).unwrap();
    let late = block_on(store.update(
        plain("k1"),
        from(Scopes {
            requests_per_minute: Some(1),
            ..Scopes::default()
        }),
    ));
    assert_eq!(late, Err(KeyError::Changed(narrow.id.clone())));
    assert_eq!(block_on(store.find(&narrow.id)).unwrap(), Some(narrow));

    let revoked = KeyRecord {
        revoked_at_ms: Some(NOW_MS + 2),
        ..plain("k1")
    };
    block_on(store.update(revoked.clone(), Amendment::default())).unwrap();
    block_on(store.update(plain("k1"), Amendment::noted("too late"))).unwrap();
    assert_eq!(block_on(store.find(&revoked.id)).unwrap(), Some(revoked));
    server()
        .execute(
            &url,
            "DO $$ BEGIN
                ASSERT (SELECT count(*) FROM bardo.audit WHERE detail = 'by a test') = 2;
                ASSERT (SELECT count(*) FROM bardo.audit WHERE action = 'key revoked') = 1;
            END $$",
        )
        .unwrap();
}

/// What version 6 of the schema kept in columns.
#[test]
fn scopes_in_columns_are_carried_over() {
    let url = server().database().unwrap();
    drop(store(&url));
    let back = "
        DELETE FROM bardo.schema WHERE version >= 7;
        DROP FUNCTION bardo.insert_key(text[], bigint[], text);
        DROP FUNCTION bardo.update_key(text[], bigint[], text, text, text);
        CREATE FUNCTION bardo.insert_key(text[], bigint[], text[], text[], text[])
            RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
        CREATE FUNCTION bardo.update_key(text[], bigint[], text[], text[], text[])
            RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
        ALTER TABLE bardo.keys DROP COLUMN scopes,
            ADD COLUMN models text[] NOT NULL, ADD COLUMN backends text[] NOT NULL,
            ADD COLUMN networks text[] NOT NULL, ADD COLUMN requests_per_minute bigint,
            ADD COLUMN tokens_per_minute bigint, ADD COLUMN session_cap bigint,
            ADD COLUMN day_cap bigint, ADD COLUMN month_cap bigint, ADD COLUMN total_cap bigint;
        INSERT INTO bardo.keys (id, account, kind, name, hash, models, backends, networks,
            requests_per_minute, tokens_per_minute, session_cap, day_cap, month_cap, total_cap,
            created_at_ms)
        VALUES
            ('bound', 'acct', 'spend', '', 'h', '{gpt-*,NULL}', '{direct/openai}',
             '{10.0.0.0/8,2001:db8::/32}', 4294967295, 0, 0, 1, 9223372036854775807, 8, 1),
            ('free', 'acct', 'spend', '', 'h', '{}', '{}', '{}',
             NULL, NULL, NULL, NULL, NULL, NULL, 1);";
    // The array's own spelling of a name that is not null.
    let back = back.replace("{gpt-*,NULL}", "{gpt-*,\"NULL\"}");
    server()
        .execute(&url, super::schema::WITHOUT_RECEIPTS_OF_ALL)
        .unwrap();
    server().execute(&url, &back).unwrap();
    let store = store(&url);
    let scopes = |id: &str| {
        let found = block_on(store.find(&KeyId::parse(id).unwrap())).unwrap();
        found.unwrap().scopes
    };
    let expected = Scopes {
        spend: SpendCaps {
            month: Some(MicroUsd::new(u64::try_from(i64::MAX).unwrap())),
            total: Some(MicroUsd::new(8)),
            ..full("k").scopes.spend
        },
        subsystem_caps: std::collections::BTreeMap::new(),
        allowance: None,
        ranges: CapRanges::default(),
        cache: None,
        ..full("k").scopes
    };
    assert_eq!(scopes("bound"), expected);
    assert_eq!(scopes("free"), Scopes::default());
}

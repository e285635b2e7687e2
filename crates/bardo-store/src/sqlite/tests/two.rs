use bardo_access::KeyTier;
use bardo_access::{
    Amendment, KeyError, KeyKind, KeyRecord, KeyState, KeyStore, Network, Scopes, SpendCaps,
};
use bardo_ledger::contract::block_on;
use bardo_ledger::{Accounts, Cap, CapScope, CapWindow, End, Holds, LedgerRefusal, StoreError};
use bardo_types::ids::KeyId;
use bardo_types::money::BasisPoints;

use super::rig::*;
use crate::sqlite::{OpenError, OpenMode, SqliteStore};

#[test]
fn only_one_server_at_a_time() {
    let folder = Folder::new();
    let store = folder.serve();
    let second = SqliteStore::open(folder.file(), OpenMode::Serve).unwrap_err();
    assert!(matches!(second, OpenError::InUse(_)));
    assert!(second.to_string().contains("another server"), "{second}");
    let tool = folder.tool();
    drop(store);
    drop(folder.serve());
    drop(tool);
}

#[test]
fn a_deposit_by_a_tool_reaches_the_server() {
    let folder = Folder::new();
    let store = folder.serve();
    let tool = folder.tool();
    let insufficient = |answer| matches!(answer, Ok(Err(LedgerRefusal::Insufficient { .. })));
    deposit(&*store, "a", 10, "operator:1");
    assert!(insufficient(try_reserve(&*store, "a", 1, 11)));
    assert_eq!(deposit(&tool, "a", 90, "operator:2").deposited, micro(100));
    // Before it refuses, the server looks.
    reserve(&*store, "a", 1, 100);
    deposit(&tool, "a", 5, "operator:3");
    let extended = block_on(store.extend(&account("a"), &request(1), micro(5), NOW_MS));
    assert_eq!(extended.unwrap().unwrap().held, micro(105));
    // It hears of it also when nobody asks, and of accounts that it has never seen.
    deposit(&tool, "a", 7, "operator:4");
    until(|| stands(&*store, "a").0 == 112);
    deposit(&tool, "a", 1, "operator:5");
    block_on(store.refresh()).unwrap();
    assert_eq!(stands(&*store, "a"), (113, 0, 105, 8));
    deposit(&tool, "b", 3, "operator:1");
    assert_eq!(stands(&*store, "b"), (3, 0, 0, 3));
    reserve(&*store, "b", 1, 3);
    // One reference is one deposit, whoever makes it.
    deposit(&*store, "a", 1, "operator:5");
    deposit(&tool, "a", 10, "operator:1");
    assert_eq!(stands(&*store, "a").0, 113);
    // The file and the books agree.
    end(&*store, "a", 1, capture(100, 5));
    end(&*store, "b", 1, capture(1, 0));
    refresh(&store);
    assert_eq!(stands(&tool, "a"), (113, 105, 0, 8));
    assert_eq!(stands(&tool, "b"), (3, 1, 0, 2));
    check_verify(&*store);
}

#[test]
fn a_tool_ends_holds_of_unknown_outcome_and_no_others() {
    let folder = Folder::new();
    let store = folder.serve();
    let tool = folder.tool();
    deposit(&*store, "a", 200, "operator:1");
    let cap = Cap {
        scope: CapScope::Key(KeyId::parse("key").unwrap()),
        window: CapWindow::Month,
        limit: micro(100),
    };
    for number in 1..=2 {
        let command = reserve_command("a", number, 40, vec![cap.clone()]);
        block_on(store.reserve(command)).unwrap().unwrap();
        end(&*store, "a", number, End::Unknown);
    }
    reserve(&*store, "a", 3, 20);
    persist(&*store, "a", 3).unwrap();
    refresh(&store);
    let holds = block_on(tool.holds(Some(&account("a")))).unwrap();
    assert_eq!(holds, block_on(store.holds(None)).unwrap());
    for number in [3, 4] {
        let refused = try_end(&tool, "a", number, capture(1, 0)).unwrap_err();
        assert!(matches!(refused, StoreError::Unavailable(_)));
    }
    assert!(try_reserve(&tool, "a", 5, 1).is_err());
    // No more than the hold is taken.
    let settled = end(&tool, "a", 1, capture(30, 15));
    assert_eq!((settled.charged, settled.shortfall), (micro(40), micro(5)));
    assert!(end(&tool, "a", 1, capture(30, 15)).repeated);
    assert!(!end(&tool, "a", 2, End::Release).repeated);
    block_on(store.refresh()).unwrap();
    assert_eq!(stands(&*store, "a"), (200, 40, 20, 140));
    assert!(end(&*store, "a", 1, capture(30, 15)).repeated);
    assert!(end(&*store, "a", 2, capture(30, 15)).repeated);
    let again = |amount| reserve_command("a", 6, amount, vec![cap.clone()]);
    let refused = block_on(store.reserve(again(61))).unwrap().unwrap_err();
    assert!(matches!(refused, LedgerRefusal::Capped { used, .. } if used == micro(40)));
    block_on(store.reserve(again(60))).unwrap().unwrap();
    end(&*store, "a", 6, End::Release);
    end(&*store, "a", 3, End::Release);
    refresh(&store);
    assert_eq!(stands(&tool, "a"), stands(&*store, "a"));
    assert!(!tool.catch_up().unwrap(), "the server has the journal");
    check_verify(&*store);
}

fn key(id: &str) -> KeyRecord {
    KeyRecord {
        id: KeyId::parse(id).unwrap(),
        account: account("a"),
        kind: KeyKind::Spend,
        name: "Zoë's \"laptop\"".to_owned(),
        hash: "$2b$12$abc".to_owned(),
        scopes: Scopes {
            models: vec!["claude-*".to_owned()],
            networks: vec![Network {
                address: "10.0.0.0".parse().unwrap(),
                bits: 8,
            }],
            requests_per_minute: Some(60),
            spend: SpendCaps {
                day: Some(micro(5_000_000)),
                ..SpendCaps::default()
            },
            ..Scopes::default()
        },
        tier: Some(KeyTier::Golem),
        spread: BasisPoints::new(1_500),
        created_at_ms: NOW_MS,
        expires_at_ms: Some(NOW_MS + 1_000),
        revoked_at_ms: None,
        replaces: Some(KeyId::parse("k0").unwrap()),
    }
}

#[test]
fn keys_are_kept_and_a_server_notices_what_a_tool_changes() {
    let folder = Folder::new();
    let store = folder.serve();
    let tool = folder.tool();
    assert!(block_on(store.is_empty()).unwrap());
    let first = KeyStore::revision(&*store);
    block_on(tool.insert(key("k1"))).unwrap();
    until(|| store.revision() > first);
    block_on(store.insert(KeyRecord {
        account: account("b"),
        tier: None,
        spread: None,
        replaces: None,
        expires_at_ms: None,
        ..key("k2")
    }))
    .unwrap();
    assert!(store.revision() > first + 1);
    assert!(!block_on(store.is_empty()).unwrap());
    let find = |id: &str| block_on(store.find(&KeyId::parse(id).unwrap())).unwrap();
    assert_eq!(find("k1"), Some(key("k1")));
    assert_eq!(find("k3"), None);
    let exists = Err(KeyError::Exists(KeyId::parse("k1").unwrap()));
    assert_eq!(block_on(store.insert(key("k1"))), exists);
    let unknown = Err(KeyError::Unknown(KeyId::parse("k3").unwrap()));
    assert_eq!(
        block_on(store.update(key("k3"), Amendment::default())),
        unknown
    );
    let ids = |of: Option<&str>| -> Vec<String> {
        let of = of.map(account);
        let list = block_on(store.list(of.as_ref())).unwrap();
        list.into_iter().map(|key| key.id.to_string()).collect()
    };
    assert_eq!(ids(None), ["k1", "k2"]);
    assert_eq!(ids(Some("b")), ["k2"]);
    assert_eq!(ids(Some("c")), Vec::<String>::new());

    let before = store.revision();
    let revoked = KeyRecord {
        revoked_at_ms: Some(NOW_MS + 5),
        name: "gone".to_owned(),
        ..key("k1")
    };
    block_on(tool.update(revoked.clone(), Amendment::noted("by a test"))).unwrap();
    block_on(store.refresh()).unwrap();
    assert!(store.revision() > before);
    assert_eq!(find("k1"), Some(revoked));
    // Nobody takes a revocation back, and what is fixed stays.
    let other = KeyRecord {
        hash: "another".to_owned(),
        account: account("c"),
        ..key("k1")
    };
    block_on(store.update(other, Amendment::default())).unwrap();
    let found = find("k1").unwrap();
    assert_eq!(found.state(NOW_MS + 5), KeyState::Revoked);
    assert_eq!((found.hash, found.account), (key("k1").hash, account("a")));
    let audited: Vec<String> = folder
        .raw()
        .prepare("SELECT action || ' ' || subject FROM audit ORDER BY no")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let expected = [
        "key.created k1",
        "key.created k2",
        "key.revoked k1",
        "key.changed k1",
    ];
    assert_eq!(audited, expected);
    let note: String = folder
        .raw()
        .query_row(
            "SELECT detail FROM audit WHERE action = 'key.revoked'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!(note.ends_with(": by a test"), "{note}");
}

#[test]
fn a_change_is_refused_once_another_came_first() {
    let folder = Folder::new();
    let (store, tool) = (folder.serve(), folder.tool());
    block_on(store.insert(key("k1"))).unwrap();
    let from = |scopes: Scopes| Amendment {
        note: String::new(),
        from: Some(scopes),
    };
    let wide = KeyRecord {
        scopes: Scopes::default(),
        ..key("k1")
    };
    block_on(tool.update(wide.clone(), from(key("k1").scopes))).unwrap();
    let late = block_on(store.update(key("k1"), from(key("k1").scopes)));
    assert_eq!(late, Err(KeyError::Changed(wide.id.clone())));
    assert_eq!(block_on(store.find(&wide.id)).unwrap(), Some(wide));
}

/// The text is of a database of an earlier version.
#[test]
fn scopes_of_earlier_rows_are_read() {
    let folder = Folder::new();
    let store = folder.serve();
    block_on(store.insert(key("k1"))).unwrap();
    let earlier = r#"{"models":["claude-*"],"networks":["10.0.0.0/8"],"requests_per_minute":60,"spend_day":5000000}"#;
    folder
        .raw()
        .execute("UPDATE keys SET scopes = ?1", [earlier])
        .unwrap();
    let found = block_on(store.find(&KeyId::parse("k1").unwrap())).unwrap();
    assert_eq!(found.unwrap().scopes, key("k1").scopes);
}

#[test]
fn a_key_whose_restrictions_are_unreadable_is_not_handed_out() {
    let folder = Folder::new();
    let store = folder.serve();
    block_on(store.insert(key("k1"))).unwrap();
    folder
        .raw()
        .execute("UPDATE keys SET scopes = '{\"planets\":[\"mars\"]}'", [])
        .unwrap();
    let found = block_on(store.find(&KeyId::parse("k1").unwrap()));
    assert!(matches!(found, Err(KeyError::Unavailable(_))));
}

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bardo_access::{
    Amendment, BoxFuture, KeyError, KeyKind, KeyRecord, PresentedKey, Scopes, hash_secret,
};
use bardo_types::error_code::ErrorCode;
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::secret::Secret;
use http::{HeaderName, HeaderValue};

use super::*;

/// A store in memory, whose failures are the test's.
#[derive(Default)]
struct Shelf {
    keys: Mutex<Vec<KeyRecord>>,
    revision: AtomicU64,
    is_down: AtomicBool,
}

impl Shelf {
    fn answer<T>(&self, value: T) -> Result<T, KeyError> {
        if self.is_down.load(Ordering::SeqCst) {
            Err(KeyError::Unavailable("down".into()))
        } else {
            Ok(value)
        }
    }

    /// Makes a key as `change` says and keeps it.
    fn make(&self, kind: KeyKind, change: impl FnOnce(&mut KeyRecord)) -> String {
        let key = PresentedKey::generate(kind).unwrap();
        let mut record = KeyRecord {
            id: key.id.clone(),
            account: AccountId::parse("acct_1").unwrap(),
            kind,
            name: String::new(),
            hash: hash_secret(&key.secret).unwrap(),
            scopes: Scopes::default(),
            tier: None,
            spread: None,
            created_at_ms: 0,
            expires_at_ms: None,
            revoked_at_ms: None,
            replaces: None,
        };
        change(&mut record);
        self.keys.lock().unwrap().push(record);
        self.revision.fetch_add(1, Ordering::SeqCst);
        key.text().expose().to_owned()
    }
}

impl KeyStore for Shelf {
    fn find<'a>(&'a self, id: &'a KeyId) -> BoxFuture<'a, Result<Option<KeyRecord>, KeyError>> {
        Box::pin(async move {
            let keys = self.keys.lock().unwrap();
            self.answer(keys.iter().find(|record| record.id == *id).cloned())
        })
    }

    fn insert(&self, _: KeyRecord) -> BoxFuture<'_, Result<(), KeyError>> {
        Box::pin(async { Err(KeyError::Unavailable("not in this test".into())) })
    }

    fn update(&self, record: KeyRecord, _: Amendment) -> BoxFuture<'_, Result<(), KeyError>> {
        self.insert(record)
    }

    fn list<'a>(
        &'a self,
        _: Option<&'a AccountId>,
    ) -> BoxFuture<'a, Result<Vec<KeyRecord>, KeyError>> {
        Box::pin(async { self.answer(self.keys.lock().unwrap().clone()) })
    }

    fn revision(&self) -> u64 {
        self.revision.load(Ordering::SeqCst)
    }

    fn is_empty(&self) -> BoxFuture<'_, Result<bool, KeyError>> {
        Box::pin(async { self.answer(self.keys.lock().unwrap().is_empty()) })
    }
}

const FIXED: &str = "bardo_sk_a_1234567890";
const OTHER: &str = "an-other-key-of-the-file";

fn fixed() -> StaticKeys {
    let (key, other) = (Secret::new(FIXED.into()), Secret::new(OTHER.into()));
    StaticKeys::new([
        (Principal::owner("alice").unwrap(), &key),
        (Principal::owner("bob").unwrap(), &other),
    ])
}

fn gate(fixed: StaticKeys, shelf: Option<&Arc<Shelf>>) -> Gatekeeper {
    let store = shelf.map(|shelf| Arc::<Shelf>::clone(shelf) as Arc<dyn KeyStore>);
    Gatekeeper::new(Credentials {
        fixed,
        stored: store.map(StoredKeys::over),
        privy: None,
        is_loopback: true,
        sells: false,
        origins: Vec::new(),
    })
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|&(name, value)| {
            (
                name.parse::<HeaderName>().unwrap(),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect()
}

async fn ask(gate: &Gatekeeper, pairs: &[(&str, &str)]) -> AuthOutcome {
    ask_as(gate, pairs, "127.0.0.1", Access::Spend).await
}

async fn ask_as(
    gate: &Gatekeeper,
    pairs: &[(&str, &str)],
    peer: &str,
    access: Access,
) -> AuthOutcome {
    let headers = headers(pairs);
    let call = UnverifiedCall {
        headers: &headers,
        peer: peer.parse().unwrap(),
        access,
    };
    gate.admit(&call).outcome().await
}

fn owner(name: &str) -> AuthOutcome {
    Ok(Principal::owner(name).unwrap())
}

#[tokio::test]
async fn either_header_carries_the_key_and_a_wrong_one_is_refused() {
    let gate = gate(fixed(), None);
    for pairs in [
        &[("authorization", "Bearer bardo_sk_a_1234567890")][..],
        &[("authorization", "bearer  bardo_sk_a_1234567890")],
        &[("x-api-key", FIXED)],
        &[
            ("x-api-key", FIXED),
            ("authorization", "Bearer bardo_sk_a_1234567890"),
        ],
    ] {
        assert_eq!(ask(&gate, pairs).await, owner("alice"), "{pairs:?}");
    }
    for pairs in [
        &[("x-api-key", "bardo_sk_a_1234567891")][..],
        &[("x-api-key", "sk-another")],
        &[("authorization", "Bearer wrong"), ("x-api-key", FIXED)],
        &[
            ("authorization", "Bearer bardo_sk_a_b"),
            ("x-api-key", FIXED),
        ],
        &[("x-api-key", "wrong"), ("x-api-key", FIXED)],
    ] {
        assert_eq!(ask(&gate, pairs).await, Err(Denied::Wrong), "{pairs:?}");
    }
    for pairs in [&[][..], &[("authorization", "Bearer ")]] {
        assert_eq!(ask(&gate, pairs).await, Err(Denied::Missing), "{pairs:?}");
    }
    let both = [
        ("authorization", "Bearer bardo_sk_a_1234567890"),
        ("x-api-key", OTHER),
    ];
    assert_eq!(ask(&gate, &both).await, Err(Denied::Ambiguous));
}

#[tokio::test]
async fn a_key_of_the_store_is_its_account_and_is_known_at_once_the_second_time() {
    let shelf = Arc::new(Shelf::default());
    let gate = gate(fixed(), Some(&shelf));
    let key = shelf.make(KeyKind::Spend, |_| {});
    let principal = ask(&gate, &[("x-api-key", &key)]).await.unwrap();
    assert_eq!(principal.account.as_str(), "acct_1");
    assert!(matches!(principal.payer, Payer::Prepaid(_)));
    let headers = headers(&[("x-api-key", &key)]);
    let call = UnverifiedCall {
        headers: &headers,
        peer: [127, 0, 0, 1].into(),
        access: Access::Spend,
    };
    assert!(matches!(gate.admit(&call), Authentication::Now(Ok(_))));
    // The operator's own keys go on beside it.
    assert_eq!(ask(&gate, &[("x-api-key", FIXED)]).await, owner("alice"));
}

#[tokio::test]
async fn requests_of_a_thread_share_the_ids_of_a_key_until_it_changes() {
    let shelf = Arc::new(Shelf::default());
    let gate = gate(StaticKeys::default(), Some(&shelf));
    let key = shelf.make(KeyKind::Spend, |_| {});
    let pairs = [("x-api-key", &*key)];
    let first = ask(&gate, &pairs).await.unwrap();
    let second = ask(&gate, &pairs).await.unwrap();
    assert_eq!(first, second);
    assert!(std::ptr::eq(
        first.account.as_str(),
        second.account.as_str()
    ));
    shelf.keys.lock().unwrap()[0].account = AccountId::parse("acct_2").unwrap();
    shelf.revision.fetch_add(1, Ordering::SeqCst);
    let changed = ask(&gate, &pairs).await.unwrap();
    assert_eq!(changed.account.as_str(), "acct_2");
    shelf.keys.lock().unwrap()[0].revoked_at_ms = Some(1);
    shelf.revision.fetch_add(1, Ordering::SeqCst);
    assert!(ask(&gate, &pairs).await.is_err());
}

#[tokio::test]
async fn what_is_unknown_over_or_taken_back_is_refused_in_the_same_words() {
    let shelf = Arc::new(Shelf::default());
    let gate = gate(StaticKeys::default(), Some(&shelf));
    let good = shelf.make(KeyKind::Spend, |_| {});
    let expired = shelf.make(KeyKind::Spend, |record| record.expires_at_ms = Some(1));
    let revoked = shelf.make(KeyKind::Spend, |record| record.revoked_at_ms = Some(1));
    let unknown = PresentedKey::generate(KeyKind::Spend).unwrap().text();
    let other = if good.ends_with('x') { 'y' } else { 'x' };
    let wrong = format!("{}{other}", &good[..good.len() - 1]);
    let body = |denied| {
        let problem = crate::error::Problem::denied(denied);
        let dialect = bardo_types::model::Dialect::Chat;
        (problem.code.status(), problem.body(dialect, "req_1"))
    };
    for key in [&expired, &revoked, unknown.expose(), &wrong, "bardo_sk_x"] {
        let denied = ask(&gate, &[("x-api-key", key)]).await.unwrap_err();
        let is_wrong = matches!(denied, Denied::Wrong | Denied::Expired | Denied::Revoked);
        assert!(is_wrong, "{key}: {denied:?}");
        assert_eq!(body(denied), body(Denied::Wrong));
    }
    assert!(ask(&gate, &[("x-api-key", &good)]).await.is_ok());
}

#[tokio::test]
async fn two_credentials_have_to_be_of_one_caller() {
    let shelf = Arc::new(Shelf::default());
    let gate = gate(fixed(), Some(&shelf));
    let (one, two) = (
        shelf.make(KeyKind::Spend, |_| {}),
        shelf.make(KeyKind::Spend, |_| {}),
    );
    let bearer = |key: &str| format!("Bearer {key}");
    let wrong = PresentedKey::generate(KeyKind::Spend).unwrap().text();
    for (first, second, outcome) in [
        (one.as_str(), two.as_str(), Denied::Ambiguous),
        (&one, FIXED, Denied::Ambiguous),
        (FIXED, &one, Denied::Ambiguous),
        (&one, wrong.expose(), Denied::Wrong),
        (wrong.expose(), &one, Denied::Wrong),
        (&one, "sk-another", Denied::Wrong),
    ] {
        let pairs = [
            ("authorization", bearer(first)),
            ("x-api-key", second.into()),
        ];
        let pairs = pairs
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        assert_eq!(ask(&gate, &pairs).await, Err(outcome), "{first} {second}");
    }
    let same = [("authorization", bearer(&one)), ("x-api-key", one.clone())];
    let same = same.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert!(ask(&gate, &same).await.is_ok());
}

#[tokio::test]
async fn a_key_that_reads_does_not_spend() {
    let shelf = Arc::new(Shelf::default());
    let gate = gate(StaticKeys::default(), Some(&shelf));
    let key = shelf.make(KeyKind::ReadOnly, |_| {});
    for (access, is_allowed) in [(Access::Read, true), (Access::Spend, false)] {
        let pairs = [("x-api-key", key.as_str())];
        let outcome = ask_as(&gate, &pairs, "127.0.0.1", access).await;
        assert_eq!(outcome.is_ok(), is_allowed, "{access:?}");
        assert!(is_allowed || outcome == Err(Denied::ReadOnly));
    }
}

#[tokio::test]
async fn a_key_of_a_network_is_refused_elsewhere_also_once_it_is_known() {
    let shelf = Arc::new(Shelf::default());
    let gate = gate(StaticKeys::default(), Some(&shelf));
    let key = shelf.make(KeyKind::Spend, |record| {
        record.scopes.networks = vec!["10.0.0.0/8".parse().unwrap()];
    });
    let pairs = [("x-api-key", key.as_str())];
    for _ in 0..2 {
        for (peer, is_allowed) in [
            ("10.1.1.1", true),
            ("::ffff:10.1.1.1", true),
            ("192.0.2.1", false),
        ] {
            let outcome = ask_as(&gate, &pairs, peer, Access::Spend).await;
            assert_eq!(outcome.is_ok(), is_allowed, "{peer}");
            assert!(is_allowed || outcome == Err(Denied::Network));
        }
    }
}

#[tokio::test]
async fn a_loopback_listener_is_open_until_there_is_a_key() {
    let shelf = Arc::new(Shelf::default());
    let gate = gate(StaticKeys::default(), Some(&shelf));
    let dummy = [("x-api-key", "whatever an SDK insists on")];
    let ours = [("x-api-key", "bardo_sk_abc_def")];
    let page = [("origin", "https://evil.example")];
    assert_eq!(ask(&gate, &[]).await, owner("local"));
    assert_eq!(ask(&gate, &dummy).await, owner("local"));
    // Whoever means to be somebody is not taken for the owner.
    assert_eq!(ask(&gate, &ours).await, Err(Denied::Wrong));
    let both = [dummy[0], ("authorization", "Bearer bardo_sk_abc_def")];
    assert_eq!(ask(&gate, &both).await, Err(Denied::Wrong));
    assert_eq!(ask(&gate, &page).await, Err(Denied::ForeignPage));
    shelf.make(KeyKind::Spend, |_| {});
    assert_eq!(ask(&gate, &[]).await, Err(Denied::Missing));
    assert_eq!(ask(&gate, &dummy).await, Err(Denied::Wrong));
    assert_eq!(ask(&gate, &page).await, Err(Denied::Missing));
}

#[tokio::test]
async fn a_listener_that_others_can_reach_is_never_open() {
    let shelf: Arc<dyn KeyStore> = Arc::new(Shelf::default());
    for stored in [None, Some(StoredKeys::over(shelf))] {
        let gate = Gatekeeper::new(Credentials {
            fixed: StaticKeys::default(),
            stored,
            privy: None,
            is_loopback: false,
            sells: false,
            origins: Vec::new(),
        });
        assert_eq!(ask(&gate, &[]).await, Err(Denied::Missing));
    }
}

#[tokio::test]
async fn a_store_that_is_gone_makes_no_key_wrong_and_nobody_the_owner() {
    let shelf = Arc::new(Shelf::default());
    let gate = gate(StaticKeys::default(), Some(&shelf));
    let key = shelf.make(KeyKind::Spend, |_| {});
    shelf.is_down.store(true, Ordering::SeqCst);
    for pairs in [&[("x-api-key", key.as_str())][..], &[]] {
        let denied = ask(&gate, pairs).await.unwrap_err();
        let problem = crate::error::Problem::denied(denied);
        assert_eq!(problem.code, ErrorCode::StoreUnavailable);
        assert!(problem.fault.retry_after_ms.is_some());
    }
}

#[test]
fn an_open_listener_turns_foreign_pages_away() {
    let check = |pairs: &[(&str, &str)]| {
        is_own_page(&headers(pairs), &["https://app.example.com".to_owned()])
    };
    assert!(check(&[]));
    for page in [
        "http://localhost:3000",
        "http://127.0.0.1",
        "http://[::1]:8080",
        "http://[::1]",
    ] {
        assert!(check(&[("origin", page)]), "{page}");
    }
    for page in [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example:80",
    ] {
        assert!(!check(&[("origin", page)]), "{page}");
        let two = [("origin", "http://localhost"), ("origin", page)];
        assert!(!check(&two), "{page}");
    }
}

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::*;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

const NOW_S: u64 = 1_800_000_000;
const APP: &str = "app-1";

struct Issuer {
    kid: &'static str,
    pair: EcdsaKeyPair,
}

impl Issuer {
    fn new(kid: &'static str) -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        Self { kid, pair }
    }

    fn public(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.kid,
            "x": URL_SAFE_NO_PAD.encode(&point[1..33]), "y": URL_SAFE_NO_PAD.encode(&point[33..]),
        })
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = unsigned(header, claims);
        let signature = self
            .pair
            .sign(&SystemRandom::new(), signed.as_bytes())
            .unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn token(&self, claims: &Value) -> String {
        self.sign(
            &json!({ "alg": "ES256", "typ": "JWT", "kid": self.kid }),
            claims,
        )
    }
}

fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

fn claims() -> Value {
    json!({
        "iss": "privy.io", "aud": APP, "sub": "did:privy:cl1", "sid": "session",
        "iat": NOW_S - 10, "exp": NOW_S + 3_600,
    })
}

fn with(mut value: Value, name: &str, member: Value) -> Value {
    value[name] = member;
    value
}

fn set(issuers: &[&Issuer]) -> String {
    let keys: Vec<_> = issuers.iter().map(|issuer| issuer.public()).collect();
    json!({ "keys": keys }).to_string()
}

fn expected() -> Expected {
    Expected {
        issuer: "privy.io".into(),
        audience: APP.into(),
    }
}

fn check(token: &str, issuers: &[&Issuer]) -> Result<String, TokenError> {
    let keys = KeySet::parse(set(issuers).as_bytes()).unwrap();
    verify(token, &keys, &expected(), NOW_S * 1_000).map(|claims| claims.subject)
}

#[test]
fn a_good_token_tells_whose_it_is() {
    let issuer = Issuer::new("k1");
    let other = Issuer::new("k2");
    let good = Ok("did:privy:cl1".to_owned());
    assert_eq!(check(&issuer.token(&claims()), &[&other, &issuer]), good);
    let several = with(claims(), "aud", json!(["app-0", APP]));
    assert_eq!(check(&issuer.token(&several), &[&issuer]), good);
    let nameless = issuer.sign(&json!({ "alg": "ES256" }), &claims());
    assert_eq!(check(&nameless, &[&issuer]), good);
    assert_eq!(
        check(&nameless, &[&issuer, &other]),
        Err(TokenError::UnknownKey)
    );
}

#[test]
fn clocks_may_differ_by_a_minute() {
    let issuer = Issuer::new("k1");
    for (member, seconds, is_good) in [
        ("exp", NOW_S - 59, true),
        ("exp", NOW_S - 60, false),
        ("exp", 0, false),
        ("nbf", NOW_S + 60, true),
        ("nbf", NOW_S + 61, false),
        ("iat", NOW_S + 60, true),
        ("iat", NOW_S + 61, false),
    ] {
        let token = issuer.token(&with(claims(), member, json!(seconds)));
        assert_eq!(
            check(&token, &[&issuer]).is_ok(),
            is_good,
            "{member} {seconds}"
        );
    }
}

#[test]
fn forged_tokens_are_refused() {
    let issuer = Issuer::new("k1");
    let forger = Issuer::new("k1");
    let good = issuer.token(&claims());
    let header = json!({ "alg": "ES256", "kid": "k1" });
    let (signed, signature) = good.rsplit_once('.').unwrap();

    // The public key as an HMAC secret, in the shapes that such a mistake has had.
    let confused = |secret: &[u8]| {
        let signed = unsigned(&json!({ "alg": "HS256", "kid": "k1" }), &claims());
        let tag = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA256, secret),
            signed.as_bytes(),
        );
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
    };
    let altered = {
        let (head, _) = signed.split_once('.').unwrap();
        let claims = with(claims(), "sub", json!("did:privy:somebody-else"));
        format!(
            "{head}.{}.{signature}",
            URL_SAFE_NO_PAD.encode(claims.to_string())
        )
    };
    let none = |alg: &str| {
        let signed = unsigned(&json!({ "alg": alg, "kid": "k1" }), &claims());
        format!("{signed}.")
    };
    let relabeled = |header: Value| issuer.sign(&header, &claims());
    let claiming = |name, value| issuer.token(&with(claims(), name, value));
    let without = |name: &str| {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(name);
        issuer.token(&claims)
    };
    let zero = URL_SAFE_NO_PAD.encode([0; 64]);
    let cases = [
        ("alg none", none("none"), TokenError::Algorithm),
        ("alg None", none("None"), TokenError::Algorithm),
        ("no signature", format!("{signed}."), TokenError::Signature),
        (
            "a signature of zeros",
            format!("{signed}.{zero}"),
            TokenError::Signature,
        ),
        (
            "HS256 with the point",
            confused(issuer.pair.public_key().as_ref()),
            TokenError::Algorithm,
        ),
        (
            "HS256 with the published set",
            confused(set(&[&issuer]).as_bytes()),
            TokenError::Algorithm,
        ),
        (
            "ES384",
            relabeled(json!({ "alg": "ES384", "kid": "k1" })),
            TokenError::Algorithm,
        ),
        (
            "a critical extension",
            relabeled(json!({ "alg": "ES256", "kid": "k1", "crit": ["b64"], "b64": false })),
            TokenError::Algorithm,
        ),
        (
            "another key of the same name",
            forger.sign(&header, &claims()),
            TokenError::Signature,
        ),
        (
            "a key of its own",
            relabeled(json!({ "alg": "ES256", "kid": "k1x", "jwk": forger.public() })),
            TokenError::UnknownKey,
        ),
        ("other claims", altered, TokenError::Signature),
        (
            "another issuer",
            claiming("iss", json!("privy.io.evil")),
            TokenError::Claims,
        ),
        (
            "another application",
            claiming("aud", json!("app-2")),
            TokenError::Claims,
        ),
        (
            "no application",
            claiming("aud", json!([])),
            TokenError::Claims,
        ),
        (
            "over",
            claiming("exp", json!(NOW_S - 3_600)),
            TokenError::Claims,
        ),
        ("never over", without("exp"), TokenError::Malformed),
        (
            "over in words",
            claiming("exp", json!("never")),
            TokenError::Malformed,
        ),
        ("for nobody", without("aud"), TokenError::Malformed),
        ("by nobody", without("iss"), TokenError::Malformed),
        ("of nobody", without("sub"), TokenError::Malformed),
        (
            "of the empty name",
            claiming("sub", json!("")),
            TokenError::Claims,
        ),
        (
            "cut off",
            good[..good.len() - 6].to_owned(),
            TokenError::Signature,
        ),
        ("two parts", signed.to_owned(), TokenError::Malformed),
        ("four parts", format!("{good}.e30"), TokenError::Malformed),
        ("padded", format!("{good}=="), TokenError::Malformed),
        ("empty", String::new(), TokenError::Malformed),
        ("dots", "..".to_owned(), TokenError::Malformed),
        (
            "endless",
            format!("{good}{}", "A".repeat(9_000)),
            TokenError::Malformed,
        ),
    ];
    assert!(check(&good, &[&issuer]).is_ok());
    for (name, token, error) in cases {
        assert_eq!(check(&token, &[&issuer]), Err(error), "{name}");
    }
}

#[test]
fn only_keys_of_the_one_algorithm_are_taken_from_a_set() {
    let issuer = Issuer::new("k1");
    let good = issuer.public();
    for (member, value) in [
        ("kty", json!("RSA")),
        ("crv", json!("P-384")),
        ("alg", json!("ES384")),
        ("use", json!("enc")),
        ("x", json!("AA")),
        ("y", json!(null)),
    ] {
        let text = json!({ "keys": [with(good.clone(), member, value)] }).to_string();
        assert!(KeySet::parse(text.as_bytes()).is_err(), "{member}");
        let text = json!({ "keys": [{ "kty": "oct", "k": "AA" }, 7, good] }).to_string();
        assert!(KeySet::parse(text.as_bytes()).is_ok());
    }
    for bad in ["", "{}", "[]", r#"{"keys":{}}"#, r#"{"keys":[]}"#] {
        assert!(KeySet::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}

/// Serves a set of keys that the test may exchange, and counts who asks.
struct Publisher {
    url: String,
    set: Arc<Mutex<Option<String>>>,
    asked: Arc<AtomicUsize>,
}

impl Publisher {
    fn start(set: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let set = Arc::new(Mutex::new(set));
        let asked = Arc::new(AtomicUsize::new(0));
        let (served, counted) = (Arc::clone(&set), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                    head.push(byte[0]);
                }
                assert!(head.starts_with(b"GET /jwks.json HTTP/1.1\r\n"));
                counted.fetch_add(1, Ordering::SeqCst);
                let (status, body) = match served.lock().unwrap().clone() {
                    Some(body) => ("200 OK", body),
                    None => ("500 Oh", String::new()),
                };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { url, set, asked }
    }

    fn publish(&self, set: Option<String>) {
        *self.set.lock().unwrap() = set;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

struct Snapshot {
    privy: Privy,
    start: Instant,
}

impl Snapshot {
    fn new(url: &str) -> Self {
        let config = PrivyConfig {
            app_id: APP.into(),
            issuer: None,
            audience: None,
            jwks_url: Some(url.into()),
            jwks_file: None,
        };
        let (transport, start) = (Transport::new(Duration::from_secs(5)), Instant::now());
        let privy = Privy::new(&config, transport, start).unwrap();
        Self { privy, start }
    }

    fn verdict(&self, token: &str, seconds: u64) -> Authentication {
        let now = Moment {
            unix_ms: (NOW_S + seconds) * 1_000,
            at: self.start + Duration::from_secs(seconds),
        };
        let credential = format!("privy_{token}");
        self.privy.authenticate(&credential, HERE, now).unwrap()
    }

    async fn ask(&self, token: &str, seconds: u64) -> Result<String, Denied> {
        let outcome = self.verdict(token, seconds).outcome().await;
        outcome.map(|principal| principal.account.to_string())
    }
}

#[tokio::test]
async fn a_holder_draws_on_the_account_of_its_subject() {
    let issuer = Issuer::new("k1");
    let publisher = Publisher::start(Some(set(&[&issuer])));
    let snapshot = Snapshot::new(&publisher.url);
    let token = issuer.token(&claims());
    assert_eq!(
        snapshot.ask(&token, 0).await.unwrap(),
        "privy:did:privy:cl1"
    );
    let Authentication::Now(Ok(principal)) = snapshot.verdict(&token, 0) else {
        panic!("it is known by now");
    };
    let Payer::Prepaid(terms) = &principal.payer else {
        panic!("its account pays");
    };
    assert!(terms.may_spend());
    assert_eq!(terms.counted_as.as_str(), principal.account.as_str());
    assert_eq!(publisher.asked(), 1);
    // Known or not, it ends at its time.
    assert_eq!(snapshot.ask(&token, 3_660).await, Err(Denied::Wrong));
    let now = Moment {
        unix_ms: 0,
        at: snapshot.start,
    };
    for other in ["bardo_sk_a_b", "eyJhbGciOiJFUzI1NiJ9.e30.x", "sk-1"] {
        assert!(
            snapshot.privy.authenticate(other, HERE, now).is_none(),
            "{other}"
        );
    }
}

#[test]
fn subjects_never_share_an_account() {
    let account = |subject: &str| {
        let claims = Claims {
            subject: subject.into(),
            until_ms: 0,
        };
        holder(&claims).account.to_string()
    };
    assert_eq!(account("did:privy:a"), "privy:did:privy:a");
    let odd = account("did privy/ä");
    assert!(odd.starts_with("privy-sha256:"), "{odd}");
    assert_ne!(odd, account("did privy/b"));
    assert_ne!(account(&"a".repeat(500)), account(&"a".repeat(501)));
    let hex = odd.strip_prefix("privy-sha256:").unwrap();
    assert_ne!(account(hex), odd);
    assert_ne!(account(&format!("sha256:{hex}")), odd);
}

#[tokio::test]
async fn a_new_key_of_the_issuer_is_found_and_an_old_one_is_forgotten() {
    let (old, new) = (Issuer::new("k1"), Issuer::new("k2"));
    let publisher = Publisher::start(Some(set(&[&old])));
    let snapshot = Snapshot::new(&publisher.url);
    let by_old = old.token(&claims());
    assert!(snapshot.ask(&by_old, 0).await.is_ok());
    publisher.publish(Some(set(&[&new])));
    // Unknown names do not make the gateway ask all the time.
    for _ in 0..20 {
        assert_eq!(
            snapshot.ask(&new.token(&claims()), 10).await,
            Err(Denied::Wrong)
        );
    }
    assert_eq!(publisher.asked(), 1);
    assert!(snapshot.ask(&new.token(&claims()), 31).await.is_ok());
    assert_eq!(publisher.asked(), 2);
    // What the old key had verified before is not remembered over the new set.
    assert_eq!(snapshot.ask(&by_old, 32).await, Err(Denied::Wrong));
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_makes_no_token_wrong() {
    let issuer = Issuer::new("k1");
    let publisher = Publisher::start(None);
    let snapshot = Snapshot::new(&publisher.url);
    let token = |seconds: u64| issuer.token(&with(claims(), "exp", json!(NOW_S + seconds + 600)));
    let unavailable = Denied::Unavailable {
        retry_after_ms: 3_000,
    };
    assert_eq!(snapshot.ask(&token(0), 0).await, Err(unavailable));
    assert_eq!(snapshot.ask(&token(0), 1).await, Err(unavailable));
    assert_eq!(publisher.asked(), 1);
    publisher.publish(Some(set(&[&issuer])));
    assert!(snapshot.ask(&token(0), 4).await.is_ok());
    // What was fetched once is good for a day, though it is asked for again after an hour.
    publisher.publish(None);
    assert!(snapshot.ask(&token(3_000), 3_000).await.is_ok());
    assert_eq!(publisher.asked(), 2);
    assert!(snapshot.ask(&token(4_000), 4_000).await.is_ok());
    assert_eq!(publisher.asked(), 3);
    assert_eq!(snapshot.ask(&token(90_000), 90_000).await, Err(unavailable));
}

#[tokio::test]
async fn simultaneous_tokens_wait_for_one_answer() {
    let issuer = Issuer::new("k1");
    let publisher = Publisher::start(Some(set(&[&issuer])));
    let snapshot = Snapshot::new(&publisher.url);
    let token = issuer.token(&claims());
    let asking: Vec<_> = (0..50)
        .map(|_| tokio::spawn(snapshot.verdict(&token, 0).outcome()))
        .collect();
    for asked in asking {
        assert!(asked.await.unwrap().is_ok());
    }
    assert_eq!(publisher.asked(), 1);
}

#[test]
fn an_address_that_anybody_could_answer_for_is_refused() {
    let try_url = |url: &str| {
        let config = PrivyConfig {
            app_id: APP.into(),
            issuer: None,
            audience: None,
            jwks_url: Some(url.into()),
            jwks_file: None,
        };
        Privy::new(
            &config,
            Transport::new(Duration::from_secs(1)),
            Instant::now(),
        )
        .map(|_| ())
    };
    assert!(try_url("https://auth.privy.io/api/v1/apps/a/jwks.json").is_ok());
    assert!(try_url("http://127.0.0.1:1/jwks.json").is_ok());
    for bad in ["http://auth.privy.io/jwks.json", "jwks.json", "ftp://a/b"] {
        let reason = try_url(bad).unwrap_err();
        assert!(reason.starts_with("`auth.privy.jwks_url`"), "{reason}");
    }
}

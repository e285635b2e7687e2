//! The admin API: what the verbs do, on the operators' listener, and on that alone.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::paying::maker;
use crate::paying::till::{Key, Stand, Till, header, micro_of};
use crate::rig::{Gateway, with};
use crate::scripted::Scripted;
use crate::sse::Caller;

struct Desk {
    gateway: Gateway,
    token: Option<&'static str>,
}

impl Desk {
    fn send(&self, request: Request) -> Answer {
        let request = match self.token {
            Some(token) => request.with("authorization", &format!("Bearer {token}")),
            None => request,
        };
        request.send(self.gateway.admin)
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let answer = self.send(Request::get(path));
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        answer.json()
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.send(Request::json(path, body));
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        answer.json()
    }

    fn status(&self, path: &str, body: &Value) -> u16 {
        self.send(Request::json(path, body)).status()
    }

    fn ask(&self, key: &Key) -> Answer {
        let body = Caller::Chat.request("m-chat", "Hello", false);
        self.gateway.send(&key.ask(Caller::Chat, &body))
    }
}

/// Every action once.
fn walk(desk: &Desk, till: &Till) {
    let made = desk.post(
        "/admin/keys",
        &json!({ "name": "n", "scopes": ["rpm=50", "model=m-chat"], "tier": "golem",
            "deposit_usd": "0.5", "expires": "30days" }),
    );
    let key = Key::of(&made);
    assert_eq!(made["tier"], "golem", "{made}");
    assert_eq!(Stand::of(&made["balance"]).available, 500_000);
    let answer = desk.ask(&key);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let charge = maker::charge(1_000);
    let shown = desk.get(&format!("/admin/balances/{}", key.id));
    assert_eq!(Stand::of(&shown).spent, charge);
    assert_eq!(
        Stand::of(&shown),
        till.stand(&key),
        "the verbs see the same"
    );

    let deposits = format!("/admin/balances/{}/deposits", key.account);
    for usd in [json!("0.25"), json!(0.25)] {
        let deposit = json!({ "usd": usd, "reference": "invoice-1" });
        let shown = desk.post(&deposits, &deposit);
        assert_eq!(Stand::of(&shown).deposited, 750_000, "one deposit: {shown}");
    }
    let unseen = "/admin/balances/privy:did:privy:cm5/deposits";
    assert_eq!(desk.status(unseen, &json!({ "usd": "1" })), 404);
    let made = desk.post(unseen, &json!({ "usd": "1", "create": true }));
    assert_eq!(Stand::of(&made).available, 1_000_000);
    let ledger = desk.get(&format!("/admin/balances/{}/ledger", key.id));
    let postings = ledger["postings"].as_array().expect("postings");
    let sum: i64 = postings
        .iter()
        .map(|posting| posting["amount_micro"].as_i64().expect("an amount"))
        .sum();
    assert_eq!(sum, 0, "{ledger}");
    let posted = postings
        .iter()
        .filter(|posting| posting["reference"] == header(&answer, "x-request-id"));
    assert_eq!(posted.count(), 3, "customer, provider, spread: {ledger}");

    let next = Key::of(&desk.post(
        &format!("/admin/keys/{}/rotate", key.id),
        &json!({ "overlap": "1h" }),
    ));
    assert_eq!(next.account, key.account);
    for key in [&key, &next] {
        assert_eq!(desk.ask(key).status(), 200, "both are taken");
    }
    let revoked = desk.post(&format!("/admin/keys/{}/revoke", key.id), &json!({}));
    assert_eq!(revoked["state"], "revoked");
    assert_eq!(desk.ask(&key).status(), 401);
    assert_eq!(desk.ask(&next).status(), 200);
    let deleted = Request::get(&format!("/admin/keys/{}", next.id)).method("DELETE");
    assert_eq!(desk.send(deleted).status(), 200);
    assert_eq!(desk.ask(&next).status(), 401);

    let listed = desk.get("/admin/keys");
    assert_eq!(listed["keys"].as_array().map(Vec::len), Some(2), "{listed}");
    for key in [&key, &next] {
        let secret = key.key.rsplit('_').next().expect("a secret");
        assert!(!listed.to_string().contains(secret));
    }
    let verified = desk.get("/admin/verify");
    assert_eq!(verified["ok"], true, "{verified}");
    assert_eq!(desk.get("/admin/unknown")["holds"], json!([]));
}

#[test]
fn every_action_does_what_its_verb_does() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let gateway = till.open();
    let desk = Desk {
        gateway,
        token: None,
    };
    walk(&desk, &till);
    let refused = [
        ("/admin/keys", json!({ "scopes": ["everything"] }), 400),
        ("/admin/keys", json!({ "nmae": "n" }), 400),
        ("/admin/keys", json!({ "deposit_usd": -1 }), 400),
        ("/admin/keys", json!({ "tier": "gold" }), 400),
        ("/admin/keys/nobody/revoke", json!({}), 404),
        ("/admin/keys/nobody/rotate", json!({}), 404),
        (
            "/admin/balances/nobody/deposits",
            json!({ "usd": "1" }),
            404,
        ),
        ("/admin/unknown/req_1", json!({}), 400),
        ("/admin/nothing", json!({}), 404),
    ];
    for (path, body, status) in refused {
        let answer = desk.send(Request::json(path, &body));
        assert_eq!(answer.status(), status, "{path} {body}: {}", answer.text());
        assert!(answer.json()["error"]["message"].is_string());
    }
    assert_eq!(
        desk.get("/admin/keys")["keys"].as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn unknown_outcomes_are_listed_and_decided() {
    let upstream = Scripted::start(drop);
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("1");
    let desk = Desk {
        gateway: till.open(),
        token: None,
    };
    for (decide, charged) in [
        (json!({ "charge_usd": "0.0005" }), 500),
        (json!({ "release": true }), 0),
    ] {
        let before = till.stand(&key);
        let id = header(&desk.ask(&key), "x-request-id").to_owned();
        let holds = desk.get("/admin/unknown");
        assert_eq!(holds["holds"][0]["request_id"], *id, "{holds}");
        assert!(micro_of(&holds["holds"][0]["held"]) > 0);
        let path = format!("/admin/unknown/{id}");
        for unsaid in [json!({}), json!({ "release": true, "charge_usd": "0.1" })] {
            assert_eq!(desk.status(&path, &unsaid), 400, "{unsaid}");
        }
        assert_eq!(desk.send(Request::json(&path, &json!(null))).status(), 400);
        let decided = desk.post(&path, &decide);
        assert_eq!(micro_of(&decided["charged"]), charged, "{decided}");
        let after = till.stand(&key);
        assert_eq!((after.held, after.spent), (0, before.spent + charged));
        assert_eq!(desk.get("/admin/unknown")["holds"], json!([]));
    }
    till.verify();
}

#[test]
fn pages_of_elsewhere_and_forms_do_not_get_in() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let gateway = till.open();
    let admin = gateway.admin;
    let keys = || Request::json("/admin/keys", &json!({}));
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost.evil.example"),
    ] {
        for request in [
            keys(),
            Request::get("/admin/keys"),
            Request::get("/status"),
            Request::get("/metrics"),
        ] {
            assert_eq!(
                request.with(name, value).send(admin).status(),
                403,
                "{value}"
            );
        }
    }
    let mut raw = crate::http::connect(admin);
    std::io::Write::write_all(
        &mut raw,
        b"GET /admin/keys HTTP/1.1\r\nhost: evil.example:8403\r\nconnection: close\r\n\r\n",
    )
    .expect("it is read");
    assert_eq!(
        crate::http::Exchange::new(raw).answer().status(),
        403,
        "a name that leads here"
    );
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let mut request = keys();
        request.headers.clear();
        if !kind.is_empty() {
            request = request.with("content-type", kind);
        }
        assert_eq!(request.send(admin).status(), 415, "{kind:?}");
    }
    let large = json!({ "name": "x".repeat(70_000) });
    assert_eq!(
        Request::json("/admin/keys", &large).send(admin).status(),
        413
    );
    let own = keys().with("origin", "http://localhost:3000");
    assert_eq!(own.send(admin).status(), 200);
    // Callers do not find it on theirs.
    assert_eq!(gateway.send(&Request::get("/admin/keys")).status(), 404);
    assert_eq!(gateway.send(&Request::get("/metrics")).status(), 404);
    assert_eq!(till.told(&["keys", "list"]).len(), 1);
}

#[test]
fn with_a_token_nothing_else_counts() {
    const TOKEN: &str = "operators-0123456789";
    let maker = maker::maker();
    let till = Till::new(with(
        maker::billed(&maker),
        "server",
        json!({ "admin_token": TOKEN }),
    ));
    let desk = Desk {
        gateway: till.open(),
        token: Some(TOKEN),
    };
    let admin = desk.gateway.admin;
    for path in ["/admin/keys", "/admin/verify", "/status", "/metrics"] {
        assert_eq!(Request::get(path).send(admin).status(), 401, "{path}");
        let wrong = Request::get(path).with("authorization", "Bearer operators-0123456780");
        assert_eq!(wrong.send(admin).status(), 401, "{path}");
        let bare = Request::get(path).with("authorization", TOKEN);
        assert_eq!(bare.send(admin).status(), 401, "{path}");
    }
    for path in ["/health/live", "/health/ready"] {
        assert_eq!(Request::get(path).send(admin).status(), 200, "{path}");
    }
    assert_eq!(
        desk.status("/admin/keys", &json!({ "scopes": ["no"] })),
        400
    );
    walk(&desk, &till);
    assert!(!desk.gateway.log().contains(TOKEN));
}

#[test]
fn metrics_have_the_series_of_money() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("1");
    let desk = Desk {
        gateway: till.open(),
        token: None,
    };
    for _ in 0..2 {
        assert_eq!(desk.ask(&key).status(), 200);
    }
    let answer = desk.send(Request::get("/metrics"));
    let kind = header(&answer, "content-type");
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let text = answer.text();
    let provider = "provider=\"direct/openai\"";
    for line in [
        format!("bardo_usd_micro_total{{{provider},kind=\"charge\"}} 4512"),
        format!("bardo_usd_micro_total{{{provider},kind=\"provider_cost\"}} 3760"),
        format!("bardo_usd_micro_total{{{provider},kind=\"spread\"}} 752"),
        format!("bardo_usd_micro_total{{{provider},kind=\"shortfall\"}} 0"),
        "bardo_store_up 1".to_owned(),
        "bardo_settlements_waiting 0".to_owned(),
        "bardo_records_dropped 0".to_owned(),
        "bardo_unpriced_requests_total 0".to_owned(),
        "bardo_estimated_usages_total 0".to_owned(),
        "bardo_config_last_reload_success 1".to_owned(),
    ] {
        assert!(
            text.contains(&format!("{line}\n")),
            "{line} is not in\n{text}"
        );
    }
    assert!(text.ends_with("# EOF\n"));
    assert!(!text.contains(&key.id) && !text.contains(&key.account));
}

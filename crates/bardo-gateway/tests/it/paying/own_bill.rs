//! Who pays the provider itself is charged nothing: the operator, and callers of backends that are
//! not billed.

use serde_json::{Value, json};

use crate::paying::maker;
use crate::paying::till::{Till, header, micro_of};
use crate::rig::Gateway;
use crate::scripted::Scripted;
use crate::sse::{Caller, without_figures};

/// The backends of the maker, of which none is billed.
fn unbilled(maker: &Scripted) -> Value {
    let mut config = maker::billed(maker);
    let keys = config["providers"]["direct"]["keys"].as_array_mut();
    for key in keys.expect("keys") {
        key.as_object_mut().expect("an object").remove("bill");
    }
    config
}

#[test]
fn a_backend_that_is_not_billed_costs_a_caller_nothing() {
    let maker = maker::maker();
    let till = Till::new(unbilled(&maker));
    // It has no money at all.
    let key = till.key(&[]);
    let gateway = till.open();
    for caller in Caller::ALL {
        let answer = gateway.send(&key.ask(caller, &caller.request("m-chat", "Hello", false)));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(header(&answer, "x-bardo-cost"), "0.001880", "an amount");
        assert_eq!(header(&answer, "x-bardo-billed"), "no");
        assert_eq!(answer.header("x-bardo-price"), None);
        for name in ["x-bardo-spread", "x-bardo-balance", "x-bardo-cost-estimate"] {
            assert_eq!(answer.header(name), None, "{name}");
        }
        let id = header(&answer, "x-request-id");
        let receipt = gateway.send(&key.get(&format!("/v1/receipts/{id}")));
        assert_eq!(receipt.status(), 200, "{}", receipt.text());
        assert_eq!(receipt.json()["cost"]["mode"], "direct");
        assert_eq!(receipt.json()["cost"]["billed"], false);
        assert_eq!(micro_of(&receipt.json()["cost"]["charge"]), 0);

        let answer = gateway.send(&key.ask(caller, &caller.request("m-chat", "Hello", true)));
        let (_, figures) = without_figures(&answer.body, caller.terminal());
        assert_eq!(figures["cost"], "0.001880", "{figures}");
        assert_eq!(figures["billed"], false, "{figures}");
        assert_eq!(header(&answer, "x-bardo-billed"), "no");
        assert_eq!(answer.header("x-bardo-cost-estimate"), None);
    }
    let stand = till.stand(&key);
    assert_eq!((stand.spent, stand.held), (0, 0));
    let usage = gateway.send(&key.get("/v1/usage")).json();
    assert_eq!(usage["total"]["requests"], 6, "{usage}");
    let metrics = crate::http::Request::get("/metrics").send(gateway.admin);
    let cost = "kind=\"direct_cost\"} 11280";
    assert!(metrics.text().contains(cost), "{}", metrics.text());
    till.verify();
}

#[test]
fn caps_do_not_count_what_is_not_billed_and_rates_do() {
    let maker = maker::maker();
    let till = Till::new(unbilled(&maker));
    let key = till.key(&["--scope", "spend-day=0.000001", "--scope", "rpm=2"]);
    let gateway = till.open();
    let body = Caller::Chat.request("m-chat", "Hello", false);
    let statuses = [(); 3].map(|()| gateway.send(&key.ask(Caller::Chat, &body)).status());
    assert_eq!(statuses, [200, 200, 429]);
}

/// What the operator's own requests are told and leave behind.
fn check_owner(gateway: &Gateway, sign: impl Fn(crate::http::Request) -> crate::http::Request) {
    for caller in Caller::ALL {
        let body = caller.request("m-chat", "Hello", false);
        let request = crate::http::Request::json(caller.path(), &body);
        let answer = gateway.send(&sign(request));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(
            header(&answer, "x-bardo-cost"),
            "0.001880",
            "metered, at cost"
        );
        assert_eq!(answer.header("x-bardo-spread"), None);
        assert_eq!(answer.header("x-bardo-balance"), None);
        let id = header(&answer, "x-request-id");
        let path = format!("/v1/receipts/{id}");
        let receipt = gateway.send(&sign(crate::http::Request::get(&path)));
        assert_eq!(receipt.status(), 200, "{}", receipt.text());
        let cost = &receipt.json()["cost"];
        assert_eq!(cost["mode"], "owner");
        assert_eq!(micro_of(&cost["charge"]), 0);
        assert_eq!(micro_of(&cost["provider_cost"]), 1_880);
    }
    let balance = gateway.send(&sign(crate::http::Request::get("/v1/balance")));
    assert_eq!(balance.json()["mode"], "owner", "{}", balance.text());
    let usage = gateway.send(&sign(crate::http::Request::get("/v1/usage")));
    assert_eq!(
        usage.json()["total"]["provider_cost"],
        "0.005640",
        "{}",
        usage.text()
    );
}

#[test]
fn the_operator_is_metered_and_not_charged() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    check_owner(&till.open(), |request| request);
    till.verify();

    let mut config = maker::billed(&maker);
    config["auth"] = json!({ "keys": [{ "id": "me", "key": "my-own-0123456789" }] });
    let till = Till::new(config);
    check_owner(&till.open(), |request| {
        request.with("x-api-key", "my-own-0123456789")
    });
    till.verify();
}

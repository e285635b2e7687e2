//! What the caller is told, what the books say and what the price comes to are one figure.

use serde_json::{Value, json};

use crate::http::Answer;
use crate::paying::maker::{self, CACHED, OUTPUT, PROMPT};
use crate::paying::till::{Key, Till, header, micro, micro_of};
use crate::rig::{Gateway, eventually, with};
use crate::sse::{Caller, without_figures};

const MODELS: [&str; 3] = ["m-chat", "m-anthropic", "m-responses"];

#[track_caller]
fn receipt(gateway: &Gateway, key: &Key, answer: &Answer) -> Value {
    let id = header(answer, "x-request-id");
    let found = gateway.send(&key.get(&format!("/v1/receipts/{id}")));
    assert_eq!(found.status(), 200, "{id}: {}", found.text());
    found.json()
}

/// All that is told after a request agrees with `charge`.
#[track_caller]
fn check_receipt(receipt: &Value, key: &Key, caller: Caller, model: &str, charge: u64) {
    let cost = &receipt["cost"];
    assert_eq!(cost["mode"], "prepaid", "{receipt}");
    assert_eq!(cost["currency"], "USD");
    assert_eq!(micro_of(&cost["charge"]), charge, "{receipt}");
    let parts = micro_of(&cost["provider_cost"]) + micro_of(&cost["spread"]);
    assert_eq!(parts, charge, "{receipt}");
    assert_eq!(micro_of(&cost["shortfall"]), 0);
    let usage = &receipt["usage"];
    assert_eq!(usage["input_tokens"], PROMPT, "{receipt}");
    assert_eq!(usage["cache_read_tokens"], CACHED, "{receipt}");
    assert_eq!(usage["output_tokens"], OUTPUT, "{receipt}");
    assert_eq!(usage["estimated"], false);
    assert_eq!(receipt["status"], "finished", "{receipt}");
    assert_eq!(receipt["key"], key.id);
    assert_eq!(receipt["model"], model);
    let dialect = match caller {
        Caller::Chat => "chat",
        Caller::Anthropic => "anthropic",
        Caller::Responses => "responses",
    };
    assert_eq!(receipt["dialect"], dialect);
    assert_eq!(receipt["attempts"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_whole_answer_is_charged_what_its_headers_receipt_and_posting_say() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("5");
    let gateway = till.open();
    let charge = maker::charge(2_000);
    assert_eq!(charge, 2_256, "1879.967 and a fifth, rounded up once");
    for caller in Caller::ALL {
        for model in MODELS {
            let before = till.stand(&key);
            let body = caller.request(model, "Hello", false);
            let answer = gateway.send(&key.ask(caller, &body));
            assert_eq!(answer.status(), 200, "{model}: {}", answer.text());
            assert_eq!(caller.text(&answer.json()), "Hello there");
            for name in ["x-bardo-cost", "x-bardo-cost-usd"] {
                assert_eq!(header(&answer, name), "0.002256", "{caller:?} {model}");
            }
            assert_eq!(header(&answer, "x-bardo-spread"), "0.000376");
            assert_eq!(answer.header("x-bardo-cost-estimate"), None);
            assert_eq!(answer.header("x-bardo-balance-warning"), None);
            let after = till.stand(&key);
            assert_eq!(after.held, 0);
            assert_eq!(after.spent, before.spent + charge);
            assert_eq!(micro(header(&answer, "x-bardo-balance")), after.available);
            let receipt = receipt(&gateway, &key, &answer);
            check_receipt(&receipt, &key, caller, model, charge);
            assert_eq!(receipt["stream"], false);
            assert_eq!(micro_of(&receipt["cost"]["provider_cost"]), 1_880);
            let id = header(&answer, "x-request-id");
            assert_eq!(till.charged(&key, id), charge);
        }
    }
    assert_eq!(maker.got().len(), 9);
    till.verify();
}

#[test]
fn a_stream_closes_with_the_figures_of_its_receipt_and_posting() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("5");
    let gateway = till.open();
    let charge = maker::charge(2_000);
    for caller in Caller::ALL {
        for model in MODELS {
            let before = till.stand(&key);
            let body = caller.request(model, "Hello", true);
            let answer = gateway.send(&key.ask(caller, &body));
            assert_eq!(answer.status(), 200, "{model}: {}", answer.text());
            assert!(answer.complete);
            assert_eq!(answer.header("x-bardo-cost"), None, "it is not known yet");
            let estimate = micro(header(&answer, "x-bardo-cost-estimate"));
            assert!(estimate > 0 && estimate < 1_000_000, "{estimate}");
            let (_, figures) = without_figures(&answer.body, caller.terminal());
            let after = till.stand(&key);
            assert_eq!(after.held, 0, "what the caller reads last is settled");
            assert_eq!(
                after.spent,
                before.spent + charge,
                "{caller:?} {model} {figures}"
            );
            let id = header(&answer, "x-request-id");
            assert_eq!(figures["request_id"], id);
            assert_eq!(micro_of(&figures["cost"]), charge, "{figures}");
            assert_eq!(micro_of(&figures["spread"]), 376, "{figures}");
            assert_eq!(micro_of(&figures["balance"]), after.available);
            assert_eq!(figures["input_tokens"], PROMPT);
            assert_eq!(figures["cache_read_tokens"], CACHED);
            assert_eq!(figures["output_tokens"], OUTPUT);
            assert_eq!(figures["estimated"], false);
            assert_eq!(figures.get("pending"), None);
            let receipt = receipt(&gateway, &key, &answer);
            check_receipt(&receipt, &key, caller, model, charge);
            assert_eq!(receipt["stream"], true);
            assert_eq!(till.charged(&key, id), charge);
        }
    }
    till.verify();
}

#[test]
fn tiers_and_the_configuration_say_what_is_added() {
    let maker = maker::maker();
    let mut config = maker::billed(&maker);
    // The free tier has no keys of makers, but a server of the operator's own.
    let mut local = config["providers"]["direct"]["keys"][0].clone();
    local["provider"] = json!("local");
    local["models"] = json!(["m-local"]);
    let keys = config["providers"]["direct"]["keys"].as_array_mut();
    keys.expect("keys").push(local);
    for (percent, points) in [(json!(20), 2_000), (json!(0), 0), (json!(12.34), 1_234)] {
        let till = Till::new(with(
            config.clone(),
            "inference",
            json!({ "spread_pct": percent }),
        ));
        let gateway = till.open();
        let rows = [
            (None, points),
            (Some("golem"), 1_000),
            (Some("pro"), 1_500),
            (Some("free"), 2_500),
        ];
        for (tier, points) in rows {
            let tiered = tier.map_or(vec![], |tier| vec!["--tier", tier]);
            let key = till.key(&[&["--deposit-usd", "1"], &tiered[..]].concat());
            let body = Caller::Chat.request("m-local", "Hello", false);
            let answer = gateway.send(&key.ask(Caller::Chat, &body));
            assert_eq!(answer.status(), 200, "{tier:?}: {}", answer.text());
            let charge = maker::charge(points);
            assert_eq!(micro(header(&answer, "x-bardo-cost")), charge, "{tier:?}");
            assert_eq!(till.stand(&key).spent, charge);
            let receipt = receipt(&gateway, &key, &answer);
            assert_eq!(receipt["cost"]["spread_bps"], points);
        }
        till.verify();
    }
}

#[test]
fn who_pays_less_than_the_list_price_is_told_what_it_saved() {
    let maker = maker::maker();
    let mut config = maker::billed(&maker);
    // A model whose list price everybody knows, at a price of the operator's own.
    config["providers"]["direct"]["keys"][0]["models"] = json!(["gpt-4o"]);
    let till = Till::new(config);
    let key = till.key(&["--deposit-usd", "1"]);
    let gateway = till.open();
    let body = Caller::Chat.request("gpt-4o", "Hello", false);
    let answer = gateway.send(&key.ask(Caller::Chat, &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let receipt = receipt(&gateway, &key, &answer);
    // 802 × 2.5 + 201 × 1.25 + 97 × 10 = 3226.25 micro-USD.
    assert_eq!(micro_of(&receipt["cost"]["list_price"]), 3_227, "{receipt}");
    let saved = micro(header(&answer, "x-bardo-savings"));
    assert_eq!(saved, 3_227 - maker::charge(2_000));
    assert_eq!(micro_of(&receipt["cost"]["savings"]), saved);
}

#[test]
fn an_answer_that_is_repeated_under_its_key_is_charged_once() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("5");
    let gateway = till.open();
    for (count, (caller, stream)) in (1..).zip([
        (Caller::Chat, false),
        (Caller::Chat, true),
        (Caller::Anthropic, false),
        (Caller::Responses, true),
    ]) {
        let body = caller.request("m-chat", "Hello", stream);
        let request = key
            .ask(caller, &body)
            .with("Idempotency-Key", &format!("key-{count}"));
        let first = gateway.send(&request);
        assert_eq!(first.status(), 200, "{}", first.text());
        for _ in 0..2 {
            let again = gateway.send(&request);
            assert_eq!(header(&again, "idempotent-replayed"), "true");
            assert_eq!(again.body, first.body);
            assert_eq!(again.header("x-bardo-cost"), first.header("x-bardo-cost"));
        }
        let stand = till.stand(&key);
        assert_eq!(stand.spent, count * maker::charge(2_000));
        assert_eq!(stand.held, 0);
        assert_eq!(maker.got().len() as u64, count);
    }
    till.verify();
}

#[test]
fn what_an_answer_costs_beyond_the_balance_is_nobodys_debt() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let gateway = till.open();
    for stream in [false, true] {
        // The maker writes 97 tokens where 60 were allowed; 0.002256 is more than there is.
        let key = till.key(&["--deposit-usd", "0.002"]);
        let mut body = Caller::Chat.request("m-chat", "Hello", stream);
        body["max_tokens"] = json!(60);
        let answer = gateway.send(&key.ask(Caller::Chat, &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let stand = till.stand(&key);
        assert_eq!((stand.spent, stand.available, stand.held), (2_000, 0, 0));
        let id = header(&answer, "x-request-id");
        assert_eq!(till.charged(&key, id), 2_000);
        if stream {
            let (_, figures) = without_figures(&answer.body, Caller::Chat.terminal());
            assert_eq!(micro_of(&figures["cost"]), 2_000, "{figures}");
        } else {
            assert_eq!(header(&answer, "x-bardo-cost"), "0.002000");
        }
        let receipt = eventually("the receipt is put right", || {
            let receipt = receipt(&gateway, &key, &answer);
            (micro_of(&receipt["cost"]["charge"]) == 2_000).then_some(receipt)
        });
        assert_eq!(micro_of(&receipt["cost"]["shortfall"]), 256, "{receipt}");
        assert_eq!(micro_of(&receipt["cost"]["spread"]), 120, "{receipt}");
        let usage = gateway.send(&key.get("/v1/usage")).json();
        assert_eq!(micro_of(&usage["total"]["charge"]), 2_000, "{usage}");
    }
    let metrics = crate::http::Request::get("/metrics").send(gateway.admin);
    let series = "bardo_usd_micro_total{provider=\"direct/openai\",kind=\"shortfall\"} 512";
    assert!(metrics.text().contains(series), "{}", metrics.text());
    till.verify();
}

#[test]
fn figures_beyond_four_times_the_hold_are_not_believed() {
    let absurd = json!({ "prompt_tokens": 10, "completion_tokens": u64::MAX,
        "total_tokens": u64::MAX });
    let choice = json!({ "index": 0, "finish_reason": "stop",
        "message": { "role": "assistant", "content": "Hello" } });
    let body = json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "m-chat",
        "choices": [choice], "usage": absurd });
    let maker = crate::scripted::Scripted::start(move |mut turn| turn.json(&body.to_string()));
    let till = Till::new(maker::billed(&maker));
    // However much it counts, later requests are let in.
    let key = till.key(&["--deposit-usd", "100", "--scope", "tpm=1000000"]);
    let gateway = till.open();
    let mut spent = 0;
    for _ in 0..3 {
        let mut body = Caller::Chat.request("m-chat", "Hello", false);
        body["max_tokens"] = json!(100);
        let answer = gateway.send(&key.ask(Caller::Chat, &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let receipt = receipt(&gateway, &key, &answer);
        assert_eq!(receipt["status"], "unknown", "{receipt}");
        let charge = micro_of(&receipt["cost"]["charge"]);
        // 100 tokens of output, and a prompt that is rather too large, with 20 %.
        assert!((932..1_200).contains(&charge), "{receipt}");
        let usage = receipt["usage"]["output_tokens"].as_u64();
        assert_eq!(usage, Some(u64::MAX), "the figures are shown as they came");
        spent += charge;
    }
    let stand = till.stand(&key);
    assert_eq!((stand.spent, stand.held), (spent, 0), "{stand:?}");
    let usage = gateway.send(&key.get("/v1/usage"));
    assert_eq!(usage.status(), 200, "{}", usage.text());
    assert_eq!(micro_of(&usage.json()["total"]["charge"]), spent);
    let said = gateway.log();
    assert!(said.contains("more than four times"), "{said}");
    till.verify();
}

#[test]
fn an_estimate_is_what_is_expected_and_not_what_is_held() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("5");
    let gateway = till.open();
    let estimate = || {
        let body = Caller::Chat.request("m-chat", "Hello", true);
        let answer = gateway.send(&key.ask(Caller::Chat, &body));
        let held = micro(header(&answer, "x-bardo-hold"));
        let estimate = micro_of(&json!(header(&answer, "x-bardo-cost-estimate")));
        assert!(held > estimate, "{held} {estimate}");
        estimate
    };
    // Nothing is known yet: a short answer. Its 32,768 tokens at most would be 0.3 USD.
    let first = estimate();
    assert!((1..10_000).contains(&first), "{first}");
    // 97 tokens of output are 0.000905 USD.
    let next = estimate();
    assert!((900..1_100).contains(&next), "{next}");
    // A dry run shows both: 4,096 tokens of output, and 32,768.
    let body = Caller::Chat.request("m-chat", "Hello", false);
    let request = crate::http::Request::json("/v1/route/explain", &body);
    let shown = gateway.send(&key.sign(request)).json();
    let expected = micro_of(&shown["resolution"]["estimated_cost_usd"]);
    let held = micro_of(&shown["resolution"]["hold_usd"]);
    assert!((30_000..40_000).contains(&expected), "{shown}");
    assert!((290_000..400_000).contains(&held), "{shown}");
}

#[test]
fn little_money_is_announced() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.key(&["--deposit-usd", "0.5"]);
    let gateway = till.open();
    for stream in [false, true] {
        let body = Caller::Chat.request("m-chat", "Hello", stream);
        let answer = gateway.send(&key.ask(Caller::Chat, &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let warning = micro(header(&answer, "x-bardo-balance-warning"));
        assert!((490_000..=500_000).contains(&warning), "{warning}");
    }
}

#[test]
fn a_replay_counts_as_a_request_of_its_key() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.key(&["--deposit-usd", "5", "--scope", "rpm=2"]);
    let gateway = till.open();
    let body = Caller::Chat.request("m-chat", "Hello", false);
    let ask = || {
        let request = key.ask(Caller::Chat, &body);
        gateway.send(&request.with("Idempotency-Key", "same"))
    };
    assert_eq!(
        [ask().status(), ask().status(), ask().status()],
        [200, 200, 429]
    );
    assert_eq!(maker.got().len(), 1);
}

#[test]
fn a_replay_is_for_keys_that_may_ask_for_it() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("5");
    let narrow = till.key(&["--account", &key.account, "--scope", "model=m-anthropic"]);
    let gateway = till.open();
    let body = Caller::Chat.request("m-chat", "Hello", false);
    let ask = |key: &Key| {
        let request = key.ask(Caller::Chat, &body);
        gateway.send(&request.with("Idempotency-Key", "same"))
    };
    let first = ask(&key);
    assert_eq!(first.status(), 200, "{}", first.text());
    assert_eq!(header(&ask(&key), "idempotent-replayed"), "true");
    let refused = ask(&narrow);
    assert_eq!(refused.status(), 403, "{}", refused.text());
    assert_eq!(maker.got().len(), 1);
}

#[test]
fn a_rotated_key_has_the_rate_of_one() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let old = till.key(&["--deposit-usd", "5", "--scope", "rpm=3"]);
    let made = till.one(&["keys", "rotate", "--key", &old.id, "--overlap", "1h"]);
    let new = Key::of(&made);
    let gateway = till.open();
    let ask = |key: &Key| {
        let body = Caller::Chat.request("m-chat", "Hello", false);
        gateway.send(&key.ask(Caller::Chat, &body)).status()
    };
    assert_eq!([ask(&old), ask(&new), ask(&old)], [200; 3]);
    assert_eq!([ask(&old), ask(&new)], [429; 2]);
}

#[test]
fn an_hours_allowance_is_shown_and_ends() {
    let maker = maker::maker();
    let mut config = maker::billed(&maker);
    // An answer has 1,100 tokens.
    config["limits"] = json!({ "allowance_tokens_per_hour": 1_500, "allowance_overage": false });
    let till = Till::new(config.clone());
    let key = till.rich("5");
    let gateway = till.open();
    let ask = |gateway: &Gateway| {
        let mut body = Caller::Chat.request("m-chat", "Hello", false);
        body["max_tokens"] = json!(100);
        gateway.send(&key.ask(Caller::Chat, &body))
    };
    let first = ask(&gateway);
    assert_eq!(first.status(), 200, "{}", first.text());
    assert_eq!(header(&first, "x-remaining-tokens"), "400");
    assert_eq!(ask(&gateway).status(), 200);
    let refused = ask(&gateway);
    assert_eq!(refused.status(), 429, "{}", refused.text());
    assert_eq!(header(&refused, "x-remaining-tokens"), "0");
    drop(gateway);
    config["limits"]["allowance_overage"] = json!(true);
    let gateway = till.open_with(&config);
    for _ in 0..3 {
        assert_eq!(ask(&gateway).status(), 200);
    }
}

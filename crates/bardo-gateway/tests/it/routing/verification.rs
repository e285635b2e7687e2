//! A decision about risks is asked of a second model before the caller gets it, where the owner
//! wants that: the more cautious answer wins, and both are paid for.

use serde_json::{Value, json};

use super::bound::assessment;
use crate::http::{Answer, Request};
use crate::paying::till::{Key, OFTEN, Till, header, micro};
use crate::rig::{Gateway, Sandbox, config, direct, with};
use crate::routing::asked;
use crate::scripted::{Scripted, Turn};
use crate::sse::{Caller, events};

/// The model that the caller names; its maker is simulated and says what the prompt tells it.
pub(super) const FIRST: &str = "claude-opus-5-5";
/// The only model of another maker.
pub(super) const SECOND: &str = "gpt-5.5";

fn recommending(recommendation: &str) -> String {
    assessment().replace("Defer", recommendation)
}

/// A provider of the second model that always recommends this.
pub(super) fn second(recommendation: &str) -> Scripted {
    let text = recommending(recommendation);
    Scripted::start(move |mut turn: Turn| {
        let usage = json!({ "prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70 });
        let object = |kind: &str, choice: Value| {
            json!({
                "id": "c", "object": kind, "created": 1, "model": SECOND,
                "choices": [choice], "usage": usage,
            })
        };
        let said = json!({ "role": "assistant", "content": text });
        if turn.got.text().contains(r#""stream":true"#) {
            let choice = json!({ "index": 0, "delta": said, "finish_reason": "stop" });
            let chunk = object("chat.completion.chunk", choice);
            turn.stream_head();
            turn.chunk(format!("data: {chunk}\n\ndata: [DONE]\n\n"));
            turn.end();
        } else {
            let choice = json!({ "index": 0, "message": said, "finish_reason": "stop" });
            turn.json(&object("chat.completion", choice).to_string());
        }
    })
}

fn failing() -> Scripted {
    Scripted::start(|mut turn: Turn| {
        turn.answer(400, "application/json", r#"{"error":{"message":"no"}}"#);
    })
}

pub(super) fn settings(sandbox: &Sandbox, second: &Scripted) -> Value {
    let mut keys = [
        direct("anthropic", &sandbox.at("/anthropic"), &[FIRST]),
        direct("openai", &second.at("/v1"), &[SECOND]),
    ];
    keys[1]["api"] = json!("chat");
    for key in &mut keys {
        key["bill"] = json!(true);
    }
    let limit = json!({ "verify_above_usd": 1000 });
    with(config(&keys), "inference", limit)
}

/// A question to the first model, which answers with this recommendation.
pub(super) fn question(caller: Caller, recommendation: &str, hints: &Value, stream: bool) -> Value {
    let steps = json!({ "steps": [{ "text": recommending(recommendation) }] });
    let mut body = caller.request(FIRST, &format!("Please. bardo-script: {steps}"), stream);
    let mut all = json!({ "subsystem": "risk", "stakes_usd": 2500 });
    for (name, value) in hints.as_object().expect("an object") {
        all[name] = value.clone();
    }
    body["bardo"] = all;
    body
}

pub(super) fn send(gateway: &Gateway, key: &Key, caller: Caller, body: &Value) -> Answer {
    gateway.send(&key.ask(caller, body))
}

pub(super) fn kept(gateway: &Gateway, key: &Key, id: &str) -> Value {
    let receipt = gateway.send(&key.get(&format!("/v1/receipts/{id}")));
    assert_eq!(receipt.status(), 200, "{}", receipt.text());
    receipt.json()
}

#[test]
fn a_decision_that_takes_a_stored_answer_alone_is_refused_and_nobody_is_asked() {
    let (sandbox, upstream) = (Sandbox::start(), second("Proceed"));
    let till = Till::new(settings(&sandbox, &upstream));
    let (gateway, key) = (till.open(), till.rich("5"));
    let body = question(
        Caller::Chat,
        "Proceed",
        &json!({ "cache": "only-if-cached" }),
        false,
    );
    let answer = send(&gateway, &key, Caller::Chat, &body);
    assert_eq!(answer.status(), 412, "{}", answer.text());
    assert!(sandbox.journal().is_empty());
    let body = question(
        Caller::Chat,
        "Proceed",
        &json!({ "cache": "default" }),
        false,
    );
    let answer = send(&gateway, &key, Caller::Chat, &body);
    assert_eq!(header(&answer, "x-bardo-cache"), "bypass");
    assert_eq!(header(&answer, "x-bardo-cache-reason"), "critical");
}

#[test]
fn the_more_cautious_of_two_answers_is_delivered_and_both_are_charged() {
    let sandbox = Sandbox::start();
    for (of_first, of_second, result) in [
        ("Proceed", "Proceed", "agreed"),
        ("Proceed", "Abort", "disagreed"),
        ("Defer", "ReduceSize", "disagreed"),
    ] {
        let upstream = second(of_second);
        let till = Till::new(settings(&sandbox, &upstream));
        let gateway = till.open();
        let second_wins = (of_first, of_second) == ("Proceed", "Abort");
        let delivered = if second_wins { of_second } else { of_first };
        for caller in Caller::ALL {
            for stream in [false, true] {
                let place = format!("{of_first} {of_second} {caller:?} {stream}");
                let key = till.rich("5");
                let body = question(caller, of_first, &json!({}), stream);
                let answer = send(&gateway, &key, caller, &body);
                assert_eq!(answer.status(), 200, "{place}: {}", answer.text());
                let said = match stream {
                    true => caller.streamed_text(&events(&answer.body)),
                    false => caller.text(&answer.json()),
                };
                assert_eq!(said, recommending(delivered), "{place}");
                let model = if second_wins { SECOND } else { FIRST };
                assert_eq!(header(&answer, "x-bardo-model"), model, "{place}");
                let told = header(&answer, "x-bardo-verification");
                assert!(told.starts_with(result), "{place} {told}");
                // The second model is below the quality that such decisions ask for.
                let degraded = header(&answer, "x-bardo-degraded");
                assert!(degraded.contains("quality"), "{place} {degraded}");

                let id = header(&answer, "x-bardo-request-id").to_owned();
                let other = format!("{id}_verify");
                let receipts = [kept(&gateway, &key, &id), kept(&gateway, &key, &other)];
                for (index, receipt) in receipts.iter().enumerate() {
                    let is_second = index == 1;
                    let verification = &receipt["verification"];
                    assert_eq!(verification["result"], result, "{place} {receipt}");
                    assert_eq!(verification["disagree"], result == "disagreed");
                    let role = if is_second { "second" } else { "first" };
                    assert_eq!(verification["role"], role);
                    assert_eq!(verification["delivered"], is_second == second_wins);
                    let names = if is_second { &id } else { &other };
                    assert_eq!(verification["other_request_id"], names.as_str());
                    assert_eq!(receipt["status"], "finished", "{place} {receipt}");
                    assert_eq!(receipt["model"], if is_second { SECOND } else { FIRST });
                }
                let charges = receipts
                    .each_ref()
                    .map(|receipt| micro(receipt["cost"]["charge"].as_str().expect("an amount")));
                assert!(charges.iter().all(|charge| *charge > 0), "{place}");
                let other_cost = usd(charges[usize::from(!second_wins)]);
                let cost = format!("; cost={other_cost}");
                assert!(told.ends_with(&cost), "{place} {told} {cost}");
                let delivered = &receipts[usize::from(second_wins)]["verification"];
                assert_eq!(delivered["other_cost"], other_cost, "{place}");
                let stand = till.stand(&key);
                assert_eq!(stand.spent, charges.iter().sum::<u64>(), "{place}");
                assert_eq!(stand.held, 0, "{place}");
            }
        }
        till.verify();
    }
}

#[test]
fn a_second_model_that_fails_gives_its_hold_back_and_nothing_unverified_is_delivered() {
    let sandbox = Sandbox::start();
    let upstream = failing();
    let till = Till::new(settings(&sandbox, &upstream));
    let gateway = till.open();
    for stream in [false, true] {
        let key = till.rich("5");
        let body = question(Caller::Chat, "Proceed", &json!({}), stream);
        let refused = send(&gateway, &key, Caller::Chat, &body);
        assert_eq!(refused.status(), 502, "{}", refused.text());
        let code = &refused.json()["error"]["bardo_code"];
        assert_eq!(code, "verification_unavailable");
        assert_eq!(refused.header("x-should-retry"), Some("false"));
        let id = header(&refused, "x-bardo-request-id");
        let first = kept(&gateway, &key, id);
        assert_eq!(first["verification"]["result"], "unavailable", "{first}");
        assert_eq!(first["verification"]["delivered"], false, "{first}");
        let charge = micro(first["cost"]["charge"].as_str().expect("an amount"));
        let stand = till.stand(&key);
        assert_eq!((stand.spent, stand.held), (charge, 0));

        let key = till.rich("5");
        let hints = json!({ "accept_degraded": true });
        let body = question(Caller::Chat, "Proceed", &hints, stream);
        let answer = send(&gateway, &key, Caller::Chat, &body);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let degraded = header(&answer, "x-bardo-degraded");
        assert!(
            degraded.split(',').any(|name| name == "verification"),
            "{degraded}"
        );
        assert_eq!(header(&answer, "x-bardo-verification"), "unavailable");
    }
    till.verify();
}

#[test]
fn without_a_second_model_nothing_is_sent_unless_the_caller_takes_less() {
    let sandbox = Sandbox::start();
    let upstream = second("Proceed");
    let mut settings = settings(&sandbox, &upstream);
    let keys = settings["providers"]["direct"]["keys"].as_array_mut();
    keys.expect("a list").pop();
    let gateway = Gateway::start(&settings);
    let ask = |hints: Value| {
        let body = question(Caller::Chat, "Proceed", &hints, false);
        gateway.send(&Request::json(Caller::Chat.path(), &body))
    };
    sandbox.forget();
    let refused = ask(json!({}));
    assert_eq!(refused.status(), 502, "{}", refused.text());
    assert_eq!(
        refused.json()["error"]["bardo_code"],
        "verification_unavailable"
    );
    assert_eq!(asked(&sandbox), [""; 0]);
    let answer = ask(json!({ "accept_degraded": true }));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(header(&answer, "x-bardo-degraded").contains("verification"));
}

#[test]
fn money_for_one_answer_alone_is_not_spent() {
    let sandbox = Sandbox::start();
    let upstream = second("Proceed");
    let till = Till::new(settings(&sandbox, &upstream));
    let gateway = till.open();
    let mut enough_for_one = 0;
    for cents in (1..=100_u32).step_by(1) {
        let usd = format!("{}.{:02}", cents / 100, cents % 100);
        let ask = |hints: Value| {
            let key = till.rich(&usd);
            let mut body = question(Caller::Chat, "Proceed", &hints, false);
            body["max_completion_tokens"] = json!(1_000);
            let answer = send(&gateway, &key, Caller::Chat, &body);
            (answer, till.stand(&key))
        };
        sandbox.forget();
        let before = upstream.got().len();
        let (answer, stand) = ask(json!({}));
        if answer.status() == 200 {
            assert!(enough_for_one > 0, "one answer costs as much as two");
            return;
        }
        assert_eq!(answer.status(), 402, "{}", answer.text());
        assert_eq!((stand.spent, stand.held), (0, 0));
        assert_eq!(asked(&sandbox), [""; 0]);
        assert_eq!(upstream.got().len(), before);
        let (alone, _) = ask(json!({ "stakes_usd": 0 }));
        enough_for_one += u32::from(alone.status() == 200);
    }
    panic!("a dollar is enough for two answers");
}

/// The largest of the amounts in a message, in millionths.
fn largest(message: &str) -> u64 {
    let amounts = message.split(' ').filter(|word| word.contains('.'));
    let amounts = amounts.filter(|word| word.chars().all(|c| c == '.' || c.is_ascii_digit()));
    amounts.map(micro).max().expect("an amount")
}

fn usd(micro: u64) -> String {
    format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}

#[test]
fn a_balance_that_pays_for_two_short_answers_is_shared_by_both() {
    let sandbox = Sandbox::start();
    let upstream = second("Proceed");
    let till = Till::new(settings(&sandbox, &upstream));
    let gateway = till.open();
    let body = question(Caller::Chat, "Proceed", &json!({}), false);
    let ask = |deposit: u64| {
        let key = till.rich(&usd(deposit));
        let answer = send(&gateway, &key, Caller::Chat, &body);
        (answer, till.stand(&key))
    };
    let (refused, stand) = ask(2_000);
    assert_eq!(refused.status(), 402, "{}", refused.text());
    assert_eq!((stand.spent, stand.held), (0, 0));
    let message = refused.json()["error"]["message"].to_string();
    assert!(message.contains("only 0.002000 USD"), "{message}");
    assert_eq!(header(&refused, "x-bardo-balance-warning"), "0.002000");

    let needed = largest(&message);
    let (short, _) = ask(needed - 1);
    assert_eq!(short.status(), 402, "{needed}: {}", short.text());
    for deposit in [needed, needed + 10_000, needed + 50_000, 5_000_000] {
        let (answer, stand) = ask(deposit);
        assert_eq!(answer.status(), 200, "{deposit}: {}", answer.text());
        let told = header(&answer, "x-bardo-verification");
        assert!(told.starts_with("agreed"), "{deposit} {told}");
        assert_eq!(stand.held, 0, "{deposit}");
    }
    till.verify();
}

#[test]
fn a_cap_that_pays_for_two_short_answers_is_shared_by_both() {
    let sandbox = Sandbox::start();
    let upstream = second("Proceed");
    let till = Till::new(settings(&sandbox, &upstream));
    let gateway = till.open();
    let body = question(Caller::Chat, "Proceed", &json!({}), false);
    let ask = |cap: u64| {
        let scope = format!("spend-total={}", usd(cap));
        let scopes = ["--deposit-usd", "50", "--scope", &scope];
        let key = till.key(&[&scopes[..], &OFTEN].concat());
        let answer = send(&gateway, &key, Caller::Chat, &body);
        (answer, till.stand(&key))
    };
    let (refused, stand) = ask(2_000);
    assert_eq!(refused.status(), 429, "{}", refused.text());
    assert_eq!((stand.spent, stand.held), (0, 0));
    let message = refused.json()["error"]["message"].to_string();
    assert!(message.contains("0.000000 USD are spent"), "{message}");
    let needed = largest(&message);
    for cap in [needed, needed + 1_000, needed + 10_000, needed + 50_000] {
        let (answer, stand) = ask(cap);
        assert_eq!(answer.status(), 200, "{cap}: {}", answer.text());
        assert!(stand.spent <= cap, "{cap} {stand:?}");
        assert_eq!(stand.held, 0, "{cap}");
    }
    let (short, _) = ask(needed - 1);
    assert_eq!(short.status(), 429, "{needed}: {}", short.text());
    till.verify();
}

/// Numbers that look random and are the same in each run.
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

#[test]
fn the_receipts_of_both_requests_add_up_to_the_change_of_the_ledger() {
    let sandbox = Sandbox::start();
    let mut number = numbers();
    let mut answered = 0;
    for of_second in ["Proceed", "Abort"] {
        let upstream = second(of_second);
        let till = Till::new(settings(&sandbox, &upstream));
        let gateway = till.open();
        for _ in 0..40 {
            let deposit = 1 + number(150_000);
            let key = till.rich(&usd(deposit));
            let mut hints = json!({});
            if number(3) == 0 {
                hints["max_cost_usd"] = json!(usd(1 + number(200_000)));
            }
            hints["accept_degraded"] = json!(number(4) == 0);
            let stream = number(2) == 0;
            let mut body = question(Caller::Chat, "Proceed", &hints, stream);
            let limit = number(8_000);
            if limit > 4_000 {
                body["max_completion_tokens"] = json!(limit);
            }
            let answer = send(&gateway, &key, Caller::Chat, &body);
            let stand = till.stand(&key);
            let place = format!("{deposit} {limit} {stream} {hints}: {}", answer.text());
            assert_eq!(stand.held, 0, "{place}");
            assert!(stand.spent <= deposit, "{place}");
            let id = header(&answer, "x-bardo-request-id");
            let receipts = [id.to_owned(), format!("{id}_verify")];
            let charges = receipts.iter().filter_map(|id| {
                let receipt = gateway.send(&key.get(&format!("/v1/receipts/{id}")));
                let receipt = (receipt.status() == 200).then(|| receipt.json())?;
                Some(micro(
                    receipt["cost"]["charge"].as_str().expect("an amount"),
                ))
            });
            let charges: Vec<u64> = charges.collect();
            assert_eq!(stand.spent, charges.iter().sum::<u64>(), "{place}");
            match answer.status() {
                200 => {
                    answered += 1;
                    let is_alone = header(&answer, "x-bardo-verification") == "unavailable";
                    assert_eq!(charges.len(), if is_alone { 1 } else { 2 }, "{place}");
                }
                400 | 402 => assert_eq!(charges, [0; 0], "{place}"),
                other => panic!("{other} {place}"),
            }
        }
        till.verify();
    }
    assert!((10..70).contains(&answered), "{answered} of 80");
}

#[test]
fn a_verified_answer_is_not_stored_for_others_and_a_stored_answer_is_no_verified_one() {
    let sandbox = Sandbox::start();
    let upstream = second("Proceed");
    let gateway = Gateway::start(&settings(&sandbox, &upstream));
    let ask = |stakes: u32| {
        let body = question(
            Caller::Chat,
            "Proceed",
            &json!({ "stakes_usd": stakes }),
            false,
        );
        let request = Request::json(Caller::Chat.path(), &body);
        let answer = gateway.send(&request.with("x-bardo-cache", "default"));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let told = header(&answer, "x-bardo-cache").to_owned();
        (told, answer.header("x-bardo-verification").is_some())
    };
    assert_eq!(ask(2_500), ("bypass".to_owned(), true));
    let (first, _) = ask(10);
    assert_ne!(first, "hash", "the verified answer was stored");
    ask(10);
    assert_eq!(ask(2_500), ("bypass".to_owned(), true));
    assert_eq!(upstream.got().len(), 2);
}

#[test]
fn a_limit_of_costs_that_does_not_pay_for_two_models_is_refused_with_the_amount_that_does() {
    let sandbox = Sandbox::start();
    let upstream = second("Proceed");
    let till = Till::new(settings(&sandbox, &upstream));
    let gateway = till.open();
    let key = till.rich("50");
    let ask = |hints: Value| {
        let body = question(Caller::Chat, "Proceed", &hints, false);
        send(&gateway, &key, Caller::Chat, &body)
    };
    sandbox.forget();
    let refused = ask(json!({ "max_cost_usd": "0.02" }));
    assert_eq!(refused.status(), 400, "{}", refused.text());
    let error = &refused.json()["error"];
    assert_eq!(error["bardo_code"], "requirements_unsatisfiable", "{error}");
    assert_eq!(asked(&sandbox), [""; 0]);
    assert_eq!(upstream.got().len(), 0);

    let message = error["message"].to_string();
    assert!(message.contains("two models"), "{message}");
    let enough = ask(json!({ "max_cost_usd": usd(largest(&message)) }));
    assert_eq!(enough.status(), 200, "{message}: {}", enough.text());
    let told = header(&enough, "x-bardo-verification");
    assert!(told.starts_with("agreed"), "{told}");

    let taken = ask(json!({ "max_cost_usd": "0.02", "accept_degraded": true }));
    assert_eq!(taken.status(), 200, "{}", taken.text());
    assert_eq!(header(&taken, "x-bardo-verification"), "unavailable");
}

#[test]
fn a_limit_of_costs_is_shared_by_both_answers_and_never_exceeded() {
    let sandbox = Sandbox::start();
    let upstream = second("Proceed");
    let till = Till::new(settings(&sandbox, &upstream));
    let gateway = till.open();
    let key = till.rich("1000");
    let mut number = numbers();
    let (mut answered, mut limited) = (0, 0);
    let mut amounts = std::collections::BTreeSet::new();
    for turn in 0..60 {
        let most = 1 + number(if turn % 2 == 0 { 20_000 } else { 200_000 });
        let hints = json!({ "max_cost_usd": usd(most) });
        let body = question(Caller::Chat, "Proceed", &hints, false);
        let answer = send(&gateway, &key, Caller::Chat, &body);
        let place = format!("{most}: {}", answer.text());
        if answer.status() != 200 {
            assert_eq!(answer.status(), 400, "{place}");
            let message = answer.json()["error"]["message"].to_string();
            assert!(message.contains("two models"), "{place}");
            amounts.insert(largest(&message));
            continue;
        }
        answered += 1;
        let degraded = answer.header("x-bardo-degraded").unwrap_or_default();
        limited += u32::from(degraded.contains("max_tokens"));
        let id = header(&answer, "x-bardo-request-id");
        let costs = [id.to_owned(), format!("{id}_verify")].map(|id| {
            let receipt = kept(&gateway, &key, &id);
            micro(
                receipt["cost"]["provider_cost"]
                    .as_str()
                    .expect("an amount"),
            )
        });
        assert!(costs.iter().sum::<u64>() <= most, "{costs:?} {place}");
    }
    assert!(answered > 20 && limited > 10, "{answered} {limited}");
    assert_eq!(
        amounts.len(),
        1,
        "the old limit has no part in it: {amounts:?}"
    );
    let needed = amounts.first().copied().expect("an amount");
    let hints = json!({ "max_cost_usd": usd(needed) });
    let body = question(Caller::Chat, "Proceed", &hints, false);
    let enough = send(&gateway, &key, Caller::Chat, &body);
    assert_eq!(enough.status(), 200, "{needed}: {}", enough.text());
}

#[test]
fn no_second_model_is_asked_where_less_is_at_stake_or_the_owner_does_not_want_it() {
    let sandbox = Sandbox::start();
    let upstream = second("Abort");
    let wanted = settings(&sandbox, &upstream);
    let mut off = wanted.clone();
    off["inference"] = json!({});
    for (config, hints) in [
        (&wanted, json!({ "stakes_usd": 1000 })),
        (&wanted, json!({ "stakes_usd": null })),
        (&wanted, json!({ "subsystem": "operator" })),
        (&off, json!({})),
    ] {
        let gateway = Gateway::start(config);
        let body = question(Caller::Chat, "Proceed", &hints, false);
        let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
        assert_eq!(answer.status(), 200, "{hints}: {}", answer.text());
        assert_eq!(answer.header("x-bardo-verification"), None, "{hints}");
        let told = answer.header("x-bardo-warnings").unwrap_or_default();
        let is_told = told.contains("`stakes_usd` has no effect");
        assert_eq!(is_told, std::ptr::eq(config, &off), "{hints} {told}");
    }
    assert_eq!(upstream.got().len(), 0);
}

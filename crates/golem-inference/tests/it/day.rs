//! A Golem's day, against a stub that behaves as a gateway does.

use std::sync::Arc;
use std::time::Duration;

use golem_inference::Client;
use golem_inference::day::{Day, DayPlan, live, report, report_json};
use serde_json::{Value, json};

use crate::stub::{Answer, Asked, Stub, answer};

/// Answers as a gateway whose routing a test decides: model, backend and what is lost.
fn gateway(asked: &Asked, route: fn(&str, f64) -> [&'static str; 3]) -> Answer {
    if let Some(id) = asked.path.strip_prefix("/v1/receipts/") {
        // The id says what it cost.
        let micro: u64 = id
            .trim_start_matches("req_")
            .parse()
            .expect("an id of ours");
        let usd = format!("0.{micro:06}");
        let receipt = json!({ "request_id": id, "status": "finished", "model": "m",
            "usage": { "input_tokens": if micro == 2_000 { 400 } else { 100 },
                "output_tokens": if micro == 2_000 { 0 } else { 50 } },
            "cost": { "charge": usd, "provider_cost": usd, "list_price": usd },
            "degraded": [] });
        return answer(200, &[], receipt.to_string());
    }
    if asked.path != "/v1/chat/completions" {
        return answer(
            404,
            &[],
            r#"{"error":{"message":"no","bardo_code":"not_found"}}"#,
        );
    }
    let named = asked.body["model"] != "bardo/auto";
    // The two questions about the frontier model's price: 400 tokens in for 2,000 micro-USD, then
    // 100 in and 50 out for 1,750. That is 5 USD per million in, 25 out.
    let question = asked.body["messages"][0]["content"]
        .as_str()
        .unwrap_or_default();
    let is_long = question.starts_with("What is the price of a long question");
    let micro = match (named, is_long) {
        (true, true) => 2_000,
        (true, false) => 1_750,
        (false, _) => 100,
    };
    let vitality = asked
        .body
        .pointer("/bardo/vitality")
        .and_then(Value::as_f64);
    let [model, backend, lost] = route(asked.subsystem(), vitality.unwrap_or(1.0));
    let id = format!("req_{micro}");
    let headers = [
        ("x-bardo-request-id", id.as_str()),
        ("x-bardo-model", model),
        ("x-bardo-provider", backend),
        ("x-bardo-degraded", lost),
        ("x-bardo-sandbox", "true"),
    ];
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 50 });
    if asked.body["stream"] == true {
        let text =
            json!({ "choices": [{ "delta": { "content": "well" }, "finish_reason": "stop" }] });
        let end = json!({ "choices": [], "usage": usage });
        return answer(
            200,
            &headers,
            format!("data: {text}\n\ndata: {end}\n\ndata: [DONE]\n\n"),
        );
    }
    let text = match asked.subsystem() {
        "heartbeat_t1" => r#"{"action":"hold","confidence":"low"}"#,
        _ => "well",
    };
    let body = json!({ "choices": [{ "finish_reason": "stop", "message": { "content": text } }],
        "usage": usage });
    answer(200, &headers, body.to_string())
}

fn good(subsystem: &str, vitality: f64) -> [&'static str; 3] {
    match subsystem {
        "risk" | "operator" => ["opus", "blockrun", ""],
        name if name.starts_with("death") => ["r1", "venice", ""],
        name if name.starts_with("dream") && vitality < 0.3 => {
            ["small", "venice", "visible_thinking"]
        }
        name if name.starts_with("dream") => ["r1", "venice", ""],
        _ => ["haiku", "blockrun", ""],
    }
}

async fn lived(route: fn(&str, f64) -> [&'static str; 3], plan: &DayPlan) -> (Day, Stub) {
    let stub = Stub::start(move |asked| gateway(asked, route)).await;
    let client = Arc::new(Client::new(stub.endpoint.clone(), None));
    (live(client, plan).await.expect("the day is lived"), stub)
}

fn short() -> DayPlan {
    DayPlan {
        ticks: 96,
        ..DayPlan::default()
    }
}

#[tokio::test]
async fn a_day_sends_nothing_at_t0_and_leaves_protected_parts_alone() {
    let (day, stub) = lived(good, &short()).await;
    assert_eq!(day.violations(), [""; 0]);
    assert_eq!(day.counts.ticks(), 96);
    assert!(day.counts.t0 > 48, "{:?}", day.counts);

    let thoughts = stub.thoughts();
    // Two of them ask for the frontier model's price.
    assert_eq!(thoughts.len(), day.requests + 2);
    let beats = thoughts
        .iter()
        .filter(|t| t.subsystem().starts_with("heartbeat"));
    let (one, two): (Vec<&Asked>, Vec<&Asked>) =
        beats.partition(|t| t.subsystem() == "heartbeat_t1");
    // Each tick beyond T0 was sent once; those handed over were sent as T1 and as T2.
    assert_eq!(one.len() as u64, day.counts.t1 + day.escalated);
    assert_eq!(two.len() as u64, day.counts.t2);
    assert!(day.escalated > 0, "{:?}", day.counts);
}

#[tokio::test]
async fn every_part_of_a_golem_thinks_and_says_how_alive_it_is() {
    let (_, stub) = lived(good, &short()).await;
    let thoughts: Vec<Asked> = stub.thoughts().split_off(2);
    for subsystem in [
        "heartbeat_t1",
        "heartbeat_t2",
        "risk",
        "daimon",
        "daimon_complex",
        "curator",
        "playbook",
        "operator",
        "mind_wandering",
        "session_compact",
        "hypnagogic_induction",
        "hypnagogic_dali",
        "hypnagogic_observer",
        "hypnagogic_capture",
        "dream_nrem",
        "dream_rem",
        "dream_rem_creative",
        "dream_threat",
        "dream_integration",
        "hypnopompic_return",
        "death_reflect",
        "death_testament",
    ] {
        let found = thoughts.iter().any(|asked| asked.subsystem() == subsystem);
        assert!(found, "{subsystem} never asked");
    }
    let hints: Vec<&Value> = thoughts.iter().map(|asked| &asked.body["bardo"]).collect();
    for hint in &hints {
        for name in [
            "vitality",
            "phase",
            "sustainability",
            "golem_id",
            "session_id",
            "tick",
            "regime",
        ] {
            assert!(!hint[name].is_null(), "{name} is missing in {hint}");
        }
    }
    assert!(
        thoughts
            .iter()
            .all(|asked| asked.body["model"] == "bardo/auto")
    );
    let rem: Vec<&Value> = hints
        .iter()
        .filter(|hint| hint["subsystem"] == "dream_rem")
        .map(|hint| &hint["call_index"])
        .collect();
    assert_eq!(rem, [&json!(1), &json!(2), &json!(3), &json!(4)]);
    assert_eq!(hints.first().unwrap()["phase"], "thriving");
    assert_eq!(hints.last().unwrap()["phase"], "terminal");
}

#[tokio::test]
async fn the_report_compares_with_the_naive_day() {
    let (day, _) = lived(good, &short()).await;
    let baseline = day.baseline.as_ref().unwrap();
    assert_eq!((baseline.input, baseline.output), (5_000_000, 25_000_000));
    let naive = baseline.naive(&day);
    // Each call has 100 tokens in and 50 out: 1,750 micro-USD at the frontier's price.
    assert_eq!(naive.calls, day.requests as u64 * 1_750);
    assert_eq!(naive.quiet_ticks, day.counts.t0 * 1_750);

    let text = report(&day, Duration::from_secs(2));
    for part in [
        "opus@blockrun",
        "small@venice",
        "visible_thinking",
        "times this day",
        "0 at T0",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let told = "dream_rem routed to venice/small (unavailable: visible_thinking)";
    assert_eq!(text.matches(told).count(), 1, "said once\n{text}");

    // Each call costs 100 micro-USD here: 17.5 times less, like for like, and that is said first.
    let honest = text.find("17.5 times this day").expect("the honest ratio");
    let whole = text.find("quiet ticks").expect("the other one");
    assert!(honest < whole, "{text}");
    let told = report_json(&day, Duration::from_secs(2));
    assert_eq!(told["baseline"]["like_for_like"]["ratio"], "17.5");
    assert_eq!(told["violations"], json!([]));
    assert_eq!(told["ticks"]["all"], 96);
}

#[tokio::test]
async fn what_the_gateway_adds_is_no_cost_of_the_naive_day() {
    // The same day, but each decision is asked twice, and with a schema in words: five times the
    // tokens of the prompt, twice those of the answer.
    let stub = Stub::start(|asked| {
        let grown = asked.path == "/v1/receipts/req_100";
        match grown {
            true => answer(200, &[], grown_receipt().to_string()),
            false => gateway(asked, good),
        }
    })
    .await;
    let client = Arc::new(Client::new(stub.endpoint.clone(), None));
    let grown = live(client, &short()).await.expect("the day is lived");
    let naive = grown.baseline.as_ref().unwrap().naive(&grown);
    let answers = grown.requests as u64;
    assert!(naive.calls > 0);
    // Without one call that went out as it was written, the record's own prompt is all there is;
    // the second answer counts for nothing all the same.
    assert_eq!(naive.calls, answers * (500 * 5 + 50 * 25));
}

fn grown_receipt() -> Value {
    json!({ "request_id": "req_100", "status": "finished", "model": "m",
        "usage": { "input_tokens": 500, "output_tokens": 100 },
        "cost": { "charge": "0.000100", "provider_cost": "0.000100", "list_price": "0.000100" },
        "routing": { "schema": { "mode": "prompt", "repaired": true } },
        "degraded": [] })
}

#[tokio::test]
async fn a_gateway_that_spares_on_risk_is_caught() {
    let (day, _) = lived(
        |subsystem, vitality| match subsystem {
            "risk" if vitality < 0.5 => ["haiku", "blockrun", "citations"],
            _ => good(subsystem, vitality),
        },
        &short(),
    )
    .await;
    let violations = day.violations();
    let expected = "risk had opus at full life and haiku without citations at vitality 0.38";
    assert!(violations[0].starts_with(expected), "{violations:?}");
}

#[tokio::test]
async fn another_backend_is_no_offense() {
    let route = |subsystem: &str, vitality: f64| match subsystem {
        "risk" if vitality < 0.5 => ["opus", "openrouter", "top_p"],
        _ => good(subsystem, vitality),
    };
    let (day, _) = lived(route, &short()).await;
    assert_eq!(day.violations(), [""; 0]);
}

#[tokio::test]
async fn a_thought_without_an_answer_is_an_offense() {
    let stub = Stub::start(|asked| match asked.subsystem() {
        "curator" => answer(
            503,
            &[],
            r#"{"error":{"message":"no","bardo_code":"busy"}}"#,
        ),
        _ => gateway(asked, good),
    })
    .await;
    let client = Arc::new(Client::new(stub.endpoint.clone(), None));
    let day = live(client, &short()).await.expect("the day goes on");
    let violations = day.violations();
    assert!(
        violations
            .iter()
            .all(|text| text == "curator was not answered: busy (503): no"),
        "{violations:?}"
    );
    assert!(!violations.is_empty());
}

#[tokio::test]
async fn a_golem_may_survive() {
    let plan = DayPlan {
        dies: false,
        ..short()
    };
    let (day, stub) = lived(good, &plan).await;
    assert!(!day.died);
    assert!(
        !stub
            .thoughts()
            .iter()
            .any(|asked| asked.subsystem().starts_with("death"))
    );
}

#[tokio::test]
async fn the_same_seed_is_the_same_day() {
    let names = |stub: &Stub| -> Vec<String> {
        let thoughts = stub.thoughts();
        thoughts
            .iter()
            .map(|asked| asked.subsystem().to_owned())
            .collect()
    };
    let (_, first) = lived(good, &short()).await;
    let (_, again) = lived(good, &short()).await;
    assert_eq!(names(&first), names(&again));
    let other = DayPlan { seed: 8, ..short() };
    let (_, other) = lived(good, &other).await;
    assert_ne!(names(&first), names(&other));
}

use serde_json::Value;

use super::figures::MeanInterval;
use super::run::Study;
use super::{StudyPlan, WorkloadSource, check_rows, json, page, study, words};

/// The first calls of one seed. Whole runs are for the verb: they take minutes.
fn sample(source: WorkloadSource, seed: u64, most_calls: usize, rows: &[&str]) -> Study {
    let plan = StudyPlan {
        source,
        seed,
        seeds: 1,
        most_calls: Some(most_calls),
        model: None,
        rows: rows.iter().map(|row| (*row).to_owned()).collect(),
    };
    study(&plan, |_| {}).expect("the workload is played")
}

fn mean(report: &Value, id: &str) -> f64 {
    let rows = report["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["id"] == id);
    row.expect("the row is there")["bill_usd"]["mean"]
        .as_f64()
        .expect("a number")
}

fn tally<'a>(report: &'a Value, id: &str) -> &'a Value {
    let rows = report["rows"].as_array().expect("rows");
    &rows
        .iter()
        .find(|row| row["id"] == id)
        .expect("the row is there")["all_seeds"]
}

#[test]
fn a_seed_repeats_a_study_to_the_last_token() {
    let play = || json(&sample(WorkloadSource::FaqDay, 3, 25, &[])).to_string();
    assert_eq!(play(), play());
    let semantic = || json(&sample(WorkloadSource::FaqDay, 3, 300, &["semantic"])).to_string();
    assert_eq!(semantic(), semantic());
}

#[test]
fn a_relay_costs_what_the_provider_asks() {
    for source in [
        WorkloadSource::GolemMonth,
        WorkloadSource::CodingWeek,
        WorkloadSource::FaqDay,
    ] {
        let report = json(&sample(source, 1, 12, &["direct", "relay"]));
        let (direct, relay) = (mean(&report, "direct"), mean(&report, "relay"));
        // A profile of an agent adds a schema, which counts for a few tokens.
        assert!(
            (relay / direct - 1.0).abs() < 0.02,
            "{relay} against {direct}"
        );
        assert_eq!(tally(&report, "relay")["hash_hits"], 0);
        assert_eq!(
            tally(&report, "relay")["calls"],
            tally(&report, "relay")["upstream"]
        );
    }
}

#[test]
fn each_layer_saves_and_is_counted() {
    let report = json(&sample(
        WorkloadSource::FaqDay,
        1,
        150,
        &["relay", "hash", "single_flight", "prefix"],
    ));
    let [relay, hash, shared, prefix] =
        ["relay", "hash", "single_flight", "prefix"].map(|id| mean(&report, id));
    assert!(hash < relay, "{hash} {relay}");
    assert!(shared < hash, "{shared} {hash}");
    assert!(prefix < shared, "{prefix} {shared}");
    assert!(tally(&report, "single_flight")["shared"].as_u64() > Some(0));
    assert_eq!(tally(&report, "hash")["shared"], 0);
    for id in ["hash", "single_flight", "prefix"] {
        let row = tally(&report, id);
        let count = |name: &str| row[name].as_u64().expect("a count");
        let answered = count("upstream") + count("hash_hits") + count("shared");
        assert_eq!(answered, count("calls"), "{id}: {row}");
    }
}

#[test]
fn the_gateways_marks_never_cost_more_than_none_and_beat_five_minutes_of_a_heartbeat() {
    let report = json(&sample(
        WorkloadSource::GolemMonth,
        1,
        80,
        &["direct", "direct_marked", "single_flight", "prefix"],
    ));
    let [direct, marked, shared, prefix] =
        ["direct", "direct_marked", "single_flight", "prefix"].map(|id| mean(&report, id));
    assert!(prefix <= shared * 1.01, "{prefix} against {shared}");
    assert!(prefix < marked, "{prefix} against {marked}");
    assert!(prefix < direct, "{prefix} against {direct}");
}

#[test]
fn the_parts_of_a_bill_add_up() {
    let study = sample(
        WorkloadSource::CodingWeek,
        1,
        15,
        &["direct_marked", "prefix"],
    );
    for result in &study.arms {
        let sum = result.sum();
        let parts = sum.fresh.usd + sum.read.usd + sum.written.usd + sum.output.usd;
        // Each call is rounded up to a millionth.
        let rounding = 2e-6 * 15.0;
        assert!(
            (parts - sum.cost_usd()).abs() < rounding,
            "{}: {sum:?}",
            result.arm.id()
        );
    }
}

#[cfg(feature = "embedder")]
#[test]
fn first_hits_by_meaning_are_audited_and_paid() {
    let ask = |at: u64, question: &str| {
        serde_json::json!({
            "at_ms": at, "model": "claude-haiku-4-5", "output_tokens": 40, "temperature": 0,
            "bardo": { "cache": "default", "domain": "faq" },
            "messages": [{ "role": "user", "content": question }],
        })
        .to_string()
    };
    let questions = [
        "How do I cancel my subscription?",
        "I'd like to know how to cancel my subscription",
    ];
    let text: Vec<String> = (0..2)
        .map(|at| ask(60_000 * at as u64, questions[at]))
        .collect();
    let source = WorkloadSource::Recorded(text.join("\n").into());
    let report = json(&sample(source, 1, 10, &["prefix", "semantic"]));
    // The first fifty hits of a domain are answered live, too, so this one saves nothing.
    let row = tally(&report, "semantic");
    assert_eq!(
        (&row["semantic_hits"], &row["calls"]),
        (&Value::from(0), &Value::from(2))
    );
    assert!(row["upstream"].as_u64() >= Some(2), "{row}");
}

#[test]
fn a_row_that_is_unknown_is_refused_with_the_known_ones() {
    assert_eq!(check_rows(&["hash".to_owned()]), Ok(()));
    let error = check_rows(&["hash".to_owned(), "hashes".to_owned()]);
    let error = error.expect_err("there is no such row");
    assert!(
        error.contains("`hashes`") && error.contains("single_flight"),
        "{error}"
    );
}

#[test]
fn a_recorded_file_is_played_and_a_bad_line_is_named() {
    let line = |at: u64, question: &str| {
        serde_json::json!({
            "at_ms": at, "model": "claude-haiku-4-5", "temperature": 0, "output_tokens": 40,
            "messages": [{ "role": "system", "content": "Short." }, { "role": "user", "content": question }],
        })
        .to_string()
    };
    let text = [
        line(0, "Where is it?"),
        line(60_000, "Where is it?"),
        line(90_000, "Why?"),
    ];
    let folder = std::env::temp_dir().join(format!("bardo-simulate-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("calls.jsonl");
    std::fs::write(&file, text.join("\n")).expect("a file");
    let source = WorkloadSource::recorded(&file).expect("it is understood");
    let report = json(&sample(source, 1, 10, &["hash"]));
    assert_eq!(report["seeds"], 1);
    assert_eq!(tally(&report, "hash")["hash_hits"], 1);
    std::fs::write(&file, format!("{}\n{{}}", text[0])).expect("a file");
    let error = WorkloadSource::recorded(&file).expect_err("the second line is no call");
    assert!(error.contains("line 2"), "{error}");
    let twice = line(0, "Why?").replace("\"model\"", "\"at_ms\": 1, \"model\"");
    std::fs::write(&file, format!("{}\n{twice}", text[0])).expect("a file");
    let error = WorkloadSource::recorded(&file).expect_err("a member is there twice");
    assert!(
        error.contains("line 2: duplicate field `at_ms` at column"),
        "{error}"
    );
    std::fs::write(&file, b"\n{\"at_ms\":\xff}").expect("a file");
    let error = WorkloadSource::recorded(&file).expect_err("it is no text");
    assert!(error.contains("line 2 is not UTF-8"), "{error}");
    let huge = line(0, "Why?").replace("40", "100000000000");
    std::fs::write(&file, format!("{}\n{huge}", text[0])).expect("a file");
    let error = WorkloadSource::recorded(&file).expect_err("no answer is so long");
    assert!(error.contains("line 2: `output_tokens`"), "{error}");
    std::fs::remove_dir_all(&folder).expect("it goes");
}

/// Lines as programs write them: Unix times, calls of tools without words, a model by its alias, a
/// temperature that the model refuses, and an answer above the usual limit.
#[test]
fn recorded_calls_of_all_kinds_are_played() {
    let call = serde_json::json!({ "id": "c1", "type": "function",
        "function": { "name": "find", "arguments": "{\"order\":7}" } });
    let line = |at: u64| {
        serde_json::json!({
            "at_ms": 1_793_000_000_000_u64 + at, "model": "opus", "temperature": 0.2,
            "output_tokens": 6_000, "bardo": { "cache": "default" },
            "tools": [{ "type": "function", "function": { "name": "find" } }],
            "messages": [
                { "role": "user", "content": "Where is order 7?" },
                { "role": "assistant", "content": null, "tool_calls": [call] },
                { "role": "tool", "tool_call_id": "c1", "content": "on its way" },
                { "role": "assistant", "content": "" },
                { "role": "user", "content": [{ "type": "text", "text": "When?" }] },
            ],
        })
        .to_string()
    };
    let day = 86_400_000_u64;
    // As hot as Chat Completions allows, at a model of the Messages API.
    let warm = serde_json::json!({
        "at_ms": 1_793_000_000_000_u64 + 2 * day, "model": "claude-haiku-4-5", "temperature": 1.5,
        "output_tokens": 40, "messages": [{ "role": "user", "content": "A poem?" }],
    });
    let text = [line(0), line(60_000), line(2 * day), warm.to_string()].join("\n");
    let source = WorkloadSource::Recorded(text.into());
    let rows = ["direct", "direct_marked", "hash", "prefix"];
    let report = json(&sample(source, 1, 10, &rows));
    assert_eq!(report["played_days"], 2.0);
    assert_eq!(tally(&report, "hash")["hash_hits"], 1);
    // Nobody has to earn these calls.
    assert_eq!(report["rows"][0]["break_even"], Value::Null);
}

#[test]
fn amounts_have_as_many_digits_as_tell_them_apart() {
    let shown = |mean| super::table::money(MeanInterval { mean, margin: None });
    let pairs = [
        (12.346, "$12.35"),
        (0.836_8, "$0.837"),
        (0.001_234, "$0.00123"),
        (0.000_123, "$0.000123"),
        (0.0, "$0.000"),
    ];
    for (usd, told) in pairs {
        assert_eq!(shown(usd), told);
    }
}

#[test]
fn savings_are_shown_with_and_without_the_spread() {
    let study = sample(WorkloadSource::FaqDay, 1, 12, &["direct", "relay"]);
    let report = json(&study);
    let row = &report["rows"][1];
    let saved = |path: &str| row.pointer(path).and_then(Value::as_f64).expect("a number");
    assert!(saved("/saved/mean").abs() < 0.001, "{row}");
    // A relay of 20 % spread costs 20 % more.
    let with_spread = saved("/saved_with_spread/against_none/mean");
    assert!((with_spread + 0.2).abs() < 0.001, "{row}");
    assert!(words(&study).contains("-20.0 %"));
    let html = page(&study);
    assert!(html.contains("--calls 12 --row direct --row relay"));
    assert!(html.contains("<code>domain: faq</code>") && !html.contains('`'));
}

#[test]
fn the_page_needs_nothing_from_elsewhere_and_the_text_names_every_row() {
    let study = sample(WorkloadSource::GolemMonth, 1, 8, &[]);
    let html = page(&study);
    for outside in ["http:", "https:", "src=", "@import", "<script", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(
        !html.contains("This page"),
        "the same words are for a terminal"
    );
    let text = words(&study);
    for result in &study.arms {
        assert!(text.contains(result.arm.label()), "{text}");
    }
    assert!(text.contains("1.25") || text.contains("25 %"), "{text}");
}

#[test]
fn what_an_agent_has_to_earn_is_its_bill_of_a_day_with_the_spread() {
    let rows = ["direct", "relay"];
    let study = sample(WorkloadSource::GolemMonth, 1, 60, &rows);
    let report = json(&study);
    let days = report["played_days"].as_f64().expect("more than a day");
    for (id, spread) in [
        ("direct", 0.0),
        (
            "relay",
            report["spread_percent"].as_f64().expect("a number"),
        ),
    ] {
        let all = report["rows"].as_array().expect("rows");
        let row = all.iter().find(|row| row["id"] == id).expect("the row");
        let of = |name: &str| row["break_even"][name].as_f64().expect("a number");
        let bill = mean(&report, id) / days;
        let needed = bill * (1.0 + spread / 100.0);
        assert!((of("bill_usd_per_day") - bill).abs() < 1e-9, "{row}");
        assert!((of("revenue_usd_per_day") - needed).abs() < 1e-9, "{row}");
        assert!((of("expanding_usd_per_day") - 2.0 * needed).abs() < 1e-9);
        let seed = of("seed_share");
        assert!((seed - (0.10 / needed).min(1.0)).abs() < 1e-9, "{row}");
        let shown = format!("${needed:.3}");
        assert!(words(&study).contains(&shown), "{id}");
        assert!(page(&study).contains(&shown), "{id}");
    }
    // Calls of a few hours are of no day.
    let short = sample(WorkloadSource::FaqDay, 1, 20, &["direct"]);
    assert_eq!(json(&short)["rows"][0]["break_even"], Value::Null);
    assert!(!words(&short).contains("Break-even"));
}

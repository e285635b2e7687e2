//! Each cell of the tables of profiles.

use bardo_profile::{ProfileTable, Schedule, Temperature, named_schema};
use bardo_types::model::Effort;
use bardo_types::model::Effort::{High, Low, Max, Medium, None as No};
use serde_json::Value;

/// What a cell of the column "Cache" says.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cache {
    Nothing,
    Control,
    Key,
    KeyPerCycle,
    Predicted,
    Tee,
}

/// How words are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Draw {
    TopP(f64),
    TopPAndK(f64, u32),
    MinP(f64),
}

use Cache::{Control, Key, KeyPerCycle, Nothing, Predicted, Tee};
use Draw::{MinP, TopP, TopPAndK};

const fn flat(value: f64) -> Temperature {
    Temperature::Flat(value)
}

const fn range(start: f64, end: f64) -> Temperature {
    Temperature::Range { start, end }
}

type Cells = (&'static str, Temperature, Draw, Effort, &'static str, Cache);

/// As the sources print them.
const TABLE: &[Cells] = &[
    (
        "heartbeat_t1",
        flat(0.3),
        TopP(0.9),
        Low,
        "heartbeat_decision",
        Control,
    ),
    (
        "heartbeat_t2",
        flat(0.5),
        TopP(0.95),
        High,
        "heartbeat_decision",
        Control,
    ),
    (
        "risk",
        flat(0.1),
        TopPAndK(0.85, 40),
        Max,
        "risk_assessment",
        Control,
    ),
    (
        "daimon",
        flat(0.4),
        TopP(0.9),
        Low,
        "daimon_appraisal",
        Nothing,
    ),
    (
        "daimon_complex",
        flat(0.6),
        TopP(0.95),
        High,
        "daimon_appraisal",
        Nothing,
    ),
    (
        "curator",
        flat(0.3),
        TopP(0.9),
        Medium,
        "curator_evaluation",
        Control,
    ),
    ("playbook", flat(0.4), TopP(0.9), Medium, "", Predicted),
    ("operator", flat(0.7), TopP(0.95), High, "", Control),
    ("mind_wandering", flat(0.8), MinP(0.1), No, "", Nothing),
    (
        "dream_nrem",
        flat(0.4),
        TopP(0.9),
        Medium,
        "replay_analysis",
        KeyPerCycle,
    ),
    ("dream_rem", flat(0.9), MinP(0.1), High, "", Key),
    (
        "dream_rem_creative",
        flat(1.2),
        MinP(0.08),
        Medium,
        "",
        Nothing,
    ),
    (
        "dream_integration",
        flat(0.3),
        TopP(0.85),
        High,
        "dream_integration",
        Tee,
    ),
    (
        "dream_threat",
        flat(0.5),
        TopP(0.9),
        High,
        "threat_assessment",
        Key,
    ),
    (
        "hypnagogic_induction",
        range(1.0, 1.2),
        MinP(0.1),
        No,
        "",
        Nothing,
    ),
    (
        "hypnagogic_dali",
        range(1.2, 1.5),
        MinP(0.08),
        No,
        "",
        Nothing,
    ),
    (
        "hypnagogic_observer",
        flat(0.3),
        TopP(0.85),
        No,
        "fragment_evaluation",
        Nothing,
    ),
    (
        "hypnagogic_capture",
        flat(0.5),
        TopP(0.9),
        Low,
        "capture_result",
        Nothing,
    ),
    ("hypnopompic_return", flat(0.6), TopP(0.9), Low, "", Nothing),
    ("death_reflect", flat(0.5), TopP(0.95), Max, "", Nothing),
    (
        "death_testament",
        flat(0.4),
        TopP(0.9),
        High,
        "death_testament",
        Tee,
    ),
];

#[test]
fn every_cell_is_in_the_data_and_there_are_no_other_rows() {
    let table = ProfileTable::embedded();
    assert_eq!(table.rows().count(), TABLE.len());
    for &(name, temperature, draw, effort, schema, cache) in TABLE {
        let row = table
            .row(name)
            .unwrap_or_else(|| panic!("{name} is missing"));
        let profile = &row.profile;
        assert_eq!(row.temperature, Some(temperature), "{name}");
        let drawn = match (profile.top_p, profile.top_k, profile.min_p) {
            (Some(p), None, None) => TopP(p),
            (Some(p), Some(k), None) => TopPAndK(p, k),
            (None, None, Some(p)) => MinP(p),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(drawn, draw, "{name}");
        assert_eq!(profile.reasoning_effort, Some(effort), "{name}");
        let named = profile.response_schema.as_ref();
        assert_eq!(named.map_or("", |named| &named.name), schema, "{name}");
        let key = row.cache_key.as_deref();
        let said = match (profile.cache_control, key, &row.predicts, profile.tee_mode) {
            (None, None, None, None) => Nothing,
            (Some(true), None, None, None) => Control,
            (None, Some(key), None, None) if key.contains("{cycle}") => KeyPerCycle,
            (None, Some(_), None, None) => Key,
            (None, None, Some(_), None) => Predicted,
            (None, None, None, Some(false)) => Tee,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(said, cache, "{name}");
    }
}

#[test]
fn the_column_special_is_in_the_data_too() {
    let table = ProfileTable::embedded();
    let row = |name: &str| table.row(name).unwrap();
    let of = |what: fn(&bardo_profile::ProfileRow) -> bool| -> Vec<&str> {
        table
            .rows()
            .filter(|(_, row)| what(row))
            .map(|(name, _)| name)
            .collect()
    };
    assert_eq!(
        of(|row| row.profile.visible_thinking == Some(true)),
        [
            "daimon_complex",
            "death_reflect",
            "death_testament",
            "dream_rem"
        ]
    );
    assert_eq!(
        of(|row| row.profile.web_search == Some(true)),
        ["dream_rem"]
    );
    assert_eq!(
        of(|row| row.reasoning_first),
        [
            "death_reflect",
            "death_testament",
            "heartbeat_t2",
            "operator",
            "risk"
        ]
    );
    assert_eq!(row("playbook").predicts.as_deref(), Some("PLAYBOOK.md"));
    assert_eq!(
        of(|row| row.schedule.is_some()),
        ["dream_rem", "hypnagogic_dali", "hypnagogic_induction"]
    );
    assert_eq!(
        row("dream_rem").schedule,
        Some(Schedule::Ramp {
            from: 0.7,
            calls: 4
        })
    );
    assert_eq!(
        row("hypnagogic_dali").schedule,
        Some(Schedule::Cosine {
            low: 0.3,
            reanneal: 0.95
        })
    );
    // Fifty to a hundred tokens of half-sleep.
    assert_eq!(row("hypnagogic_dali").profile.max_tokens, Some(100));
    assert_eq!(row("heartbeat_t1").profile.max_tokens, Some(512));
    assert_eq!(row("risk").profile.max_tokens, Some(4_096));
    assert!(of(|row| row.profile.max_tokens.is_none()).is_empty());
}

#[test]
fn a_table_with_unknown_words_or_schemas_is_refused() {
    for (text, blamed) in [
        ("[a]\ntemprature = 1.0", "temprature"),
        ("[a]\nschema = \"poem\"", "poem"),
        ("[a]\nreasoning_effort = \"huge\"", "huge"),
    ] {
        let error = ProfileTable::parse(text).unwrap_err().to_string();
        assert!(error.contains(blamed), "{error}");
    }
}

fn each_object(schema: &Value, seen: &mut dyn FnMut(&serde_json::Map<String, Value>)) {
    if let Value::Object(members) = schema {
        if members.get("type").is_some_and(|kind| kind == "object") {
            seen(members);
        }
        members.values().for_each(|inner| each_object(inner, seen));
    }
}

#[test]
fn schemas_are_closed_and_complete_and_say_what_they_promise() {
    let read = |name: &str| -> Value { named_schema(name).expect(name).schema.read().expect(name) };
    for &(_, _, _, _, name, _) in TABLE.iter().filter(|cells| !cells.4.is_empty()) {
        let schema = read(name);
        assert!(named_schema(name).unwrap().strict, "{name}");
        assert_eq!(schema["type"], "object", "{name}");
        each_object(&schema, &mut |object| {
            assert_eq!(object["additionalProperties"], false, "{name}");
            let required: Vec<&str> = object["required"]
                .as_array()
                .unwrap()
                .iter()
                .map(|field| field.as_str().unwrap())
                .collect();
            let properties: Vec<&str> = object["properties"]
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            assert_eq!(required, properties, "{name}");
        });
    }
    let risk = read("risk_assessment");
    assert_eq!(
        risk["properties"]["layers"]["properties"]
            .as_object()
            .unwrap()
            .len(),
        5
    );
    assert_eq!(
        risk["properties"]["recommendation"]["enum"],
        serde_json::json!(["Proceed", "ReduceSize", "Defer", "Abort"])
    );
    let pad = &read("daimon_appraisal")["properties"]["pad"]["properties"];
    assert_eq!(
        pad.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["pleasure", "arousal", "dominance"]
    );
    assert_eq!(
        read("death_testament")["properties"]["reflection"]["type"],
        "string"
    );
    // What prefers citations carries its sources.
    for name in [
        "risk_assessment",
        "heartbeat_decision",
        "curator_evaluation",
    ] {
        assert!(read(name).to_string().contains("\"sources\""), "{name}");
    }
}

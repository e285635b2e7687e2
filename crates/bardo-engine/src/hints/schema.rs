//! The JSON schema of the body object `bardo`, from the list of hints that the parser reads.

use bardo_types::phase::Phase;
use serde_json::{Map, Value, json};

use super::{KNOWN, Wish};

/// Hints that `intent` may hold too.
const OF_INTENT: [&str; 7] = [
    "model",
    "require",
    "prefer",
    "quality",
    "max_latency_ms",
    "cost_sensitivity",
    "low_effort",
];

/// The JSON schema of the object `bardo`.
#[must_use]
pub fn hints_schema() -> Value {
    let members = |names: &mut dyn Iterator<Item = &'static str>| {
        let rows = names.map(|name| (name.to_owned(), of(name)));
        Value::Object(rows.collect::<Map<_, _>>())
    };
    let mut all = members(&mut KNOWN.iter().copied());
    all["intent"] = json!({
        "type": "object",
        "properties": members(&mut OF_INTENT.into_iter()),
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Hints",
        "description": "The object `bardo` in the body of a request. All members are optional.",
        "type": "object",
        "properties": all,
        "additionalProperties": false,
    })
}

/// The schema of one hint; anything for hints without effect.
fn of(name: &str) -> Value {
    let amount = json!({ "type": ["number", "string"], "description": "An amount in USD." });
    let count = json!({ "type": "integer", "minimum": 0 });
    let place = json!({ "type": "integer", "minimum": 1 });
    let share = json!({ "type": "number", "minimum": 0, "maximum": 1 });
    let names = json!({ "type": "array", "items": { "type": "string" } });
    match name {
        "metadata" | "low_effort" | "allow_downgrade" | "accept_degraded" => {
            json!({ "type": "boolean" })
        }
        "session_id" | "subsystem" | "golem_id" | "domain" | "model" | "task_class" => {
            json!({ "type": "string" })
        }
        "security_class" => json!({ "enum": ["standard", "private", "tee", "e2ee"] }),
        "quality" => json!({ "enum": ["minimum", "low", "medium", "high", "maximum"] }),
        "phase" => json!({ "enum": Phase::ALL.map(Phase::as_str) }),
        "cache" => json!({ "enum": Wish::ALL.map(Wish::as_str) }),
        "regime" => json!({ "type": "string", "description": "calm, normal, volatile or crisis." }),
        "require" | "prefer" | "ephemeral" => names,
        "profile" | "intent" => json!({ "type": "object" }),
        "vitality" | "cost_sensitivity" => share,
        "sustainability" => json!({ "type": "number", "minimum": 0 }),
        "max_cost_usd" | "stakes_usd" => amount,
        "max_latency_ms" | "tick" | "cycle" => count,
        "call_index" | "call_count" => place,
        _ => json!({ "description": "Accepted, and without effect in this version." }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::hints_schema;
    use crate::Hints;

    /// A value that a schema allows, and one that it does not.
    fn samples(schema: &Value) -> (Value, Value) {
        match schema["type"].as_str() {
            Some("boolean") => (json!(true), json!("perhaps")),
            Some("string") => (json!("portfolio"), json!(7)),
            Some("array") => (json!(["tools"]), json!(7)),
            Some("object") => (json!({}), json!("text")),
            Some("integer") => (json!(1), json!("soon")),
            Some("number") => (json!(0.5), json!("much")),
            _ if schema["enum"].is_array() => (schema["enum"][1].clone(), json!(7)),
            _ => (json!("0.25"), json!([])),
        }
    }

    #[test]
    fn the_parser_takes_what_the_schema_allows_and_refuses_the_rest() {
        let schema = hints_schema();
        let members = schema["properties"].as_object().unwrap();
        assert!(members.len() > 30, "{members:?}");
        for (name, schema) in members {
            let is_idle = schema["description"]
                .as_str()
                .is_some_and(|text| text.contains("without effect"));
            let (good, bad) = match name.as_str() {
                "task_class" => (json!("trade"), json!(7)),
                "regime" => (json!("calm"), json!(7)),
                _ => samples(schema),
            };
            let read = |value: &Value| {
                let mut hints = Hints::default();
                let done = hints.body(&json!({ name: value }).to_string());
                done.map(|()| hints.warnings().to_vec())
            };
            let warnings = read(&good).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert!(
                warnings.iter().all(|text| text.contains("no effect")),
                "{name}: {warnings:?}"
            );
            assert!(is_idle || read(&bad).is_err(), "{name}: {bad}");
        }
    }

    #[test]
    fn nothing_that_a_hint_cannot_be_is_passed_over_in_silence() {
        let schema = hints_schema();
        let long = "x".repeat(100_000);
        for (name, schema) in schema["properties"].as_object().unwrap() {
            let read = |value: &Value| {
                let mut hints = Hints::default();
                let done = hints.body(&json!({ name: value }).to_string());
                done.and_then(|()| hints.check(false))
                    .map(|()| hints.warnings().to_vec())
            };
            assert_eq!(read(&Value::Null).as_deref(), Ok(&[][..]), "{name}");
            if schema["description"]
                .as_str()
                .is_some_and(|text| text.contains("without effect"))
            {
                continue;
            }
            let kind = schema["type"].as_str().unwrap_or("string");
            let is_number = matches!(kind, "number" | "integer") || schema["type"].is_array();
            let mut wrong = vec![json!({ "a": [1] }), json!([{}])];
            match kind {
                "object" => wrong = vec![json!(5), json!([]), json!("x")],
                "array" => wrong[0] = json!(5),
                "boolean" => wrong.extend([json!(5), json!("perhaps"), json!("")]),
                _ if is_number => {
                    wrong.extend([json!(-1), json!(1e300), json!("soon"), json!(true)])
                }
                _ => wrong.extend([json!(5), json!(false)]),
            }
            if schema["enum"].is_array() {
                wrong.extend([json!("nonsense"), json!(""), json!(long)]);
            }
            for value in wrong {
                let shown = value.to_string();
                let what = format!("{name} {}", &shown[..shown.len().min(40)]);
                let told = match read(&value) {
                    Err(refusal) => refusal.message,
                    Ok(warnings) => warnings.join("; "),
                };
                // A large amount is no limit, and a large time neither.
                let is_large = value == json!(1e300);
                assert!(is_large || told.contains(name.as_str()), "{what}: {told:?}");
                assert!(told.len() < 1_000, "{what}: {} bytes", told.len());
                for word in ["line 1 column", "invalid type", "expected ", "variant"] {
                    assert!(!told.contains(word), "{what}: {told}");
                }
            }
        }
    }
}

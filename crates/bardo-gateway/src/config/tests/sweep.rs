//! Every setting with a default gets values that it cannot have; each is refused by its name, in the
//! words of the file.

use serde_json::{Value, json};

use super::*;

/// The paths and values of all settings below `at` that are no tables.
fn leaves(value: &Value, at: &str, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                let place = match at {
                    "" => name.clone(),
                    at => format!("{at}.{name}"),
                };
                leaves(value, &place, found);
            }
        }
        value => found.push((at.to_owned(), value.clone())),
    }
}

fn built(path: &str, value: Value) -> Result<Config, String> {
    let mut layers = Layers::default();
    layers.push(Layer::new("default", parse(DEFAULTS, "toml").unwrap()));
    let nested = path
        .rsplit('.')
        .fold(value, |inner, name| json!({ name: inner }));
    layers.push(Layer::new("test", nested));
    build(&layers, None, &[], &of_parts).map_err(|error| error.0)
}

#[test]
fn a_wrong_value_of_any_setting_is_refused_by_its_name_in_plain_words() {
    let defaults = parse(DEFAULTS, "toml").unwrap();
    let mut settings = Vec::new();
    leaves(&defaults, "", &mut settings);
    assert!(settings.len() > 80, "{}", settings.len());
    for (path, usual) in settings {
        let wrong = match &usual {
            Value::Bool(_) => vec![json!("perhaps"), json!(5), json!([]), json!({})],
            Value::Number(_) => vec![json!("many"), json!(true), json!([]), json!({}), json!("")],
            Value::String(_) => vec![json!([]), json!({}), json!(true)],
            Value::Array(_) => vec![json!(5), json!("x"), json!({}), json!([[]])],
            _ => continue,
        };
        for value in wrong {
            let what = format!("{path}: {value}");
            let Err(told) = built(&path, value.clone()) else {
                panic!("{what} is taken");
            };
            let parent = path.rsplit_once('.').map_or(&*path, |(parent, _)| parent);
            assert!(told.contains(parent), "{what}: {told}");
            for word in [
                "line 1 column",
                "invalid type",
                "invalid value",
                "invalid length",
                "expected ",
                "tuple",
                "unknown variant",
                "deserializ",
                "policy",
            ] {
                assert!(!told.contains(word), "{what}: {word:?} in {told}");
            }
        }
    }
}

#[test]
fn numbers_beyond_any_range_are_refused_or_kept_and_never_end_the_process() {
    let defaults = parse(DEFAULTS, "toml").unwrap();
    let mut settings = Vec::new();
    leaves(&defaults, "", &mut settings);
    for (path, usual) in settings {
        if !usual.is_number() {
            continue;
        }
        for number in [json!(-1), json!(1e300), json!(u64::MAX)] {
            if let Err(told) = built(&path, number.clone()) {
                assert!(told.contains(&path), "{path} {number}: {told}");
                assert!(!told.contains("expected "), "{path} {number}: {told}");
                assert!(!told.contains("policy"), "{path} {number}: {told}");
            } else {
                assert!(number != json!(-1), "{path} accepts {number}");
            }
        }
    }
}

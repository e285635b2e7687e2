//! Other names of settings, from before there was one for each. They are put right before anything
//! is merged, so that a setting of a file and the same one of the environment meet.

use serde_json::{Map, Value};

use super::layers::merge;

/// (as it may be written, as it is called).
const NAMES: &[(&str, &str)] = &[
    ("backends", "providers"),
    ("inference.providers", "providers"),
    ("inferenceProvider", "inference.provider_mode"),
    ("inference.inferenceProvider", "inference.provider_mode"),
    ("inference.inference_provider", "inference.provider_mode"),
    (
        "inference.dream_inference_provider",
        "inference.dream_provider",
    ),
    ("inference.venice_config", "providers.venice"),
    ("inference.tiers.T1", "inference.tiers.t1"),
    ("inference.tiers.T2", "inference.tiers.t2"),
    ("providers.blockrun.endpoint", "providers.blockrun.base_url"),
    (
        "providers.openrouter.endpoint",
        "providers.openrouter.base_url",
    ),
    ("providers.venice.endpoint", "providers.venice.base_url"),
    ("providers.bankr.endpoint", "providers.bankr.base_url"),
    ("providers.local.endpoint", "providers.local.base_url"),
];

/// Gives every setting its one name.
///
/// # Errors
/// If a setting has two names with two values. One of them is a mistake, and a guess could weaken the
/// privacy of requests.
pub fn canonical(settings: &mut Value) -> Result<(), String> {
    for &(written, called) in NAMES {
        let from: Vec<&str> = written.split('.').collect();
        let Some(value) = remove(settings, &from) else {
            continue;
        };
        let place = reach(settings, &called.split('.').collect::<Vec<_>>());
        match place {
            None => {
                return Err(format!(
                    "`{written}` is another name of `{called}`, and a parent of `{called}` is not a table; make \
                    it a table"
                ));
            }
            Some(place) if place.is_null() || *place == value => *place = value,
            Some(place) if agree(place, &value) => merge(place, &value),
            Some(_) => {
                return Err(format!(
                    "`{written}` is another name of `{called}`, and their values differ; remove one"
                ));
            }
        }
    }
    Ok(())
}

/// Whether two trees say nothing different of the same thing.
fn agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => a
            .iter()
            .all(|(key, value)| b.get(key).is_none_or(|other| agree(value, other))),
        (a, b) => a == b,
    }
}

fn remove(settings: &mut Value, path: &[&str]) -> Option<Value> {
    let (last, above) = path.split_last()?;
    let parent = above
        .iter()
        .try_fold(settings, |value, key| value.get_mut(*key))?;
    parent.as_object_mut()?.remove(*last)
}

fn reach<'a>(settings: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter().try_fold(settings, |value, key| {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        Some(
            value
                .as_object_mut()?
                .entry((*key).to_owned())
                .or_insert(Value::Null),
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::canonical;

    #[test]
    fn every_setting_gets_its_one_name() {
        let mut settings = json!({
            "backends": { "venice": { "api_key": "k" } },
            "inference": {
                "providers": { "bankr": { "endpoint": "https://b" } },
                "tiers": { "T1": { "provider": "a/b" } },
                "dream_inference_provider": "venice",
            },
        });
        canonical(&mut settings).unwrap();
        assert_eq!(
            settings,
            json!({
                "providers": { "venice": { "api_key": "k" }, "bankr": { "base_url": "https://b" } },
                "inference": { "tiers": { "t1": { "provider": "a/b" } }, "dream_provider": "venice" },
            })
        );
    }

    #[test]
    fn two_names_with_two_values_are_refused() {
        let mut settings =
            json!({ "inference": { "inference_provider": "bardo", "provider_mode": "venice" } });
        let reason = canonical(&mut settings).unwrap_err();
        assert!(reason.contains("`inference.provider_mode`"), "{reason}");
        let mut same =
            json!({ "inference": { "inference_provider": "both", "provider_mode": "both" } });
        canonical(&mut same).unwrap();
    }
}

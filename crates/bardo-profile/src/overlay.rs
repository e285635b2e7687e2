//! One profile over another, and the check of what people write.

use bardo_types::profile::InferenceProfile;

/// Calls a macro with every field of a profile.
macro_rules! with_fields {
    ($do:ident) => {
        $do!(
            temperature,
            top_p,
            top_k,
            min_p,
            frequency_penalty,
            presence_penalty,
            reasoning_effort,
            visible_thinking,
            response_schema,
            max_tokens,
            stop_sequences,
            prompt_cache_key,
            cache_control,
            web_search,
            tee_mode,
            predicted_output,
            seed
        )
    };
}

/// Puts what `over` names in place of what `under` has.
pub(crate) fn overlay(under: &mut InferenceProfile, over: InferenceProfile) {
    macro_rules! each {
        ($($field:ident),*) => {{
            // Without `..`, so that a new field is not forgotten.
            let InferenceProfile { $($field),* } = over;
            $(if $field.is_some() { under.$field = $field; })*
        }};
    }
    with_fields!(each);
}

/// The names of the fields that `over` would change.
pub(crate) fn changed_fields(
    under: &InferenceProfile,
    over: &InferenceProfile,
) -> Vec<&'static str> {
    let mut changed = Vec::new();
    macro_rules! each {
        ($($field:ident),*) => {{
            let InferenceProfile { $($field),* } = over;
            $(if $field.is_some() && *$field != under.$field { changed.push(stringify!($field)); })*
        }};
    }
    with_fields!(each);
    changed
}

/// A copy without what no model could be told: numbers out of range or not numbers, empty texts, a
/// schema that is none. Each is named in `warnings`.
pub(crate) fn checked(
    profile: &InferenceProfile,
    who: &str,
    warnings: &mut Vec<String>,
) -> InferenceProfile {
    let mut good = profile.clone();
    let mut refuse = |field: &str, value: String, range: &str| {
        warnings.push(format!("{field} {value} of {who} is ignored: {range}"));
    };
    let numbers: [(&mut Option<f64>, &str, f64, f64, &str); 5] = [
        (&mut good.temperature, "temperature", 0.0, 2.0, "0 to 2"),
        (
            &mut good.top_p,
            "top_p",
            f64::MIN_POSITIVE,
            1.0,
            "above 0, up to 1",
        ),
        (&mut good.min_p, "min_p", 0.0, 1.0, "0 to 1"),
        (
            &mut good.frequency_penalty,
            "frequency_penalty",
            -2.0,
            2.0,
            "-2 to 2",
        ),
        (
            &mut good.presence_penalty,
            "presence_penalty",
            -2.0,
            2.0,
            "-2 to 2",
        ),
    ];
    for (slot, field, least, most, range) in numbers {
        if let Some(value) = slot.take_if(|value| !(least..=most).contains(value)) {
            refuse(field, value.to_string(), &format!("the range is {range}"));
        }
    }
    if good.top_k.take_if(|count| *count == 0).is_some() {
        refuse("top_k", "0".to_owned(), "the minimum is 1");
    }
    if good.max_tokens.take_if(|limit| *limit == 0).is_some() {
        refuse("max_tokens", "0".to_owned(), "the minimum is 1");
    }
    if let Some(stops) = &mut good.stop_sequences {
        let before = stops.len();
        stops.retain(|stop| !stop.is_empty());
        if stops.len() < before {
            refuse(
                "stop_sequences",
                "\"\"".to_owned(),
                "a stop text must not be empty",
            );
        }
    }
    good.stop_sequences.take_if(|stops| stops.is_empty());
    let no_schema = good
        .response_schema
        .take_if(|schema| !schema.schema.as_str().trim_start().starts_with('{'));
    if let Some(schema) = no_schema {
        refuse("response_schema", schema.name, "a schema is a JSON object");
    }
    good
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_model_could_be_told_is_named_and_ignored() {
        let written = InferenceProfile {
            temperature: Some(f64::NAN),
            top_p: Some(0.0),
            top_k: Some(0),
            min_p: Some(1.1),
            frequency_penalty: Some(f64::INFINITY),
            presence_penalty: Some(-2.0),
            max_tokens: Some(0),
            stop_sequences: Some(vec![String::new()]),
            seed: Some(7),
            ..InferenceProfile::default()
        };
        let mut warnings = Vec::new();
        let good = checked(&written, "the caller", &mut warnings);
        let left = InferenceProfile {
            presence_penalty: Some(-2.0),
            seed: Some(7),
            ..InferenceProfile::default()
        };
        assert_eq!(good, left);
        assert_eq!(warnings.len(), 7, "{warnings:?}");
        assert_eq!(
            warnings[0],
            "temperature NaN of the caller is ignored: the range is 0 to 2"
        );
    }

    #[test]
    fn what_is_named_replaces_and_the_rest_stays() {
        let mut under = InferenceProfile {
            temperature: Some(0.3),
            top_p: Some(0.9),
            ..InferenceProfile::default()
        };
        let over = InferenceProfile {
            temperature: Some(0.7),
            seed: Some(1),
            ..InferenceProfile::default()
        };
        assert_eq!(changed_fields(&under, &over), ["temperature", "seed"]);
        overlay(&mut under, over);
        assert_eq!(under.temperature, Some(0.7));
        assert_eq!(under.top_p, Some(0.9));
        assert_eq!(under.seed, Some(1));
    }
}

//! The words for hints that the gateway does not understand: refusals and warnings.

use bardo_types::feature::Feature;
use bardo_types::near;
use bardo_types::privacy::{SecurityClass, TaskClass};
use bardo_types::profile::InferenceProfile;
use bardo_wire::codec::BadRequest;
use bardo_wire::json::told;
use serde_json::Value;

use super::given::Given;
use super::{SLIP, Wish};

/// The longest word of a caller that a message repeats, in characters.
const WORD_MAX: usize = 64;

/// A caller's word as a message repeats it.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(WORD_MAX).collect()
}

/// The question for the allowed value that is at most [`SLIP`] letters from a wrong one.
fn did_you_mean(wrong: &str, allowed: &[&str]) -> String {
    let plain = wrong.trim().to_ascii_lowercase().replace('-', "_");
    near::nearest(&plain, allowed.iter().copied(), SLIP)
        .map_or_else(String::new, |right| format!("; did you mean `{right}`?"))
}

/// The warning for a value that is none of the allowed ones and was ignored.
pub(super) fn one_of(hint: &str, wrong: &str, allowed: &[&str]) -> String {
    let meant = did_you_mean(wrong, allowed);
    let (wrong, allowed) = (cut(wrong), allowed.join(", "));
    format!("{hint} `{wrong}` was ignored: it must be one of {allowed}{meant}")
}

/// The warning for a name that is no feature. In `require` it may be a member of the request, whose
/// loss is then an error.
pub(super) fn no_feature(hint: &str, name: &str) -> String {
    let known: Vec<&str> = Feature::all().map(Feature::as_str).collect();
    // Short names are near to each other: `seed` is a member and means no `tee`.
    const LEAST: usize = 5;
    let near = match name.chars().count() {
        ..LEAST => String::new(),
        _ => did_you_mean(name, &known),
    };
    if hint == "require" {
        let name = cut(name);
        return format!(
            "require names `{name}`, which is not a feature; it excludes backends that would lose a member `{name}` \
            of the request, and no others{near}"
        );
    }
    let meant = match near {
        none if none.is_empty() => format!("; the features are {}", known.join(", ")),
        meant => meant,
    };
    let name = cut(name);
    format!(
        "{hint} names `{name}`, which is not a feature and does not change the choice of a backend{meant}"
    )
}

/// The refusal of a cap that is no amount: a cap must not be left out.
pub(super) fn no_amount(name: &str, text: &str) -> BadRequest {
    let text = cut(text);
    BadRequest::new(
        format!("bardo.{name}"),
        format!("`{name}` is `{text}`, which is not an amount in USD; send a number like 0.25"),
    )
}

/// The refusal of a word that is none of the cache's: a caller that meant `no-store` must not be
/// stored.
pub(super) fn unknown_cache(name: &str, wrong: &str, given: &Given<'_>) -> BadRequest {
    let allowed = Wish::ALL.map(Wish::as_str);
    let meant = did_you_mean(&wrong.replace('_', "-"), &allowed);
    let (wrong, allowed) = (cut(wrong), allowed.join(", "));
    let message = format!("`{name}` is `{wrong}`, and must be one of {allowed}{meant}");
    BadRequest::new(given.place(name), message)
}

/// The mistake of giving a hint twice: nobody can tell which value is meant.
pub(super) fn twice(place: &str) -> BadRequest {
    let name = place.strip_prefix("bardo.").unwrap_or(place);
    BadRequest::new(place, format!("`{name}` is given twice; send it once"))
}

/// The mistake of a header that is no text.
pub(super) fn not_utf8(name: &str) -> BadRequest {
    BadRequest::new(name, format!("the value of `{name}` is not UTF-8"))
}

/// The warning for a list with more texts than count.
pub(super) fn too_many(hint: &str, given: usize, most: usize) -> String {
    format!("{hint} has {given} texts, of which those after the first {most} were ignored")
}

/// The refusal of a member that is nearly a hint.
pub(super) fn no_hint(wrong: &str, right: &str) -> BadRequest {
    let message = format!("`{wrong}` is not a hint; did you mean `{right}`?");
    BadRequest::new(wrong, message)
}

/// The refusal of an unknown privacy class.
pub(super) fn unknown_class(name: &str) -> BadRequest {
    let known = SecurityClass::ALL.map(SecurityClass::as_str);
    refused("security_class", name, &known)
}

/// The refusal of an unknown class of tasks.
pub(super) fn unknown_task(name: &str) -> BadRequest {
    let known: Vec<&str> = TaskClass::all().map(TaskClass::as_str).collect();
    refused("task_class", name, &known)
}

fn refused(hint: &str, wrong: &str, allowed: &[&str]) -> BadRequest {
    let meant = did_you_mean(wrong, allowed);
    let (wrong, allowed) = (cut(wrong), allowed.join(", "));
    let message = format!("`{hint}` is `{wrong}`; it must be one of {allowed}{meant}");
    BadRequest::new(format!("bardo.{hint}"), message)
}

/// The refusal of a profile that cannot be read. Names the member that is wrong, and what it must
/// be.
pub(super) fn no_profile(given: Option<&Value>, error: &serde_json::Error) -> BadRequest {
    let members = given.and_then(Value::as_object);
    let wrong = members.and_then(|members| {
        members.iter().find_map(|(name, value)| {
            let alone = Value::Object([(name.clone(), value.clone())].into_iter().collect());
            let error = serde_json::from_value::<InferenceProfile>(alone).err()?;
            Some(no_member(name, &error))
        })
    });
    let message = wrong.unwrap_or_else(|| told(error, "profile"));
    BadRequest::new("bardo.profile", message)
}

fn no_member(name: &str, error: &serde_json::Error) -> String {
    let shown = cut(name);
    let text = error.to_string();
    if text.starts_with(&format!("unknown field `{name}`")) {
        let known: Vec<&str> = text.split('`').skip(3).step_by(2).collect();
        let meant = match did_you_mean(name, &known) {
            none if none.is_empty() => format!("; its members are {}", known.join(", ")),
            meant => meant,
        };
        return format!("`profile.{shown}` is not a setting{meant}");
    }
    if name == "response_schema" {
        return "`profile.response_schema` must be {\"name\": \"...\", \"schema\": {...}}; `strict` beside them must be true or false".to_owned();
    }
    told(error, &format!("profile.{shown}"))
}

//! Reads merged settings as one value, and names all settings that cannot be read at once.

use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};

use super::{Config, layers};

/// The largest number of settings that are named at once.
const MOST: usize = 20;

/// Reads the settings. `problems` are known already, and the settings are refused with them.
///
/// # Errors
/// With the problems that are known, and with each setting that cannot be read.
pub(super) fn read(mut merged: Value, mut problems: Vec<String>) -> Result<Config, String> {
    // A reference that is not resolved is no number and no list, so wrong types say nothing then.
    let tells_types = problems.is_empty();
    loop {
        let error = match serde_path_to_error::deserialize(&merged) {
            Ok(config) => {
                layers::refuse_all(&problems)?;
                return Ok(config);
            }
            Err(error) => error,
        };
        let path = error.path().clone();
        let message = error.into_inner().to_string();
        let mistake = Mistake::of(&message);
        let is_told = match mistake {
            Mistake::UnknownName => true,
            Mistake::UnknownWord | Mistake::WrongType | Mistake::Other => tells_types,
        };
        if is_told {
            problems.push(layers::explain(&path.to_string(), &message));
        }
        let can_go_on = mistake != Mistake::Other && problems.len() < MOST;
        if !(can_go_on && leave_out(&mut merged, &path, &message, mistake)) {
            layers::refuse_all(&problems)?;
            return Err(message);
        }
    }
}

/// Kinds of mistakes, as the reader's messages begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    /// A setting of this name does not exist.
    UnknownName,
    /// A setting has no such word.
    UnknownWord,
    /// A setting takes another type of value.
    WrongType,
    /// Another mistake: the rest of the settings cannot be read around it.
    Other,
}

impl Mistake {
    fn of(message: &str) -> Self {
        let kinds = [
            ("unknown field `", Self::UnknownName),
            ("unknown variant `", Self::UnknownWord),
            ("invalid type: ", Self::WrongType),
        ];
        let found = kinds
            .into_iter()
            .find(|(begin, _)| message.starts_with(begin));
        found.map_or(Self::Other, |(_, kind)| kind)
    }
}

/// Takes a mistake out of the settings, so that those behind it are read. `false` if that cannot be.
fn leave_out(settings: &mut Value, path: &Path, message: &str, mistake: Mistake) -> bool {
    let mut segments: Vec<&Segment> = path.iter().collect();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let fitting = match mistake {
        Mistake::UnknownName => {
            let Some(name) = quoted.next() else {
                return false;
            };
            // The path may end in the name.
            if matches!(segments.last(), Some(Segment::Map { key }) if key == name) {
                segments.pop();
            }
            let members = reach(settings, &segments).and_then(Value::as_object_mut);
            return members.is_some_and(|members| members.remove(name).is_some());
        }
        // The first word that the setting takes stands in for the wrong one.
        Mistake::UnknownWord => quoted.nth(1).map(Value::from),
        Mistake::WrongType => value_of_type(message),
        Mistake::Other => None,
    };
    let place = fitting.zip(reach(settings, &segments));
    place.is_some_and(|(fitting, place)| {
        // A value that is refused again would be refused forever.
        let is_new = *place != fitting;
        *place = fitting;
        is_new
    })
}

/// A value of the type that a message demands.
fn value_of_type(message: &str) -> Option<Value> {
    let (_, expected) = message.rsplit_once(", expected ")?;
    Some(match expected {
        "a boolean" => json!(true),
        "a string" => json!(""),
        "a sequence" => json!([]),
        "a map" => json!({}),
        "a JSON number" | "f64" | "f32" | "u64" | "u32" | "u16" | "u8" | "usize" => json!(1),
        _ => return None,
    })
}

/// The value at a path.
fn reach<'a>(settings: &'a mut Value, path: &[&Segment]) -> Option<&'a mut Value> {
    path.iter().try_fold(settings, |at, segment| match segment {
        Segment::Seq { index } => at.get_mut(index),
        Segment::Map { key } => at.get_mut(key),
        Segment::Enum { .. } | Segment::Unknown => None,
    })
}

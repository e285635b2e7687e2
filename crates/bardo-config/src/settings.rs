//! Reads merged settings as one value, and names all mistakes in one pass.

use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};

use super::{Config, layers};

/// The largest number of corrections before the rest is left unread.
const CORRECTIONS: usize = 200;

/// Settings as far as they can be read.
pub(super) struct ReadSettings {
    /// The settings, with replacements for those that cannot be read; `None` if a replacement
    /// does not help.
    pub(super) config: Option<Config>,
    /// All that is wrong, one sentence each.
    pub(super) problems: Vec<String>,
    /// The places whose values were replaced. Their mistakes are in the list already.
    corrected: Vec<String>,
}

impl ReadSettings {
    /// Adds problems that were found with the settings, except at places that were replaced.
    pub(super) fn add(&mut self, problems: impl IntoIterator<Item = String>) {
        for problem in problems {
            let is_known =
                place_of(&problem).is_some_and(|place| is_within(place, &self.corrected));
            if !is_known && !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    /// Adds problems of settings that may have one already, which then is the only one.
    pub(super) fn add_more(&mut self, problems: impl IntoIterator<Item = String>) {
        let places = self.problems.iter().filter_map(|known| place_of(known));
        let places: Vec<String> = places.map(str::to_owned).collect();
        let is_new = |problem: &String| {
            place_of(problem).is_none_or(|place| places.iter().all(|known| known != place))
        };
        self.add(problems.into_iter().filter(is_new));
    }

    /// Sorts the problems by the places of their settings in the text of a file. Settings that the
    /// file lacks come last.
    pub(super) fn sort_by(&mut self, text: &str) {
        let offset = |problem: &String| {
            let place = place_of(problem)?;
            let mut names = place
                .split(['.', '['])
                .map(|name| name.trim_end_matches(']'));
            names.try_fold(0, |from, name| match name.parse::<usize>() {
                // The entries of a list have no names.
                Ok(_) => Some(from),
                Err(_) => text[from..].find(name).map(|at| from + at),
            })
        };
        self.problems
            .sort_by_key(|problem| offset(problem).unwrap_or(usize::MAX));
    }
}

/// Reads the settings. `unresolved` are the references that have no value. A setting that cannot be
/// read is replaced, so that all others are checked too.
pub(super) fn read(mut merged: Value, defaults: &Value, unresolved: Vec<String>) -> ReadSettings {
    let places = unresolved.iter().filter_map(|problem| place_of(problem));
    let mut read = ReadSettings {
        corrected: places.map(str::to_owned).collect(),
        problems: unresolved,
        config: None,
    };
    for _ in 0..CORRECTIONS {
        let error = match serde_path_to_error::deserialize(&merged) {
            Ok(config) => {
                read.config = Some(config);
                return read;
            }
            Err(error) => error,
        };
        let path = error.path().clone();
        let message = error.into_inner().to_string();
        let mistake = Mistake::of(&message);
        let mut place = path.to_string();
        if let Mistake::Missing(name) = &mistake {
            place = match place.as_str() {
                "." => name.clone(),
                place => format!("{place}.{name}"),
            };
        }
        let is_known = is_within(&place, &read.corrected);
        if !is_known || mistake == Mistake::UnknownName {
            read.problems
                .push(layers::explain(&path.to_string(), &message));
        }
        let is_left_out = substitute(&mut merged, &path, &message, &mistake)
            || back_to_default(&mut merged, defaults, &path);
        if !is_left_out {
            return read;
        }
        if mistake != Mistake::UnknownName {
            read.corrected.push(place);
        }
    }
    read
}

/// The place that a problem begins with.
fn place_of(problem: &str) -> Option<&str> {
    let place = problem.strip_prefix('`')?.split('`').next()?;
    Some(place).filter(|place| !place.is_empty())
}

/// Whether a place is one of others, above one or below one.
fn is_within(place: &str, others: &[String]) -> bool {
    let is_below = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    others
        .iter()
        .any(|other| is_below(place, other) || is_below(other, place))
}

/// Kinds of mistakes, as the reader's messages begin.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mistake {
    /// A setting of this name does not exist.
    UnknownName,
    /// A setting has no such word.
    UnknownWord,
    /// A setting takes another type of value.
    WrongType,
    /// A table lacks the setting of this name.
    Missing(String),
    /// Another mistake, such as a text that is not a duration.
    Other,
}

impl Mistake {
    fn of(message: &str) -> Self {
        if let Some(rest) = message.strip_prefix("missing field `") {
            return Self::Missing(rest.trim_end_matches('`').to_owned());
        }
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
fn substitute(settings: &mut Value, path: &Path, message: &str, mistake: &Mistake) -> bool {
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
        Mistake::Missing(name) => {
            let members = reach(settings, &segments).and_then(Value::as_object_mut);
            // Where a text does not fit, the next message says what does.
            return members
                .is_some_and(|members| members.insert(name.clone(), json!("")).is_none());
        }
        // The first word that the setting takes replaces the wrong one.
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

/// Gives a setting its default, or removes one that has none. `false` if neither changes anything.
fn back_to_default(settings: &mut Value, defaults: &Value, path: &Path) -> bool {
    let segments: Vec<&Segment> = path.iter().collect();
    let usual = segments
        .iter()
        .try_fold(defaults, |at, segment| match segment {
            Segment::Map { key } => at.get(key),
            Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => None,
        });
    if let Some((usual, place)) = usual.zip(reach(settings, &segments))
        && *place != *usual
    {
        *place = usual.clone();
        return true;
    }
    let Some((Segment::Map { key }, above)) = segments.split_last() else {
        return false;
    };
    let members = reach(settings, above).and_then(Value::as_object_mut);
    members.is_some_and(|members| members.remove(key).is_some())
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

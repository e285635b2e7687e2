//! Hints of the caller to the gateway: the body object `bardo` and the `X-Bardo-*` headers
//! (`docs/hints.md`).
//!
//! Both spell the same hints; the body wins. A value of the wrong type in the body is the caller's
//! mistake and is refused. A hint that is given twice has no value. What protects (`security_class`, `task_class`, a profile, which may ask for
//! `tee_mode`, `max_cost_usd`, `stakes_usd`) is refused wherever it is not understood, and so is a name that is
//! nearly one of [`NAMED_LIKE`]. Anything else that makes no sense (a phase
//! of the moon, an unknown feature) is ignored with a warning: a faulty sensor must neither starve
//! an agent nor make it spend.

mod given;
mod headers;
mod mistakes;
mod names;
mod repeats;
mod schema;

use std::sync::Arc;

use bardo_cache::policy::Wish;
use bardo_cache::ttl::MarketRegime;
use bardo_types::feature::Feature;
use bardo_types::hints::RouteHints;
use bardo_types::intent::Quality;
use bardo_types::near;
use bardo_types::phase::Phase;
use bardo_types::privacy::{SecurityClass, TaskClass};
use bardo_types::profile::InferenceProfile;
use bardo_types::receipt::CallerTrace;
use bardo_types::unit::{NotUnitInterval, UnitInterval};
use bardo_wire::codec::BadRequest;
use serde_json::Value;

use crate::request_size;
use given::Given;
use mistakes::{
    cut, no_amount, no_feature, no_hint, no_profile, one_of, too_many, twice, unknown_cache,
    unknown_class, unknown_task,
};
pub use names::bounded_name;
use repeats::{ObjectMembers, Repeats};
pub use schema::hints_schema;

/// Hints of a caller, beside the request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hints {
    /// Names whose loss is an error and not a degradation, features or members of requests.
    pub require: Vec<String>,
    /// The caller wants the final figures inside the answer.
    pub metadata: bool,
    /// The caller's SDK says that it has sent this request before.
    pub is_repeated: bool,
    /// The caller's name for its session; budgets may be set for one.
    pub session: Option<Arc<str>>,
    /// The part of the caller that asks.
    pub subsystem: Option<Arc<str>>,
    /// Hints for routing and profiles; `None` without any.
    pub route: Option<Box<RouteHints>>,
    /// What the caller asks of the gateway's own cache; `None` where it says nothing.
    pub cache: Option<Wish>,
    /// Texts that the caller declares to differ from call to call without changing the answer.
    pub ephemeral: Vec<String>,
    /// How fast the market moves, by the caller's word.
    pub regime: Option<MarketRegime>,
    /// The header `x-prompt-cache-key`.
    pub cache_key: Option<Arc<str>>,
    /// The caller's span, where it named one.
    pub trace: Option<Arc<CallerTrace>>,
    /// Headers that ask for protection and were not understood. Such a request goes nowhere.
    refused: Vec<Refused>,
    /// A member of the body that is nearly a hint, and that hint.
    misspelt: Option<(String, &'static str)>,
}

/// A header that was not understood, and the hint that it is about.
#[derive(Debug, Clone, PartialEq)]
struct Refused {
    hint: &'static str,
    error: BadRequest,
}

/// More warnings than these are not kept.
const WARNINGS_MAX: usize = 64;
/// Number of texts that a request may declare ephemeral; further ones are ignored.
const EPHEMERAL_MAX: usize = 32;
/// A name that differs from another by so many letters is taken for a slip.
const SLIP: usize = 2;

/// Names of all hints.
const KNOWN: &[&str] = &[
    "metadata",
    "session_id",
    "subsystem",
    "golem_id",
    "domain",
    "model",
    "task_class",
    "security_class",
    "phase",
    "quality",
    "require",
    "prefer",
    "low_effort",
    "allow_downgrade",
    "accept_degraded",
    "profile",
    "intent",
    "vitality",
    "cost_sensitivity",
    "sustainability",
    "max_cost_usd",
    "stakes_usd",
    "max_latency_ms",
    "tick",
    "call_index",
    "call_count",
    "cycle",
    "regime",
    "tick_type",
    "clade_id",
    "cache",
    "transforms",
    "ephemeral",
    "batch",
];
/// Hints that protect: what is not understood of them is refused.
const PROTECTING: [&str; 6] = [
    "security_class",
    "task_class",
    "profile",
    "max_cost_usd",
    "stakes_usd",
    "cache",
];
/// Other hints that are refused where it cannot be told what they say: needs, which may be about
/// privacy, and names that keep answers and caps apart.
const APART: [&str; 5] = ["require", "intent", "subsystem", "golem_id", "session_id"];
/// Hints whose loss would cost privacy or money: an unknown name that is nearly one of them is
/// refused.
const NAMED_LIKE: [&str; 7] = [
    "security_class",
    "task_class",
    "profile",
    "max_cost_usd",
    "subsystem",
    "require",
    "allow_downgrade",
];
/// Other names that clients try for hints whose loss would cost privacy or money, refused as those
/// that are nearly right.
const MEANT: [(&str, &str); 12] = [
    ("privacy", "security_class"),
    ("privacy_class", "security_class"),
    ("privacy_level", "security_class"),
    ("privacy_tier", "security_class"),
    ("security", "security_class"),
    ("security_level", "security_class"),
    ("confidential", "security_class"),
    ("tee", "security_class"),
    ("e2ee", "security_class"),
    ("budget", "max_cost_usd"),
    ("budget_usd", "max_cost_usd"),
    ("max_price_usd", "max_cost_usd"),
];
/// Words for a class of protection among required features, long enough to tell a slip.
const PROTECTION_WORDS: [&str; 3] = ["privacy", "private", "confidential"];

impl Hints {
    /// Takes the body object, whose members win over headers.
    ///
    /// # Errors
    /// When a member has the wrong type, or says twice what must be understood; the error names it.
    pub fn body(&mut self, json: &str) -> Result<(), BadRequest> {
        let no_object = |_| {
            let words = r#"`bardo` must be an object of hints, such as {"subsystem": "risk"}"#;
            BadRequest::new("bardo", words)
        };
        let members = ObjectMembers::read(json).map_err(no_object)?;
        let repeats = Repeats::of(&members, KNOWN);
        for (name, place) in repeats.all() {
            self.refuse_or_tell(name, twice(place))?;
        }
        for (name, json) in members.all() {
            match &serde_json::from_str(json).map_err(no_object)? {
                Value::Null => {}
                _ if repeats.has(name) => {}
                Value::Object(intent) if name == "intent" => {
                    for (name, value) in intent {
                        if value.is_null() || repeats.has(name) {
                            continue;
                        }
                        self.take(name, &Given::Json(value, "intent."))?;
                    }
                }
                _ if name == "intent" => {
                    let message = "`intent` must be an object";
                    return Err(BadRequest::new("bardo.intent", message));
                }
                value => self.take(name, &Given::Json(value, ""))?,
            }
        }
        Ok(())
    }

    /// Refuses what is not understood well enough to act on. `strict`: also members of the body that
    /// are nearly hints.
    ///
    /// # Errors
    /// When something asks for protection and is not understood, or is nearly a hint.
    pub fn check(&self, strict: bool) -> Result<(), BadRequest> {
        if let Some(refused) = self.refused.first() {
            return Err(refused.error.clone());
        }
        match &self.misspelt {
            Some((wrong, right)) if strict => Err(no_hint(wrong, right)),
            _ => Ok(()),
        }
    }

    /// Warnings about hints that are unknown or without effect.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        self.route.as_ref().map_or(&[], |route| &route.warnings)
    }

    /// Ignores a number of calls that the number of this call exceeds. The latter counts on where a
    /// workflow has more calls than were planned.
    pub(crate) fn compare_counts(&mut self) {
        let Some(route) = &mut self.route else {
            return;
        };
        if let (Some(index), Some(count)) = (route.call_index, route.call_count)
            && index > count
        {
            route.call_count = None;
            self.warn(format!(
                "call_count {count} was ignored: call_index {index} is above it"
            ));
        }
    }

    /// Takes the prompt-cache key of the header into the caller's profile, unless that has its own,
    /// and the session to the hints that keys are made from.
    pub(crate) fn name_cache(&mut self) {
        if let Some(route) = &mut self.route {
            route.session = self.session.clone();
        }
        let key = self.cache_key.take();
        if let Some(key) = key.as_deref().and_then(bounded_name) {
            let profile = self.route().profile.get_or_insert_default();
            profile
                .prompt_cache_key
                .get_or_insert_with(|| key.to_string());
        }
    }

    fn route(&mut self) -> &mut RouteHints {
        self.route.get_or_insert_default()
    }

    fn warn(&mut self, warning: String) {
        let warnings = &mut self.route().warnings;
        match warnings.len() + 1 {
            ..WARNINGS_MAX => warnings.push(warning),
            WARNINGS_MAX => warnings.push("further hints were ignored".into()),
            _ => {}
        }
    }

    /// Refuses a mistake in a hint that must be understood, and tells it of another.
    fn refuse_or_tell(&mut self, name: &str, error: BadRequest) -> Result<(), BadRequest> {
        if must_be_understood(name).is_some() {
            return Err(error);
        }
        self.warn(format!("{name} was ignored: {}", error.message));
        Ok(())
    }

    /// Takes a value. An earlier one of the same hint that was not understood does not count then.
    fn take(&mut self, name: &str, given: &Given<'_>) -> Result<(), BadRequest> {
        self.read(name, given)?;
        self.refused.retain(|refused| refused.hint != name);
        Ok(())
    }

    fn read(&mut self, name: &str, given: &Given<'_>) -> Result<(), BadRequest> {
        match name {
            "metadata" => self.metadata = given.flag(name)?,
            "session_id" => self.session = bounded_name(given.text(name)?),
            "subsystem" => {
                self.subsystem = bounded_name(given.text(name)?);
                self.route().subsystem = self.subsystem.clone();
            }
            "golem_id" => self.route().golem_id = bounded_name(given.text(name)?),
            "domain" => self.route().domain = bounded_name(given.text(name)?),
            "model" => self.route().intent.model = bounded_name(given.text(name)?),
            "task_class" => self.task_class(given.text(name)?)?,
            "security_class" => self.security_class(given.text(name)?)?,
            "phase" => {
                let phase = given.text(name)?;
                let read = Phase::parse(phase.trim());
                self.known(name, phase, read.is_some(), &Phase::ALL.map(Phase::as_str));
                self.route().phase = read;
            }
            "quality" => {
                let quality = given.text(name)?;
                let read = Quality::parse(quality.trim());
                self.known(
                    name,
                    quality,
                    read.is_some(),
                    &Quality::ALL.map(Quality::as_str),
                );
                self.route().intent.quality = read;
            }
            "require" => {
                self.require = given.list(name)?;
                self.refuse_slips(given)?;
                let names = self.require.clone();
                self.route().intent.require = Some(self.features(name, &names));
            }
            "prefer" => {
                let names = given.list(name)?;
                self.route().intent.prefer = Some(self.features(name, &names));
            }
            "low_effort" => self.route().intent.low_effort = Some(given.flag(name)?),
            "allow_downgrade" => {
                self.route().allow_downgrade = Some(given.flag(name)?);
            }
            "accept_degraded" => self.route().accept_degraded = Some(given.flag(name)?),
            "profile" => self.profile(given)?,
            "cache" => {
                let text = given.text(name)?;
                let hint = Wish::parse(text).ok_or_else(|| unknown_cache(name, text, given))?;
                self.cache = Some(hint);
            }
            "ephemeral" => {
                self.ephemeral = given.list(name)?;
                self.ephemeral.retain(|text| !text.is_empty());
                if self.ephemeral.len() > EPHEMERAL_MAX {
                    self.warn(too_many(name, self.ephemeral.len(), EPHEMERAL_MAX));
                    self.ephemeral.truncate(EPHEMERAL_MAX);
                }
            }
            "regime" => {
                let regime = given.text(name)?;
                let read = MarketRegime::parse(regime);
                self.known(
                    name,
                    regime,
                    read.is_some(),
                    &MarketRegime::ALL.map(MarketRegime::as_str),
                );
                self.regime = read;
            }
            _ => return self.read_number(name, given),
        }
        Ok(())
    }

    fn read_number(&mut self, name: &str, given: &Given<'_>) -> Result<(), BadRequest> {
        match name {
            "vitality" => self.route().vitality = self.unit(name, given.number(name)?),
            "cost_sensitivity" => {
                self.route().intent.cost_sensitivity = self.unit(name, given.number(name)?);
            }
            "sustainability" => {
                self.route().sustainability = self.within(name, given.number(name)?, 0.0, f64::MAX);
            }
            "max_cost_usd" => {
                let text = given.decimal(name)?;
                let most =
                    request_size::micro_usd(text.trim()).ok_or_else(|| no_amount(name, &text))?;
                self.route().max_cost_micro_usd = Some(most);
            }
            "stakes_usd" => {
                let text = given.decimal(name)?;
                let stakes =
                    request_size::micro_usd(text.trim()).ok_or_else(|| no_amount(name, &text))?;
                self.route().stakes_micro_usd = Some(stakes);
            }
            "max_latency_ms" => {
                self.route().intent.max_latency_ms = self.count(name, given)?;
            }
            "tick" => self.route().tick = self.count(name, given)?,
            "call_index" => self.route().call_index = self.place(name, given)?,
            "call_count" => self.route().call_count = self.place(name, given)?,
            "cycle" => self.route().cycle = self.small(name, given)?,
            "tick_type" | "clade_id" | "transforms" | "batch" => {
                if !given.asks_for_nothing(name) {
                    self.has_no_effect(name);
                }
            }
            unknown => return self.unknown(unknown, given),
        }
        Ok(())
    }

    fn has_no_effect(&mut self, name: &str) {
        self.warn(format!("`{name}` has no effect yet"));
    }

    /// A name that is no hint. One that is nearly a hint of [`NAMED_LIKE`] is refused.
    fn unknown(&mut self, name: &str, given: &Given<'_>) -> Result<(), BadRequest> {
        let place = given.place(&cut(name));
        if let Some(hint) = protects(name) {
            return Err(no_hint(&place, hint));
        }
        let plain = name.to_ascii_lowercase().replace('-', "_");
        let right = near::nearest(&plain, KNOWN.iter().copied(), SLIP);
        let name = cut(name);
        match right {
            Some(right) => {
                if matches!(given, Given::Json(..)) && self.misspelt.is_none() {
                    self.misspelt = Some((place, right));
                }
                self.warn(format!(
                    "`{name}` is not a hint and was ignored; did you mean `{right}`?"
                ));
            }
            None => self.warn(format!(
                "`{name}` is not a hint and was ignored (docs/hints.md lists the hints)"
            )),
        }
        Ok(())
    }

    fn task_class(&mut self, name: &str) -> Result<(), BadRequest> {
        let class = TaskClass::parse(name).ok_or_else(|| unknown_task(name))?;
        self.route().task_class = Some(class);
        Ok(())
    }

    /// A class that cannot be read must not become a lower one.
    fn security_class(&mut self, name: &str) -> Result<(), BadRequest> {
        let class = SecurityClass::parse(name).ok_or_else(|| unknown_class(name))?;
        self.route().security_class = Some(class);
        Ok(())
    }

    /// Refuses a required feature that nearly is a class of protection.
    fn refuse_slips(&mut self, given: &Given<'_>) -> Result<(), BadRequest> {
        for name in &self.require {
            let plain = name.to_ascii_lowercase().replace('-', "_");
            if Feature::parse(name).is_none()
                && let Some(right) = near::nearest(&plain, PROTECTION_WORDS, SLIP)
            {
                let name = cut(name);
                let message = format!(
                    "`require` names `{name}`, which is not a feature; did you mean `{right}`?"
                );
                return Err(BadRequest::new(given.place("require"), message));
            }
        }
        Ok(())
    }

    fn profile(&mut self, given: &Given<'_>) -> Result<(), BadRequest> {
        // A list would fill the members by their order.
        let is_list = match given {
            Given::Text(text) => text.trim_start().starts_with('['),
            Given::Json(value, _) => value.is_array(),
        };
        if is_list {
            return Err(BadRequest::new(
                "bardo.profile",
                "`profile` must be an object, not a list",
            ));
        }
        let read: Result<InferenceProfile, _> = match given {
            Given::Text(text) => serde_json::from_str(text),
            Given::Json(value, _) => serde_json::from_value((*value).clone()),
        };
        let profile = read.map_err(|error| match given {
            Given::Text(text) => no_profile(serde_json::from_str(text).ok().as_ref(), &error),
            Given::Json(value, _) => no_profile(Some(value), &error),
        })?;
        self.route().profile = Some(Box::new(profile));
        Ok(())
    }

    /// Reads the names of features. An unknown name causes a warning; `low_effort` is a hint of its
    /// own.
    fn features(&mut self, hint: &str, names: &[String]) -> Vec<Feature> {
        let mut features = Vec::new();
        for name in names {
            match Feature::parse(name) {
                Some(feature) if features.contains(&feature) => {}
                Some(feature) => features.push(feature),
                None if name.eq_ignore_ascii_case("low_effort") => {
                    self.route().intent.low_effort = Some(true);
                }
                None => {
                    self.warn(no_feature(hint, name));
                }
            }
        }
        features
    }

    /// Warns of a value that is none of the allowed ones.
    fn known(&mut self, hint: &str, value: &str, is_known: bool, allowed: &[&str]) {
        if !is_known {
            self.warn(one_of(hint, value, allowed));
        }
    }

    /// A number from 0 to 1. A number outside counts as the nearest end, and one that is not finite
    /// is ignored; both leave a warning.
    fn unit(&mut self, name: &str, number: f64) -> Option<UnitInterval> {
        match UnitInterval::try_from(number) {
            Ok(unit) => Some(unit),
            Err(error @ NotUnitInterval::Outside { nearest, .. }) => {
                self.warn(format!("{name} {error}; {nearest} is used"));
                Some(nearest)
            }
            Err(NotUnitInterval::NotFinite(number)) => {
                self.warn(format!(
                    "{name} {number} was ignored: it must be a number between 0 and 1"
                ));
                None
            }
        }
    }

    fn within(&mut self, name: &str, number: f64, low: f64, high: f64) -> Option<f64> {
        let fits = number.is_finite() && (low..=high).contains(&number);
        if !fits {
            self.warn(format!(
                "{name} {number} was ignored: it must be {low} or more"
            ));
        }
        fits.then_some(number)
    }

    fn count(&mut self, name: &str, given: &Given<'_>) -> Result<Option<u64>, BadRequest> {
        let number = given.number(name)?;
        let whole = self.within(name, number, 0.0, 9e15);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded just before"
        )]
        Ok(whole.map(|number| number as u64))
    }

    fn small(&mut self, name: &str, given: &Given<'_>) -> Result<Option<u32>, BadRequest> {
        let count = self.count(name, given)?;
        Ok(count.map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
    }

    /// A count that begins with 1.
    fn place(&mut self, name: &str, given: &Given<'_>) -> Result<Option<u32>, BadRequest> {
        let count = self.small(name, given)?;
        if count == Some(0) {
            self.warn(format!("{name} 0 was ignored: it must be 1 or more"));
        }
        Ok(count.filter(|count| *count > 0))
    }
}

/// The hint that a name is or nearly is, where it must be understood.
fn must_be_understood(name: &str) -> Option<&'static str> {
    let apart = || APART.into_iter().find(|hint| *hint == name);
    protects(name).or_else(apart)
}

/// The hint that a name is or nearly is, where losing it would cost privacy or money.
fn protects(name: &str) -> Option<&'static str> {
    if let Some(known) = KNOWN.iter().find(|known| **known == name) {
        return PROTECTING.into_iter().find(|hint| hint == known);
    }
    let plain = name.to_ascii_lowercase().replace('-', "_");
    let meant = MEANT.into_iter().find(|(tried, _)| *tried == plain);
    meant
        .map(|(_, hint)| hint)
        .or_else(|| near::nearest(&plain, NAMED_LIKE, SLIP))
        // The unit at the end is easily forgotten.
        .or_else(|| near::nearest(&format!("{plain}_usd"), ["max_cost_usd"], SLIP))
}

#[cfg(test)]
mod tests;

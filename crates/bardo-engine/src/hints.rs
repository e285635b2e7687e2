//! Hints of the caller to the gateway: the body object `bardo` and the `X-Bardo-*` headers
//! (`docs/hints.md`).
//!
//! Both spell the same hints; the body wins. A value of the wrong type is the caller's mistake and
//! is refused. A value that its type allows and that makes no sense (a vitality of 7, a feature
//! that nobody knows) is ignored with a warning: a faulty sensor must neither starve an agent nor
//! make it spend.

mod given;

use std::sync::Arc;

use bardo_types::feature::Feature;
use bardo_types::hints::RouteHints;
use bardo_types::intent::Quality;
use bardo_types::money::MicroUsd;
use bardo_types::phase::Phase;
use bardo_types::privacy::{SecurityClass, TaskClass};
use bardo_types::profile::InferenceProfile;
use bardo_wire::codec::BadRequest;
use serde_json::{Map, Value};

use crate::size;
use given::Given;

/// What a caller tells about a request beside the request.
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
    /// What routing and profiles act on; `None` where nothing of it was said.
    pub route: Option<Box<RouteHints>>,
    /// The header `x-prompt-cache-key`.
    pub cache_key: Option<Arc<str>>,
    /// A header asks for protection in words that nobody knows. Such a request goes nowhere.
    pub unknown_protection: bool,
}

/// Longer names are cut; they are names, not places to keep things.
const NAME_MAX: usize = 128;
/// More warnings than these are not kept.
const WARNINGS_MAX: usize = 16;

/// Hints that other parts act on, or will.
const ELSEWHERE: &[&str] = &[
    "regime",
    "tick_type",
    "clade_id",
    "cache",
    "transforms",
    "ephemeral",
    "batch",
];

fn bounded(text: &str) -> Option<Arc<str>> {
    let text = text.trim();
    let end = text.floor_char_boundary(NAME_MAX);
    Some(text[..end].into()).filter(|text: &Arc<str>| !text.is_empty())
}

impl Hints {
    /// Takes one `X-Bardo-*` header, by its name without the prefix. What cannot be read is
    /// ignored with a warning.
    pub fn header(&mut self, name: &str, value: &str) {
        let name = name.replace('-', "_");
        let name = name.strip_prefix("intent_").unwrap_or(&name);
        if let Err(error) = self.take(name, &Given::Text(value)) {
            self.unknown_protection |= name == "security_class";
            self.warn(format!(
                "x-bardo-{}: {}",
                name.replace('_', "-"),
                error.message
            ));
        }
    }

    /// Takes the body object, whose members win over headers.
    ///
    /// # Errors
    /// When a member has the wrong type; the error names it.
    pub fn body(&mut self, json: &str) -> Result<(), BadRequest> {
        let members: Map<String, Value> = serde_json::from_str(json).map_err(|error| {
            BadRequest::new(
                "bardo",
                format!("`bardo` must be an object of hints: {error}"),
            )
        })?;
        for (name, value) in &members {
            match value {
                Value::Null => {}
                Value::Object(intent) if name == "intent" => {
                    for (name, value) in intent.iter().filter(|(_, value)| !value.is_null()) {
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

    /// Refuses what is not known well enough to act on.
    ///
    /// # Errors
    /// When a header asks for protection in words that nobody knows.
    pub fn check(&self) -> Result<(), BadRequest> {
        if self.unknown_protection {
            return Err(unknown_class());
        }
        Ok(())
    }

    /// Takes the prompt-cache key of the header into the caller's profile, unless that has its own.
    pub(crate) fn name_cache(&mut self) {
        let key = self.cache_key.take();
        if let Some(key) = key.as_deref().and_then(bounded) {
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
        if warnings.len() < WARNINGS_MAX {
            warnings.push(warning);
        }
    }

    fn take(&mut self, name: &str, given: &Given<'_>) -> Result<(), BadRequest> {
        match name {
            "metadata" => self.metadata = given.flag(name)?,
            "session_id" => self.session = bounded(given.text(name)?),
            "subsystem" => {
                self.subsystem = bounded(given.text(name)?);
                self.route().subsystem = self.subsystem.clone();
            }
            "golem_id" => self.route().golem_id = bounded(given.text(name)?),
            "domain" => self.route().domain = bounded(given.text(name)?),
            "model" => self.route().intent.model = bounded(given.text(name)?),
            "task_class" => self.task_class(given.text(name)?),
            "security_class" => self.security_class(given.text(name)?)?,
            "phase" => {
                let phase = given.text(name)?;
                let read = Phase::parse(phase.trim());
                self.known(name, phase, read.is_some());
                self.route().phase = read;
            }
            "quality" => {
                let quality = given.text(name)?;
                let read = Quality::parse(quality.trim());
                self.known(name, quality, read.is_some());
                self.route().intent.quality = read;
            }
            "require" => {
                self.require = given.list(name)?;
                let names = self.require.clone();
                self.route().intent.require = Some(self.features(&names));
            }
            "prefer" => {
                let names = given.list(name)?;
                self.route().intent.prefer = Some(self.features(&names));
            }
            "low_effort" => self.route().intent.low_effort = Some(given.flag(name)?),
            "allow_downgrade" => self.route().allow_downgrade = Some(given.flag(name)?),
            "accept_degraded" => self.route().accept_degraded = Some(given.flag(name)?),
            "profile" => self.profile(given)?,
            _ => return self.take_number(name, given),
        }
        Ok(())
    }

    fn take_number(&mut self, name: &str, given: &Given<'_>) -> Result<(), BadRequest> {
        match name {
            "vitality" => self.route().vitality = self.within(name, given.number(name)?, 0.0, 1.0),
            "cost_sensitivity" => {
                self.route().intent.cost_sensitivity =
                    self.within(name, given.number(name)?, 0.0, 1.0);
            }
            "sustainability" => {
                self.route().sustainability = self.within(name, given.number(name)?, 0.0, f64::MAX);
            }
            "max_cost_usd" => {
                let text = given.decimal(name)?;
                let most = size::micro_usd(text.trim()).ok_or_else(|| no_amount(name, &text))?;
                self.route().max_cost_micro_usd = Some(most);
            }
            "stakes_usd" => {
                self.route().stakes_micro_usd = self.usd(name, given)?;
            }
            "max_latency_ms" => {
                self.route().intent.max_latency_ms = self.count(name, given)?;
            }
            "tick" => self.route().tick = self.count(name, given)?,
            "call_index" => self.route().call_index = self.small(name, given)?,
            "call_count" => self.route().call_count = self.small(name, given)?,
            "cycle" => self.route().cycle = self.small(name, given)?,
            known if ELSEWHERE.contains(&known) => {}
            unknown => {
                let unknown: String = unknown.chars().take(64).collect();
                self.warn(format!("`{unknown}` is no known hint and was ignored"));
            }
        }
        Ok(())
    }

    fn task_class(&mut self, name: &str) {
        let read = TaskClass::parse(name);
        self.known("task_class", name, read.is_some());
        self.route().task_class = read;
    }

    /// A class that cannot be read must not become a lower one.
    fn security_class(&mut self, name: &str) -> Result<(), BadRequest> {
        let class = SecurityClass::parse(name).ok_or_else(unknown_class)?;
        self.route().security_class = Some(class);
        self.unknown_protection = false;
        Ok(())
    }

    fn profile(&mut self, given: &Given<'_>) -> Result<(), BadRequest> {
        let read: Result<InferenceProfile, _> = match given {
            Given::Text(text) => serde_json::from_str(text),
            Given::Json(value, _) => serde_json::from_value((*value).clone()),
        };
        let profile = read.map_err(|error| {
            BadRequest::new("bardo.profile", format!("`profile` is malformed: {error}"))
        })?;
        self.route().profile = Some(Box::new(profile));
        Ok(())
    }

    /// The features among the names; the others, and efforts, are said.
    fn features(&mut self, names: &[String]) -> Vec<Feature> {
        let mut features = Vec::new();
        for name in names {
            match Feature::parse(name) {
                Some(feature) if features.contains(&feature) => {}
                Some(feature) => features.push(feature),
                None if name.eq_ignore_ascii_case("low_effort") => {
                    self.route().intent.low_effort = Some(true);
                }
                None => {
                    let name: String = name.chars().take(64).collect();
                    self.warn(format!(
                        "`{name}` is no known feature; no backend is chosen for it"
                    ));
                }
            }
        }
        features
    }

    fn known(&mut self, hint: &str, value: &str, is_known: bool) {
        if !is_known {
            let value: String = value.chars().take(64).collect();
            self.warn(format!("`{value}` is no known {hint} and was ignored"));
        }
    }

    fn within(&mut self, name: &str, number: f64, low: f64, high: f64) -> Option<f64> {
        let fits = number.is_finite() && (low..=high).contains(&number);
        if !fits {
            self.warn(format!("{name} {number} is out of range and was ignored"));
        }
        fits.then_some(number)
    }

    fn usd(&mut self, name: &str, given: &Given<'_>) -> Result<Option<u64>, BadRequest> {
        let text = given.decimal(name)?;
        let amount = MicroUsd::from_usd(text.trim()).ok().map(MicroUsd::get);
        if amount.is_none() {
            self.warn(format!("{name} is no amount in USD and was ignored"));
        }
        Ok(amount)
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
}

/// A cap that is not understood must not be left out.
fn no_amount(name: &str, text: &str) -> BadRequest {
    let text: String = text.chars().take(64).collect();
    BadRequest::new(
        format!("bardo.{name}"),
        format!("`{name}` is `{text}`, which is no amount in USD; send a number like 0.25"),
    )
}

fn unknown_class() -> BadRequest {
    BadRequest::new(
        "bardo.security_class",
        "`security_class` must be one of standard, private, tee, e2ee",
    )
}

#[cfg(test)]
mod tests;

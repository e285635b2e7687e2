use bardo_types::hints::RouteHints;
use bardo_types::intent::Quality;
use bardo_types::model::Effort;
use bardo_types::profile::InferenceProfile;
use bardo_types::subsystem::Subsystem;
use bardo_types::unit::UnitInterval;

use crate::overlay::{changed_fields, checked, overlay};
use crate::schedule::CallPosition;
use crate::table::{ProfileRow, ProfileTable};

/// The first part of keys for prompt caches where the owner names no other.
pub const CACHE_KEY_PREFIX: &str = "golem";

/// The temperature that mortality draws others towards.
const ANALYTICAL: f64 = 0.3;

/// Sources of a call's settings.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The part of the agent that asks.
    pub subsystem: Option<&'a Subsystem>,
    /// Hints of the caller and the state of its agent.
    pub hints: &'a RouteHints,
    /// The owner's configuration of this subsystem.
    pub owner: Option<&'a InferenceProfile>,
    /// Quality of the answer; gives the effort if no source names one.
    pub quality: Quality,
}

/// Replacement of `min_p` for models without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MinPFallback {
    /// `top_p = 1 − min_p` where no `top_p` is set.
    #[default]
    TopP,
    /// `min_p` is removed.
    Drop,
}

/// Settings of a call, for any model.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The parameters of the call.
    pub profile: InferenceProfile,
    /// The row of the table that they come from.
    pub row: Option<String>,
    /// The caller's own parameters do not count.
    pub locked: bool,
    /// Where thinking and sampling exclude each other, thinking stays.
    pub reasoning_first: bool,
    /// The document of the request whose text the answer will mostly repeat.
    pub predicts: Option<String>,
    /// Replacement of `min_p` for models without it; the owner sets it.
    pub min_p_fallback: MinPFallback,
    /// A search may leave attested hardware too; the owner's to set.
    pub search_at_tee: bool,
    /// Ignored settings, as sentences.
    pub warnings: Vec<String>,
}

/// Puts together what everybody says; `None` where nobody says anything.
///
/// In rising order of weight: the row of the table, the owner's configuration, the caller's hints;
/// but a locked row is not changed by anybody. What the body of the request itself says stands
/// above all of these but a locked row, which is [`crate::apply()`]'s part.
#[must_use]
pub fn wanted(sources: &Sources<'_>) -> Option<Wanted> {
    let mut warnings = Vec::new();
    let (name, row) = row_of(sources.subsystem, &mut warnings);
    let locked = sources.subsystem.is_some_and(|subsystem| subsystem.locked);
    let place = CallPosition {
        call: sources.hints.call_index,
        calls: sources.hints.call_count,
        cycle: sources.hints.cycle,
    };
    let mut profile = row.map_or_else(InferenceProfile::default, |row| row.profile.clone());
    if let (Some(settled), Some(schedule)) = (profile.temperature, row.and_then(|row| row.schedule))
    {
        profile.temperature = Some(schedule.at(settled, place));
    }
    if let (Some(row), Some(subsystem)) = (row, sources.subsystem) {
        profile.prompt_cache_key = cache_key(row, subsystem, sources.hints);
    }
    let owner = sources
        .owner
        .map(|owner| checked(owner, "the owner's configuration", &mut warnings));
    let caller = sources.hints.profile.as_deref();
    let caller = caller.map(|caller| checked(caller, "the caller", &mut warnings));
    if locked {
        let name = name.unwrap_or_default();
        for (said, who) in [
            (&owner, "the owner's configuration"),
            (&caller, "the caller"),
        ] {
            let ignored = said
                .as_ref()
                .map_or_else(Vec::new, |said| changed_fields(&profile, said));
            if !ignored.is_empty() {
                let fields = ignored.join(", ");
                warnings.push(format!(
                    "the profile of {name} is locked, so {fields} of {who} is ignored"
                ));
            }
        }
    } else {
        if let Some(owner) = owner {
            overlay(&mut profile, owner);
        }
        lower_temperature_with_vitality(&mut profile, sources);
        if let Some(caller) = caller {
            let effort = caller.reasoning_effort;
            overlay(&mut profile, caller);
            limit_effort(&mut profile, effort, sources.hints);
        } else {
            limit_effort(&mut profile, None, sources.hints);
        }
    }
    let row_name = row.and(name).map(str::to_owned);
    derive_effort(&mut profile, sources);
    profile.temperature = profile.temperature.map(thousandths);
    if profile.is_empty() && warnings.is_empty() && row.is_none() {
        return None;
    }
    Some(Wanted {
        profile,
        row: row_name,
        locked: locked && row.is_some(),
        reasoning_first: row.is_some_and(|row| row.reasoning_first),
        predicts: row.and_then(|row| row.predicts.clone()),
        min_p_fallback: MinPFallback::default(),
        search_at_tee: false,
        warnings,
    })
}

fn row_of<'a>(
    subsystem: Option<&'a Subsystem>,
    warnings: &mut Vec<String>,
) -> (Option<&'a str>, Option<&'static ProfileRow>) {
    let name = subsystem.and_then(|subsystem| subsystem.profile.as_deref());
    let row = name.and_then(|name| ProfileTable::embedded().row(name));
    if let (Some(name), None) = (name, row) {
        warnings.push(format!(
            "no profile has the name `{name}`, so none is applied"
        ));
    }
    (name, row)
}

/// The key under which the calls of one part of an agent share a prompt cache.
#[must_use]
pub fn golem_cache_key(golem_id: &str, subsystem: &str) -> String {
    format!("{CACHE_KEY_PREFIX}-{golem_id}-{subsystem}")
}

fn cache_key(row: &ProfileRow, subsystem: &Subsystem, hints: &RouteHints) -> Option<String> {
    let golem = hints.golem_id.as_deref()?;
    let cycle = hints
        .cycle
        .map_or_else(String::new, |cycle| cycle.to_string());
    let key = row
        .cache_key
        .as_ref()?
        .replace("{prefix}", CACHE_KEY_PREFIX)
        .replace("{subsystem}", &subsystem.name)
        .replace("{cycle}", &cycle)
        .replace("{golem}", golem);
    Some(key.trim_end_matches('-').to_owned())
}

/// Draws a temperature towards the analytical as life runs out. It never rises, and neither
/// protected nor creative parts are touched.
fn lower_temperature_with_vitality(profile: &mut InferenceProfile, sources: &Sources<'_>) {
    let Some(vitality) = sources.hints.vitality.map(UnitInterval::get) else {
        return;
    };
    let spared = sources
        .subsystem
        .is_none_or(|subsystem| subsystem.protected || subsystem.creative);
    if let Some(temperature) = &mut profile.temperature
        && !spared
        && *temperature > ANALYTICAL
    {
        *temperature -= (*temperature - ANALYTICAL) * (1.0 - vitality) * 0.5;
    }
}

/// A caller that wants little thinking gets no more than that, unless it names an effort.
fn limit_effort(profile: &mut InferenceProfile, named: Option<Effort>, hints: &RouteHints) {
    if named.is_none() && hints.intent.low_effort == Some(true) {
        let effort = profile.reasoning_effort.unwrap_or(Effort::Low);
        profile.reasoning_effort = Some(effort.min(Effort::Low));
    }
}

/// An effort where nobody names one, and somebody says how good the answer has to be.
fn derive_effort(profile: &mut InferenceProfile, sources: &Sources<'_>) {
    let asked = sources.subsystem.is_some() || sources.hints.intent.quality.is_some();
    if profile.reasoning_effort.is_some() || !asked {
        return;
    }
    let low = sources
        .subsystem
        .is_some_and(|subsystem| subsystem.intent.low_effort);
    profile.reasoning_effort = Some(match sources.quality {
        _ if low => Effort::Low,
        Quality::Minimum | Quality::Low => Effort::Low,
        Quality::Medium => Effort::Medium,
        Quality::High | Quality::Maximum => Effort::High,
    });
}

/// Computed temperatures are sent as people would write them.
fn thousandths(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

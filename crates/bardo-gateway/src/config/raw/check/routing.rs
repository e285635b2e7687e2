//! Names and numbers of routing: an unknown name would be ignored silently.

use std::ops::RangeInclusive;

use bardo_router::Subsystems;
use bardo_types::backend::BackendName;
use bardo_types::money::MicroUsd;
use serde_json::Number;

use crate::config::Config;
use crate::config::layers::nearest;

/// The backends, as the owner's orders name them.
pub(crate) const BACKENDS: [&str; 6] = [
    "direct",
    "local",
    "blockrun",
    "openrouter",
    "venice",
    "bankr",
];

pub(super) fn check(config: &Config) -> Result<(), String> {
    let inference = &config.inference;
    for name in &inference.provider_order {
        if !BACKENDS.contains(&name.as_str()) {
            return Err(unknown(
                "inference.provider_order",
                name,
                "backend",
                BACKENDS,
            ));
        }
    }
    for (subsystem, order) in &inference.routes {
        let place = format!("inference.routes.{subsystem}");
        known_subsystem("inference.routes", subsystem)?;
        if order.is_empty() {
            return Err(format!("`{place}` is empty; name a backend, or remove it"));
        }
        order
            .iter()
            .try_for_each(|name| known_backend(config, &place, name))?;
    }
    for (subsystem, profile) in &inference.profiles {
        known_subsystem("inference.profiles", subsystem)?;
        profile.check(&format!("inference.profiles.{subsystem}"))?;
    }
    for subsystem in config.privacy.floors.keys() {
        known_subsystem("privacy.floors", subsystem)?;
    }
    if let Some(name) = &inference.dream_provider {
        known_backend(config, "inference.dream_provider", name)?;
    }
    known_backend(
        config,
        "inference.embeddings.provider",
        &inference.embeddings.provider,
    )?;
    numbers(config)?;
    names(config)?;
    models(config)?;
    bankr(config)
}

fn numbers(config: &Config) -> Result<(), String> {
    let inference = &config.inference;
    let weights = &inference.weights;
    let rows = [
        ("cost", weights.cost),
        ("quality", weights.quality),
        ("latency", weights.latency),
        ("features", weights.features),
        ("privacy", weights.privacy),
    ];
    let fits = |weight: f64| (0.0..=1e6).contains(&weight);
    if let Some((key, _)) = rows.iter().find(|(_, (a, b))| !fits(*a) || !fits(*b)) {
        return Err(format!(
            "`inference.weights.{key}` must be two numbers of 0 or more"
        ));
    }
    let sum = |end: fn(&(f64, f64)) -> f64| rows.iter().map(|(_, pair)| end(pair)).sum::<f64>();
    if sum(|pair| pair.0) <= 0.0 || sum(|pair| pair.1) <= 0.0 {
        return Err(
            "`inference.weights`: at least one weight must be above 0 in each column".into(),
        );
    }
    if usd("inference.max_cost_usd", &inference.max_cost_usd)? == MicroUsd::ZERO {
        return Err("`inference.max_cost_usd` must be above 0".into());
    }
    usd("inference.death_reserve_usd", &inference.death_reserve_usd)?;
    if let Some(limit) = &inference.verify_above_usd {
        usd("inference.verify_above_usd", limit)?;
    }
    let prefix = &inference.caching.prompt_cache_key_prefix;
    if prefix.is_empty() || prefix.len() > 32 || !prefix.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(
            "`inference.caching.prompt_cache_key_prefix` must be 1 to 32 visible ASCII characters"
                .into(),
        );
    }
    let secret = &inference.caching.secret;
    if !secret.is_empty() && secret.expose().len() < 16 {
        return Err("`inference.caching.secret` must have at least 16 characters".into());
    }
    Ok(())
}

/// Aliases that lead nowhere, and fallbacks to nothing.
fn names(config: &Config) -> Result<(), String> {
    let inference = &config.inference;
    for alias in inference.aliases.keys() {
        inference.unaliased(alias).map_err(|chain| {
            format!(
                "`inference.aliases.{alias}` leads back to itself ({}); name a model at the end",
                chain.join(" -> ")
            )
        })?;
    }
    for (model, others) in &inference.fallbacks {
        let place = format!("inference.fallbacks.{model}");
        if others.is_empty() {
            return Err(format!("`{place}` is empty; name a model, or remove it"));
        }
        if others.contains(model) {
            return Err(format!(
                "`{place}` names `{model}` itself; name another model"
            ));
        }
        if let Some(index) = others.iter().position(|other| other.trim().is_empty()) {
            return Err(format!("`{place}[{index}]` must be the name of a model"));
        }
    }
    Ok(())
}

fn models(config: &Config) -> Result<(), String> {
    for (index, row) in config.catalog.models.iter().enumerate() {
        let place = format!("catalog.models[{index}]");
        if row.id.trim().is_empty() {
            return Err(format!("`{place}.id` must be the name of a model"));
        }
        if row.rating.is_some_and(|rating| rating > 100) {
            return Err(format!("`{place}.rating` must be between 0 and 100"));
        }
        if let Some(name) = &row.backend {
            known_backend(config, &format!("{place}.backend"), name)?;
        }
    }
    Ok(())
}

fn bankr(config: &Config) -> Result<(), String> {
    let Some(bankr) = &config.providers.bankr else {
        return Ok(());
    };
    for name in &bankr.subsystems {
        // Agents may have subsystems that no table lists; a name that is nearly a listed one is a typing
        // error.
        if Subsystems::embedded().find(name).is_none()
            && let Some(meant) = nearest(name, subsystem_names(), SLIP)
        {
            return Err(format!(
                "`providers.bankr.subsystems`: unknown subsystem `{name}`; did you mean `{meant}`?"
            ));
        }
    }
    for (key, amount) in [
        ("revenue_balance_usd", &bankr.revenue_balance_usd),
        ("lifetime_revenue_usd", &bankr.lifetime_revenue_usd),
        ("max_call_usd", &bankr.max_call_usd),
        ("auto_topup_amount_usd", &bankr.auto_topup_amount_usd),
        ("auto_topup_threshold_usd", &bankr.auto_topup_threshold_usd),
    ] {
        if let Some(amount) = amount {
            usd(&format!("providers.bankr.{key}"), amount)?;
        }
    }
    let ratios: RangeInclusive<f64> = 0.0..=f64::MAX;
    if bankr
        .sustainability
        .is_some_and(|ratio| !ratios.contains(&ratio))
    {
        return Err("`providers.bankr.sustainability` is a ratio and must not be negative".into());
    }
    Ok(())
}

/// The similarity of a typing error, where other names are possible too.
const SLIP: f64 = 0.92;
/// The similarity of a typing error if no other name is possible.
const ALIKE: f64 = 0.75;

fn subsystem_names() -> impl Iterator<Item = &'static str> {
    Subsystems::embedded().rows().map(|row| row.name.as_str())
}

fn known_subsystem(place: &str, name: &str) -> Result<(), String> {
    match Subsystems::embedded().find(name) {
        Some(_) => Ok(()),
        None => Err(unknown(place, name, "subsystem", subsystem_names())),
    }
}

/// Refuses a name that means no backend that can be configured, with the nearest that does.
///
/// # Errors
/// The refusal, which begins with `place`.
pub(crate) fn known_backend(config: &Config, place: &str, name: &str) -> Result<(), String> {
    const MAKERS: [&str; 5] = ["openai", "anthropic", "google", "deepseek", "local"];
    let keys = config
        .providers
        .direct
        .iter()
        .flat_map(|direct| &direct.keys);
    let named = keys.filter_map(|key| key.name.as_deref());
    let vendors = bardo_router::vendors().iter();
    let owners: Vec<&str> = MAKERS
        .into_iter()
        .chain(vendors.map(|vendor| vendor.name.as_str()))
        .chain(named)
        .collect();
    let named = BackendName::parse(name);
    // The first key of a maker has no number.
    let number = named
        .number()
        .map(|n| n.parse::<usize>().is_ok_and(|n| n > 1));
    let maker = named
        .key_of()
        .map(|maker| owners.contains(&maker) && number.unwrap_or(true));
    if maker.unwrap_or(BACKENDS.contains(&name)) {
        return Ok(());
    }
    let direct: Vec<String> = owners
        .iter()
        .map(|maker| format!("direct/{maker}"))
        .collect();
    let known = BACKENDS
        .into_iter()
        .chain(direct.iter().map(String::as_str));
    Err(unknown(place, name, "backend", known))
}

fn unknown<'a>(
    place: &str,
    name: &str,
    what: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = match nearest(name, known.iter().copied(), ALIKE) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known are {}", known.join(", ")),
    };
    format!("`{place}`: unknown {what} `{name}`; {hint}")
}

/// An amount from a number of USD.
pub(crate) fn usd(place: &str, number: &Number) -> Result<MicroUsd, String> {
    MicroUsd::from_usd(&number.to_string()).map_err(|error| format!("`{place}`: {error}"))
}

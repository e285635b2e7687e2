//! Names and numbers of routing: an unknown name would be ignored silently.

use std::ops::RangeInclusive;

use bardo_router::Subsystems;
use bardo_types::backend::BackendName;
use bardo_types::money::MicroUsd;
use serde_json::Number;

use super::Problems;
use crate::Config;
use crate::layers::nearest;
use crate::raw::GeminiCaching;

/// The backends, as the owner's orders name them.
pub const BACKENDS: [&str; 6] = [
    "direct",
    "local",
    "blockrun",
    "openrouter",
    "venice",
    "bankr",
];

pub(super) fn check(config: &Config, problems: &mut Problems) {
    let inference = &config.inference;
    for name in &inference.provider_order {
        if !BACKENDS.contains(&name.as_str()) {
            let place = "inference.provider_order";
            problems.check(Err(unknown(place, name, "backend", BACKENDS)));
        }
    }
    for (subsystem, order) in &inference.routes {
        let place = format!("inference.routes.{subsystem}");
        problems.check(known_subsystem("inference.routes", subsystem));
        problems.refuse_if(
            order.is_empty(),
            &format!("`{place}` is empty; name a backend, or remove it"),
        );
        for name in order {
            problems.check(known_backend(config, &place, name));
        }
    }
    for (subsystem, profile) in &inference.profiles {
        problems.check(known_subsystem("inference.profiles", subsystem));
        problems
            .0
            .extend(profile.problems(&format!("inference.profiles.{subsystem}")));
    }
    for subsystem in config.privacy.floors.keys() {
        problems.check(known_subsystem("privacy.floors", subsystem));
    }
    if let Some(name) = &inference.dream_provider {
        problems.check(known_backend(config, "inference.dream_provider", name));
    }
    problems.check(known_backend(
        config,
        "inference.embeddings.provider",
        &inference.embeddings.provider,
    ));
    numbers(config, problems);
    names(config, problems);
    models(config, problems);
    bankr(config, problems);
}

fn numbers(config: &Config, problems: &mut Problems) {
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
    for (key, (without, with)) in rows {
        problems.refuse_if(
            !fits(without) || !fits(with),
            &format!("`inference.weights.{key}` must be two numbers of 0 or more"),
        );
    }
    let sum = |end: fn(&(f64, f64)) -> f64| rows.iter().map(|(_, pair)| end(pair)).sum::<f64>();
    problems.refuse_if(
        sum(|pair| pair.0) <= 0.0 || sum(|pair| pair.1) <= 0.0,
        "`inference.weights`: at least one weight must be above 0 in each column",
    );
    let most = usd("inference.max_cost_usd", &inference.max_cost_usd);
    problems.refuse_if(
        most == Ok(MicroUsd::ZERO),
        "`inference.max_cost_usd` must be above 0",
    );
    problems.check(most.map(drop));
    let reserve = usd("inference.death_reserve_usd", &inference.death_reserve_usd);
    problems.check(reserve.map(drop));
    if let Some(limit) = &inference.verify_above_usd {
        problems.check(usd("inference.verify_above_usd", limit).map(drop));
    }
    let keepalive = &inference.caching.keepalive;
    let amounts = [
        ("prompt_usd_per_day", &keepalive.prompt_usd_per_day),
        ("usd_per_day", &keepalive.usd_per_day),
    ];
    for (key, amount) in amounts {
        problems.check(usd(&format!("inference.caching.keepalive.{key}"), amount).map(drop));
    }
    problems.refuse_if(
        !(1..=24).contains(&keepalive.in_row),
        "`inference.caching.keepalive.in_row` must be from 1 to 24",
    );
    gemini_caching(&inference.caching.gemini, problems);
    let prefix = &inference.caching.prompt_cache_key_prefix;
    problems.refuse_if(
        prefix.is_empty() || prefix.len() > 32 || !prefix.bytes().all(|b| b.is_ascii_graphic()),
        "`inference.caching.prompt_cache_key_prefix` must be 1 to 32 visible ASCII characters",
    );
    let secret = &inference.caching.secret;
    problems.refuse_if(
        !secret.is_empty() && secret.expose().len() < 16,
        "`inference.caching.secret` must have at least 16 characters",
    );
}

/// Prices and limits of prefixes that Gemini stores.
fn gemini_caching(gemini: &GeminiCaching, problems: &mut Problems) {
    let key = |name: &str| format!("inference.caching.gemini.{name}");
    let amounts = [
        ("prompt_usd_per_day", &gemini.prompt_usd_per_day),
        ("usd_per_day", &gemini.usd_per_day),
    ];
    for (name, amount) in amounts {
        problems.check(usd(&key(name), amount).map(drop));
    }
    let price = gemini.storage_usd_per_mtok_hour.as_ref();
    let price = price.map(|price| usd(&key("storage_usd_per_mtok_hour"), price));
    problems.refuse_if(
        gemini.enabled && price.is_none(),
        "`inference.caching.gemini.enabled` needs \
         `inference.caching.gemini.storage_usd_per_mtok_hour`: the price of a million stored tokens \
         for an hour is in no price list",
    );
    problems.refuse_if(
        price == Some(Ok(MicroUsd::ZERO)),
        "`inference.caching.gemini.storage_usd_per_mtok_hour` must be above 0",
    );
    problems.check(price.unwrap_or(Ok(MicroUsd::ZERO)).map(drop));
}

/// Aliases that lead nowhere, and fallbacks to nothing.
fn names(config: &Config, problems: &mut Problems) {
    let inference = &config.inference;
    for alias in inference.aliases.keys() {
        if let Err(chain) = inference.unaliased(alias) {
            problems.check(Err(format!(
                "`inference.aliases.{alias}` leads back to itself ({}); name a model at the end",
                chain.join(" -> ")
            )));
        }
    }
    for (model, others) in &inference.fallbacks {
        let place = format!("inference.fallbacks.{model}");
        problems.refuse_if(
            others.is_empty(),
            &format!("`{place}` is empty; name a model, or remove it"),
        );
        problems.refuse_if(
            others.contains(model),
            &format!("`{place}` names `{model}` itself; name another model"),
        );
        for (index, other) in others.iter().enumerate() {
            problems.refuse_if(
                other.trim().is_empty(),
                &format!("`{place}[{index}]` must be the name of a model"),
            );
        }
    }
}

fn models(config: &Config, problems: &mut Problems) {
    for (index, row) in config.catalog.models.iter().enumerate() {
        let place = format!("catalog.models[{index}]");
        problems.refuse_if(
            row.id.trim().is_empty(),
            &format!("`{place}.id` must be the name of a model"),
        );
        problems.refuse_if(
            row.rating.is_some_and(|rating| rating > 100),
            &format!("`{place}.rating` must be between 0 and 100"),
        );
        if let Some(name) = &row.backend {
            problems.check(known_backend(config, &format!("{place}.backend"), name));
        }
    }
}

fn bankr(config: &Config, problems: &mut Problems) {
    let Some(bankr) = &config.providers.bankr else {
        return;
    };
    for name in &bankr.subsystems {
        // Agents may have subsystems that no table lists; a name that is nearly a listed one is a typing
        // error.
        if Subsystems::embedded().find(name).is_none()
            && let Some(meant) = nearest(name, subsystem_names(), SLIP)
        {
            problems.check(Err(format!(
                "`providers.bankr.subsystems`: unknown subsystem `{name}`; did you mean `{meant}`?"
            )));
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
            problems.check(usd(&format!("providers.bankr.{key}"), amount).map(drop));
        }
    }
    let ratios: RangeInclusive<f64> = 0.0..=f64::MAX;
    problems.refuse_if(
        bankr
            .sustainability
            .is_some_and(|ratio| !ratios.contains(&ratio)),
        "`providers.bankr.sustainability` is a ratio and must not be negative",
    );
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
fn known_backend(config: &Config, place: &str, name: &str) -> Result<(), String> {
    let keys = config
        .providers
        .direct
        .iter()
        .flat_map(|direct| &direct.keys);
    let named = keys.filter_map(|key| key.name.as_deref());
    known_backend_beside(named, place, name)
}

/// Refuses a name that means no backend that can be configured and none of the `named` API keys.
///
/// # Errors
/// The refusal, which begins with `place` and has the nearest known name.
pub fn known_backend_beside<'a>(
    named: impl Iterator<Item = &'a str>,
    place: &str,
    name: &str,
) -> Result<(), String> {
    const MAKERS: [&str; 5] = ["openai", "anthropic", "google", "deepseek", "local"];
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
pub fn usd(place: &str, number: &Number) -> Result<MicroUsd, String> {
    MicroUsd::from_usd(&number.to_string()).map_err(|error| format!("`{place}`: {error}"))
}

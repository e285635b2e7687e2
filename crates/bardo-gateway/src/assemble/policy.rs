//! From settings to what the owner decides about routing and profiles.

use std::collections::BTreeMap;

use bardo_cache::prefix::KeepaliveLimits;
use bardo_cache::scope::Scope;
use bardo_cache::semantic::{AuditMode, AuditRules, Domain};
use bardo_cache::store::Limits;
use bardo_cache::ttl::{Lifetimes, MarketRegime};
use bardo_engine::{CachePolicy, EpochEvents, KeepalivePolicy, SemanticPolicy, StoredPrefixPolicy};
use bardo_providers::BaseUrl;
use bardo_router::{BankrPolicy, Mode, Policy, Subsystems, Weights};
use bardo_types::backend::BackendName;
use bardo_types::money::{MicroUsd, PricePerMillion};
use bardo_types::profile::InferenceProfile;
use bardo_types::subsystem::Subsystem;
use serde_json::Number;

use crate::config::units::{ByteSize, Span};
use crate::config::{
    BACKENDS, BankrConfig, Config, ModeName, RawAuditMode, RawCacheScope, RawDomain, RawRegime, usd,
};

/// The default budget for the searches of a cycle.
const USUAL_BUDGET: MicroUsd = MicroUsd::new(50_000);

/// The routing policy of the owner, from a checked configuration.
pub(crate) fn policy(config: &Config) -> Policy {
    let inference = &config.inference;
    let weights = &inference.weights;
    Policy {
        mode: match inference.mode {
            ModeName::Ordered => Mode::Ordered,
            ModeName::Scored => Mode::Scored,
        },
        weights: Weights {
            cost: weights.cost,
            quality: weights.quality,
            latency: weights.latency,
            features: weights.features,
            privacy: weights.privacy,
        },
        max_cost: amount(&inference.max_cost_usd),
        strict_latency: inference.strict_latency,
        prefer_own_keys: config.routing.prefer_own_keys,
        routes: routes(config),
        floors: spread(&config.privacy.floors, |class| class.0),
        privacy_strict: config.privacy.strict,
        t1: inference
            .tiers
            .t1
            .as_ref()
            .map(|tier| tier.provider.clone()),
        t2: inference
            .tiers
            .t2
            .as_ref()
            .map(|tier| tier.provider.clone()),
        embedder: embedder(config),
        free_models: inference.free_models,
        trusted_local: trusts_local(config),
        diem_staked: config
            .providers
            .venice
            .as_ref()
            .is_some_and(|venice| venice.diem_staked),
        openrouter_models: config
            .providers
            .openrouter
            .as_ref()
            .map(|openrouter| openrouter.models_auto.clone())
            .unwrap_or_default(),
        variants: inference.variants,
        bankr: config
            .providers
            .bankr
            .as_ref()
            .map(bankr)
            .unwrap_or_default(),
        death_reserve: Some(amount(&inference.death_reserve_usd)),
    }
}

/// Whether profiles may let Venice search the web; `None`: if the profile of the subsystem says so.
pub(super) fn web_search(config: &Config) -> Option<bool> {
    config.providers.venice.as_ref()?.web_search_enabled
}

/// The budget for the searches of one cycle of an agent.
pub(super) fn web_search_budget(config: &Config) -> MicroUsd {
    let venice = config.providers.venice.as_ref();
    let budget = venice.and_then(|venice| venice.web_search_budget_per_cycle_usdc.as_ref());
    budget.map_or(USUAL_BUDGET, amount)
}

/// The amount at stake above which a second model verifies a decision; `None`: none does.
pub(super) fn verify_above(config: &Config) -> Option<MicroUsd> {
    config.inference.verify_above_usd.as_ref().map(amount)
}

/// Settings of keepalive calls that have no effect beside others.
fn keepalive_notices(config: &Config) -> Vec<String> {
    const PLACE: &str = "inference.caching.keepalive";
    let caching = &config.inference.caching;
    let keepalive = &caching.keepalive;
    if !keepalive.enabled {
        return Vec::new();
    }
    let mut told = Vec::new();
    if keepalive.prompt_calls_per_day > keepalive.calls_per_day {
        told.push(format!(
            "`{PLACE}.prompt_calls_per_day` is above `{PLACE}.calls_per_day`, which is the limit for all prompts \
            together"
        ));
    }
    if amount(&keepalive.prompt_usd_per_day) > amount(&keepalive.usd_per_day) {
        told.push(format!(
            "`{PLACE}.prompt_usd_per_day` is above `{PLACE}.usd_per_day`, which is the limit for all prompts together"
        ));
    }
    told
}

/// Limits of keepalive calls; `None`: they are off.
pub(super) fn keepalive(config: &Config) -> Option<KeepalivePolicy> {
    let keepalive = &config.inference.caching.keepalive;
    keepalive.enabled.then(|| KeepalivePolicy {
        in_row: keepalive.in_row,
        limits: KeepaliveLimits {
            prefix_calls: keepalive.prompt_calls_per_day,
            prefix_usd: amount(&keepalive.prompt_usd_per_day),
            calls: keepalive.calls_per_day,
            usd: amount(&keepalive.usd_per_day),
        },
    })
}

/// Price and limits of prefixes that Gemini stores; `None`: none are stored.
pub(super) fn stored_prefixes(config: &Config) -> Option<StoredPrefixPolicy> {
    let gemini = &config.inference.caching.gemini;
    let hour = gemini.storage_usd_per_mtok_hour.as_ref();
    let hour = amount(hour.filter(|_| gemini.enabled)?);
    Some(StoredPrefixPolicy {
        hour: PricePerMillion::from_micro(hour.get()),
        limits: KeepaliveLimits {
            prefix_calls: gemini.prompt_calls_per_day,
            prefix_usd: amount(&gemini.prompt_usd_per_day),
            calls: gemini.calls_per_day,
            usd: amount(&gemini.usd_per_day),
        },
    })
}

/// The owner's overrides of profiles, by subsystem, except for locked ones.
pub(crate) fn profiles(config: &Config) -> BTreeMap<String, InferenceProfile> {
    let table = Subsystems::embedded();
    let mut all: BTreeMap<String, InferenceProfile> = config
        .inference
        .profiles
        .iter()
        .filter_map(|(name, profile)| {
            let row = table.find(name)?;
            (!row.locked).then(|| (row.name.clone(), profile.profile()))
        })
        .collect();
    if config.inference.sealed_testament {
        let testament = all.entry("death_testament".to_owned()).or_default();
        testament.tee_mode.get_or_insert(true);
    }
    if !config.inference.caching.auto_cache_control {
        for row in table.rows().filter(|row| !row.locked) {
            let profile = all.entry(row.name.clone()).or_default();
            profile.cache_control.get_or_insert(false);
        }
    }
    all
}

/// Warnings about a valid configuration.
pub(crate) fn notices(config: &Config) -> Vec<String> {
    let mut told = Vec::new();
    let table = Subsystems::embedded();
    for name in config.inference.profiles.keys() {
        if table.find(name).is_some_and(|row| row.locked) {
            told.push(format!(
                "`inference.profiles.{name}` is ignored: the settings of {name} are locked"
            ));
        }
    }
    for (subsystem, order) in &config.inference.routes {
        for name in order.iter().filter(|name| !is_configured(config, name)) {
            told.push(format!(
                "`inference.routes.{subsystem}` names `{name}`, which is not configured under `providers` and is skipped"
            ));
        }
    }
    if config.inference.provider_order != BACKENDS {
        let order = config.inference.provider_order.iter();
        for name in order.filter(|name| !is_configured(config, name)) {
            told.push(format!(
                "`inference.provider_order` names `{name}`, which is not configured under `providers` and is skipped"
            ));
        }
    }
    if let Some(name) = config
        .inference
        .dream_provider
        .as_deref()
        .filter(|name| !is_configured(config, name))
    {
        told.push(format!(
            "`inference.dream_provider` names `{name}`, which is not configured under `providers`"
        ));
    }
    if embedder(config).is_some() && !is_configured(config, "venice") {
        told.push(
            "`inference.embeddings.provider` names `venice`, which is not configured under `providers`"
                .to_owned(),
        );
    }
    told.extend(keepalive_notices(config));
    let tiers = &config.inference.tiers;
    for (key, tier) in [("t1", &tiers.t1), ("t2", &tiers.t2)] {
        let pinned = tier.as_ref().and_then(|tier| tier.provider.split_once('/'));
        if let Some((backend, _)) = pinned
            && BACKENDS.contains(&backend)
            && !is_configured(config, backend)
        {
            told.push(format!(
                "`inference.tiers.{key}.provider` names `{backend}`, which is not configured under `providers`"
            ));
        }
    }
    for backend in super::backends(config).unwrap_or_default() {
        if backend.is_open() {
            let (name, host) = (&backend.endpoint.name, &backend.endpoint.base.host);
            told.push(format!(
                "`{name}` gets no private requests: `{host}` is not an address of this machine or of a private \
                network. Add `private: true` to it if only you can read its requests"
            ));
        }
    }
    if config.providers.bankr.as_ref().is_some_and(lacks_key) {
        told.push(
            "`providers.bankr` has a wallet and no `api_key`, so it is not used. Create an API key at bankr.bot and \
             set `providers.bankr.api_key`"
                .to_owned(),
        );
    }
    let unknown = epoch_names(config)
        .iter()
        .filter(|name| ![PHASE, CYCLE].contains(&name.as_str()));
    for name in unknown {
        told.push(format!(
            "`providers.venice.cache.session_epoch_advance_on` names `{name}`, which is not an event; \
             events are `{PHASE}` and `{CYCLE}`"
        ));
    }
    told.extend(
        unused(config)
            .into_iter()
            .map(|key| format!("`{key}` has no effect yet")),
    );
    told
}

/// Logs the notices on a configuration as warnings. A sandbox has no keys of its owner.
pub(crate) fn tell_notices(config: &Config, sandbox: bool) {
    for notice in notices(config) {
        tracing::warn!("{notice}");
    }
    let direct = config.providers.direct.as_ref();
    if !sandbox && direct.is_some_and(|direct| direct.keys.iter().any(|key| key.bill != Some(true)))
    {
        tracing::info!(
            "requests to backends on your own keys (`direct/...`) count toward no budget cap unless `bill: true` is set"
        );
    }
}

/// Events that begin a new session epoch of an agent, by the name that a configuration gives them.
const PHASE: &str = "phase_transition";
const CYCLE: &str = "dream_cycle_start";

/// The configured ones; both if none is configured.
fn epoch_names(config: &Config) -> &[String] {
    let venice = config.providers.venice.as_ref();
    let cache = venice.and_then(|venice| venice.cache.as_ref());
    cache.map_or(&[], |cache| &cache.session_epoch_advance_on)
}

/// Which changes of an agent make new prompt-cache keys.
pub(crate) fn epoch_events(config: &Config) -> EpochEvents {
    let names = epoch_names(config);
    let has = |event: &str| names.is_empty() || names.iter().any(|name| name == event);
    EpochEvents {
        phase: has(PHASE),
        cycle: has(CYCLE),
    }
}

/// Settings that files of other programs have and that have no effect yet.
fn unused(config: &Config) -> Vec<&'static str> {
    let mut keys = Vec::new();
    let mut note = |is_set: bool, key| {
        if is_set {
            keys.push(key);
        }
    };
    if let Some(venice) = &config.providers.venice {
        let cache = venice.cache.as_ref();
        let cache = cache.is_some_and(|cache| cache.stable_kernel_ttl_s.is_some());
        let media = venice.multimodal.as_ref();
        let media = media
            .is_some_and(|media| media.embeddings || media.tts_alerts || media.image_generation);
        for (is_set, key) in [
            (
                venice.default_privacy_tier.is_some(),
                "providers.venice.default_privacy_tier",
            ),
            (!venice.characters.is_empty(), "providers.venice.characters"),
            (cache, "providers.venice.cache.stable_kernel_ttl_s"),
            (media, "providers.venice.multimodal"),
            (venice.golem_id.is_some(), "providers.venice.golem_id"),
            (
                venice.integration_phase_attestation == Some(true),
                "providers.venice.integration_phase_attestation",
            ),
        ] {
            note(is_set, key);
        }
    }
    let optimize = config.providers.direct.as_ref();
    note(
        optimize.is_some_and(|direct| direct.optimize),
        "providers.direct.optimize",
    );
    if let Some(bankr) = &config.providers.bankr {
        note(
            bankr.auto_topup_token.is_some() && bankr.auto_topup != Some(true),
            "providers.bankr.auto_topup_token",
        );
    }
    note(
        !matches!(
            config.inference.embeddings.provider.as_str(),
            "local" | "venice"
        ),
        "inference.embeddings.provider",
    );
    note(
        config.inference.embeddings.venice_model != "text-embedding-bge-m3"
            && config.inference.embeddings.provider != "venice",
        "inference.embeddings.venice_model",
    );
    keys
}

/// Bankr needs an API key; a wallet alone is not enough.
pub(super) fn lacks_key(bankr: &BankrConfig) -> bool {
    bankr.wallet.is_some() && bankr.api_key.as_ref().is_none_or(|key| key.is_empty())
}

fn is_configured(config: &Config, name: &str) -> bool {
    let providers = &config.providers;
    match name {
        "blockrun" => providers.blockrun.is_some(),
        "openrouter" => providers.openrouter.is_some(),
        "venice" => providers.venice.is_some(),
        "bankr" => providers.bankr.is_some(),
        "local" => providers.local.is_some(),
        other => {
            // Names that cannot be made are refused with the backends themselves.
            let keys = super::key_names(config).unwrap_or_default();
            let maker = BackendName::parse(other).key_of().unwrap_or(other);
            let named = format!("direct/{maker}");
            other == "direct" && !keys.is_empty() || keys.contains(&named)
        }
    }
}

/// Routes by row, with the provider of dreams first.
fn routes(config: &Config) -> BTreeMap<String, Vec<String>> {
    let inference = &config.inference;
    let mut all = spread(&inference.routes, Clone::clone);
    if let Some(first) = &inference.dream_provider {
        let rest = super::order(config).filter(|name| name != first);
        let order: Vec<String> = std::iter::once(first.as_str())
            .chain(rest)
            .map(str::to_owned)
            .collect();
        for row in members("dream") {
            all.entry(row.name.clone()).or_insert_with(|| order.clone());
        }
    }
    all
}

/// Settings by row of the table: what is said of a whole group (`dream`, `death`) holds for each of
/// its rows, unless that row has a setting of its own.
fn spread<T, U: Clone>(
    settings: &BTreeMap<String, T>,
    read: impl Fn(&T) -> U,
) -> BTreeMap<String, U> {
    let table = Subsystems::embedded();
    let mut all = BTreeMap::new();
    let found = || {
        settings
            .iter()
            .filter_map(|(name, value)| Some((table.find(name)?, value)))
    };
    for (row, value) in found() {
        all.insert(row.name.clone(), read(value));
    }
    for (row, value) in found().filter(|(row, _)| row.group == row.name) {
        for member in members(&row.name) {
            all.entry(member.name.clone())
                .or_insert_with(|| read(value));
        }
    }
    all
}

fn members(group: &str) -> impl Iterator<Item = &'static Subsystem> {
    let group = group.to_owned();
    Subsystems::embedded()
        .rows()
        .map(|row| &**row)
        .filter(move |row| row.group == group)
}

/// One trust holds for all local servers, so all of them have to have it.
fn trusts_local(config: &Config) -> bool {
    let providers = &config.providers;
    let direct = providers.direct.iter().flat_map(|direct| &direct.keys);
    let is_private = |address: Option<&str>, private: Option<bool>| {
        let base = address.and_then(|address| BaseUrl::parse(address).ok());
        private.unwrap_or_else(|| base.is_some_and(|base| base.is_private()))
    };
    let own = direct
        .filter(|key| key.provider == crate::config::DirectProvider::Local)
        .map(|key| key.trusted_local && is_private(key.base_url.as_deref(), key.private));
    let mut all = own
        .chain(providers.local.iter().map(|local| {
            local.trusted_local && is_private(local.base_url.as_deref(), local.private)
        }))
        .peekable();
    all.peek().is_some() && all.all(|trusted| trusted)
}

/// The model for embeddings, where the owner chose Venice. A local model is not built in, so
/// `local` leaves the choice to the gateway.
fn embedder(config: &Config) -> Option<String> {
    let embeddings = &config.inference.embeddings;
    (embeddings.provider == "venice").then(|| format!("venice/{}", embeddings.venice_model))
}

fn bankr(config: &BankrConfig) -> BankrPolicy {
    let maybe = |number: &Option<Number>| number.as_ref().map(amount);
    BankrPolicy {
        self_funding: config.is_self_funding(),
        subsystems: config.subsystems.clone(),
        revenue_balance: maybe(&config.revenue_balance_usd),
        lifetime_revenue: maybe(&config.lifetime_revenue_usd),
        ratio: config.sustainability,
        max_call: maybe(&config.max_call_usd),
    }
}

/// An amount that was checked when the configuration was read.
fn amount(number: &Number) -> MicroUsd {
    usd("", number).unwrap_or(MicroUsd::ZERO)
}

/// The policy of the cache of answers.
pub(super) fn caching(config: &Config) -> CachePolicy {
    let (cache, hash) = (&config.cache, &config.cache.hash);
    let ms = |span: Span| u64::try_from(span.0.as_millis()).unwrap_or(u64::MAX);
    let bytes = |size: ByteSize| u64::try_from(size.0).unwrap_or(u64::MAX);
    CachePolicy {
        enabled: hash.enabled,
        single_flight: hash.single_flight,
        last_resort: cache.last_resort,
        scope: match cache.scope {
            RawCacheScope::Agent => Scope::Agent,
            RawCacheScope::Tenant => Scope::Tenant,
        },
        keeps_private: cache.private,
        regime: match cache.regime {
            RawRegime::Unknown => None,
            RawRegime::Calm => Some(MarketRegime::Calm),
            RawRegime::Normal => Some(MarketRegime::Normal),
            RawRegime::Volatile => Some(MarketRegime::Volatile),
            RawRegime::Crisis => Some(MarketRegime::Crisis),
        },
        unasked_bytes: hash.max_unasked.0,
        limits: Limits {
            bytes: bytes(hash.max_bytes),
            entry_bytes: bytes(hash.max_entry),
            lifetimes: Lifetimes {
                market_ms: ms(hash.market_ttl),
                static_ms: ms(hash.ttl),
                private_ms: ms(hash.private_ttl),
            },
            ..Limits::default()
        },
        semantic: semantic(config),
        revision: config.revision.clone(),
    }
}

/// The policy of answers to the same question in other words.
fn semantic(config: &Config) -> SemanticPolicy {
    let semantic = &config.cache.semantic;
    SemanticPolicy {
        enabled: semantic.enabled,
        deadline: semantic.deadline.0,
        entries: semantic.max_entries,
        #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1")]
        min_similarity: semantic.min_similarity as f32,
        golem_domains: semantic.golem_domains.iter().map(domain).collect(),
        rules: AuditRules {
            mode: match semantic.mode {
                RawAuditMode::Guarded => AuditMode::Guarded,
                RawAuditMode::Verified => AuditMode::Verified,
            },
            max_error: semantic.max_error,
            share: semantic.audit_share,
            baseline: semantic.baseline_share,
            first: semantic.first_audits,
            audits_per_day: semantic.audits_per_day,
            ..AuditRules::default()
        },
    }
}

const fn domain(named: &RawDomain) -> Domain {
    match named {
        RawDomain::Reference => Domain::Reference,
        RawDomain::General => Domain::General,
        RawDomain::Market => Domain::Market,
        RawDomain::Strategy => Domain::Strategy,
        RawDomain::Unknown => Domain::Unknown,
    }
}

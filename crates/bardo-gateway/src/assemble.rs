//! From settings to the world that the engine sees.

mod address;
pub(crate) mod names;
mod policy;
mod price;

use bardo_access::Allowance;
use std::collections::HashMap;
use std::sync::Arc;

use bardo_engine::{Billing, Breaker, Deadlines, DefaultLimits, Resilience, SetupPolicy, Snapshot};
use bardo_profile::MinPFallback;
use bardo_providers::{BaseUrl, Endpoint, EndpointConfig};
use bardo_router::{
    BackendModels, BackendSpec, Catalog, ModelFilter, OwnerModel, RosterBuilder, Router, Terms,
};
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::model::{Dialect, ModelEntry, Price, Service};
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::receipt::ProviderPayment;
use bardo_types::secret::Secret;

use self::address::{complete_path, usual_address};
pub(crate) use self::policy::{notices, policy, profiles, tell_notices};
use crate::config::{
    self, BACKENDS, BankrConfig, Config, DirectKey, DirectProvider, LimitsConfig, OwnerModelConfig,
    ProviderMode, ServiceConfig,
};
use crate::{screens, wallet};

/// The lists that backends gave of their models, by backend name.
pub(crate) type LiveLists = HashMap<String, Vec<ModelEntry>>;

/// A backend with what choosing needs of it.
pub(crate) struct AssembledBackend {
    pub(crate) endpoint: Arc<Endpoint>,
    spec: BackendSpec,
    price: Option<Price>,
    /// How well it keeps requests, where that is not its service's to say.
    security: Option<SecurityClass>,
    /// Its configuration names every model it serves, and what they cost where its list would, so
    /// that list tells nothing new.
    pub(crate) closed: bool,
}

impl AssembledBackend {
    /// With the owner's word on whether it keeps requests private.
    fn kept(self, private: Option<bool>) -> Self {
        let security = match (private, self.spec.service) {
            (Some(true), _) => Some(SecurityClass::Private),
            (Some(false), _) => Some(SecurityClass::Standard),
            (None, _) => self.security,
        };
        Self { security, ..self }
    }

    /// With another means of payment than the service usually has.
    fn paid_by(mut self, payment: ProviderPayment) -> Self {
        let endpoint = Arc::get_mut(&mut self.endpoint);
        endpoint.expect("it was made just now").payment = payment;
        self
    }

    /// Paid by staked DIEM: a call costs nothing, unless the owner gave a price.
    fn paid_by_stake(self) -> Self {
        let nothing = Price {
            web_search: Some(MicroUsd::ZERO),
            ..Price::default()
        };
        Self {
            price: self.price.or(Some(nothing)),
            ..self.paid_by(ProviderPayment::Diem)
        }
    }

    /// Whether requests to it cost money that no account pays. A local server without a price costs
    /// nothing.
    pub(crate) fn is_unbilled(&self) -> bool {
        let is_free = self.spec.service == Service::Local && self.price.is_none();
        self.endpoint.direct && !is_free
    }

    /// Whether it is a server of the owner's that may be anywhere, so that private requests do not
    /// go there.
    fn is_open(&self) -> bool {
        self.spec.service == Service::Local && self.security == Some(SecurityClass::Standard)
    }
}

/// The backends' names in the owner's order, configured or not.
fn order(config: &Config) -> impl Iterator<Item = &str> {
    let order = &config.inference.provider_order;
    let rest = BACKENDS
        .into_iter()
        .filter(|name| !order.iter().any(|ordered| ordered == name));
    order.iter().map(String::as_str).chain(rest)
}

/// Whether the owner lets a backend be used at all.
fn is_used(config: &Config, name: &str) -> bool {
    match config.inference.provider_mode {
        None | Some(ProviderMode::Both) => true,
        Some(ProviderMode::Venice) => name == "venice",
        Some(ProviderMode::Bardo) => name != "venice",
    }
}

/// The configured backends in the owner's order.
pub(crate) fn backends(config: &Config) -> Result<Vec<AssembledBackend>, String> {
    owner_models(config)?;
    let mut all = Vec::new();
    for name in order(config).filter(|name| is_used(config, name)) {
        let providers = &config.providers;
        match name {
            "direct" => {
                let keys = providers.direct.iter().flat_map(|direct| &direct.keys);
                let names = key_names(config)?;
                for ((index, key), name) in keys.enumerate().zip(names) {
                    all.push(direct(key, index, name)?);
                }
            }
            "local" => {
                let private = providers.local.as_ref().and_then(|local| local.private);
                let config = providers.local.as_ref().map(ServiceConfig::from);
                let made = service(Service::Local, config)?;
                all.extend(made.map(|backend| backend.kept(private)));
            }
            "blockrun" => {
                let config = providers.blockrun.as_ref().map(ServiceConfig::from);
                all.extend(service(Service::BlockRun, config)?);
            }
            "openrouter" => {
                let config = providers.openrouter.as_ref().map(ServiceConfig::from);
                all.extend(service(Service::OpenRouter, config)?);
            }
            "venice" => {
                let config = providers.venice.as_ref().map(ServiceConfig::from);
                let made = service(Service::Venice, config)?;
                let staked = providers.venice.as_ref().is_some_and(|one| one.diem_staked);
                all.extend(made.map(|backend| match staked {
                    true => backend.paid_by_stake(),
                    false => backend,
                }));
            }
            "bankr" => {
                let bankr = providers.bankr.as_ref();
                let config = bankr
                    .filter(|bankr| !policy::lacks_key(bankr))
                    .map(ServiceConfig::from);
                let made = service(Service::Bankr, config)?;
                let is_wallet = bankr.is_some_and(BankrConfig::is_self_funding);
                all.extend(made.map(|backend| match is_wallet {
                    true => backend.paid_by(ProviderPayment::Wallet),
                    false => backend,
                }));
            }
            _ => {}
        }
    }
    if all.is_empty() && config.has_providers() {
        return Err(
            "no backend is usable: `inference.provider_mode` excludes every configured backend, or Bankr is the \
            only backend and has no API key. Change `inference.provider_mode`, or set `providers.bankr.api_key`"
                .into(),
        );
    }
    Ok(all)
}

/// The names of the backends of the owner's keys. A number distinguishes several keys of one maker or
/// vendor.
fn key_names(config: &Config) -> Result<Vec<String>, String> {
    let keys = config.providers.direct.iter();
    let keys = keys.flat_map(|direct| &direct.keys).enumerate();
    let mut counts: HashMap<String, usize> = HashMap::new();
    keys.map(|(index, key)| {
        let name = key.backend_name(&place_of(index))?;
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        Ok(match *count {
            1 => name,
            several => format!("{name}#{several}"),
        })
    })
    .collect()
}

fn place_of(index: usize) -> String {
    format!("providers.direct.keys[{index}]")
}

const fn service_of(provider: DirectProvider) -> Service {
    match provider {
        DirectProvider::Openai => Service::OpenAi,
        DirectProvider::Anthropic => Service::Anthropic,
        DirectProvider::Google => Service::Google,
        DirectProvider::Deepseek => Service::DeepSeek,
        DirectProvider::Local => Service::Local,
        DirectProvider::Vendor(_) | DirectProvider::Compatible => Service::Compatible,
    }
}

fn direct(key: &DirectKey, index: usize, name: String) -> Result<AssembledBackend, String> {
    let service = service_of(key.provider);
    let vendor = key.vendor();
    let usual = vendor.map(|vendor| vendor.base_url.clone());
    let config = ServiceConfig {
        bill: Some(key.bill.unwrap_or(false)),
        base_url: key.base_url.clone().or(usual),
        ..ServiceConfig::from(key)
    };
    let place = place_of(index);
    if let Some(vendor) = vendor
        && key.api_key.as_ref().is_none_or(Secret::is_empty)
    {
        return Err(format!(
            "`{place}.api_key` is required; e.g. `api_key: env:{}`",
            vendor.env[0]
        ));
    }
    let is_own = key.base_url.is_some() || service == Service::Compatible;
    if key.private == Some(true) && !is_own {
        return Err(format!(
            "`{place}.private` is only for a server of your own; remove it, or set `{place}.base_url` to the \
            address of your server"
        ));
    }
    let made = backend(service, name, &place, &config)?;
    Ok(made.kept(key.private))
}

fn service(
    service: Service,
    config: Option<ServiceConfig>,
) -> Result<Option<AssembledBackend>, String> {
    let name = service.as_str();
    let place = format!("providers.{name}");
    config
        .map(|config| backend(service, name.to_owned(), &place, &config))
        .transpose()
}

fn backend(
    service: Service,
    name: String,
    place: &str,
    config: &ServiceConfig,
) -> Result<AssembledBackend, String> {
    let key = config
        .api_key
        .clone()
        .unwrap_or_else(|| Secret::new(String::new()));
    let usual = usual_address(service, !key.is_empty());
    let url = config.base_url.as_deref().or(usual);
    let url = url.ok_or_else(|| {
        format!("`{place}.base_url` is required, such as http://127.0.0.1:11434/v1 for Ollama")
    })?;
    let mut base = BaseUrl::parse(url).map_err(|error| format!("`{place}.base_url`: {error}"))?;
    complete_path(&mut base.path, service, !key.is_empty());
    if matches!(config.api, Some(Dialect::Gemini | Dialect::Completions)) {
        return Err(format!(
            "`{place}.api` must be chat, responses or anthropic"
        ));
    }
    let keyless = matches!(
        service,
        Service::Local | Service::BlockRun | Service::Compatible
    );
    if key.is_empty() && !keyless {
        return Err(format!(
            "`{place}.api_key` is required, such as \"env:NAME\""
        ));
    }
    let price = match &config.price {
        None => None,
        Some(price) => Some(price::read(price, place)?),
    };
    let is_complete =
        !config.models.is_empty() && !config.models.iter().any(|model| model.ends_with('*'));
    let lists_prices = matches!(
        service,
        Service::OpenRouter | Service::Venice | Service::Bankr | Service::BlockRun
    );
    // What runs here or in a network of the owner's is private; of another address nobody knows.
    let security = (service == Service::Local).then(|| {
        if base.is_private() {
            SecurityClass::Private
        } else {
            SecurityClass::Standard
        }
    });
    let endpoint = Endpoint::new(EndpointConfig {
        name: name.clone(),
        service,
        base,
        key,
        allow_private: config.allow_private,
        dialects: config.api.map(|api| vec![api]),
        direct: !config.bill.unwrap_or(service != Service::Local),
    });
    let closed = is_complete && (price.is_some() || !lists_prices) || !endpoint.provider().lists();
    let spec = BackendSpec {
        name,
        service,
        filter: ModelFilter::new(config.models.clone()),
    };
    Ok(AssembledBackend {
        endpoint: Arc::new(endpoint),
        spec,
        price,
        security,
        closed,
    })
}

/// The owner's corrections of models.
fn owner_models(config: &Config) -> Result<Vec<OwnerModel>, String> {
    let rows = config.catalog.models.iter().enumerate();
    rows.map(|(index, row)| {
        let OwnerModelConfig {
            id,
            backend,
            like,
            tier,
            rating,
            features,
            without,
            price,
            security,
        } = row;
        let place = format!("catalog.models[{index}]");
        let price = price.as_ref().map(|price| price::read(price, &place));
        Ok(OwnerModel {
            id: id.clone(),
            backend: backend.clone(),
            like: like.clone(),
            tier: *tier,
            rating: *rating,
            features: features.iter().map(|name| name.0).collect(),
            without: without.iter().map(|name| name.0).collect(),
            price: price.transpose()?,
            security: security.map(|class| class.0),
        })
    })
    .collect()
}

/// The catalog with what the owner says of models.
fn owners(config: &Config, catalog: &Arc<Catalog>) -> Arc<Catalog> {
    let rows = owner_models(config).unwrap_or_default();
    if rows.is_empty() {
        return Arc::clone(catalog);
    }
    // The rows were checked when the configuration was read.
    let with = Catalog::clone(catalog).with_owner(rows);
    with.map_or_else(|_| Arc::clone(catalog), Arc::new)
}

/// Builds the world from backends and what they listed.
pub(crate) fn snapshot(
    config: &Config,
    backends: &[AssembledBackend],
    catalog: &Arc<Catalog>,
    live: &LiveLists,
    sandbox: bool,
) -> Snapshot {
    let mut roster = RosterBuilder::new(owners(config, catalog));
    for backend in backends {
        let models = match live.get(&backend.endpoint.name) {
            Some(list) => BackendModels::Live(list.clone()),
            None => BackendModels::Snapshot,
        };
        roster.backend(backend.spec.clone(), models, backend.price);
        let stores = backend.endpoint.service == Service::Google
            && policy::stored_prefixes(config).is_some();
        let own = if stores {
            FeatureSet::EMPTY.with(Feature::ExplicitCaching)
        } else {
            FeatureSet::EMPTY
        };
        roster.terms(Terms {
            billed: Some(!backend.endpoint.direct),
            security: backend.security,
            features: own,
        });
    }
    let endpoints = backends.iter().map(|backend| Arc::clone(&backend.endpoint));
    // Last, so that it is never the first choice of a name that another backend has.
    #[cfg(feature = "embedder")]
    let endpoints = endpoints.chain([crate::vectors::backend(&mut roster)]);
    for name in config.inference.aliases.keys() {
        // An alias may name another. Cycles were refused when the configuration was read.
        if let Ok(model) = config.inference.unaliased(name) {
            roster.alias(name.clone(), model.to_owned());
        }
    }
    Snapshot {
        router: Router::new(roster.build(), policy(config)),
        profiles: profiles(config),
        setup: SetupPolicy {
            min_p_fallback: match config.inference.min_p_fallback {
                config::RawMinPFallback::TopP => MinPFallback::TopP,
                config::RawMinPFallback::Drop => MinPFallback::Drop,
            },
            cache_key_prefix: config.inference.caching.prompt_cache_key_prefix.clone(),
            cache_key_secret: config.inference.caching.secret.clone(),
            epoch_events: policy::epoch_events(config),
            web_search: policy::web_search(config),
            web_search_budget: policy::web_search_budget(config),
            keepalive: policy::keepalive(config),
            stored_prefixes: policy::stored_prefixes(config),
            verify_above: policy::verify_above(config),
        },
        endpoints: endpoints.collect(),
        fallbacks: config.inference.fallbacks.clone().into_iter().collect(),
        deadlines: deadlines(config),
        max_attempts: config.upstream.max_attempts,
        resilience: resilience(config),
        // A real server puts the wallet of its configuration here, which outlives reloads.
        wallet: sandbox.then(wallet::simulated),
        sandbox,
        billing: Billing {
            // Checked when the configuration was read.
            spread: config.inference.spread().unwrap_or_default(),
            ..Billing::new(config.upstream.total_timeout.0)
        },
        limits: limits(&config.limits),
        stages: screens::stages(config),
        cache: policy::caching(config),
    }
}

/// Limits of keys that set none themselves.
fn limits(config: &LimitsConfig) -> DefaultLimits {
    let hour = |tokens| Allowance {
        tokens,
        overage: config.allowance_overage,
    };
    let named = config.allowances.iter();
    DefaultLimits {
        requests_per_minute: Some(config.requests_per_minute),
        tokens_per_minute: Some(config.tokens_per_minute),
        allowance: Some(hour(config.allowance_tokens_per_hour)),
        allowances: named
            .map(|(name, tokens)| (name.clone(), hour(*tokens)))
            .collect(),
    }
}

/// How many models of each backend have no known price.
pub(crate) fn unpriced(snapshot: &Snapshot) -> Vec<(String, usize)> {
    let roster = snapshot.roster();
    let names = roster.backends().iter().map(|spec| spec.name.clone());
    names
        .enumerate()
        .map(|(index, name)| (name, roster.unpriced(index).count()))
        .collect()
}

fn deadlines(config: &Config) -> Deadlines {
    let upstream = &config.upstream;
    Deadlines {
        header: upstream.header_timeout.0,
        whole_header: if upstream.header_timeout_is_set {
            upstream.header_timeout.0
        } else {
            upstream.total_timeout.0
        },
        first_token: upstream.first_token_timeout.0,
        idle: upstream.idle_timeout.0,
        total: upstream.total_timeout.0,
        heartbeat: config.server.heartbeat.0,
    }
}

fn resilience(config: &Config) -> Resilience {
    let breaker = &config.upstream.breaker;
    Resilience {
        retry_budget_permille: permille(config.upstream.retry_budget),
        breaker: Breaker {
            enabled: breaker.enabled,
            failures: breaker.failures,
            connect_failures: breaker.connect_failures,
            error_permille: permille(breaker.error_rate),
            min_samples: breaker.min_samples,
            open_for: breaker.open_for.0,
            open_for_max: breaker.open_for_max.0,
        },
    }
}

fn permille(share: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded just before"
    )]
    let permille = (share.clamp(0.0, 1.0) * 1000.0).round() as u32;
    permille
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where `service` is found with this key and this `base_url`.
    fn address(service: Service, key: &str, base_url: Option<&str>) -> String {
        let config = ServiceConfig {
            api_key: (!key.is_empty()).then(|| Secret::new(key.into())),
            base_url: base_url.map(str::to_owned),
            ..ServiceConfig::default()
        };
        let made = backend(service, "b".into(), "providers.b", &config).unwrap();
        format!("{}{}", made.endpoint.base.host, made.endpoint.base.path)
    }

    #[test]
    fn a_key_of_blockrun_goes_to_the_door_that_knows_it() {
        let check = |key, base_url, expected: &str| {
            assert_eq!(address(Service::BlockRun, key, base_url), expected);
        };
        check("brk_live_1", None, "api.blockrun.ai/v1");
        check("", None, "blockrun.ai/api/v1");
        check(
            "brk_live_1",
            Some("https://api.blockrun.ai"),
            "api.blockrun.ai/v1",
        );
        check(
            "brk_live_1",
            Some("https://api.blockrun.ai/v1/"),
            "api.blockrun.ai/v1",
        );
        check("", Some("https://blockrun.ai"), "blockrun.ai/api/v1");
        check(
            "",
            Some("https://testnet.blockrun.ai/api"),
            "testnet.blockrun.ai/api/v1",
        );
    }

    #[test]
    fn the_head_of_a_whole_answer_has_all_the_time_unless_somebody_sets_another() {
        let read = |upstream: serde_json::Value| {
            let settings = serde_json::json!({ "upstream": upstream });
            deadlines(&crate::config::embedded("test", settings).unwrap().config)
        };
        let plain = read(serde_json::json!({}));
        assert_eq!(plain.header.as_secs(), 60);
        assert_eq!(plain.whole_header, plain.total);
        // The same value, but somebody's own.
        let set = read(serde_json::json!({ "header_timeout": "60s" }));
        assert_eq!(set.whole_header, set.header);
    }

    #[test]
    fn shares_are_exact_in_thousandths() {
        assert_eq!(permille(0.2), 200);
        assert_eq!(permille(0.0), 0);
        assert_eq!(permille(1.0), 1000);
        assert_eq!(permille(0.0005), 1);
    }

    #[test]
    fn addresses_are_taken_with_and_without_their_version() {
        for url in ["https://api.anthropic.com", "https://api.anthropic.com/v1"] {
            assert_eq!(
                address(Service::Anthropic, "k", Some(url)),
                "api.anthropic.com"
            );
        }
        for url in ["https://llm.bankr.bot", "https://llm.bankr.bot/v1"] {
            assert_eq!(address(Service::Bankr, "k", Some(url)), "llm.bankr.bot/v1");
        }
    }
}

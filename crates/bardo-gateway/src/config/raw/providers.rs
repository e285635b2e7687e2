//! The backends.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bardo_router::{Vendor, vendors};
use bardo_types::model::Dialect;
use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{PriceConfig, optional_secret};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Providers {
    /// BlockRun: with an account's `brk_` key from its credit, without a key paid per call (x402).
    pub(crate) blockrun: Option<ServiceConfig>,
    /// OpenRouter.
    pub(crate) openrouter: Option<OpenRouterConfig>,
    /// Venice.
    pub(crate) venice: Option<VeniceConfig>,
    /// Bankr.
    pub(crate) bankr: Option<BankrConfig>,
    /// A server of your own in OpenAI format.
    pub(crate) local: Option<LocalConfig>,
    /// Keys of your own for the makers of models.
    pub(crate) direct: Option<Direct>,
}

/// Writes a backend's configuration: the members that all of them have, and its own.
macro_rules! backend_config {
    ($(#[$outer:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            /// The key, by `env:NAME`, `file:PATH` or as it is.
            #[serde(default, deserialize_with = "optional_secret")]
            #[schemars(with = "Option<String>")]
            pub(crate) api_key: Option<Secret>,
            /// Where it is, when not at its usual address.
            #[serde(alias = "endpoint")]
            pub(crate) base_url: Option<String>,
            /// The models it shall serve; a trailing `*` matches any ending. All, if absent.
            #[serde(default)]
            pub(crate) models: Vec<String>,
            /// Its host name may resolve to a private address.
            #[serde(default)]
            pub(crate) allow_private: bool,
            /// Its price, where no list tells.
            pub(crate) price: Option<PriceConfig>,
            /// Charge callers for it.
            pub(crate) bill: Option<bool>,
            /// The dialect to speak to it, where its description is not what you want.
            #[serde(alias = "dialect")]
            #[schemars(with = "Option<String>")]
            pub(crate) api: Option<Dialect>,
            $($(#[$meta])* pub(crate) $field: $type,)*
        }

        /// What it has in common with every other backend.
        impl From<&$name> for ServiceConfig {
            fn from(config: &$name) -> Self {
                Self {
                    api_key: config.api_key.clone(),
                    base_url: config.base_url.clone(),
                    models: config.models.clone(),
                    allow_private: config.allow_private,
                    price: config.price.clone(),
                    bill: config.bill,
                    api: config.api,
                }
            }
        }
    };
}

backend_config! {
    /// One backend.
    ServiceConfig {}
}

backend_config! {
    /// OpenRouter.
    OpenRouterConfig {
        /// Models that may be chosen without being named, beside those that the catalog rates.
        #[serde(default)]
        models_auto: Vec<String>,
    }
}

backend_config! {
    /// A server of your own.
    LocalConfig {
        /// Whether it keeps requests private: by default where its address is on this machine or
        /// in a private network. `true` says so of another address, `false` of a server that
        /// passes requests on.
        private: Option<bool>,
        /// Nobody else can read what it is sent: it meets `e2ee` where no attestation is asked.
        #[serde(default)]
        trusted_local: bool,
    }
}

backend_config! {
    /// Venice.
    VeniceConfig {
        /// Compute that you staked for is there to be used, so it may be asked for more than
        /// private requests.
        #[serde(default)]
        diem_staked: bool,
        /// What its requests ask for where nothing else says: `private` or `tee`. Taken and not
        /// used yet.
        default_privacy_tier: Option<super::privacy::Class>,
        /// Characters by role. Taken and not used yet.
        #[serde(default)]
        characters: BTreeMap<String, String>,
        /// Its cache of prompts. Taken and not used yet.
        cache: Option<VeniceCache>,
        /// What else it makes. Taken and not used yet.
        multimodal: Option<VeniceMultimodal>,
        /// Profiles may let Venice search the web: `dream_rem` does. Search engines then read what
        /// the agent thinks about. By default only where `inference.profiles.<subsystem>` says
        /// `web_search: true`.
        web_search_enabled: Option<bool>,
        /// What the searches of one cycle of an agent may cost, in USD; by default 0.05.
        #[schemars(with = "Option<f64>")]
        web_search_budget_per_cycle_usdc: Option<serde_json::Number>,
        /// The agent. Taken and not used yet: requests name theirs.
        golem_id: Option<String>,
        /// The integration phase of dreams asks for attestation. Taken and not used yet.
        integration_phase_attestation: Option<bool>,
    }
}

backend_config! {
    /// Bankr.
    BankrConfig {
        /// What agents earn pays for their thoughts; by default where `wallet` or `auto_topup` is
        /// set.
        self_funding: Option<bool>,
        /// The subsystems that it serves when the gateway chooses.
        #[serde(default = "bankr_subsystems")]
        subsystems: Vec<String>,
        /// The address of the wallet that earns and pays.
        wallet: Option<String>,
        /// What it holds of revenue, in USD: a tenth of it is the most that a call may cost.
        #[schemars(with = "Option<f64>")]
        revenue_balance_usd: Option<serde_json::Number>,
        /// What it earned in its life, in USD.
        #[schemars(with = "Option<f64>")]
        lifetime_revenue_usd: Option<serde_json::Number>,
        /// Revenue per cost of the last 30 days, where no hint says.
        sustainability: Option<f64>,
        /// The most that a call may cost, in USD.
        #[schemars(with = "Option<f64>")]
        max_call_usd: Option<serde_json::Number>,
        /// Credit is bought when it runs low; the agent's runtime does that.
        auto_topup: Option<bool>,
        /// How much is bought at once, in USD.
        #[schemars(with = "Option<f64>")]
        auto_topup_amount_usd: Option<serde_json::Number>,
        /// Below how much, in USD.
        #[schemars(with = "Option<f64>")]
        auto_topup_threshold_usd: Option<serde_json::Number>,
        /// What it is paid in: `USDC`, `ETH`, …
        auto_topup_token: Option<String>,
    }
}

fn bankr_subsystems() -> Vec<String> {
    vec!["autonomous".into(), "social".into()]
}

impl BankrConfig {
    /// Whether what agents earn pays.
    pub(crate) fn is_self_funding(&self) -> bool {
        self.self_funding
            .unwrap_or(self.wallet.is_some() || self.auto_topup == Some(true))
    }
}

/// Venice's cache of prompts.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct VeniceCache {
    /// How long the part of a prompt that stays the same is kept, in seconds.
    pub(crate) stable_kernel_ttl_s: Option<u64>,
    /// What begins a new session.
    pub(crate) session_epoch_advance_on: Vec<String>,
}

/// What else Venice makes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct VeniceMultimodal {
    /// Embeddings.
    pub(crate) embeddings: bool,
    /// Spoken alerts.
    pub(crate) tts_alerts: bool,
    /// Images.
    pub(crate) image_generation: bool,
}

/// Keys of your own.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Direct {
    /// One entry per key, asked in this order.
    #[serde(default)]
    pub(crate) keys: Vec<DirectKey>,
    /// Ordinary requests on your keys may be changed to cost less. Taken and not used yet.
    #[serde(default)]
    pub(crate) optimize: bool,
}

backend_config! {
    /// A key of your own. By default its owner pays, and callers are not charged.
    DirectKey {
        /// Whose key it is: a maker, `local`, a known vendor such as `groq`, or
        /// `openai_compatible` with a `name` and a `base_url`.
        provider: DirectProvider,
        /// Of `openai_compatible`: what the vendor is called; `<name>/<model>` pins it.
        name: Option<String>,
        /// Whether it keeps requests private. Of `local` by default where its address is on this
        /// machine or in a private network, of others never.
        private: Option<bool>,
        /// Of a `local` one: nobody else can read what it is sent.
        #[serde(default)]
        trusted_local: bool,
    }
}

/// Whose key it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DirectProvider {
    /// api.openai.com, or a server that speaks its format.
    #[default]
    Openai,
    /// api.anthropic.com.
    Anthropic,
    /// The Gemini API.
    Google,
    /// api.deepseek.com.
    Deepseek,
    /// A server of your own in OpenAI format.
    Local,
    /// Another vendor in OpenAI format that the gateway knows.
    Vendor(&'static Vendor),
    /// Any other.
    Compatible,
}

impl DirectProvider {
    /// The names that it may have in a file.
    fn names() -> &'static [&'static str] {
        static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
            let makers = [
                "openai",
                "anthropic",
                "google",
                "gemini",
                "deepseek",
                "local",
            ];
            let vendors = vendors().iter().map(|vendor| vendor.name.as_str());
            makers
                .into_iter()
                .chain(vendors)
                .chain(["openai_compatible"])
                .collect()
        });
        &NAMES
    }

    fn parse(name: &str) -> Option<Self> {
        match name {
            "openai" => Some(Self::Openai),
            "anthropic" => Some(Self::Anthropic),
            "google" | "gemini" => Some(Self::Google),
            "deepseek" => Some(Self::Deepseek),
            "local" => Some(Self::Local),
            "openai_compatible" => Some(Self::Compatible),
            vendor => bardo_router::vendor(vendor).map(Self::Vendor),
        }
    }
}

impl<'de> Deserialize<'de> for DirectProvider {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name)
            .ok_or_else(|| serde::de::Error::unknown_variant(&name, DirectProvider::names()))
    }
}

impl JsonSchema for DirectProvider {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DirectProvider".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "enum": Self::names() })
    }
}

impl DirectKey {
    /// What the backend of this key is called, before another one is told from it by a number.
    ///
    /// # Errors
    /// When it has a name that it must not have, or none that it needs.
    pub(crate) fn backend_name(&self, place: &str) -> Result<String, String> {
        let given = self.name.as_deref();
        let name = match (self.provider, given) {
            (DirectProvider::Compatible, Some(name)) => {
                check_name(name, place)?;
                name
            }
            (DirectProvider::Compatible, None) => {
                return Err(format!(
                    "`{place}.name` is required: `<name>/<model>` asks this vendor, so add e.g. `name: myvendor`"
                ));
            }
            (_, Some(_)) => {
                return Err(format!(
                    "`{place}.name` is for `provider: openai_compatible`; leave it out"
                ));
            }
            (DirectProvider::Openai, None) => "openai",
            (DirectProvider::Anthropic, None) => "anthropic",
            (DirectProvider::Google, None) => "google",
            (DirectProvider::Deepseek, None) => "deepseek",
            (DirectProvider::Local, None) => "local",
            (DirectProvider::Vendor(vendor), None) => &vendor.name,
        };
        Ok(format!("direct/{name}"))
    }

    /// The known vendor that it is a key of.
    pub(crate) fn vendor(&self) -> Option<&'static Vendor> {
        match self.provider {
            DirectProvider::Vendor(vendor) => Some(vendor),
            DirectProvider::Compatible => bardo_router::vendor(self.name.as_deref()?),
            _ => None,
        }
    }
}

/// Names that mean another backend or the maker of a model.
const TAKEN: [&str; 12] = [
    "bardo",
    "direct",
    "local",
    "blockrun",
    "openrouter",
    "venice",
    "bankr",
    "openai",
    "anthropic",
    "google",
    "gemini",
    "deepseek",
];

fn check_name(name: &str, place: &str) -> Result<(), String> {
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > 40 || !name.bytes().all(fits) {
        return Err(format!(
            "`{place}.name`: `{name}` must be 1 to 40 of a-z, 0-9, `-`, `_` and `.`"
        ));
    }
    if TAKEN.contains(&name) {
        return Err(format!(
            "`{place}.name`: `{name}` already means another backend or maker; choose another name, e.g. `my-{name}`"
        ));
    }
    Ok(())
}

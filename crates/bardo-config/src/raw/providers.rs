//! Configuration of the backends.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bardo_router::{Vendor, vendors};
use bardo_types::model::Dialect;
use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::payments::RawPaymentScheme;
use super::{PriceConfig, optional_secret};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Providers {
    /// BlockRun. With the `brk_` key of an account it uses the credit of the account; without a key
    /// it is paid per call (x402).
    pub blockrun: Option<BlockRunConfig>,
    /// The backend OpenRouter.
    pub openrouter: Option<OpenRouterConfig>,
    /// The backend Venice.
    pub venice: Option<VeniceConfig>,
    /// The backend Bankr.
    pub bankr: Option<BankrConfig>,
    /// Your own server with an OpenAI-compatible API.
    pub local: Option<LocalConfig>,
    /// Your own API keys at the makers of models.
    pub direct: Option<Direct>,
}

/// The configuration of a backend: the common members and its own.
macro_rules! backend_config {
    ($(#[$outer:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// API key: `env:NAME`, `file:PATH` or the key itself.
            #[serde(default, deserialize_with = "optional_secret")]
            #[schemars(with = "Option<String>")]
            pub api_key: Option<Secret>,
            /// Address of the API, if not the usual one.
            #[serde(alias = "endpoint")]
            pub base_url: Option<String>,
            /// Models to use; a trailing `*` matches any ending. All models if absent.
            #[serde(default)]
            pub models: Vec<String>,
            /// Allow a host name that resolves to a private address.
            #[serde(default)]
            pub allow_private: bool,
            /// Price of models that no list has a price for.
            pub price: Option<PriceConfig>,
            /// Charge clients for its answers.
            pub bill: Option<bool>,
            /// Dialect of the API: `chat`, `responses` or `anthropic`.
            #[serde(alias = "dialect")]
            #[schemars(with = "Option<String>")]
            pub api: Option<Dialect>,
            $($(#[$meta])* pub $field: $type,)*
        }

        /// The common members.
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
    /// Settings of one backend.
    ServiceConfig {}
}

backend_config! {
    /// Settings of BlockRun.
    BlockRunConfig {
        /// Private key of the wallet that pays per call, as `env:NAME` or `file:PATH`: 64 hex digits,
        /// or the JSON of a keystore.
        #[serde(default, deserialize_with = "optional_secret")]
        #[schemars(with = "Option<String>")]
        wallet_key: Option<Secret>,
        /// Passphrase of the keystore, as `env:NAME` or `file:PATH`.
        #[serde(default, deserialize_with = "optional_secret")]
        #[schemars(with = "Option<String>")]
        wallet_passphrase: Option<Secret>,
        /// Most that one call may cost, in USD. Default: 1.
        #[schemars(with = "Option<f64>")]
        wallet_max_per_call_usd: Option<serde_json::Number>,
        /// Most that the wallet signs in a day (UTC), in USD. Default: 10.
        #[schemars(with = "Option<f64>")]
        wallet_max_per_day_usd: Option<serde_json::Number>,
        /// Network that it pays on: `base` or `base-sepolia`. Default: `base`.
        wallet_network: Option<WalletNetwork>,
        /// Scheme that it pays by where a seller offers more than one: `exact` or `upto`. Default:
        /// `exact`.
        wallet_scheme: Option<RawPaymentScheme>,
    }
}

/// A network that a wallet pays on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WalletNetwork {
    /// The network Base.
    #[default]
    Base,
    /// The test network of Base.
    BaseSepolia,
}

impl WalletNetwork {
    /// The CAIP-2 name.
    pub const fn caip2(self) -> &'static str {
        match self {
            Self::Base => "eip155:8453",
            Self::BaseSepolia => "eip155:84532",
        }
    }
}

backend_config! {
    /// Settings of OpenRouter.
    OpenRouterConfig {
        /// Models that automatic choice may use besides the models that the catalog rates.
        #[serde(default)]
        models_auto: Vec<String>,
    }
}

backend_config! {
    /// Your own server.
    LocalConfig {
        /// Whether it meets class `private`. Default: yes if its address is on this machine or in a
        /// private network.
        private: Option<bool>,
        /// Trust this server: it meets `e2ee` where no attestation is required.
        #[serde(default)]
        trusted_local: bool,
    }
}

backend_config! {
    /// Settings of Venice.
    VeniceConfig {
        /// You staked DIEM for compute. Venice then serves more than private requests.
        #[serde(default)]
        diem_staked: bool,
        /// Default privacy tier: `private` or `tee`. Accepted, without effect yet.
        default_privacy_tier: Option<super::privacy::RawSecurityClass>,
        /// Characters by role. Accepted, without effect yet.
        #[serde(default)]
        characters: BTreeMap<String, String>,
        /// Prompt cache. Accepted, without effect yet.
        cache: Option<VeniceCache>,
        /// Other media. Accepted, without effect yet.
        multimodal: Option<VeniceMultimodal>,
        /// Allow profiles to let Venice search the web, as `dream_rem` does. Search engines then read
        /// the topics of the agent. Default: only if `inference.profiles.<subsystem>` has
        /// `web_search: true`.
        web_search_enabled: Option<bool>,
        /// Budget for the searches of one cycle of an agent, in USD. Default: 0.05.
        #[schemars(with = "Option<f64>")]
        web_search_budget_per_cycle_usdc: Option<serde_json::Number>,
        /// Id of the agent. Accepted, without effect: requests name their own.
        golem_id: Option<String>,
        /// Require attestation in the integration phase of dreams. Accepted, without effect yet.
        integration_phase_attestation: Option<bool>,
    }
}

backend_config! {
    /// Settings of Bankr.
    BankrConfig {
        /// Pay for inference with the revenue of agents. Default: on if `wallet` or `auto_topup` is
        /// set.
        self_funding: Option<bool>,
        /// Subsystems that automatic choice sends here.
        #[serde(default = "bankr_subsystems")]
        subsystems: Vec<String>,
        /// Address of the wallet that earns and pays.
        wallet: Option<String>,
        /// Revenue in the wallet, in USD. A call may cost a tenth of it.
        #[schemars(with = "Option<f64>")]
        revenue_balance_usd: Option<serde_json::Number>,
        /// Lifetime revenue, in USD.
        #[schemars(with = "Option<f64>")]
        lifetime_revenue_usd: Option<serde_json::Number>,
        /// Revenue divided by cost over the last 30 days, if a request has no such hint.
        sustainability: Option<f64>,
        /// Largest cost of a call, in USD.
        #[schemars(with = "Option<f64>")]
        max_call_usd: Option<serde_json::Number>,
        /// Buy credit when it runs low. The agent's runtime does this.
        auto_topup: Option<bool>,
        /// Amount to buy, in USD.
        #[schemars(with = "Option<f64>")]
        auto_topup_amount_usd: Option<serde_json::Number>,
        /// Buy below this balance, in USD.
        #[schemars(with = "Option<f64>")]
        auto_topup_threshold_usd: Option<serde_json::Number>,
        /// Token to pay with: `USDC`, `ETH`, …
        auto_topup_token: Option<String>,
    }
}

fn bankr_subsystems() -> Vec<String> {
    vec!["autonomous".into(), "social".into()]
}

impl BankrConfig {
    /// Whether the revenue of agents pays.
    pub fn is_self_funding(&self) -> bool {
        self.self_funding
            .unwrap_or(self.wallet.is_some() || self.auto_topup == Some(true))
    }
}

/// The prompt cache of Venice.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VeniceCache {
    /// Lifetime of the stable part of a prompt, in seconds.
    pub stable_kernel_ttl_s: Option<u64>,
    /// Changes of an agent that make new prompt-cache keys: `dream_cycle_start`,
    /// `phase_transition`. Both if empty.
    pub session_epoch_advance_on: Vec<String>,
}

/// Other media of Venice.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VeniceMultimodal {
    /// Use Venice for embeddings.
    pub embeddings: bool,
    /// Use Venice for spoken alerts.
    pub tts_alerts: bool,
    /// Use Venice for images.
    pub image_generation: bool,
}

/// Your own API keys.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Direct {
    /// API keys, in the order in which they are tried.
    #[serde(default)]
    pub keys: Vec<DirectKey>,
    /// Allow changes to ordinary requests that reduce their cost. Accepted, without effect yet.
    #[serde(default)]
    pub optimize: bool,
}

backend_config! {
    /// Your own API key. By default you pay the provider, and clients are not charged.
    DirectKey {
        /// Provider of the key: a maker, `local`, a known vendor such as `groq`, or
        /// `openai_compatible` with a `name` and a `base_url`.
        provider: DirectProvider,
        /// Name of the vendor (only for `openai_compatible`); `<name>/<model>` pins it.
        name: Option<String>,
        /// Whether it meets class `private`. Default: for `local`, yes if its address is on this
        /// machine or in a private network; no for all others.
        private: Option<bool>,
        /// Trust this server (only for `local`).
        #[serde(default)]
        trusted_local: bool,
    }
}

/// The provider of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DirectProvider {
    /// api.openai.com, or a server with the same API.
    #[default]
    Openai,
    /// Anthropic, at api.anthropic.com.
    Anthropic,
    /// The Gemini API.
    Google,
    /// DeepSeek, at api.deepseek.com.
    Deepseek,
    /// Your own server with an OpenAI-compatible API.
    Local,
    /// A known vendor with an OpenAI-compatible API.
    Vendor(&'static Vendor),
    /// Any other vendor.
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
    /// The name of the backend of this key, before a number distinguishes it from another one.
    ///
    /// # Errors
    /// If the name is missing, invalid, or not allowed here.
    pub fn backend_name(&self, place: &str) -> Result<String, String> {
        let given = self.name.as_deref();
        let name = match (self.provider, given) {
            (DirectProvider::Compatible, Some(name)) => {
                check_name(name, place)?;
                name
            }
            (DirectProvider::Compatible, None) => {
                return Err(format!(
                    "`{place}.name` is required, such as `name: myvendor`: requests name this vendor as `<name>/<model>`"
                ));
            }
            (_, Some(_)) => {
                return Err(format!(
                    "`{place}.name` is only for `provider: openai_compatible`; remove it"
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

    /// The known vendor of the key.
    pub fn vendor(&self) -> Option<&'static Vendor> {
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
            "`{place}.name`: `{name}` already means another backend or maker; use another name, such as `my-{name}`"
        ));
    }
    Ok(())
}

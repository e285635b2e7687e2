//! The settings of a gateway: one schema, TOML or YAML, the environment over it, defaults under it.
//!
//! A crate of its own, so that the readers of its many tables compile once, beside the engine, and
//! without optimization: they run when a process starts. It reads files and sets nothing up; the
//! program that does adds the checks of its parts ([`MoreChecks`]).

mod keystores;
mod layers;
mod raw;
mod settings;
mod spellings;
mod standard_names;
pub mod units;
mod urls;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use layers::{Layer, Layers, credentials, overrides};
pub use raw::{
    AlertsConfig, BACKENDS, BankrConfig, BlockRunConfig, CacheConfig, ClickHouseConfig, Config,
    DirectKey, DirectProvider, LangfuseConfig, LimitsConfig, ModeName, OtlpConfig,
    OwnerModelConfig, PaymentsConfig, PriceConfig, PrivyConfig, ProviderMode, RawAlertEvent,
    RawAuditMode, RawCacheScope, RawDomain, RawDurability, RawMinPFallback, RawPaymentScheme,
    RawRegime, RawServer, RefusedPhrasesConfig, SemanticCacheConfig, ServiceConfig, SharedConfig,
    StoreConfig, TelemetryConfig, VectorsConfig, WalletNetwork, WebhookConfig,
    known_backend_beside, percent, usd,
};
pub use raw::{RawPooling, RawVectorEngine, SemanticModelConfig};
pub use spellings::canonical;
pub use urls::{WRONG_COLLECTION, is_collection};

/// The defaults, as documented text.
pub const DEFAULTS: &str = include_str!("../../../config/default.toml");

/// The last line of a refusal if some settings could not be read around the mistakes.
const MORE: &str = "More mistakes may follow when these are mended.";

/// Why a configuration is invalid. The text names file, key, value and fix.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl ConfigError {
    /// The error, with a hint if the user did not name the file that it is about.
    fn of_found(
        self,
        file: Option<&Path>,
        flag: Option<&Path>,
        environment: &[(String, String)],
    ) -> Self {
        let is_named = flag.is_some() || environment.iter().any(|(name, _)| name == "BARDO_CONFIG");
        match file.filter(|_| !is_named) {
            Some(file) => Self(format!(
                "{}\n{} was found without --config. For another file: --config FILE",
                self.0,
                file.display()
            )),
            None => self,
        }
    }
}

/// A configuration that passed every check, and where it came from.
#[derive(Debug)]
pub struct Loaded {
    /// The settings, defaults included.
    pub config: Config,
    /// The sources of the settings, unresolved.
    pub layers: Layers,
    /// The file among the sources, if one was found.
    pub file: Option<PathBuf>,
}

impl Loaded {
    /// A reason found after loading, with the file that it is about.
    pub fn refuse(&self, reason: &str) -> ConfigError {
        located(self.file.as_deref(), reason)
    }
}

/// Checks of the program that uses the settings. They get settings whose mistakes were replaced, and
/// answer what is wrong, one sentence each.
pub type MoreChecks<'a> = &'a dyn Fn(&Config) -> Vec<String>;

/// Finds, reads and checks the configuration: the file of `flag`, else that of the variable
/// `BARDO_CONFIG`, else the first of the usual places; the environment over it. All mistakes are
/// reported at once.
///
/// # Errors
/// With every mistake.
pub fn load(
    flag: Option<&Path>,
    environment: &[(String, String)],
    more: MoreChecks<'_>,
) -> Result<Loaded, ConfigError> {
    let (layers, file) = layered(flag, environment)?;
    let config = build(&layers, file.as_deref(), environment, more)
        .map_err(|error| error.of_found(file.as_deref(), flag, environment))?;
    Ok(Loaded {
        config,
        layers,
        file,
    })
}

/// The sources of settings, unresolved, and the file among them.
fn layered(
    flag: Option<&Path>,
    environment: &[(String, String)],
) -> Result<(Layers, Option<PathBuf>), ConfigError> {
    let file = find(flag, environment)?;
    let mut layers = Layers::default();
    layers.push(Layer::new(
        "default",
        parse(DEFAULTS, "toml").map_err(ConfigError)?,
    ));
    layers.push(Layer::new(
        "environment",
        standard_names::telemetry(environment),
    ));
    match &file {
        Some(path) => layers.push(Layer::new(path.display().to_string(), read(path)?)),
        // Without a file, the keys that other tools use are enough to start.
        None => layers.push(Layer::new("environment", layers::credentials(environment))),
    }
    layers.push(Layer::new("environment", layers::overrides(environment)));
    Ok((layers, file))
}

/// The section `store` alone, for verbs that act on the store: they need no provider's key, so
/// nothing else is resolved.
pub fn load_store(
    flag: Option<&Path>,
    environment: &[(String, String)],
) -> Result<StoreConfig, ConfigError> {
    let (mut settings, file) = unresolved(flag, environment)?;
    let mut section = settings["store"].take();
    let problems = layers::resolve_secrets(&mut section, "store", environment);
    let refuse = |reason: &str| {
        located(file.as_deref(), reason).of_found(file.as_deref(), flag, environment)
    };
    layers::refuse_all(&problems).map_err(|reason| refuse(&reason))?;
    serde_path_to_error::deserialize(&section).map_err(|error| {
        let path = format!("store.{}", error.path());
        refuse(&layers::explain(&path, &error.into_inner().to_string()))
    })
}

/// The setting `server.listen` alone, for verbs that ask a running server: they need no provider's
/// key.
pub fn listener(
    flag: Option<&Path>,
    environment: &[(String, String)],
) -> Result<SocketAddr, ConfigError> {
    let (mut settings, file) = unresolved(flag, environment)?;
    serde_json::from_value(settings["server"]["listen"].take()).map_err(|error| {
        let reason = layers::explain("server.listen", &error.to_string());
        located(file.as_deref(), &reason).of_found(file.as_deref(), flag, environment)
    })
}

/// The settings as they are written, for verbs that need few of them, and the file among them.
fn unresolved(
    flag: Option<&Path>,
    environment: &[(String, String)],
) -> Result<(Value, Option<PathBuf>), ConfigError> {
    let file = find(flag, environment)?;
    let mut layers = Layers::default();
    layers.push(Layer::new(
        "default",
        parse(DEFAULTS, "toml").map_err(ConfigError)?,
    ));
    if let Some(path) = &file {
        layers.push(Layer::new(path.display().to_string(), read(path)?));
    }
    layers.push(Layer::new("environment", layers::overrides(environment)));
    Ok((layers.merged(), file))
}

/// The configuration for notices alone: references that cannot be resolved here stay as they are.
/// `None` if it is invalid.
pub fn peek(flag: Option<&Path>, environment: &[(String, String)]) -> Option<Config> {
    let (layers, _) = layered(flag, environment).ok()?;
    let mut merged = layers.merged();
    let _ = layers::resolve_secrets(&mut merged, "", environment);
    // As everywhere else, by reference: each kind of reader compiles all settings once more.
    serde_path_to_error::deserialize(&merged).ok()
}

/// The section `store` of the defaults, for a sandbox.
pub fn embedded_store() -> Result<StoreConfig, ConfigError> {
    let defaults = parse(DEFAULTS, "toml").map_err(ConfigError)?;
    serde_path_to_error::deserialize(&defaults["store"])
        .map_err(|error| ConfigError(error.to_string()))
}

/// A configuration made by the program itself, over the defaults; under the telemetry and over the
/// terms of payments that the environment names. `name` says in messages where a setting comes from.
///
/// # Errors
/// With every mistake.
pub fn embedded(
    name: &str,
    value: Value,
    environment: &[(String, String)],
    more: MoreChecks<'_>,
) -> Result<Loaded, ConfigError> {
    let mut layers = Layers::default();
    layers.push(Layer::new(
        "default",
        parse(DEFAULTS, "toml").map_err(ConfigError)?,
    ));
    layers.push(Layer::new(
        "environment",
        standard_names::telemetry(environment),
    ));
    layers.push(Layer::new(name, value));
    if let Some(payments) = layers::overrides(environment).get("payments") {
        let payments = serde_json::json!({ "payments": payments });
        layers.push(Layer::new("environment", payments));
    }
    let config = build(&layers, None, environment, more)?;
    Ok(Loaded {
        config,
        layers,
        file: None,
    })
}

/// A configuration file as YAML that is not written yet.
///
/// # Errors
/// With every mistake.
pub fn of_text(
    text: &str,
    environment: &[(String, String)],
    more: MoreChecks<'_>,
) -> Result<Loaded, ConfigError> {
    let mut layers = Layers::default();
    for (name, text, extension) in [("default", DEFAULTS, "toml"), ("file", text, "yaml")] {
        layers.push(Layer::new(
            name,
            parse(text, extension).map_err(ConfigError)?,
        ));
    }
    let config = build(&layers, None, environment, more)?;
    Ok(Loaded {
        config,
        layers,
        file: None,
    })
}

fn find(
    flag: Option<&Path>,
    environment: &[(String, String)],
) -> Result<Option<PathBuf>, ConfigError> {
    let variable = |name: &str| {
        environment
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let named = flag
        .map(Path::to_path_buf)
        .or_else(|| variable("BARDO_CONFIG").map(PathBuf::from));
    if let Some(path) = named {
        return if path.is_file() {
            Ok(Some(path))
        } else {
            Err(ConfigError(format!(
                "{}: this configuration file does not exist",
                path.display()
            )))
        };
    }
    let mut places: Vec<PathBuf> = vec!["bardo.toml".into(), "bardo.yaml".into()];
    if let Some(home) = variable("HOME") {
        places.extend(
            ["config.toml", "config.yaml"].map(|name| Path::new(home).join(".bardo").join(name)),
        );
    }
    Ok(places.into_iter().find(|path| path.is_file()))
}

fn read(path: &Path) -> Result<Value, ConfigError> {
    let refuse = |reason: String| ConfigError(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or("toml");
    let mut settings = parse(&text, extension).map_err(refuse)?;
    spellings::canonical(&mut settings).map_err(refuse)?;
    Ok(settings)
}

/// The tree of a text in the format of files that end in `extension`: `toml`, `yaml`, `yml` or `json`.
///
/// # Errors
/// What is wrong with the text, with its line.
pub fn parse(text: &str, extension: &str) -> Result<Value, String> {
    match extension {
        "yaml" | "yml" | "json" => {
            if text.trim().is_empty() {
                return Ok(Value::Object(serde_json::Map::new()));
            }
            serde_saphyr::from_str(text).map_err(|error| {
                let text = error.to_string();
                text.strip_prefix("error: ").unwrap_or(&text).to_owned()
            })
        }
        "toml" => toml::from_str(text).map_err(|error| error.to_string()),
        other => Err(format!(
            "a configuration file ends in .toml or .yaml, not .{other}"
        )),
    }
}

/// The settings of layers, resolved, read and checked. `file` is named in messages, which come in the
/// order of its text.
///
/// # Errors
/// With every mistake.
pub fn build(
    layers: &Layers,
    file: Option<&Path>,
    environment: &[(String, String)],
    more: MoreChecks<'_>,
) -> Result<Config, ConfigError> {
    let mut merged = layers.merged();
    let defaults = parse(DEFAULTS, "toml").map_err(ConfigError)?;
    let missing = layers::resolve_secrets(&mut merged, "", environment);
    let urls = urls::problems(&merged);
    let mut read = settings::read(merged, &defaults, missing);
    let mut config = read.config.take();
    if let Some(config) = &mut config {
        config.upstream.header_timeout_is_set = layers.is_set(&["upstream", "header_timeout"]);
        config.revision = layers.revision();
        read.add(config.open_keystores());
        read.add(config.problems());
        read.add_more(more(config));
    }
    read.add_more(urls);
    if let Some(text) = file.and_then(|path| std::fs::read_to_string(path).ok()) {
        read.sort_by(&text);
    }
    let refused = layers::refuse_all(&read.problems);
    match (config, refused) {
        (Some(config), Ok(())) => Ok(config),
        (Some(_), Err(reason)) => Err(located(file, &reason)),
        (None, refused) => {
            let reason = refused.err().unwrap_or_default();
            Err(located(file, &format!("{reason}\n{MORE}")))
        }
    }
}

fn located(file: Option<&Path>, reason: &str) -> ConfigError {
    match file {
        Some(path) => ConfigError(format!("{}: {reason}", path.display())),
        None => ConfigError(format!("configuration: {reason}")),
    }
}

/// The JSON Schema of the configuration file.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Config).to_value()
}

#[cfg(test)]
mod tests;

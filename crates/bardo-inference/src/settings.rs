//! ProxySettings from flags, environment and the configuration file, checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use bardo_providers::BaseUrl;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_x402::token::{EvmNetwork, PaymentToken};
use bardo_x402::wire::PaymentScheme;
use serde::Deserialize;

use crate::book::PayerCaps;
use crate::cli::SettingsArgs;

/// What the configuration file may hold; the names are those of the flags.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct SettingsFile {
    endpoint: Option<String>,
    cap_request: Option<String>,
    cap_session: Option<String>,
    cap_day: Option<String>,
    network: Option<Vec<String>>,
    scheme: Option<SchemeNames>,
    speaks: Option<Vec<String>>,
    resource_host: Option<String>,
    wallet: Option<PathBuf>,
    passphrase_file: Option<PathBuf>,
    rpc: Option<String>,
    timeout: Option<u64>,
    status: Option<PathBuf>,
    state: Option<PathBuf>,
    token: Vec<TokenEntry>,
}

/// One name, or a list of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum SchemeNames {
    One(String),
    More(Vec<String>),
}

impl SchemeNames {
    fn list(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::More(names) => names,
        }
    }
}

/// A dollar token with six decimals that the table of this program does not have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    /// The network by its name of CAIP-2, such as `eip155:137`.
    network: String,
    /// Address of the contract.
    address: String,
    /// Name of the signing domain (EIP-712), as the contract has it.
    name: String,
    /// Version of the signing domain.
    version: String,
}

/// The settings of a proxy.
pub(crate) struct ProxySettings {
    /// Text of the endpoint's base URL; `None`: none was given.
    endpoint: Option<String>,
    pub(crate) caps: PayerCaps,
    /// Tokens that are paid with, the preferred network first.
    pub(crate) tokens: Vec<PaymentToken>,
    pub(crate) schemes: Vec<PaymentScheme>,
    /// Dialects that the seller speaks; `None`: the proxy finds out.
    pub(crate) speaks: Option<BTreeSet<&'static str>>,
    pub(crate) resource_host: Option<String>,
    pub(crate) wallet: PathBuf,
    pub(crate) passphrase_file: Option<PathBuf>,
    pub(crate) rpc: String,
    /// Longest wait for the head of an answer.
    pub(crate) timeout: Duration,
    pub(crate) status: Option<PathBuf>,
    pub(crate) state: PathBuf,
}

/// Name of a dialect in settings; `None` for those that clients of the proxy do not speak.
pub(crate) fn dialect_name(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Chat => Some("chat"),
        Dialect::Anthropic => Some("messages"),
        Dialect::Responses => Some("responses"),
        Dialect::Completions | Dialect::Gemini => None,
    }
}

impl ProxySettings {
    /// Merges flags and environment with the configuration file.
    ///
    /// # Errors
    /// When a value is wrong; the text names it.
    pub(crate) fn load(args: &SettingsArgs) -> Result<Self> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let home = home.unwrap_or_else(|| PathBuf::from("."));
        let folder = |variable: &str, fallback: &str| {
            let set = std::env::var_os(variable).filter(|value| !value.is_empty());
            set.map_or_else(|| home.join(fallback), PathBuf::from)
                .join("bardo-inference")
        };
        let config = folder("XDG_CONFIG_HOME", ".config");
        let file = read(args.config.as_deref(), &config.join("config.toml"))?;
        let caps = PayerCaps {
            request: usd("cap_request", &args.cap_request, &file.cap_request, "0.50")?,
            session: usd("cap_session", &args.cap_session, &file.cap_session, "5")?,
            day: usd("cap_day", &args.cap_day, &file.cap_day, "10")?,
        };
        let path =
            |flag: &Option<PathBuf>, file: &Option<PathBuf>| flag.clone().or_else(|| file.clone());
        let tokens = tokens(args.network.as_ref().or(file.network.as_ref()), &file.token)?;
        let rpc = args.rpc.clone().or(file.rpc);
        Ok(Self {
            endpoint: args.endpoint.clone().or(file.endpoint),
            caps,
            schemes: schemes(args.scheme.clone().or(file.scheme.map(SchemeNames::list)))?,
            speaks: speaks(args.speaks.as_ref().or(file.speaks.as_ref()))?,
            resource_host: args.resource_host.clone().or(file.resource_host),
            wallet: path(&args.wallet, &file.wallet).unwrap_or_else(|| config.join("wallet.json")),
            passphrase_file: path(&args.passphrase_file, &file.passphrase_file),
            rpc: rpc.unwrap_or_else(|| usual_rpc(&tokens).to_owned()),
            tokens,
            timeout: Duration::from_secs(args.timeout.or(file.timeout).unwrap_or(300).max(1)),
            status: path(&args.status, &file.status),
            state: path(&args.state, &file.state)
                .unwrap_or_else(|| folder("XDG_STATE_HOME", ".local/state").join("spend.json")),
        })
    }

    /// The seller's base URL, without `/v1` at its end.
    ///
    /// # Errors
    /// When it is missing or wrong.
    pub(crate) fn endpoint(&self) -> Result<BaseUrl> {
        let text = self.endpoint.as_deref().ok_or_else(|| {
            anyhow!("no endpoint: add `--endpoint https://…`, or `endpoint = \"https://…\"` to the configuration file")
        })?;
        let mut base = BaseUrl::parse(text)?;
        if let Some(root) = base.path.strip_suffix("/v1") {
            base.path = root.to_owned();
        }
        if !base.https && !base.is_private() {
            bail!(
                "the endpoint `{text}` has no TLS, so that others could read prompts and use payments; write https://"
            );
        }
        Ok(base)
    }
}

fn read(given: Option<&Path>, usual: &Path) -> Result<SettingsFile> {
    let path = given.unwrap_or(usual);
    match fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).with_context(|| format!("read {}", path.display())),
        Err(error) if given.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            Ok(SettingsFile::default())
        }
        Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
    }
}

fn usd(name: &str, flag: &Option<String>, file: &Option<String>, usual: &str) -> Result<MicroUsd> {
    let text = flag.as_deref().or(file.as_deref()).unwrap_or(usual);
    MicroUsd::from_usd(text).with_context(|| format!("read {name}"))
}

fn tokens(names: Option<&Vec<String>>, entries: &[TokenEntry]) -> Result<Vec<PaymentToken>> {
    let usual = vec!["base".to_owned()];
    let token = |name: &String| {
        match name.as_str() {
        "base" => Ok(PaymentToken::usdc_on_base()),
        "base-sepolia" => Ok(PaymentToken::usdc_on_base_sepolia()),
        other => entries
            .iter()
            .find(|entry| entry.network == other)
            .with_context(|| {
                format!("`{other}` is no network: write base or base-sepolia, or add a `[[token]]` to the configuration file")
            })?
            .read(),
    }
    };
    names.unwrap_or(&usual).iter().map(token).collect()
}

impl TokenEntry {
    fn read(&self) -> Result<PaymentToken> {
        let network = EvmNetwork::from_caip2(&self.network)
            .with_context(|| format!("`{}` is no name such as eip155:137", self.network))?;
        let address = self
            .address
            .parse()
            .with_context(|| format!("read the address of the token on {}", self.network))?;
        Ok(PaymentToken::new(
            network,
            address,
            &self.name,
            &self.version,
        ))
    }
}

fn usual_rpc(tokens: &[PaymentToken]) -> &'static str {
    match tokens.first().map(PaymentToken::network) {
        Some(EvmNetwork::BASE_SEPOLIA) => "https://sepolia.base.org",
        _ => "https://mainnet.base.org",
    }
}

/// Reads the schemes, the preferred one first. `auto` takes a ceiling where Permit2 may take it and
/// the caps have room, else a fixed price.
fn schemes(names: Option<Vec<String>>) -> Result<Vec<PaymentScheme>> {
    let Some(names) = names.filter(|names| *names != ["auto"]) else {
        return Ok(vec![PaymentScheme::Upto, PaymentScheme::Exact]);
    };
    if names.is_empty() {
        bail!("`scheme` is empty: write auto, exact or upto");
    }
    if names.iter().any(|name| name == "auto") {
        bail!("`auto` stands alone in `scheme`: it has both schemes");
    }
    let scheme = |name: &String| {
        PaymentScheme::from_name(name)
            .ok_or_else(|| anyhow!("`{name}` is no scheme: write auto, exact or upto"))
    };
    names.iter().map(scheme).collect()
}

fn speaks(names: Option<&Vec<String>>) -> Result<Option<BTreeSet<&'static str>>> {
    let Some(names) = names else {
        return Ok(None);
    };
    let known = |name: &String| {
        let found = ["chat", "messages", "responses"]
            .into_iter()
            .find(|known| known == name);
        found.ok_or_else(|| anyhow!("`{name}` is no dialect: write chat, messages or responses"))
    };
    let speaks: BTreeSet<_> = names.iter().map(known).collect::<Result<_>>()?;
    if !speaks.contains("chat") {
        bail!("`speaks` must have chat, which the other dialects are translated into");
    }
    Ok(Some(speaks))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, args: SettingsArgs) -> Result<ProxySettings> {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.toml");
        fs::write(&config, file).unwrap();
        ProxySettings::load(&SettingsArgs {
            config: Some(config),
            ..args
        })
    }

    #[test]
    fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
        let file = "cap_request = \"0.2\"\ncap_day = \"7\"\nendpoint = \"https://seller.example/api/v1\"\n";
        let args = SettingsArgs {
            cap_request: Some("0.1".into()),
            ..SettingsArgs::default()
        };
        let settings = load(file, args).unwrap();
        assert_eq!(settings.caps.request, MicroUsd::new(100_000));
        assert_eq!(settings.caps.session, MicroUsd::new(5_000_000));
        assert_eq!(settings.caps.day, MicroUsd::new(7_000_000));
        let endpoint = settings.endpoint().unwrap();
        assert_eq!(
            (endpoint.host.as_str(), endpoint.path.as_str()),
            ("seller.example", "/api")
        );
        assert_eq!(
            settings.schemes,
            [PaymentScheme::Upto, PaymentScheme::Exact]
        );
    }

    #[test]
    fn a_scheme_is_auto_or_one_or_more_by_name() {
        use PaymentScheme::{Exact, Upto};
        for (file, expected) in [
            ("scheme = [\"auto\"]", vec![Upto, Exact]),
            ("scheme = \"auto\"", vec![Upto, Exact]),
            ("scheme = \"exact\"", vec![Exact]),
            ("scheme = [\"upto\"]", vec![Upto]),
            ("scheme = [\"exact\", \"upto\"]", vec![Exact, Upto]),
        ] {
            let settings = load(file, SettingsArgs::default());
            let settings = settings.unwrap_or_else(|error| panic!("{file}: {error:#}"));
            assert_eq!(settings.schemes, expected, "{file}");
        }
    }

    #[test]
    fn a_token_of_another_network_comes_from_the_file_alone() {
        let entry = "[[token]]\nnetwork = \"eip155:137\"\nname = \"USD Coin\"\nversion = \"2\"\n";
        let address = "address = \"0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359\"\n";
        let network = |file: &str| {
            load(
                &format!("network = [\"eip155:137\", \"base\"]\n{file}"),
                SettingsArgs::default(),
            )
        };
        let settings = network(&format!("{entry}{address}")).unwrap();
        let chains: Vec<u64> = settings
            .tokens
            .iter()
            .map(|token| token.network().chain_id())
            .collect();
        assert_eq!(chains, [137, 8453]);
        assert!(network("").is_err());
        assert!(network(&format!("{entry}address = \"0x12\"\n")).is_err());
    }

    #[test]
    fn wrong_settings_are_refused_with_their_name() {
        for (file, told) in [
            ("cap_day = \"-1\"", "cap_day"),
            ("cap_dya = \"1\"", "cap_dya"),
            ("network = [\"ethereum\"]", "ethereum"),
            ("scheme = [\"batch\"]", "batch"),
            ("scheme = [\"auto\", \"exact\"]", "auto"),
            ("scheme = []", "scheme"),
            ("speaks = [\"messages\"]", "chat"),
        ] {
            let refused = load(file, SettingsArgs::default())
                .err()
                .map(|error| format!("{error:#}"));
            assert!(
                refused.as_ref().is_some_and(|text| text.contains(told)),
                "{file}: {refused:?}"
            );
        }
        let plain = load(
            "endpoint = \"http://seller.example\"",
            SettingsArgs::default(),
        )
        .unwrap();
        assert!(plain.endpoint().is_err(), "an endpoint without TLS");
        assert!(
            load("", SettingsArgs::default())
                .unwrap()
                .endpoint()
                .is_err()
        );
    }
}

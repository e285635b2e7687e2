//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Runs terminal tools against endpoints that sell by x402, paid from a wallet within caps.
///
/// Flags win over environment variables, and these over the configuration file
/// (~/.config/bardo-inference/config.toml).
#[derive(Parser)]
#[command(name = "bardo-inference", version)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) verb: PayerVerb,
}

#[derive(Subcommand)]
pub(crate) enum PayerVerb {
    /// Start a tool behind the proxy, for example `bardo-inference run -- claude`.
    Run(RunArgs),
    /// Start the proxy alone, and print what clients need.
    Serve(ProxyArgs),
    /// Make, import or look at the wallet.
    Wallet {
        #[command(subcommand)]
        verb: WalletVerb,
    },
    /// Check wallet, balance, endpoint, clock and tools; say what mends each finding.
    Doctor(FindingArgs),
}

#[derive(Subcommand)]
pub(crate) enum WalletVerb {
    /// Make a new key and store it, encrypted.
    New(SettingsArgs),
    /// Store a key that you have: a keystore file, or 64 hex digits from standard input.
    Import {
        /// Keystore file (Web3 Secret Storage 3); without it the key is read from standard input.
        #[arg(long, value_name = "FILE")]
        keystore: Option<PathBuf>,
        #[command(flatten)]
        settings: SettingsArgs,
    },
    /// Print the address of the wallet and what it has on the network.
    Balance(SettingsArgs),
}

#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Model for the tool; Claude Code, Codex and Aider get it in their own way.
    #[arg(long, env = "BARDO_INFERENCE_MODEL", value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The tool and its arguments, after `--`.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Args)]
pub(crate) struct ProxyArgs {
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Port on 127.0.0.1; 0 takes a free one.
    #[arg(long, env = "BARDO_INFERENCE_PORT", default_value_t = 8411)]
    pub(crate) port: u16,
}

#[derive(Args)]
pub(crate) struct FindingArgs {
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Model that the check asks the endpoint for; nothing is paid.
    #[arg(long, env = "BARDO_INFERENCE_MODEL", value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// ProxySettings that a flag, a variable or the configuration file can give.
#[derive(Args, Default)]
pub(crate) struct SettingsArgs {
    /// Configuration file [default: ~/.config/bardo-inference/config.toml].
    #[arg(long, env = "BARDO_INFERENCE_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Base URL of the seller, such as `https://blockrun.ai/api`.
    #[arg(long, env = "BARDO_INFERENCE_ENDPOINT", value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// Most that one request may cost, in USD [default: 0.50].
    #[arg(long, env = "BARDO_INFERENCE_CAP_REQUEST", value_name = "USD")]
    pub(crate) cap_request: Option<String>,
    /// Most that is spent from start to end of this program, in USD [default: 5].
    #[arg(long, env = "BARDO_INFERENCE_CAP_SESSION", value_name = "USD")]
    pub(crate) cap_session: Option<String>,
    /// Most that all proxies of this user spend in a day (UTC), in USD [default: 10].
    #[arg(long, env = "BARDO_INFERENCE_CAP_DAY", value_name = "USD")]
    pub(crate) cap_day: Option<String>,
    /// Networks to pay on: base, base-sepolia, or one of a `[[token]]` in the file [default: base].
    #[arg(long, env = "BARDO_INFERENCE_NETWORK", value_delimiter = ',')]
    pub(crate) network: Option<Vec<String>>,
    /// Ways to pay: auto, exact, upto, or both with the preferred one first. `auto` pays what an
    /// answer costs, up to a ceiling, where the seller offers that and the wallet can, else a fixed
    /// price [default: auto].
    #[arg(long, env = "BARDO_INFERENCE_SCHEME", value_delimiter = ',')]
    pub(crate) scheme: Option<Vec<String>>,
    /// Dialects that the seller speaks: chat, messages, responses. The proxy translates the others
    /// into chat [default: it finds out].
    #[arg(long, env = "BARDO_INFERENCE_SPEAKS", value_delimiter = ',')]
    pub(crate) speaks: Option<Vec<String>>,
    /// Another host that offers of the seller may name as theirs.
    #[arg(long, env = "BARDO_INFERENCE_RESOURCE_HOST", value_name = "HOST")]
    pub(crate) resource_host: Option<String>,
    /// Keystore file of the wallet [default: ~/.config/bardo-inference/wallet.json].
    #[arg(long, env = "BARDO_INFERENCE_WALLET", value_name = "FILE")]
    pub(crate) wallet: Option<PathBuf>,
    /// File with the passphrase of the wallet; without it you are asked.
    #[arg(long, env = "BARDO_INFERENCE_PASSPHRASE_FILE", value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// JSON-RPC address of the network, for balances, approvals and settlements [default: that of Base].
    #[arg(long, env = "BARDO_INFERENCE_RPC", value_name = "URL")]
    pub(crate) rpc: Option<String>,
    /// Seconds to wait for the beginning of an answer [default: 300].
    #[arg(long, env = "BARDO_INFERENCE_TIMEOUT", value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// File that always holds one line with what was spent, for tmux or a prompt.
    #[arg(long, env = "BARDO_INFERENCE_STATUS", value_name = "FILE")]
    pub(crate) status: Option<PathBuf>,
    /// File with the spending of the day [default: ~/.local/state/bardo-inference/spend.json].
    #[arg(long, env = "BARDO_INFERENCE_STATE", value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
}

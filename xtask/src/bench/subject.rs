//! Who is measured, and how each is set up.

use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{
    canned::{ANTHROPIC_MODEL, OPENAI_MODEL},
    process::{Process, Scratch},
};

/// The provider all subjects forward to, and the means to start subjects.
pub(super) struct Lab {
    upstream: Process,
    /// The gateway binary; without one the candidate is a second floor.
    pub(super) gateway: Option<PathBuf>,
    key: String,
    billed: bool,
    scratch: Scratch,
}

/// The settings of a gateway.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Setup {
    Usual,
    /// Without a cache of answers.
    CacheOff,
    /// With a cache of answers of [`SMALL_CACHE`].
    SmallCache,
    /// With traces of 5 % of the requests and all metrics exported.
    TracedSome,
    /// With traces of all requests and all metrics exported.
    TracedAll,
}

/// Byte budget of [`Setup::SmallCache`], in MiB.
pub(super) const SMALL_CACHE: u32 = 16;

impl Setup {
    const ALL: [Self; 5] = [
        Self::Usual,
        Self::CacheOff,
        Self::SmallCache,
        Self::TracedSome,
        Self::TracedAll,
    ];

    const fn config(self) -> &'static str {
        match self {
            Self::Usual => "bench.yaml",
            Self::CacheOff => "bench-cache-off.yaml",
            Self::SmallCache => "bench-small-cache.yaml",
            Self::TracedSome => "bench-traced-some.yaml",
            Self::TracedAll => "bench-traced-all.yaml",
        }
    }

    const fn folder(self) -> &'static str {
        match self {
            Self::Usual => "data",
            Self::CacheOff => "data-cache-off",
            Self::SmallCache => "data-small-cache",
            Self::TracedSome => "data-traced-some",
            Self::TracedAll => "data-traced-all",
        }
    }
}

/// A server that takes the benchmark's requests.
pub(super) struct Subject {
    pub(super) address: SocketAddr,
    pub(super) key: String,
    /// Whether it can answer in another dialect than its upstream's.
    pub(super) translates: bool,
    /// Whether its callers are charged.
    pub(super) bills: bool,
    process: Option<Process>,
}

impl Subject {
    pub(super) fn process(&self) -> Result<&Process> {
        self.process
            .as_ref()
            .context("the upstream itself is not a subject")
    }

    /// Asks the process to end, and waits until it has.
    pub(super) fn end(self) -> Result<()> {
        self.process
            .context("the upstream itself is not a subject")?
            .end()
    }
}

impl Lab {
    /// Starts the provider and prepares the gateway's configuration.
    ///
    /// With `billed`, callers are charged: each request then passes limits, hold, ledger and receipt.
    pub(super) fn open(
        gateway: Option<PathBuf>,
        key: Option<String>,
        billed: bool,
    ) -> Result<Self> {
        let scratch = Scratch::new()?;
        let log = scratch.path().join("upstream.log");
        let upstream = Process::start(ourselves()?.arg("bench-upstream"), &log)
            .context("start the canned provider")?;
        for setup in Setup::ALL {
            let config = scratch.path().join(setup.config());
            fs::write(&config, configuration(upstream.listen, billed, setup))
                .context("write the configuration")?;
        }
        let mut lab = Self {
            upstream,
            gateway,
            key: key.unwrap_or_default(),
            billed,
            scratch,
        };
        if lab.key.is_empty() && lab.gateway.is_some() {
            lab.key = lab.create_key(Setup::Usual).unwrap_or_else(|error| {
                eprintln!("no key was created ({error:#}); requests carry a made-up one");
                "bench".to_owned()
            });
        }
        Ok(lab)
    }

    /// The provider itself, without a proxy before it.
    pub(super) fn direct(&self) -> Subject {
        Subject {
            address: self.upstream.listen,
            key: "bench".to_owned(),
            translates: false,
            bills: false,
            process: None,
        }
    }

    pub(super) fn floor(&self) -> Result<Subject> {
        let upstream = self.upstream.listen.to_string();
        let mut command = ourselves()?;
        command.args(["bench-floor", "--upstream", &upstream]);
        let process = Process::start(&mut command, &self.scratch.path().join("floor.log"))?;
        Ok(Subject {
            address: process.listen,
            key: "bench".to_owned(),
            translates: false,
            bills: false,
            process: Some(process),
        })
    }

    /// The gateway, or a second floor when the method checks itself.
    pub(super) fn candidate(&self) -> Result<Subject> {
        self.candidate_as(Setup::Usual)
    }

    /// The gateway with these settings, or a second floor when the method checks itself.
    pub(super) fn candidate_as(&self, setup: Setup) -> Result<Subject> {
        let Some(gateway) = &self.gateway else {
            return self.floor();
        };
        let own = match setup {
            Setup::Usual => self.key.clone(),
            _ => self.create_key(setup).unwrap_or_else(|_| self.key.clone()),
        };
        let mut command = self.gateway_command(gateway, setup);
        command.args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        let process = Process::start(&mut command, &self.scratch.path().join("gateway.log"))?;
        let key = process.ready["key"].as_str().unwrap_or(&own).to_owned();
        Ok(Subject {
            address: process.listen,
            key,
            translates: true,
            bills: self.billed,
            process: Some(process),
        })
    }

    fn gateway_command(&self, gateway: &Path, setup: Setup) -> Command {
        let mut command = Command::new(gateway);
        command.args(["serve", "--json"]);
        self.place(&mut command, setup);
        command
    }

    /// The options every verb of the gateway takes here.
    fn place(&self, command: &mut Command, setup: Setup) {
        command
            .arg("--config")
            .arg(self.scratch.path().join(setup.config()))
            .arg("--data-dir")
            .arg(self.scratch.path().join(setup.folder()));
    }

    fn create_key(&self, setup: Setup) -> Result<String> {
        let Some(gateway) = &self.gateway else {
            bail!("there is no gateway");
        };
        let mut command = Command::new(gateway);
        command.args(["keys", "create", "--json", "--name", "bench"]);
        command.args(["--deposit-usd", "1000000"]);
        // Limits that no run reaches keep the limiter in the path.
        command.args(["--scope", "rpm=1000000000", "--scope", "tpm=1000000000000"]);
        self.place(&mut command, setup);
        let output = command.output().context("run `keys create`")?;
        let answer: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        let key = answer.as_ref().and_then(|answer| answer["key"].as_str());
        match key {
            Some(key) if output.status.success() => Ok(key.to_owned()),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr);
                bail!(
                    "`keys create` ended with {}: {}",
                    output.status,
                    said.trim()
                )
            }
        }
    }
}

fn ourselves() -> Result<Command> {
    Ok(Command::new(
        env::current_exe().context("find this program")?,
    ))
}

/// The operator's own keys at one provider that speaks both dialects.
fn configuration(upstream: SocketAddr, billed: bool, setup: Setup) -> String {
    // The queue holds what a busy machine cannot send at once, so that all of it is paid for.
    let traced = |share: &str| {
        format!(
            "telemetry: {{ otlp: {{ endpoint: \"http://{upstream}\", sampler: traceidratio, sample: {share}, queue: 1000000 }} }}\n"
        )
    };
    let more = match setup {
        Setup::Usual => String::new(),
        Setup::CacheOff => "cache: { hash: { enabled: false } }\n".to_owned(),
        Setup::SmallCache => {
            format!("cache: {{ hash: {{ max_bytes: \"{SMALL_CACHE}MiB\" }} }}\n")
        }
        Setup::TracedSome => traced("0.05"),
        Setup::TracedAll => traced("1.0"),
    };
    let bill = if billed {
        ", bill: true, price: { input_per_million: 2.5, output_per_million: 10 }"
    } else {
        ""
    };
    format!(
        r#"providers:
  direct:
    keys:
      - {{ provider: openai, api_key: "bench-key", base_url: "http://{upstream}/v1", models: ["{OPENAI_MODEL}"]{bill} }}
      - {{ provider: anthropic, api_key: "bench-key", base_url: "http://{upstream}", models: ["{ANTHROPIC_MODEL}"]{bill} }}
{more}"#
    )
}

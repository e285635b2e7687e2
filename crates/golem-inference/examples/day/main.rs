//! A toy Golem lives through a day.
//!
//! ```sh
//! cargo run --release -p golem-inference --example day
//! ```
//!
//! It builds and starts a gateway in sandbox mode by itself, where simulated providers answer and
//! money is play money. `--url` and `--key` name another gateway instead.

mod gateway;
// With its path written out, because the tests take it in by the same path.
#[path = "life/golem.rs"]
mod life;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use bardo_types::secret::Secret;
use golem_inference::Client;
use golem_inference::client::Endpoint;

use self::gateway::Gateway;
use self::life::{Plan, live, report};

const USAGE: &str = "\
A toy Golem lives through a day and prints what its thinking cost.

  --url URL          a gateway that runs already; without, one is built and started in sandbox mode
  --key KEY          its key (or the environment's BARDO_KEY)
  --gateway PATH     the gateway's binary to start, instead of building it
  --ticks N          ticks of the day (288)
  --seed N           another day (7)
  --survive          it does not die in the end
  --baseline MODEL   the frontier model to compare with (openrouter/claude-opus-5-5)
";

#[derive(Default)]
struct Arguments {
    url: Option<String>,
    key: Option<String>,
    gateway: Option<String>,
    plan: Plan,
}

impl Arguments {
    /// `Ok(None)` where help is wanted.
    fn read(mut given: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut read = Self::default();
        while let Some(flag) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("{flag} wants a value"));
            let number = |text: String| {
                let parsed = text.parse::<u64>();
                parsed.map_err(|_| format!("{text} is no number"))
            };
            match flag.as_str() {
                "--url" => read.url = Some(value()?),
                "--key" => read.key = Some(value()?),
                "--gateway" => read.gateway = Some(value()?),
                "--baseline" => read.plan.baseline = value()?,
                "--ticks" => read.plan.ticks = number(value()?)?.max(12),
                "--seed" => read.plan.seed = number(value()?)?,
                "--survive" => read.plan.dies = false,
                "--help" | "-h" => return Ok(None),
                other => return Err(format!("{other} is not known\n\n{USAGE}")),
            }
        }
        Ok(Some(read))
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            say(USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            complain(&error);
            return ExitCode::from(2);
        }
    };
    match run(arguments) {
        Ok(violations) if violations.is_empty() => ExitCode::SUCCESS,
        Ok(violations) => {
            for violation in violations {
                complain(&violation);
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Gives what must not happen and did.
fn run(arguments: Arguments) -> Result<Vec<String>, String> {
    let (url, key, started) = match arguments.url {
        Some(url) => {
            let key = arguments.key.or_else(|| std::env::var("BARDO_KEY").ok());
            (url, key, None)
        }
        None => {
            let gateway = Gateway::start(arguments.gateway.as_deref())?;
            (
                gateway.url.clone(),
                Some(gateway.key.clone()),
                Some(gateway),
            )
        }
    };
    let endpoint = Endpoint::parse(&url).map_err(|error| error.to_string())?;
    let client = Arc::new(Client::new(endpoint, key.map(Secret::new).as_ref()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let day = runtime.block_on(live(client, &arguments.plan))?;
    drop(started);
    say(&report(&day, begin.elapsed()));
    Ok(day.violations())
}

fn say(text: &str) {
    // Whoever closed the pipe does not want to read it.
    let _ = io::stdout().write_all(text.as_bytes());
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

//! `bardo-gateway demo`: an agent's day at a gateway in this process, and what its thinking cost.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use bardo_types::secret::Secret;
use clap::Args;
use golem_inference::Client;
use golem_inference::client::GatewayAddress;
use golem_inference::day::{Day, DayPlan, live, report, report_json};
use serde_json::json;
use tokio::sync::oneshot;

use super::{CliFailure, Common, ServeArgs, say};
use crate::serve;

/// A day has this many ticks at least: every part of the agent gets its turn.
const TICKS_MIN: u64 = 12;

/// Options of `demo`.
#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Number of ticks in the day. A tick is five minutes of the agent's time.
    #[arg(long, value_name = "N", default_value_t = 288, value_parser = clap::value_parser!(u64).range(TICKS_MIN..=10_000))]
    ticks: u64,
    /// Seed of the day. Another seed plays another day.
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,
    /// Let the agent survive the day.
    #[arg(long)]
    survive: bool,
    /// Compare with this frontier model.
    #[arg(
        long,
        value_name = "MODEL",
        default_value = "openrouter/claude-opus-5-5"
    )]
    baseline: String,
    /// Keep the gateway running after the day, for a look at its console, until Ctrl-C.
    #[arg(long)]
    stay: bool,
    /// Print JSON, one object per line. Errors are JSON too, on standard error.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &DemoArgs) -> Result<(), CliFailure> {
    let plan = DayPlan {
        ticks: args.ticks,
        seed: args.seed,
        dies: !args.survive,
        baseline: args.baseline.clone(),
    };
    let begin = Instant::now();
    let day = beside_a_gateway(args.stay, |addresses, key| {
        let day = play(addresses.clients, key, &plan)?;
        if args.json {
            say(report_json(&day, begin.elapsed()).to_string());
        } else {
            say(report(&day, begin.elapsed()));
        }
        let console = format!("http://{}/console/", addresses.operators);
        match (args.stay, args.json) {
            (true, true) => say(json!({ "console": console }).to_string()),
            (true, false) => say(format!("Its console: {console} (Ctrl-C stops)")),
            (false, true) => {}
            (false, false) => say("To see this day in the console: bardo-gateway demo --stay"),
        }
        Ok(day)
    })?;
    match day.violations().as_slice() {
        [] => Ok(()),
        violations => Err(violations.join("\n").into()),
    }
}

fn play(address: SocketAddr, key: &str, plan: &DayPlan) -> Result<Day, CliFailure> {
    let endpoint =
        GatewayAddress::parse(&format!("http://{address}")).map_err(|error| error.to_string())?;
    let client = Client::new(endpoint, Some(&Secret::new(key.to_owned())));
    serve::runtime()?
        .block_on(live(Arc::new(client), plan))
        .map_err(CliFailure::from)
}

/// Addresses of the gateway of the demo.
struct DemoAddresses {
    clients: SocketAddr,
    operators: SocketAddr,
}

/// Runs a gateway with simulated providers for as long as `work` takes, or until a signal if it
/// stays.
fn beside_a_gateway<T>(
    stays: bool,
    work: impl FnOnce(&DemoAddresses, &str) -> Result<T, CliFailure>,
) -> Result<T, CliFailure> {
    let (ready, started) = std::sync::mpsc::channel();
    let (quit, quits) = oneshot::channel();
    let gateway = thread::Builder::new()
        .name("gateway".into())
        .spawn(move || {
            serve::run_beside(&sandboxed(), quits, |clients, operators, key| {
                let addresses = DemoAddresses { clients, operators };
                let _ = ready.send((addresses, key.to_owned()));
            })
        })
        .map_err(|error| error.to_string())?;
    // The gateway lets go of its end when it cannot start, and says why when it is joined.
    let done = started
        .recv()
        .ok()
        .map(|(addresses, key)| work(&addresses, &key));
    // Without an order to quit, the gateway ends by a signal.
    let quit = match &done {
        Some(Ok(_)) if stays => Some(quit),
        _ => {
            let _ = quit.send(());
            None
        }
    };
    let ended = gateway.join().map_err(|_| "the gateway panicked")?;
    drop(quit);
    match done {
        Some(done) => done,
        None => Err(ended
            .err()
            .unwrap_or_else(|| "the gateway did not start".into())),
    }
}

fn sandboxed() -> ServeArgs {
    let anywhere = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    ServeArgs {
        common: Common {
            config: None,
            json: false,
            data_dir: None,
        },
        sandbox: true,
        fast: true,
        payments: false,
        listen: anywhere,
        admin_listen: anywhere,
    }
}

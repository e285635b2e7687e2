//! A toy Golem lives through a day at a gateway that runs already.
//!
//! ```sh
//! cargo run --release -p golem-inference --example day -- http://127.0.0.1:8402 bardo_sk_…
//! ```
//!
//! `bardo-gateway demo` plays the same day at a gateway of its own, with simulated providers.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use bardo_types::secret::Secret;
use golem_inference::Client;
use golem_inference::client::GatewayAddress;
use golem_inference::day::{DayPlan, live, report};

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let Some(url) = given.next() else {
        let _ = writeln!(
            std::io::stderr(),
            "usage: day URL [KEY]; without a gateway: bardo-gateway demo"
        );
        return ExitCode::from(2);
    };
    match run(&url, given.next()) {
        Ok(report) => {
            let _ = std::io::stdout().write_all(report.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(url: &str, key: Option<String>) -> Result<String, String> {
    let endpoint = GatewayAddress::parse(url).map_err(|error| error.to_string())?;
    let client = Arc::new(Client::new(endpoint, key.map(Secret::new).as_ref()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let day = runtime.block_on(live(client, &DayPlan::default()))?;
    match day.violations().as_slice() {
        [] => Ok(report(&day, begin.elapsed())),
        violations => Err(violations.join("\n")),
    }
}

//! Starts the simulated providers: alone, or on a thread beside the gateway.

use std::net::SocketAddr;
use std::sync::mpsc;

use bardo_sandbox::{Sandbox, SandboxConfig};
use serde_json::json;

use crate::cli::{CliFailure, SandboxArgs, say};
use crate::serve::{self, runtime};

/// Milliseconds between two pieces of a simulated stream: about the pace of a quick model.
const PACE_MS: u64 = 25;

/// Runs the verb `sandbox`.
pub(crate) fn run_alone(args: &SandboxArgs) -> Result<(), CliFailure> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let sandbox = bind(args.listen, args.seed, pace(args.fast))?;
        let address = sandbox.local_addr();
        if args.json {
            say(json!({ "event": "ready", "listen": address.to_string() }).to_string());
        } else {
            say(format!(
                "serving simulated providers on http://{address}, journal at /_sandbox/journal; stop with Ctrl-C"
            ));
        }
        let stop = async {
            let _ = tokio::signal::ctrl_c().await;
        };
        Ok(sandbox.run(stop).await.map_err(|error| error.to_string())?)
    })
}

/// Starts simulated providers on a thread of their own, for as long as the process runs.
pub(crate) fn start(fast: bool) -> Result<SocketAddr, CliFailure> {
    let (sender, receiver) = mpsc::channel();
    let serve = move || {
        let bound = runtime().and_then(|runtime| {
            let sandbox = bind(SocketAddr::from(([127, 0, 0, 1], 0)), 0, pace(fast))?;
            Ok((runtime, sandbox))
        });
        match bound {
            Ok((runtime, sandbox)) => {
                let _ = sender.send(Ok(sandbox.local_addr()));
                if let Err(error) = runtime.block_on(sandbox.run(std::future::pending())) {
                    tracing::error!(%error, "the simulated providers stopped");
                }
            }
            Err(error) => {
                let _ = sender.send(Err(error));
            }
        }
    };
    std::thread::Builder::new()
        .name("sandbox".into())
        .spawn(serve)
        .map_err(|error| error.to_string())?;
    receiver
        .recv()
        .map_err(|_| "the simulated providers did not start")?
}

/// Milliseconds between the pieces of a simulated stream.
fn pace(fast: bool) -> u64 {
    if fast { 0 } else { PACE_MS }
}

fn bind(listen: SocketAddr, seed: u64, pace_ms: u64) -> Result<Sandbox, CliFailure> {
    let config = SandboxConfig {
        listen,
        seed,
        pace_ms,
        ..SandboxConfig::default()
    };
    Sandbox::bind(config).map_err(|error| serve::start::cannot_listen(listen, "--listen", &error))
}

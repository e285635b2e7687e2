//! Stands in for the simulated providers where the program was built without them.

use std::net::SocketAddr;

use crate::cli::{CliFailure, SandboxArgs};

/// Why a verb that needs them is refused.
pub(crate) const ABSENT: &str = "this program was built without the simulated providers. Build it with the cargo feature `sandbox`, which is on by default";

/// Refuses the verb `sandbox`.
pub(crate) fn run_alone(_: &SandboxArgs) -> Result<(), CliFailure> {
    Err(ABSENT.into())
}

/// Refuses to start the simulated providers of `serve --sandbox`.
pub(crate) fn start(_: bool) -> Result<SocketAddr, CliFailure> {
    Err(ABSENT.into())
}

//! The program `bardo-gateway`; all of it is in the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    bardo_gateway::run()
}

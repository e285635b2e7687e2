//! The log of a server, on standard error.

/// Starts the log, as `RUST_LOG` says.
pub(super) fn start_logging(sandbox: bool) {
    // In sandbox mode the log shows each request.
    let usual = if sandbox {
        "info,bardo::requests=debug"
    } else {
        "info"
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(usual));
    let color = std::env::var_os("NO_COLOR").is_none()
        && std::io::IsTerminal::is_terminal(&std::io::stderr());
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(color)
        .try_init();
}

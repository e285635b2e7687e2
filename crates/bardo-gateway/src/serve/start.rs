//! The start of `serve`: what it refuses, where it listens, and what it prints.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use serde_json::json;

use crate::cli::{CliFailure, ServeArgs, environment, say};
use crate::config::{self, Config, Loaded};
use crate::{server, simulation};

/// Why `serve` does not start without a provider, and what to do.
pub(crate) fn no_provider(loaded: &Loaded) -> CliFailure {
    let file = loaded.file.as_ref().map_or_else(String::new, |file| {
        format!(
            "{}: this file has no `providers`, and API keys in the environment are used only if there is no \
             configuration file.\n",
            file.display()
        )
    });
    CliFailure::new(
        "no_provider",
        format!(
            "{file}no provider is configured. Start with simulated providers:
  bardo-gateway serve --sandbox
or configure a provider, in a file or by a variable such as ANTHROPIC_API_KEY or OPENROUTER_API_KEY:
  bardo-gateway serve --config bardo.yaml      # see docs/config.md"
        ),
    )
}

/// The configuration, overridden by the command line.
pub(super) fn load(args: &ServeArgs) -> Result<Loaded, CliFailure> {
    let mut loaded = if args.sandbox {
        let mut simulated = simulation::configuration(simulation::start(args.fast)?);
        if args.payments {
            simulated["payments"] = serde_json::json!({ "enabled": true });
        }
        config::embedded_with("sandbox", simulated, &environment())
    } else {
        config::load(args.common.config.as_deref(), &environment())
    }?;
    if !loaded.config.has_providers() {
        return Err(no_provider(&loaded));
    }
    let server = &mut loaded.config.server;
    server.listen = args.listen.unwrap_or(server.listen);
    server.admin_listen = args.admin_listen.unwrap_or(server.admin_listen);
    loaded.config.check().map_err(CliFailure::config)?;
    Ok(loaded)
}

/// Why an address cannot be listened on, and what to do. `option` sets it.
pub(crate) fn cannot_listen(
    address: SocketAddr,
    option: &str,
    error: &std::io::Error,
) -> CliFailure {
    let free = SocketAddr::new(address.ip(), address.port().saturating_add(100));
    let (code, reason) = match error.kind() {
        ErrorKind::AddrInUse => (
            "address_in_use",
            format!(
                "another program listens there. Stop it, or choose another port: {option} {free}"
            ),
        ),
        ErrorKind::AddrNotAvailable => (
            "address_unavailable",
            format!(
                "this machine does not have that address. Use {option} 127.0.0.1:{port}, or 0.0.0.0:{port} for \
                 all addresses",
                port = address.port()
            ),
        ),
        ErrorKind::PermissionDenied => (
            "address_forbidden",
            format!(
                "permission denied. Ports below 1024 are privileged; use {option} {}:8402",
                address.ip()
            ),
        ),
        _ => ("address_unavailable", error.to_string()),
    };
    CliFailure::new(code, format!("cannot listen on {address}: {reason}"))
}

/// The addresses for clients and operators.
pub(super) struct Listeners {
    pub(super) data: TcpListener,
    pub(super) admin: TcpListener,
    pub(super) listen: SocketAddr,
    pub(super) admin_listen: SocketAddr,
}

impl Listeners {
    pub(super) fn bind(loaded: &Loaded) -> Result<Self, CliFailure> {
        let bind = |address, option| {
            let listener =
                server::bind(address).map_err(|error| cannot_listen(address, option, &error))?;
            let bound = listener.local_addr().map_err(|error| error.to_string())?;
            Ok::<_, CliFailure>((listener, bound))
        };
        let server = &loaded.config.server;
        let (data, listen) = bind(server.listen, "--listen")?;
        let (admin, admin_listen) = bind(server.admin_listen, "--admin-listen")?;
        Ok(Self {
            data,
            admin,
            listen,
            admin_listen,
        })
    }
}

/// The figures of the startup line.
pub(super) struct Announced<'a> {
    pub(super) listen: SocketAddr,
    pub(super) admin_listen: SocketAddr,
    pub(super) key: Option<&'a str>,
    pub(super) folder: &'a Path,
}

/// Prints the startup line.
pub(super) fn announce(args: &ServeArgs, announced: &Announced<'_>) {
    let Announced {
        listen,
        admin_listen: admin,
        key,
        folder,
    } = *announced;
    if args.common.json {
        let mut ready = json!({
            "event": "ready",
            "listen": listen.to_string(),
            "admin_listen": admin.to_string(),
            "sandbox": args.sandbox,
            "data_dir": folder.display().to_string(),
        });
        if let Some(key) = key {
            ready["key"] = json!(key);
        }
        say(ready.to_string());
    } else if let Some(key) = key {
        say(simulation::banner(listen, admin, key));
    } else {
        say(format!(
            "serving the API on http://{listen}, admin on http://{admin}, console at http://{admin}/console/, data in {}",
            folder.display()
        ));
    }
}

/// Refuses a listener that other machines can reach as long as there is no key. Keys of the store
/// count, and may exist before the first server runs.
pub(crate) fn known_clients(
    config: &Config,
    has_keys: impl FnOnce() -> Result<bool, CliFailure>,
) -> Result<(), CliFailure> {
    let listen = config.server.listen;
    let is_closed = listen.ip().is_loopback() || config.payments.enabled;
    if is_closed || !config.auth.keys.is_empty() || config.auth.privy.is_some() {
        return Ok(());
    }
    if has_keys()? {
        return Ok(());
    }
    Err(CliFailure::new(
        "no_key",
        format!(
            "`server.listen` is {listen}, which other machines can reach, and there is no API key. Create one \
             first: bardo-gateway keys create, or listen on 127.0.0.1:{}",
            listen.port()
        ),
    ))
}

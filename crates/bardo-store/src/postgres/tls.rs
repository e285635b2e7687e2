//! Where the database is, and the encryption on the way there.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Config, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::options::{InvalidOptions, PostgresOptions};

/// Where to connect, and how. It shows nothing of itself: the password is in it.
pub(super) struct ConnectTarget {
    config: Config,
    tls: MakeRustlsConnect,
}

impl fmt::Debug for ConnectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Target(…)")
    }
}

impl ConnectTarget {
    pub(super) fn read(options: &PostgresOptions) -> Result<Self, InvalidOptions> {
        let (url, named) = split_url(options.url.expose());
        let mut config: Config = url
            .parse()
            .map_err(|error: tokio_postgres::Error| InvalidOptions::Url(cause(&error)))?;
        if config.get_application_name().is_none() {
            config.application_name("bardo-gateway");
        }
        config
            .connect_timeout(options.connect_timeout)
            .keepalives_idle(Duration::from_secs(30))
            .tcp_user_timeout(options.timeout);
        // A self-signed certificate on this machine would be refused, and protects nothing.
        if config.get_ssl_mode() == SslMode::Prefer && config.get_hosts().iter().all(is_here) {
            config.ssl_mode(SslMode::Disable);
        }
        let roots = roots(options.root_certificates.as_deref().or(named.as_deref()))?;
        Ok(Self {
            config,
            tls: connector(roots),
        })
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }
}

/// Takes out of a URL what only other clients know: the driver refuses words it does not know.
fn split_url(url: &str) -> (String, Option<PathBuf>) {
    let Some((base, query)) = url.split_once('?') else {
        return (url.to_owned(), None);
    };
    let mut roots = None;
    let mut kept = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            Some(("sslmode", "allow")) => kept.push("sslmode=prefer"),
            Some(("sslrootcert", "system")) => {}
            Some(("sslrootcert", path)) => roots = Some(PathBuf::from(path.replace("%2F", "/"))),
            _ => kept.push(pair),
        }
    }
    (format!("{base}?{}", kept.join("&")), roots)
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, InvalidOptions> {
    let mut store = RootCertStore::empty();
    let Some(path) = file else {
        store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(store);
    };
    let wrong = |problem: String| InvalidOptions::Certificates {
        path: path.to_owned(),
        problem,
    };
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        store
            .add(certificate)
            .map_err(|error| wrong(error.to_string()))?;
    }
    if store.is_empty() {
        return Err(wrong("it has no certificate".to_owned()));
    }
    Ok(store)
}

fn cause(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// An encrypted connection to a server that has proved its name.
pub(super) type EncryptedStream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// Encrypts connections, and only to servers that prove their name.
fn connector(roots: RootCertStore) -> MakeRustlsConnect {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    MakeRustlsConnect::new(config)
}

#[cfg(test)]
mod tests {
    use bardo_types::secret::Secret;

    use super::*;

    fn read(url: &str) -> Result<ConnectTarget, InvalidOptions> {
        ConnectTarget::read(&PostgresOptions::new(Secret::new(url.to_owned())))
    }

    #[test]
    fn the_way_is_encrypted_as_the_url_says() {
        let mode = |url| read(url).unwrap().config().get_ssl_mode();
        assert_eq!(mode("postgres://u:p@127.0.0.1/d"), SslMode::Disable);
        assert_eq!(mode("postgres://u:p@localhost/d"), SslMode::Disable);
        assert_eq!(mode("postgres://u:p@db.example/d"), SslMode::Prefer);
        assert_eq!(
            mode("postgres://u:p@localhost/d?sslmode=verify-full"),
            SslMode::Require
        );
        assert_eq!(
            mode(
                "postgres://u:p@db.example/d?connect_timeout=3&sslmode=verify-ca&sslrootcert=system"
            ),
            SslMode::Require
        );
    }

    #[test]
    fn wrong_options_are_told_without_the_password() {
        for url in [
            "postgres://u:hunter2@db.example:port/d",
            "postgres://u:hunter2@db.example/d?sslmode=hunter",
            "postgres://u:hunter2@db.example/d?sslrootcert=/no/such/file",
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
        let options = PostgresOptions::new(Secret::new("postgres://u:hunter2@h/d".to_owned()));
        assert!(!format!("{:?}", ConnectTarget::read(&options).unwrap()).contains("hunter2"));
    }
}

//! The way to the database is encrypted, and only towards a server that proves who it is.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use bardo_ledger::StoreError;
use bardo_ledger::contract::block_on;
use bardo_store::postgres::{PostgresOptions, PostgresStore};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use super::options;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/tls")
        .join(name)
}

/// What the server says to every connection: `bardo` is unknown to it.
const REFUSAL: &[u8] = b"E\0\0\0\x25SFATAL\0C28000\0Mheard in private\0\0";

/// As much of a Postgres server as it takes to encrypt a connection, for one connection at a time.
fn serve(listener: &TcpListener, answer: u8) {
    let certificates = CertificateDer::pem_file_iter(fixture("server.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            certificates.map(Result::unwrap).collect(),
            PrivateKeyDer::from_pem_file(fixture("server.key")).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    for socket in listener.incoming() {
        // A caller that refuses the server goes away in the middle.
        let _ = talk(socket.unwrap(), answer, &config);
    }
}

fn talk(mut socket: TcpStream, answer: u8, config: &Arc<ServerConfig>) -> std::io::Result<()> {
    let mut asked = [0; 8];
    socket.read_exact(&mut asked)?;
    assert_eq!(
        asked,
        [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f],
        "it asks for TLS"
    );
    socket.write_all(&[answer])?;
    if answer != b'S' {
        return Ok(());
    }
    let mut connection = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut stream = Stream::new(&mut connection, &mut socket);
    let mut startup = [0; 4];
    stream.read_exact(&mut startup)?;
    stream.write_all(REFUSAL)?;
    stream.flush()
}

fn error_of(answer: u8, authority: Option<&str>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || serve(&listener, answer));
    let url = format!("postgres://bardo@localhost:{port}/d?sslmode=verify-full");
    let options = PostgresOptions {
        root_certificates: authority.map(fixture),
        ..options(&url)
    };
    match block_on(PostgresStore::connect(&options)) {
        Err(StoreError::Unavailable(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_the_authority_vouches_for_is_talked_to() {
    let why = error_of(b'S', Some("authority.pem"));
    assert_eq!(why, "heard in private");
}

#[test]
fn a_server_that_nobody_vouches_for_hears_nothing() {
    let why = error_of(b'S', None);
    assert!(why.contains("certificate"), "{why}");
}

#[test]
fn a_server_without_encryption_is_not_talked_to_where_it_is_required() {
    let why = error_of(b'N', Some("authority.pem"));
    assert!(why.contains("does not support TLS"), "{why}");
}

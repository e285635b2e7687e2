//! `health`: whether a gateway is ready, for health checks of containers and scripts. It reads no
//! configuration, so that it answers in a few milliseconds.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use clap::Args;
use http::Uri;
use serde_json::{Value, json};

use super::{CliFailure, duration, say, text};

/// The longest answer that is read, in bytes.
const ANSWER_MAX: u64 = 64 << 10;
/// The path that is requested if the address has none.
const READY: &str = "/health/ready";

/// Options of `health`.
#[derive(Args)]
pub(super) struct HealthArgs {
    /// Address of the gateway. Without a path, `/health/ready` is requested.
    #[arg(
        long,
        value_name = "URL",
        env = "BARDO_HEALTH_URL",
        default_value = "http://127.0.0.1:8402"
    )]
    url: Uri,
    /// Time limit for the connection, and for the answer.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = duration)]
    timeout: Duration,
    /// Print JSON. Errors are JSON too, on standard error.
    #[arg(long)]
    json: bool,
}

/// Exits with 0 if the gateway is ready, and with 1 if it is not or does not answer.
pub(super) fn run(args: &HealthArgs) -> Result<(), CliFailure> {
    let (status, body) = ask(&args.url, args.timeout)?;
    let word = text(&body, "status");
    if status != 200 {
        let message = format!("{} answers {status}: {word}", args.url);
        return Err(CliFailure::new("not_ready", message));
    }
    say(match args.json {
        true => json!({ "ok": true, "health": body }).to_string(),
        false => format!("{word}: {}", args.url),
    });
    Ok(())
}

/// The status of the answer, and its body, `null` if that is not JSON.
fn ask(url: &Uri, timeout: Duration) -> Result<(u16, Value), CliFailure> {
    let refuse = |reason: &str| CliFailure::new("usage", format!("--url {url}: {reason}"));
    let host = match (url.scheme_str(), url.host()) {
        (Some("http"), Some(host)) => host,
        _ => return Err(refuse("write http://ADDRESS:PORT")),
    };
    let path = match url.path() {
        "" | "/" => READY,
        path => path,
    };
    let port = url.port_u16().unwrap_or(80);
    let fetch = || -> std::io::Result<Vec<u8>> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address = (bare, port).to_socket_addrs()?.next();
        let address = address.ok_or_else(|| std::io::Error::other("the name has no address"))?;
        let mut stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {host}:{port}\r\naccept: application/json\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(ANSWER_MAX).read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = fetch().map_err(|error| {
        CliFailure::new("unreachable", format!("{url} does not answer: {error}"))
    })?;
    read(&answer).ok_or_else(|| {
        let message = format!("{url} does not answer in HTTP");
        CliFailure::new("unreachable", message)
    })
}

fn read(answer: &[u8]) -> Option<(u16, Value)> {
    let answer = String::from_utf8_lossy(answer);
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let mut words = head.lines().next()?.split(' ');
    let status = match words.next()?.starts_with("HTTP/1.") {
        true => words.next()?.parse().ok()?,
        false => return None,
    };
    Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn args(url: &str) -> HealthArgs {
        HealthArgs {
            url: url.parse().expect("an address"),
            timeout: Duration::from_secs(10),
            json: true,
        }
    }

    /// A server that answers one request, and the first line of that request.
    fn server(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = [0; 1024];
            let length = stream.read(&mut request).expect("a request");
            stream.write_all(answer.as_bytes()).expect("it reads");
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            request.lines().next().unwrap_or_default().to_owned()
        });
        (url, thread)
    }

    #[test]
    fn a_ready_gateway_is_asked_for_its_readiness_and_is_healthy() {
        let (url, thread) = server("HTTP/1.1 200 OK\r\n\r\n{\"status\":\"ready\"}");
        assert_eq!(run(&args(&url)), Ok(()));
        assert_eq!(
            thread.join().expect("it ends"),
            "GET /health/ready HTTP/1.1"
        );
    }

    #[test]
    fn a_gateway_that_stops_is_not_healthy() {
        let (url, thread) =
            server("HTTP/1.1 503 Service Unavailable\r\n\r\n{\"status\":\"draining\"}");
        let failure = run(&args(&format!("{url}/health/live"))).expect_err("it is not ready");
        assert!(
            failure.message().ends_with("answers 503: draining"),
            "{failure:?}"
        );
        assert_eq!(thread.join().expect("it ends"), "GET /health/live HTTP/1.1");
    }

    #[test]
    fn what_does_not_answer_in_http_is_not_healthy() {
        let (url, _) = server("220 smtp ready\r\n\r\n");
        let failure = run(&args(&url)).expect_err("it is no gateway");
        assert!(
            failure.message().contains("does not answer in HTTP"),
            "{failure:?}"
        );
        let closed = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", closed.local_addr().expect("an address"));
        drop(closed);
        let failure = run(&args(&url)).expect_err("nothing listens");
        assert!(
            failure.message().contains("does not answer: "),
            "{failure:?}"
        );
    }

    #[test]
    fn an_address_without_http_is_refused_with_the_form_that_works() {
        for url in ["https://127.0.0.1:8402", "127.0.0.1:8402"] {
            let failure = run(&args(url)).expect_err("it is no address");
            assert!(
                failure.message().ends_with("write http://ADDRESS:PORT"),
                "{failure:?}"
            );
        }
    }
}

use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::BodyExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::endpoint::BaseUrl;

async fn read_request(stream: &mut tokio::net::TcpStream) -> bool {
    let mut seen = Vec::new();
    let mut byte = [0; 256];
    while !seen.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte).await {
            Ok(0) | Err(_) => return false,
            Ok(n) => seen.extend_from_slice(&byte[..n]),
        }
    }
    true
}

fn request() -> Outgoing {
    Request::get("/")
        .header("host", "x")
        .body(Full::default())
        .unwrap()
}

fn origin(host: &str, port: u16) -> Arc<Origin> {
    Origin::new(
        &BaseUrl {
            https: false,
            host: host.into(),
            port,
            path: String::new(),
        },
        false,
    )
}

#[tokio::test]
async fn a_connection_is_used_again_after_its_body_was_read() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = origin("127.0.0.1", listener.local_addr().unwrap().port());
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                while read_request(&mut stream).await {
                    stream
                        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                        .await
                        .unwrap();
                }
            });
        }
    });
    let transport = Transport::new(Duration::from_secs(2));
    for _ in 0..3 {
        let body = transport
            .send(&origin, request())
            .await
            .unwrap()
            .into_body();
        assert_eq!(body.collect().await.unwrap().to_bytes(), "ok");
        tokio::task::yield_now().await;
    }
    assert_eq!(accepted.load(Ordering::SeqCst), 1);
    // A body that is dropped half-way takes its connection with it.
    drop(transport.send(&origin, request()).await.unwrap());
    transport.send(&origin, request()).await.unwrap();
    assert_eq!(accepted.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_refused_connection_was_not_sent_and_a_cut_one_is_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
    });
    let transport = Transport::new(Duration::from_secs(2));
    let origin = origin("127.0.0.1", port);
    assert!(matches!(
        transport.send(&origin, request()).await,
        Err(SendError::Unknown(_))
    ));
    server.await.unwrap();
    assert!(matches!(
        transport.send(&origin, request()).await,
        Err(SendError::NotSent(ConnectError::Tcp(_)))
    ));
}

#[tokio::test]
async fn a_name_that_resolves_inside_is_refused_unless_allowed() {
    // `localhost.localdomain`-like names differ per machine; any alias of loopback shows the rule.
    let base = BaseUrl {
        https: false,
        host: "localhost".into(),
        port: 9,
        path: String::new(),
    };
    let mut strict = Arc::into_inner(Origin::new(&base, false)).unwrap();
    assert!(strict.allows_private(), "written as localhost, it is meant");
    strict.forbid_private();
    let refused = Transport::new(Duration::from_secs(2))
        .send(&Arc::new(strict), request())
        .await;
    assert!(matches!(
        refused,
        Err(SendError::NotSent(ConnectError::Private))
    ));
}

#[derive(Debug)]
struct InMemory;

impl Connector for InMemory {
    fn connect<'a>(&'a self, origin: &'a Origin) -> Connecting<'a> {
        Box::pin(async move {
            let host = origin.authority();
            let (ours, mut theirs) = tokio::io::duplex(4096);
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let mut some = [0; 256];
                while !seen.ends_with(b"\r\n\r\n") {
                    let read = theirs.read(&mut some).await.expect("a request");
                    seen.extend_from_slice(&some[..read]);
                }
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{host}",
                    host.len()
                );
                theirs.write_all(answer.as_bytes()).await.expect("it reads");
                let _ = theirs.read(&mut some).await;
            });
            Ok(Box::new(ours) as Box<dyn Io>)
        })
    }
}

#[tokio::test]
async fn a_connector_is_asked_for_every_new_connection() {
    let base = BaseUrl::parse("https://provider.test:4433/v1").unwrap();
    let transport = Transport::with_connector(Duration::from_secs(2), Arc::new(InMemory));
    let answer = transport
        .send(&Origin::new(&base, false), request())
        .await
        .unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "provider.test:4433");
}

#[test]
fn an_idle_connection_is_left_before_its_server_closes_it() {
    let patience = |host: &str, said: &[&'static str]| {
        let mut headers = http::HeaderMap::new();
        for value in said {
            headers.append("keep-alive", http::HeaderValue::from_static(value));
        }
        let base = BaseUrl::parse(&format!("https://{host}")).unwrap();
        super::pool::patience(&Origin::new(&base, false), &headers).as_secs()
    };
    let (other, known) = ("models.example", "api.openai.com");
    assert_eq!(patience(other, &[]), 4, "many servers close after 5 s");
    assert_eq!(patience(known, &[]), 30);
    assert_eq!(patience(other, &["timeout=5"]), 4);
    assert_eq!(patience(other, &["max=100, Timeout = 20"]), 19);
    assert_eq!(patience(other, &["timeout=600"]), 30);
    assert_eq!(patience(other, &["timeout=0"]), 0);
    assert_eq!(patience(known, &["timeout=5"]), 4);
    assert_eq!(patience(other, &["timeout=soon"]), 4);
}

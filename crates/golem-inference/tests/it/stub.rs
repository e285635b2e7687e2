//! A tiny HTTP server that answers what a test tells it to, and remembers what it was asked.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use golem_inference::client::GatewayAddress;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// With its query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// `Null` where there is none.
    pub(crate) body: Value,
}

impl Asked {
    /// The subsystem that it names; empty where it names none.
    pub(crate) fn subsystem(&self) -> &str {
        let subsystem = self.body.pointer("/bardo/subsystem");
        subsystem.and_then(Value::as_str).unwrap_or_default()
    }
}

pub(crate) type Answer = Response<Full<Bytes>>;

/// An answer with headers.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response
        .body(Full::new(body.into()))
        .expect("a test writes plain headers")
}

pub(crate) struct Stub {
    pub(crate) endpoint: GatewayAddress,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
}

impl Stub {
    pub(crate) async fn start(respond: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let (seen, counted) = (Arc::clone(&asked), Arc::clone(&connections));
        let respond = Arc::new(respond);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let (seen, respond) = (Arc::clone(&seen), Arc::clone(&respond));
                let service = service_fn(move |request| {
                    let (seen, respond) = (Arc::clone(&seen), Arc::clone(&respond));
                    async move {
                        let asked = read(request).await;
                        let response = respond(&asked);
                        seen.lock().expect("no test panics with it").push(asked);
                        Ok::<_, Infallible>(response)
                    }
                });
                let serve = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move { drop(serve.await) });
            }
        });
        Self {
            endpoint: GatewayAddress::parse(&format!("http://{address}")).expect("an address"),
            asked,
            connections,
        }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no test panics with it").clone()
    }

    /// Requests for completions.
    pub(crate) fn thoughts(&self) -> Vec<Asked> {
        let mut asked = self.asked();
        asked.retain(|asked| asked.path == "/v1/chat/completions");
        asked
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn read(request: Request<Incoming>) -> Asked {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("a whole request").to_bytes();
    Asked {
        method: head.method,
        path: head.uri.to_string(),
        headers: head.headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    }
}

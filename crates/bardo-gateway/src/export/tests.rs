use std::sync::Mutex;

use bardo_telemetry::Gauges;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;

use super::destination::{Destination, Posted};
use super::*;
use crate::config;
use crate::events::sample;

fn telemetry(value: serde_json::Value) -> TelemetryConfig {
    let loaded = config::embedded("test", json!({ "telemetry": value }));
    loaded.unwrap().config.telemetry
}

#[test]
fn nothing_is_exported_without_an_endpoint_or_when_disabled() {
    let metrics = Metrics::new();
    let open = |value| Exports::open(&telemetry(value), &metrics).unwrap();
    assert!(open(json!({})).is_none());
    let endpoint = json!({ "endpoint": "http://127.0.0.1:1" });
    assert!(open(json!({ "enabled": false, "otlp": endpoint })).is_none());
    let neither = json!({ "endpoint": "http://127.0.0.1:1", "traces": false, "metrics": false });
    assert!(open(json!({ "otlp": neither })).is_none());
    assert!(open(json!({ "otlp": endpoint })).is_some());
    let keys = json!({ "public_key": "pk", "secret_key": "sk" });
    let langfuse = open(json!({ "langfuse": keys })).unwrap();
    assert_eq!(langfuse.sinks.len(), 1);
    assert!(langfuse.meters.is_none());
}

#[test]
fn what_a_full_queue_has_no_room_for_is_dropped_and_counted() {
    let metrics = Metrics::new();
    let config = telemetry(json!({
        "otlp": { "endpoint": "http://127.0.0.1:1", "queue": 4, "batch": 2 },
    }));
    let exports = Exports::open(&config, &metrics).unwrap().unwrap();
    for _ in 0..10 {
        exports.take(&sample());
    }
    let text = metrics.encode(&Gauges::default());
    assert!(text.contains("bardo_telemetry_dropped_total{sink=\"otlp\"} 6"));
    let queue = &exports.sinks[0].queue;
    assert_eq!(
        [queue.take().len(), queue.take().len(), queue.take().len()],
        [2, 2, 0]
    );
}

/// A server that answers with this head, and the paths and headers that it saw.
async fn server(
    status: u16,
    retry_after: Option<&'static str>,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let log = Arc::clone(&log);
            let answer = service_fn(move |request: Request<Incoming>| {
                let log = Arc::clone(&log);
                async move {
                    let header = |name| request.headers().get(name).unwrap().to_str().unwrap();
                    let line = format!(
                        "{} {} {}",
                        request.uri(),
                        header("content-type"),
                        header("x-one")
                    );
                    request.into_body().collect().await.unwrap();
                    log.lock().unwrap().push(line);
                    let mut reply = Response::builder().status(status);
                    if let Some(after) = retry_after {
                        reply = reply.header("retry-after", after);
                    }
                    reply.body(Empty::<bytes::Bytes>::new())
                }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), answer));
        }
    });
    (url, seen)
}

#[tokio::test]
async fn a_status_says_whether_a_message_may_be_sent_again() {
    let transport = Transport::new(Duration::from_secs(5));
    let later = |text: &str, after: Option<u64>| {
        Posted::Later(text.to_owned(), after.map(Duration::from_secs))
    };
    for (status, after, expected) in [
        (200, None, Posted::Taken),
        (429, Some("7"), later("status 429", Some(7))),
        (502, None, later("status 502", None)),
        (503, Some("soon"), later("status 503", None)),
        (504, None, later("status 504", None)),
        (400, None, Posted::Refused("status 400".to_owned())),
        (401, None, Posted::Refused("status 401".to_owned())),
        (500, None, Posted::Refused("status 500".to_owned())),
        (302, None, Posted::Refused("status 302".to_owned())),
    ] {
        let (url, seen) = server(status, after).await;
        let to = Destination::new(
            ("test", &format!("{url}/base")),
            "/v1/traces",
            "application/x-protobuf",
            Duration::from_secs(30),
        );
        let to = to.unwrap().with_header("X-One", "1").unwrap();
        assert_eq!(
            to.post(&transport, "", "body".into()).await,
            expected,
            "{status}"
        );
        assert_eq!(
            *seen.lock().unwrap(),
            ["/base/v1/traces application/x-protobuf 1"]
        );
    }
    let gone = Destination::new(
        ("test", "http://127.0.0.1:1"),
        "",
        "a/b",
        Duration::from_secs(30),
    );
    let posted = gone.unwrap().post(&transport, "", "body".into()).await;
    assert!(matches!(posted, Posted::Later(..)), "{posted:?}");
}

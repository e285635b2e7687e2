//! A caller that stops reading and keeps its connection.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use serde_json::json;

use crate::http::{PATIENCE, Request};
use crate::rig::{Gateway, config, direct, with};
use crate::scripted::Scripted;
use crate::sse::Caller;

const PIECES: usize = 1 << 30;

#[test]
fn is_taken_for_gone_and_its_provider_is_let_go() {
    let (tell, words) = channel();
    let tell = Mutex::new(tell);
    let upstream = Scripted::start(move |mut turn| {
        turn.stream_head();
        let event = format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
            "word ".repeat(2_000)
        );
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        let written = turn.flood(chunk, PIECES);
        let _ = tell.lock().expect("no panic").send(written);
    });
    let gateway = Gateway::start(&with(
        config(&[direct("openai", &upstream.at("/v1"), &["m"])]),
        "server",
        json!({ "write_timeout": "300ms" }),
    ));
    for caller in [Caller::Chat, Caller::Anthropic] {
        let body = caller.request("m", "Hello", true);
        let mut exchange = gateway.open(&Request::json(caller.path(), &body));
        exchange.until(&mut Vec::new(), "word");
        // Nothing more is read, and nothing is closed.
        let written = words
            .recv_timeout(PATIENCE)
            .expect("the provider is let go");
        assert!(
            written < PIECES,
            "what is not read is not buffered without end"
        );
        drop(exchange);
    }
}

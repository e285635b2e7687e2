//! Connections that live longer than a request, on both sides.

use std::io::Write as _;
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::http::{Exchange, PATIENCE, Request, connect};
use crate::rig::{Gateway, Sandbox, config, direct, with};
use crate::scripted::Scripted;
use crate::sse::Caller;

#[test]
fn a_caller_may_keep_its_connection_through_answers_refusals_and_streams() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&with(
        config(&[direct("openai", &sandbox.at("/openai/v1"), &[])]),
        "server",
        json!({ "max_body": "64KiB" }),
    ));
    let mut exchange = Exchange::new(connect(gateway.address));
    for round in 0..3 {
        for (body, status) in [
            (
                Caller::Chat.request("gpt-5.5", "Hello", false).to_string(),
                200,
            ),
            (
                Caller::Chat.request("gpt-5.5", "Hello", true).to_string(),
                200,
            ),
            (
                Caller::Chat
                    .request("no-such-model", "Hello", true)
                    .to_string(),
                404,
            ),
            ("{".to_owned(), 400),
        ] {
            let request = Request::post("/v1/chat/completions", body);
            let mut head = request.head(gateway.address);
            head = head.replace("connection: close\r\n", "");
            exchange.again(&[head.as_bytes(), &request.body].concat());
            let answer = exchange.answer();
            assert_eq!(answer.status(), status, "round {round}: {}", answer.text());
            assert!(answer.complete);
        }
    }
}

#[test]
fn two_requests_in_one_write_are_answered_in_order() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(&[direct("openai", &sandbox.at("/openai/v1"), &[])]));
    let one = |text: &str| {
        let body = Caller::Chat.request("gpt-5.5", text, false);
        let request = Request::json("/v1/chat/completions", &body);
        let head = request
            .head(gateway.address)
            .replace("connection: close\r\n", "");
        [head.into_bytes(), request.body].concat()
    };
    let mut exchange = Exchange::new(connect(gateway.address));
    exchange.again(&[one("the first"), one("the second")].concat());
    assert!(exchange.answer().text().contains("the first"));
    exchange.again(b"");
    assert!(exchange.answer().text().contains("the second"));
}

const ANSWER: &str = r#"{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}"#;

/// Servers of one's own close idle connections after seconds, without saying so.
#[test]
fn a_connection_that_the_provider_closed_is_not_used_again() {
    let (closes, closed) = mpsc::channel();
    let upstream = Scripted::start(move |mut turn| {
        turn.write(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{ANSWER}",
            ANSWER.len()
        ));
        drop(turn);
        let _ = closes.send(());
    });
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    for n in 0..50 {
        let body = Caller::Chat.request("m", "Hello", false);
        let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
        assert_eq!(answer.status(), 200, "request {n}: {}", answer.text());
        // A request that crosses the end of its connection is another matter: nobody can tell.
        closed.recv_timeout(PATIENCE).expect("it closes");
    }
    assert_eq!(upstream.got().len(), 50);
}

/// A refusal that comes while a large request is still on its way.
#[test]
fn an_early_refusal_is_heard() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || early_refusal(stream));
        }
    });
    let gateway = Gateway::start(&config(&[direct(
        "openai",
        &format!("http://{address}/v1"),
        &["m"],
    )]));
    for caller in Caller::ALL {
        let body = caller.request("m", &"x".repeat(6 << 20), false);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.status(), 413, "{}", answer.text());
        caller.check_error(&answer.json());
    }
}

/// Reads the head alone, refuses, and takes the rest of the request without looking.
fn early_refusal(mut stream: std::net::TcpStream) {
    use std::io::Read as _;
    let mut seen = Vec::new();
    let mut some = [0; 4096];
    while !crate::http::contains(&seen, b"\r\n\r\n") {
        match stream.read(&mut some) {
            Ok(n) if n > 0 => seen.extend_from_slice(&some[..n]),
            _ => return,
        }
    }
    let body = r#"{"error":{"message":"too large","type":"invalid_request_error","param":null,"code":null}}"#;
    let _ = stream.write_all(
        format!(
            "HTTP/1.1 413 X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    );
    while matches!(stream.read(&mut some), Ok(n) if n > 0) {}
}

#[test]
fn requests_that_two_readers_would_take_apart_differently_are_refused() {
    let upstream = Scripted::always(ANSWER);
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let smuggled =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    for framing in [
        "content-length: 3\r\ncontent-length: 90",
        "content-length: +3",
        "content-length: 3, 90",
        "transfer-encoding: gzip",
        "transfer-encoding: chunked, gzip",
        "content-length : 3",
        "transfer-encoding: xchunked",
    ] {
        let mut stream = connect(gateway.address);
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n{framing}\r\n\r\n0\r\n\r\n{smuggled}"
        );
        stream.write_all(request.as_bytes()).expect("it is read");
        let mut exchange = Exchange::new(stream);
        let head = exchange.try_head();
        assert!(
            head.as_ref()
                .is_none_or(|head| (400..500).contains(&head.status)),
            "{framing}: {head:?}"
        );
        exchange.rest();
        exchange.again(b"");
        assert!(exchange.try_head().is_none(), "{framing}: a second answer");
    }
    assert_eq!(upstream.connections(), 0);
    let health = gateway.send(&Request::get("/health/ready"));
    assert_eq!(health.json()["status"], Value::from("ok"));
}

/// A line may end with LF alone (RFC 9112, section 2.2). A reader in front that does the same sees
/// the same one request; one that does not must refuse it.
#[test]
fn lines_that_end_with_lf_alone_frame_one_request() {
    let upstream = Scripted::always(ANSWER);
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let body = Caller::Chat.request("m", "Hello", false).to_string();
    let hidden =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    let length = body.len();
    let plain = format!(
        "POST /v1/chat/completions HTTP/1.1\nhost: localhost\ncontent-type: application/json\ncontent-length: {length}\n\n{body}"
    );
    // Whether `\n` ends a line or is part of a value, no reader finds two requests in here.
    let in_a_value = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nx-note: a\ncontent-length: {}\r\ncontent-length: {length}\r\n\r\n{body}{hidden}",
        length + hidden.len()
    );
    let chunked = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-note: a\ntransfer-encoding: chunked\r\ncontent-length: {}\r\n\r\n0\r\n\r\n{hidden}",
        5 + hidden.len()
    );
    for (request, answered) in [(plain, true), (in_a_value, false), (chunked, false)] {
        let before = upstream.got().len();
        let mut stream = connect(gateway.address);
        stream.write_all(request.as_bytes()).expect("it is read");
        let mut exchange = Exchange::new(stream);
        if answered {
            let answer = exchange.answer();
            assert_eq!(answer.status(), 200, "{}", answer.text());
        } else {
            let head = exchange.try_head();
            let status = head.as_ref().map(|head| head.status);
            assert!(
                status.is_none_or(|status| (400..500).contains(&status)),
                "{status:?}"
            );
            exchange.rest();
            exchange.again(b"");
            assert!(exchange.try_head().is_none(), "a second answer");
        }
        assert_eq!(upstream.got().len() - before, usize::from(answered));
    }
}

#[test]
fn a_stream_tells_proxies_to_pass_it_on_at_once() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(&[direct("openai", &sandbox.at("/openai/v1"), &[])]));
    for (stream, expected) in [(true, Some("no")), (false, None)] {
        let body = Caller::Chat.request("gpt-5.5", "Hello", stream);
        let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.header("x-accel-buffering"), expected, "{stream}");
    }
}

//! The provider behind the benchmark: canned answers, as light as possible.

use std::{
    net::{Ipv4Addr, SocketAddr},
    rc::Rc,
    time::Duration,
};

use anyhow::Result;
use memchr::memmem;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};

use super::{
    canned::{self, ANTHROPIC_MODEL, OPENAI_MODEL},
    process,
};
use crate::load::{self, connection::Reader, drive};

/// Options of the hidden `bench-upstream`.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// The pause of a slow stream between events.
const SLOW_GAP: Duration = Duration::from_secs(1);

struct Answers {
    openai: Vec<u8>,
    openai_events: Vec<Vec<u8>>,
    openai_events_with_usage: Vec<Vec<u8>>,
    anthropic: Vec<u8>,
    anthropic_events: Vec<Vec<u8>>,
    embeddings: Vec<u8>,
    models: Vec<u8>,
    /// The answer to telemetry.
    taken: Vec<u8>,
    unknown: Vec<u8>,
}

enum Answer<'a> {
    Whole(&'a [u8]),
    Events(&'a [Vec<u8>]),
    /// The events but the last few, then one of them again and again.
    Slow(&'a [Vec<u8>]),
}

/// Serves until it is killed.
pub(crate) fn run(_: &Args) -> Result<bool> {
    load::runtime()?.block_on(drive::local(serve()))?;
    Ok(true)
}

async fn serve() -> Result<()> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    process::announce(listener.local_addr()?);
    let answers = Rc::new(Answers::new());
    loop {
        let (stream, _) = listener.accept().await?;
        let answers = Rc::clone(&answers);
        tokio::task::spawn_local(async move {
            // A caller that leaves in the middle is part of every benchmark.
            let _ = converse(stream, &answers).await;
        });
    }
}

async fn converse(mut stream: TcpStream, answers: &Answers) -> Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut body) = (Reader::new(), Vec::new());
    while let Some(head) = reader.head(&mut stream).await? {
        body.clear();
        reader.body(&mut stream, head.framing, &mut body).await?;
        match answers.choose(head.target(), &body) {
            Answer::Whole(answer) => stream.write_all(answer).await?,
            Answer::Events(events) => {
                stream.write_all(canned::STREAM_HEAD).await?;
                for event in events {
                    stream.write_all(event).await?;
                    // Lets the reader see each event by itself, as a provider would.
                    tokio::task::yield_now().await;
                }
                stream.write_all(canned::STREAM_END).await?;
            }
            Answer::Slow(events) => {
                stream.write_all(canned::STREAM_HEAD).await?;
                for event in events.iter().take(4) {
                    stream.write_all(event).await?;
                }
                loop {
                    tokio::time::sleep(SLOW_GAP).await;
                    stream.write_all(&events[4]).await?;
                }
            }
        }
        if head.last {
            break;
        }
    }
    Ok(())
}

impl Answers {
    fn new() -> Self {
        let error = json!({"error": {"message": "no such path or model", "type": "invalid_request_error", "param": null, "code": null}}).to_string();
        let unknown = format!(
            "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{error}",
            error.len()
        );
        Self {
            openai: canned::whole(&canned::openai()),
            openai_events: canned::openai_events(false),
            openai_events_with_usage: canned::openai_events(true),
            anthropic: canned::whole(&canned::anthropic()),
            anthropic_events: canned::anthropic_events(),
            embeddings: canned::whole(&canned::embeddings()),
            models: canned::whole(&json!({"object": "list", "data": []})),
            taken: canned::whole(&json!({})),
            unknown: unknown.into_bytes(),
        }
    }

    fn choose(&self, target: &str, body: &[u8]) -> Answer<'_> {
        let path = target.split('?').next().unwrap_or(target);
        let streams = is_set(body, b"\"stream\"");
        let names = |model: &str| memmem::find(body, format!("\"{model}\"").as_bytes()).is_some();
        if path.ends_with("/v1/traces") || path.ends_with("/v1/metrics") {
            return Answer::Whole(&self.taken);
        }
        let (whole, events) = if path.ends_with("/chat/completions") && names(OPENAI_MODEL) {
            let with_usage = streams && is_set(body, b"\"include_usage\"");
            let events = if with_usage {
                &self.openai_events_with_usage
            } else {
                &self.openai_events
            };
            (&self.openai, events)
        } else if path.ends_with("/messages") && names(ANTHROPIC_MODEL) {
            (&self.anthropic, &self.anthropic_events)
        } else if path.ends_with("/embeddings") {
            return Answer::Whole(&self.embeddings);
        } else if path.ends_with("/models") {
            return Answer::Whole(&self.models);
        } else {
            return Answer::Whole(&self.unknown);
        };
        if !streams {
            Answer::Whole(whole)
        } else if memmem::find(body, canned::SLOW.as_bytes()).is_some() {
            Answer::Slow(events)
        } else {
            Answer::Events(events)
        }
    }
}

/// Whether a member (given with its quotes) is `true` anywhere in a body.
fn is_set(body: &[u8], member: &[u8]) -> bool {
    memmem::find_iter(body, member).any(|at| {
        let value = body[at + member.len()..].trim_ascii_start();
        let value = value.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        value.is_some_and(|value| value.starts_with(b"true"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_set_only_where_its_value_is_true() {
        assert!(is_set(br#"{"stream":true}"#, b"\"stream\""));
        assert!(is_set(br#"{"a":"stream","stream" : true}"#, b"\"stream\""));
        assert!(!is_set(br#"{"stream":false}"#, b"\"stream\""));
        assert!(!is_set(br#"["stream", true]"#, b"\"stream\""));
    }

    #[test]
    fn usage_is_streamed_only_when_asked_for() {
        let answers = Answers::new();
        let events = |body: &[u8]| match answers.choose("/v1/chat/completions", body) {
            Answer::Events(events) => events.concat(),
            Answer::Whole(_) | Answer::Slow(_) => panic!("not a stream"),
        };
        let plain = events(br#"{"model":"gpt-5.5","stream":true}"#);
        assert!(memmem::find(&plain, b"usage").is_none());
        let asked =
            events(br#"{"model":"gpt-5.5","stream":true,"stream_options":{"include_usage":true}}"#);
        assert!(memmem::find(&asked, b"\"total_tokens\":124").is_some());
    }

    #[test]
    fn a_path_with_its_model_chooses_the_dialect() {
        let answers = Answers::new();
        for (path, model, mark) in [
            ("/v1/chat/completions", OPENAI_MODEL, "chat.completion"),
            ("/v1/messages?beta=true", ANTHROPIC_MODEL, "end_turn"),
            ("/v1/embeddings", "any", "embedding"),
            ("/elsewhere", OPENAI_MODEL, "404 Not Found"),
            ("/v1/chat/completions", ANTHROPIC_MODEL, "404 Not Found"),
            ("/v1/messages", OPENAI_MODEL, "404 Not Found"),
        ] {
            let body = json!({"model": model}).to_string();
            let Answer::Whole(answer) = answers.choose(path, body.as_bytes()) else {
                panic!("{path} streams");
            };
            assert!(
                memmem::find(answer, mark.as_bytes()).is_some(),
                "{path} {model}"
            );
        }
    }
}

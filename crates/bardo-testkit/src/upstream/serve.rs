//! One connection to a provider.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::Instant;

use super::{Act, Asked, Script, Upstream};
use crate::client::case_of;

/// How the acts of a script ended.
enum End {
    /// All are done; the next request may come.
    Done,
    /// The connection is to be closed.
    Closed,
}

pub(super) async fn connection(upstream: Arc<Upstream>, io: DuplexStream) {
    upstream.journal().open += 1;
    let (mut reader, mut writer) = tokio::io::split(io);
    let mut buffer = Vec::new();
    while let Some(text) = request(&mut reader, &mut buffer).await {
        if !answer(&upstream, text, &mut reader, &mut writer, &mut buffer).await {
            break;
        }
    }
    upstream.journal().open -= 1;
}

/// Carries out the script for one request; whether another may follow.
async fn answer(
    upstream: &Upstream,
    text: String,
    reader: &mut ReadHalf<DuplexStream>,
    writer: &mut WriteHalf<DuplexStream>,
    buffer: &mut Vec<u8>,
) -> bool {
    let asked = asked(upstream, text);
    let script = (upstream.plan)(&asked);
    let index = upstream.begin(asked.case, &script);
    let ended = tokio::select! {
        biased;
        ended = perform(upstream, index, &script, writer) => Some(ended),
        () = until_left(reader, buffer) => None,
    };
    upstream.change(index, |call| {
        call.over = true;
        if ended.is_none() {
            call.left_at = Some(Instant::now());
        }
    });
    matches!(ended, Some(End::Done))
}

fn asked(upstream: &Upstream, text: String) -> Asked {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let case = case_of(body).unwrap_or(u64::MAX);
    let field = |name: &str| {
        let value = serde_json::from_str::<serde_json::Value>(body).ok()?;
        Some(value.get(name)?.clone())
    };
    let model = field("model").and_then(|model| model.as_str().map(str::to_owned));
    let stream = head.contains(":streamGenerateContent")
        || field("stream") == Some(serde_json::Value::Bool(true));
    let earlier = |call: &&super::Call| call.case == case;
    Asked {
        case,
        earlier: upstream.journal().calls.iter().filter(earlier).count(),
        model: model.unwrap_or_default(),
        stream,
        text,
    }
}

async fn perform(
    upstream: &Upstream,
    index: usize,
    script: &Script,
    writer: &mut WriteHalf<DuplexStream>,
) -> End {
    for act in &script.acts {
        match act {
            Act::Wait(time) => tokio::time::sleep(*time).await,
            Act::Write(bytes, tokens) => {
                upstream.change(index, |call| call.billed_output += tokens);
                if writer.write_all(bytes).await.is_err() {
                    // The reading half notices at the same time, and writes it down.
                    std::future::pending::<()>().await;
                }
            }
            Act::HalfClose => {
                let _ = writer.shutdown().await;
            }
            Act::Cut => return End::Closed,
            Act::Silence => std::future::pending().await,
        }
    }
    End::Done
}

/// Reads until the other side closes. What else comes belongs to the next request.
async fn until_left(reader: &mut ReadHalf<DuplexStream>, buffer: &mut Vec<u8>) {
    while matches!(reader.read_buf(buffer).await, Ok(read) if read > 0) {}
}

/// The head and body of the next request; `None` when the other side has closed.
async fn request(reader: &mut ReadHalf<DuplexStream>, buffer: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(length) = whole_request(buffer) {
            let rest = buffer.split_off(length);
            let request = std::mem::replace(buffer, rest);
            return String::from_utf8(request).ok();
        }
        match reader.read_buf(buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// The length of the request at the beginning of the buffer, if all of it is there.
fn whole_request(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&buffer[..head]).ok()?;
    let length = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(Some(0), |(_, length)| length.trim().parse::<usize>().ok())?;
    (buffer.len() >= head + length).then_some(head + length)
}

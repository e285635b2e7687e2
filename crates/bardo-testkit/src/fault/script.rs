//! Faults as acts.

use std::time::Duration;

use bardo_types::model::Dialect;
use bytes::Bytes;

use super::{Fault, Patience};
use crate::answer::{Answer, Event, UsageStyle, error_body, error_event, ping, unknown_event};
use crate::dice::Dice;
use crate::upstream::{Act, Asked, Script};

/// Larger than an event may grow.
const HUGE: usize = 17 << 20;
/// Longer than a head may grow.
const HEAD_HUGE: usize = 600 << 10;

pub(super) fn of(fault: Fault, answer: &Answer, asked: &Asked, dice: &mut Dice) -> Script {
    let mut answer = answer.clone();
    answer.usage = match fault {
        Fault::UsageMissing => UsageStyle::Missing,
        Fault::UsageTwice => UsageStyle::Twice,
        Fault::UsageWithContent => UsageStyle::WithContent,
        _ => UsageStyle::Usual,
    };
    if fault == Fault::Nul {
        answer.pieces.push("\0".to_owned());
        answer.pieces.push(" end".to_owned());
    }
    if let Some(acts) = refusal(fault, &answer, asked) {
        return Script {
            acts,
            ..Script::default()
        };
    }
    let acts = match before_the_body(fault) {
        Some(acts) => acts,
        None if asked.stream => streamed(fault, &answer, dice),
        None => whole(fault, &answer, dice),
    };
    let pieces: Vec<String> = if fault == Fault::Endless && asked.stream {
        let (first, again) = answer.pieces.split_at(INTRO);
        let again = again[..2].iter().cycle().take(2 * ENDLESS);
        first.iter().chain(again).cloned().collect()
    } else {
        answer.pieces.clone()
    };
    Script {
        acts,
        accepts: !matches!(
            fault,
            Fault::ErrorFirst | Fault::ErrorInBody | Fault::WebPage
        ),
        text: pieces.concat(),
        input: answer.input,
        usage: answer.usage,
        pieces,
    }
}

pub(super) fn cut_after(answer: &Answer, events: usize, torn: bool) -> Script {
    let all = answer.events();
    let mut acts = vec![write(STREAM_HEAD)];
    for event in &all[..events] {
        acts.push(chunk(event));
        acts.push(Act::Wait(Duration::from_millis(20)));
    }
    if torn && let Some(next) = all.get(events) {
        acts.push(chunk_of(next.bytes.slice(..next.bytes.len() / 2)));
    }
    acts.push(Act::Cut);
    Script {
        acts,
        accepts: true,
        text: answer.text(),
        input: answer.input,
        usage: answer.usage,
        pieces: answer.pieces.clone(),
    }
}

pub(super) fn streams(answer: &Answer, body: &[u8], piece: usize, framed: bool) -> Script {
    let mut acts = vec![write(if framed {
        STREAM_HEAD
    } else {
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    })];
    for part in body.chunks(piece) {
        let part = Bytes::copy_from_slice(part);
        let part = if framed { chunk_of(part) } else { write(part) };
        acts.extend([part, Act::Wait(Duration::from_millis(1))]);
    }
    acts.push(if framed { write("0\r\n\r\n") } else { Act::Cut });
    Script {
        acts,
        accepts: true,
        text: answer.text(),
        input: answer.input,
        usage: answer.usage,
        pieces: answer.pieces.clone(),
    }
}

const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: up-1\r\ntransfer-encoding: chunked\r\n\r\n";

fn write(bytes: impl Into<Bytes>) -> Act {
    Act::Write(bytes.into(), 0)
}

/// A date is meant by the clock of whoever writes it.
const IN_THREE_SECONDS: &str =
    "date: Fri, 20 Nov 2026 12:00:00 GMT\r\nretry-after: Fri, 20 Nov 2026 12:00:03 GMT\r\n";

/// Explicit refusals: nothing is made and nothing is billed.
fn refusal(fault: Fault, answer: &Answer, asked: &Asked) -> Option<Vec<Act>> {
    let (status, head, body) = match fault {
        Fault::RateLimitedHint => (429, "retry-after: 2\r\n", None),
        Fault::RateLimitedPlain => (429, "", None),
        Fault::RateLimitedDate => (429, IN_THREE_SECONDS, None),
        Fault::ServerError => (500, "", None),
        Fault::BadGateway => (502, "", Some("<html><h1>Bad Gateway</h1></html>")),
        Fault::UnavailableOnce if asked.earlier == 0 => (503, "retry-after: 1\r\n", None),
        Fault::Overloaded if answer.dialect == Dialect::Anthropic => (529, "", None),
        Fault::Overloaded => (503, "", None),
        Fault::KeyRefused => (401, "", None),
        Fault::OutOfFunds => (402, "", None),
        Fault::NotFound => (404, "", None),
        Fault::Redirect => (307, "location: http://elsewhere.test/v1\r\n", Some("")),
        _ => return None,
    };
    let body = match body {
        Some(page) => page.to_owned(),
        None => error_body(answer.dialect, status, "It does not work at present"),
    };
    let kind = if body.starts_with('<') {
        "text/html"
    } else {
        "application/json"
    };
    let text = format!(
        "HTTP/1.1 {status} Refused\r\ncontent-type: {kind}\r\n{head}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    Some(vec![write(text)])
}

/// Faults that do not depend on how the answer is written.
fn before_the_body(fault: Fault) -> Option<Vec<Act>> {
    let acts = match fault {
        Fault::ConnectRefused | Fault::ConnectHangs | Fault::ResetAfterRequest => vec![Act::Cut],
        Fault::HeadTorn => vec![write("HTTP/1.1 200 OK\r\ncontent-ty"), Act::Cut],
        Fault::HeadNever => vec![Act::Silence],
        Fault::HeadOversized => {
            let head = format!("HTTP/1.1 200 OK\r\nx-noise: {}\r\n", "n".repeat(HEAD_HUGE));
            vec![write(head), Act::Silence]
        }
        Fault::WebPage => {
            let page = "<html><body>Please log in to the network</body></html>";
            vec![write(plain("text/html", "", page.as_bytes()))]
        }
        Fault::EmptyBody => vec![write(plain("application/json", "", b""))],
        Fault::Compressed => {
            let noise = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56\x4a";
            let head = "content-encoding: gzip\r\n";
            vec![write(plain("application/json", head, noise))]
        }
        _ => return None,
    };
    Some(acts)
}

fn plain(kind: &str, head: &str, body: &[u8]) -> Vec<u8> {
    let mut text = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nx-request-id: up-1\r\n{head}content-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    text.extend_from_slice(body);
    text
}

/// An answer that comes whole.
fn whole(fault: Fault, answer: &Answer, dice: &mut Dice) -> Vec<Act> {
    let tokens = answer.output();
    let body = match fault {
        Fault::ErrorInBody | Fault::ErrorFirst => {
            let body = error_body(answer.dialect, 503, "The model is overloaded");
            return vec![write(plain("application/json", "", body.as_bytes()))];
        }
        Fault::NoUtf8 => {
            let mut body = answer.whole().to_vec();
            let at = body.len() / 2;
            body[at] = 0xff;
            body.into()
        }
        Fault::NoTerminal | Fault::ErrorLater => answer.whole().slice(..answer.whole().len() / 2),
        _ => answer.whole(),
    };
    let whole = Bytes::from(plain("application/json", "", &body));
    let body_at = whole.len() - body.len();
    // At least one byte of the body comes, and at least one is missing.
    let cut = body_at + 1 + dice.index(body.len() - 1);
    let part = Act::Write(whole.slice(..cut.min(whole.len() - 1)), tokens);
    match fault {
        Fault::HeadSlow | Fault::UsageLate => vec![
            Act::Wait(Patience::HEADER - Duration::from_secs(2)),
            Act::Write(whole, tokens),
        ],
        Fault::EarlyHints => vec![
            write("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"),
            Act::Wait(Duration::from_millis(300)),
            Act::Write(whole, tokens),
        ],
        Fault::SilentAfterHead | Fault::PingsOnly => {
            vec![Act::Write(whole.slice(..body_at), 0), Act::Silence]
        }
        Fault::HalfClose => vec![part, Act::HalfClose, Act::Silence],
        Fault::CutBetween | Fault::CutInside | Fault::TooShort | Fault::BadChunk => {
            vec![part, Act::Cut]
        }
        Fault::Stalls | Fault::PingsLater | Fault::Endless | Fault::HugeEvent => {
            vec![part, Act::Silence]
        }
        Fault::ByteByByte => bytewise(&whole, tokens),
        Fault::Slow => paced(&whole, tokens, Patience::IDLE / 2),
        Fault::ClosesAfter => vec![Act::Write(whole, tokens), Act::Cut],
        _ => vec![Act::Write(whole, tokens)],
    }
}

fn bytewise(bytes: &Bytes, tokens: u64) -> Vec<Act> {
    let mut acts = Vec::new();
    for at in 0..bytes.len() {
        acts.push(Act::Write(
            bytes.slice(at..=at),
            if at == 0 { tokens } else { 0 },
        ));
        // A moment in which the other side reads, so that the bytes do not come together again.
        acts.push(Act::Wait(Duration::from_millis(1)));
    }
    acts
}

fn paced(bytes: &Bytes, tokens: u64, pause: Duration) -> Vec<Act> {
    let (first, second) = (bytes.len() / 3, 2 * bytes.len() / 3);
    vec![
        Act::Write(bytes.slice(..first), tokens),
        Act::Wait(pause),
        Act::Write(bytes.slice(first..second), 0),
        Act::Wait(pause),
        Act::Write(bytes.slice(second..), 0),
    ]
}

fn chunk(event: &Event) -> Act {
    let mut bytes = format!("{:x}\r\n", event.bytes.len()).into_bytes();
    bytes.extend_from_slice(&event.bytes);
    bytes.extend_from_slice(b"\r\n");
    Act::Write(bytes.into(), event.tokens)
}

fn chunk_of(bytes: Bytes) -> Act {
    chunk(&Event {
        bytes,
        tokens: 0,
        terminal: false,
    })
}

/// An answer that comes piece by piece.
fn streamed(fault: Fault, answer: &Answer, dice: &mut Dice) -> Vec<Act> {
    let mut acts = Vec::new();
    if fault == Fault::EarlyHints {
        acts.push(write("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"));
    }
    if fault == Fault::HeadSlow {
        acts.push(Act::Wait(Patience::HEADER - Duration::from_secs(2)));
    }
    if fault == Fault::ErrorInBody {
        let body = error_body(answer.dialect, 503, "The model is overloaded");
        return vec![write(plain("application/json", "", body.as_bytes()))];
    }
    acts.push(write(STREAM_HEAD));
    body(fault, answer, dice, &mut acts);
    acts
}

fn body(fault: Fault, answer: &Answer, dice: &mut Dice, acts: &mut Vec<Act>) {
    let events = answer.events();
    let first = events.iter().position(|event| event.tokens > 0);
    let first = first.expect("an answer has content");
    let last = events.iter().rposition(|event| event.terminal);
    let last = last.expect("a stream has an end");
    // After the first content, and before the last of it.
    let middle = first + 1 + dice.index(answer.pieces.len() - 2);
    let rhythm = Duration::from_millis(20 + dice.below(30));
    let pace = |acts: &mut Vec<Act>, events: &[Event]| {
        for event in events {
            acts.push(chunk(event));
            acts.push(Act::Wait(rhythm));
        }
    };
    match fault {
        Fault::SilentAfterHead => acts.push(Act::Silence),
        Fault::PingsOnly => pings(acts, answer.dialect),
        Fault::TooShort => acts.push(Act::Cut),
        Fault::ErrorFirst => {
            acts.push(chunk_of(error_event(answer.dialect)));
            acts.push(write("0\r\n\r\n"));
        }
        Fault::HalfClose => {
            pace(acts, &events[..middle]);
            acts.extend([Act::HalfClose, Act::Silence]);
        }
        Fault::CutBetween => {
            pace(acts, &events[..middle]);
            acts.push(Act::Cut);
        }
        Fault::CutInside => {
            pace(acts, &events[..middle]);
            let torn = &events[middle].bytes;
            let cut = 1 + dice.index(torn.len() - 2);
            acts.extend([chunk_of(torn.slice(..cut)), Act::Cut]);
        }
        Fault::BadChunk => {
            pace(acts, &events[..middle]);
            acts.extend([write("zz\r\nnonsense\r\n"), Act::Silence]);
        }
        Fault::ErrorLater => {
            pace(acts, &events[..middle]);
            acts.push(chunk_of(error_event(answer.dialect)));
            acts.push(write("0\r\n\r\n"));
        }
        Fault::NoTerminal => {
            // In chat the reason to finish says as much as `[DONE]`; it is missing too.
            let end = if answer.dialect == Dialect::Chat {
                first + answer.pieces.len()
            } else {
                last
            };
            pace(acts, &events[..end]);
            acts.push(write("0\r\n\r\n"));
        }
        Fault::Stalls => {
            pace(acts, &events[..middle]);
            acts.push(Act::Silence);
        }
        Fault::PingsLater => {
            pace(acts, &events[..middle]);
            pings(acts, answer.dialect);
        }
        Fault::HugeEvent => {
            pace(acts, &events[..middle]);
            let start = Bytes::from_static(b"data: {\"noise\":\"");
            acts.push(chunk_of(start));
            let noise = Bytes::from(vec![b'n'; 1 << 20]);
            for _ in 0..HUGE >> 20 {
                acts.push(chunk_of(noise.clone()));
            }
            acts.push(Act::Silence);
        }
        Fault::Endless => {
            let (before, again) = events.split_at(first + INTRO);
            endless(acts, &again[..2], before);
        }
        _ => rest(fault, answer, &events, middle, acts, pace),
    }
}

/// Streams that come to their end.
fn rest(
    fault: Fault,
    answer: &Answer,
    events: &[Event],
    middle: usize,
    acts: &mut Vec<Act>,
    pace: impl Fn(&mut Vec<Act>, &[Event]),
) {
    match fault {
        Fault::ByteByByte => {
            for event in events {
                for at in 0..event.bytes.len() {
                    acts.push(chunk_of(event.bytes.slice(at..=at)));
                }
                acts.push(Act::Wait(Duration::from_millis(1)));
                acts.push(Act::Write(Bytes::new(), event.tokens));
            }
        }
        Fault::Slow => {
            pace(acts, &events[..middle]);
            acts.push(Act::Wait(Patience::IDLE - Duration::from_secs(1)));
            pace(acts, &events[middle..]);
        }
        Fault::UsageLate => {
            pace(acts, &events[..events.len() - 2]);
            acts.push(Act::Wait(Patience::IDLE - Duration::from_secs(1)));
            pace(acts, &events[events.len() - 2..]);
        }
        Fault::UnknownEvents => {
            pace(acts, &events[..middle]);
            acts.push(chunk_of(unknown_event(answer.dialect)));
            pace(acts, &events[middle..]);
        }
        Fault::NoUtf8 => {
            pace(acts, &events[..middle]);
            acts.push(chunk_of(Bytes::from_static(
                b"data: {\"noise\":\"\xff\xfe\"}\n\n",
            )));
            pace(acts, &events[middle..]);
        }
        Fault::TerminalTwice => {
            pace(acts, events);
            acts.push(chunk_of(terminal_again(answer.dialect, events)));
        }
        Fault::TrailingNoise => {
            pace(acts, events);
            acts.push(chunk_of(Bytes::from_static(
                b"data: noise\n\n\x00\x01<html>",
            )));
        }
        _ => pace(acts, events),
    }
    acts.push(write("0\r\n\r\n"));
    if fault == Fault::ClosesAfter {
        acts.push(Act::Cut);
    }
}

/// The end once more, without what else the last event may carry.
fn terminal_again(dialect: Dialect, events: &[Event]) -> Bytes {
    match dialect {
        Dialect::Gemini => Bytes::from_static(
            b"data: {\"candidates\":[{\"finishReason\":\"STOP\",\"index\":0}]}\n\n",
        ),
        _ => events.last().expect("a stream has an end").bytes.clone(),
    }
}

/// Pieces before the words of an answer.
const INTRO: usize = 5;
/// How often an endless stream says the same before anybody must have had enough.
const ENDLESS: usize = 200;

fn pings(acts: &mut Vec<Act>, dialect: Dialect) {
    for _ in 0..200 {
        acts.push(chunk_of(ping(dialect)));
        acts.push(Act::Wait(Duration::from_secs(1)));
    }
}

fn endless(acts: &mut Vec<Act>, again: &[Event], before: &[Event]) {
    acts.extend(before.iter().map(chunk));
    for _ in 0..ENDLESS {
        acts.extend(again.iter().map(chunk));
        acts.push(Act::Wait(Duration::from_secs(1)));
    }
}

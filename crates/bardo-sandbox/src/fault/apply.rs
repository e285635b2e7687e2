//! Bends a clean reply into a faulty delivery, without knowing the dialect.

use bytes::Bytes;

use crate::fault::{Fault, Faults};
use crate::player::Step;
use crate::recorded::Recorded;
use crate::reply::{Content, Headers, Part, Piece, Reply};
use crate::services::Service;

/// What goes on the wire.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) steps: Vec<Step>,
    /// The promised `content-length`; `None` sends chunks.
    pub(crate) length: Option<u64>,
    pub(crate) delay_headers_ms: u64,
    pub(crate) split_bytes: usize,
    /// Ends the connection with a reset before any answer.
    pub(crate) reset: bool,
    pub(crate) faulted: bool,
}

impl Delivery {
    /// A delivery without faults.
    pub(crate) fn clean(reply: Reply) -> Self {
        let (steps, length) = match reply.content {
            Content::Whole(body) => {
                let length = body.len() as u64;
                (
                    vec![Step::Send {
                        bytes: body,
                        event: false,
                    }],
                    Some(length),
                )
            }
            Content::Stream(pieces) => (steps_of(pieces), None),
        };
        Self {
            status: reply.status,
            headers: reply.headers,
            steps,
            length,
            delay_headers_ms: 0,
            split_bytes: 0,
            reset: false,
            faulted: false,
        }
    }
}

/// Applies faults to a reply: first those that replace it, then those that edit its pieces, then
/// those that act on the finished sequence of bytes.
pub(crate) fn apply(
    mut reply: Reply,
    faults: &Faults,
    service: &Service,
    request: &Recorded,
) -> Delivery {
    for fault in faults.iter() {
        reply = replaced(reply, fault, service, request);
    }
    if let Content::Stream(pieces) = &mut reply.content {
        for fault in faults.iter() {
            edit_pieces(pieces, fault, service, request);
        }
    }
    let mut delivery = Delivery::clean(reply);
    delivery.faulted = !faults.is_empty();
    for fault in faults.iter() {
        bend(&mut delivery, fault, service, request);
    }
    delivery
}

fn replaced(reply: Reply, fault: &Fault, service: &Service, request: &Recorded) -> Reply {
    match fault {
        Fault::Status {
            status,
            retry_after,
            retry_after_ms,
        } => {
            let mut refusal = (service.refuse)(*status, request);
            if let Some(seconds) = retry_after {
                refusal = refusal.set_header("retry-after", seconds.to_string());
            }
            if let Some(ms) = retry_after_ms {
                refusal = refusal.set_header("retry-after-ms", ms.to_string());
            }
            refusal
        }
        Fault::ErrorIn200 { status } => match &reply.content {
            Content::Whole(_) => {
                let mut refusal = (service.refuse)(status.unwrap_or(500), request);
                refusal.status = 200;
                refusal
            }
            Content::Stream(_) => {
                let error = (service.stream_error)(request);
                Reply {
                    content: Content::Stream(vec![error]),
                    ..reply
                }
            }
        },
        Fault::EmptyBody => Reply {
            content: Content::Whole(Bytes::new()),
            ..reply
        },
        Fault::HtmlBody { status } => Reply::whole(
            status.unwrap_or(502),
            "text/html; charset=UTF-8",
            Bytes::from_static(BAD_GATEWAY_PAGE.as_bytes()),
        )
        .with_header("server", "cloudflare"),
        Fault::Redirect { location, status } => {
            Reply::whole(status.unwrap_or(307), "text/plain", Bytes::new())
                .with_header("location", location.clone())
        }
        Fault::WrongContentType { value } => {
            reply.set_header("content-type", value.as_deref().unwrap_or("text/plain"))
        }
        _ => reply,
    }
}

fn edit_pieces(pieces: &mut Vec<Piece>, fault: &Fault, service: &Service, request: &Recorded) {
    match fault {
        Fault::DelayFirst { ms } => {
            if let Some(first) = pieces.iter_mut().find(|piece| piece.part == Part::Content) {
                first.delay_ms += ms;
            }
        }
        Fault::EofAfter { events } => pieces.truncate(after(pieces, *events)),
        Fault::ErrorEventAfter { events } => {
            pieces.truncate(after(pieces, *events));
            pieces.push((service.stream_error)(request));
        }
        Fault::MalformedAfter { events } => change(pieces, *events, |bytes| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let data = text.find("data: ").map_or(0, |at| at + 6);
            let keep = data + (text.trim_end().len().saturating_sub(data)) / 2;
            let keep = crate::tokens::floor_boundary(&text, keep);
            format!("{}\n\n", &text[..keep]).into_bytes()
        }),
        Fault::InvalidUtf8After { events } => {
            change(pieces, *events, |bytes| inserted(bytes, b"\"\xff\xfe\":0,"));
        }
        Fault::HugeEvent { bytes: size } => {
            if let Some(piece) = pieces.iter_mut().find(|piece| piece.part == Part::Content) {
                let padding = format!("\"padding\":\"{}\",", "x".repeat(*size));
                piece.bytes = inserted(&piece.bytes, padding.as_bytes()).into();
            }
        }
        Fault::DuplicateDone => {
            if let Some(done) = pieces
                .iter()
                .rfind(|piece| piece.part == Part::Done)
                .cloned()
            {
                pieces.push(done);
            }
        }
        Fault::NoDone => pieces.retain(|piece| piece.part != Part::Done),
        Fault::Crlf => {
            for piece in pieces {
                let text = String::from_utf8_lossy(&piece.bytes).replace('\n', "\r\n");
                piece.bytes = text.into();
            }
        }
        _ => {}
    }
}

/// The position after `events` events; comments do not count.
fn after(pieces: &[Piece], events: usize) -> usize {
    let mut seen = 0;
    for (at, piece) in pieces.iter().enumerate() {
        if seen == events {
            return at;
        }
        seen += usize::from(piece.is_event());
    }
    pieces.len()
}

/// Changes the event that comes after `events` others.
fn change(pieces: &mut [Piece], events: usize, change: impl FnOnce(&[u8]) -> Vec<u8>) {
    if let Some(piece) = pieces
        .iter_mut()
        .filter(|piece| piece.is_event())
        .nth(events)
    {
        piece.bytes = change(&piece.bytes).into();
    }
}

/// Inserts bytes behind the first opening brace.
fn inserted(bytes: &[u8], insert: &[u8]) -> Vec<u8> {
    let at = bytes
        .iter()
        .position(|byte| *byte == b'{')
        .map_or(0, |at| at + 1);
    [&bytes[..at], insert, &bytes[at..]].concat()
}

fn bend(delivery: &mut Delivery, fault: &Fault, service: &Service, request: &Recorded) {
    match fault {
        Fault::DelayHeaders { ms } => delivery.delay_headers_ms += ms,
        Fault::DelayBody { ms } => delivery.steps.insert(0, Step::Pause { ms: *ms }),
        Fault::StallAfter { events } => {
            delivery
                .steps
                .truncate(step_after(&delivery.steps, *events));
            delivery.steps.push(Step::Stall);
        }
        Fault::PingsOnly { every_ms } => {
            let bytes = (service.ping)(request);
            delivery.steps = vec![Step::Repeat {
                bytes,
                every_ms: every_ms.unwrap_or(50),
            }];
            delivery.length = None;
        }
        Fault::CutAfter { events } => {
            delivery
                .steps
                .truncate(step_after(&delivery.steps, *events));
            delivery.steps.extend(cut());
        }
        Fault::CutAtByte { n } => {
            truncate_bytes(&mut delivery.steps, *n);
            delivery.steps.extend(cut());
        }
        Fault::SplitBytes { n } => delivery.split_bytes = (*n).max(1),
        Fault::ResetOnConnect => delivery.reset = true,
        Fault::GzipUnasked => gzip_all(delivery),
        _ => {}
    }
}

/// What was sent before is flushed first, so that the client sees exactly that much.
fn cut() -> [Step; 2] {
    [Step::Pause { ms: 1 }, Step::Abort]
}

fn step_after(steps: &[Step], events: usize) -> usize {
    let mut seen = 0;
    for (at, step) in steps.iter().enumerate() {
        if seen == events {
            return at;
        }
        seen += usize::from(matches!(step, Step::Send { event: true, .. }));
    }
    // A whole body has no events: it breaks off before its only step.
    if seen == 0 { 0 } else { steps.len() }
}

fn truncate_bytes(steps: &mut Vec<Step>, n: usize) {
    let mut left = n;
    for at in 0..steps.len() {
        if let Step::Send { bytes, event } = &mut steps[at] {
            if bytes.len() > left {
                bytes.truncate(left);
                *event = false;
                steps.truncate(at + 1);
                return;
            }
            left -= bytes.len();
        }
    }
}

fn steps_of(pieces: Vec<Piece>) -> Vec<Step> {
    let mut steps = Vec::with_capacity(pieces.len());
    for piece in pieces {
        if piece.delay_ms > 0 {
            steps.push(Step::Pause { ms: piece.delay_ms });
        }
        let event = piece.is_event();
        steps.push(Step::Send {
            bytes: piece.bytes,
            event,
        });
    }
    steps
}

/// Compresses every sent byte as one gzip member of stored blocks.
fn gzip_all(delivery: &mut Delivery) {
    let mut plain = Vec::new();
    for step in &delivery.steps {
        if let Step::Send { bytes, .. } = step {
            plain.extend_from_slice(bytes);
        }
    }
    let packed = gzip_stored(&plain);
    delivery.length = delivery.length.map(|_| packed.len() as u64);
    delivery.steps = vec![Step::Send {
        bytes: packed.into(),
        event: false,
    }];
    delivery
        .headers
        .push(("content-encoding".to_owned(), "gzip".to_owned()));
}

/// A gzip member without compression: enough to be unreadable for whoever does not expect it.
fn gzip_stored(plain: &[u8]) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = plain.chunks(0xffff).peekable();
    if blocks.peek().is_none() {
        packed.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        // Chunks are at most 65535 bytes long.
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        packed.push(u8::from(blocks.peek().is_none()));
        packed.extend(length.to_le_bytes());
        packed.extend((!length).to_le_bytes());
        packed.extend_from_slice(block);
    }
    packed.extend(crc32(plain).to_le_bytes());
    packed.extend(
        u32::try_from(plain.len() & 0xffff_ffff)
            .unwrap_or(0)
            .to_le_bytes(),
    );
    packed
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

const BAD_GATEWAY_PAGE: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n\
    <center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n\
    </html>\r\n";

#[cfg(test)]
mod tests;

//! The table of services: prefix, handler and the dialect details that faults need.

use bytes::Bytes;

use crate::recorded::Recorded;
use crate::reply::{Piece, Reply};
use crate::world::World;
use crate::{
    anthropic, bankr, blockrun, deepseek, facilitator, google, local, openai, openrouter, venice,
};

/// One simulated service.
pub(crate) struct Service {
    /// First path segment and name in the journal.
    pub(crate) name: &'static str,
    /// Answers a request; pure apart from the state in [`World`].
    pub(crate) handle: fn(&Recorded, &World) -> Reply,
    /// An error with this status, in the service's own shape.
    pub(crate) refuse: fn(u16, &Recorded) -> Reply,
    /// The error event of a stream that already began.
    pub(crate) stream_error: fn(&Recorded) -> Piece,
    /// What the service sends to keep a quiet stream open.
    pub(crate) ping: fn(&Recorded) -> Bytes,
}

/// Every service, by prefix.
pub(crate) const SERVICES: &[Service] = &[
    service(
        "openai",
        openai::handle,
        openai::refuse,
        openai::stream_error,
        comment_ping,
    ),
    Service {
        name: "anthropic",
        handle: anthropic::handle,
        refuse: anthropic::refuse,
        stream_error: anthropic::stream_error,
        ping: anthropic::ping,
    },
    service(
        "google",
        google::handle,
        google::refuse,
        google::stream_error,
        comment_ping,
    ),
    service(
        "deepseek",
        deepseek::handle,
        deepseek::refuse,
        openai::stream_error,
        keep_alive_ping,
    ),
    service(
        "openrouter",
        openrouter::handle,
        openrouter::refuse,
        openrouter::stream_error,
        openrouter::ping,
    ),
    service(
        "venice",
        venice::handle,
        venice::refuse,
        openai::stream_error,
        comment_ping,
    ),
    service(
        "bankr",
        bankr::handle,
        bankr::refuse,
        bankr::stream_error,
        bankr::ping,
    ),
    service(
        "blockrun",
        blockrun::handle,
        blockrun::refuse,
        blockrun::stream_error,
        blockrun::ping,
    ),
    service(
        "local",
        local::handle,
        local::refuse,
        openai::stream_error,
        comment_ping,
    ),
    service(
        "facilitator",
        facilitator::handle,
        facilitator::refuse,
        openai::stream_error,
        comment_ping,
    ),
];

const fn service(
    name: &'static str,
    handle: fn(&Recorded, &World) -> Reply,
    refuse: fn(u16, &Recorded) -> Reply,
    stream_error: fn(&Recorded) -> Piece,
    ping: fn(&Recorded) -> Bytes,
) -> Service {
    Service {
        name,
        handle,
        refuse,
        stream_error,
        ping,
    }
}

/// Finds the service of a path, and the path below its prefix.
pub(crate) fn find(path: &str) -> Option<(&'static Service, &str)> {
    let trimmed = path.strip_prefix('/')?;
    let (first, rest) = match trimmed.find('/') {
        Some(at) => trimmed.split_at(at),
        None => (trimmed, "/"),
    };
    SERVICES
        .iter()
        .find(|service| service.name == first)
        .map(|service| (service, rest))
}

fn comment_ping(_: &Recorded) -> Bytes {
    Bytes::from_static(b": ping\n\n")
}

fn keep_alive_ping(_: &Recorded) -> Bytes {
    Bytes::from_static(b": keep-alive\n\n")
}

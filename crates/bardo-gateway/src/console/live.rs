//! Requests as they end, of all accounts, as server-sent events for pages.

use bardo_types::clock::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::visit::{Shown, Visit};
use crate::events::{Event, Feed};

/// The feed of a page.
pub(super) fn feed(visit: &Visit<'_>) -> Shown {
    let edge = &visit.ops.edge;
    let heartbeat = edge.policy.load().limits.heartbeat;
    Shown::Feed(follow(&edge.bus, heartbeat))
}

fn follow(bus: &crate::events::Bus, heartbeat: std::time::Duration) -> Feed {
    bus.follow_all(heartbeat, line)
}

/// The line of a request that ended; `None` for other events.
fn line(event: &Event) -> Option<(&'static str, String)> {
    let ended = matches!(
        event.name,
        "inference.completed" | "inference.aborted" | "inference.failed" | "inference.unknown"
    );
    if !ended {
        return None;
    }
    let receipt: Value = serde_json::from_str(&event.json).ok()?;
    Some(("request", row(&receipt).to_string()))
}

/// The members of a receipt that a line shows.
fn row(receipt: &Value) -> Value {
    let tokens = receipt["usage"]["input_tokens"]
        .as_u64()
        .map(|input| input + receipt["usage"]["output_tokens"].as_u64().unwrap_or(0));
    let billed = receipt["cost"]["billed"].as_bool() == Some(true);
    let cost = match billed {
        true => &receipt["cost"]["charge"],
        false => &receipt["cost"]["provider_cost"],
    };
    json!({
        "id": receipt["request_id"],
        "at_ms": receipt["created_ms"].as_u64().unwrap_or_else(|| SystemClock.now_ms()),
        "status": receipt["status"],
        "model": receipt["model"],
        "provider": receipt["provider"],
        "key": receipt["key"],
        "subsystem": receipt["subsystem"],
        "cache": receipt["cache"],
        "tokens": tokens,
        "ms": receipt["timings_ms"]["total"],
        "cost": cost,
    })
}

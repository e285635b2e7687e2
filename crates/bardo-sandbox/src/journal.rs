//! What was asked and how it ended, byte-exact.

use std::collections::VecDeque;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::recorded::Recorded;
use crate::world::locked;

/// Entries kept; older ones are forgotten.
const ENTRIES_MAX: usize = 4_096;
/// Body bytes kept over all entries.
const BYTES_MAX: usize = 256 << 20;

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Finished,
    ClientClosed,
    Fault,
}

#[derive(Debug)]
struct Entry {
    seq: u64,
    service: &'static str,
    method: String,
    path: String,
    query: Option<String>,
    headers: Vec<(String, String)>,
    body: Bytes,
    received_ms: u64,
    status: Option<u16>,
    events_sent: u64,
    bytes_sent: u64,
    outcome: Option<Outcome>,
    closed_ms: Option<u64>,
}

#[derive(Debug, Default)]
struct Pages {
    last_seq: u64,
    bytes: usize,
    entries: VecDeque<Entry>,
}

/// The bounded list of requests.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pages: Mutex<Pages>,
}

impl Journal {
    /// Records a request and answers its sequence number, which starts at 1.
    pub(crate) fn open(&self, request: &Recorded, path: &str, received_ms: u64) -> u64 {
        let headers = request
            .headers
            .iter()
            .map(|(name, value)| {
                (
                    name.as_str().to_owned(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect();
        let mut pages = locked(&self.pages);
        pages.last_seq += 1;
        let seq = pages.last_seq;
        pages.bytes += request.body.len();
        pages.entries.push_back(Entry {
            seq,
            service: request.service,
            method: request.method.as_str().to_owned(),
            path: path.to_owned(),
            query: request.query.clone(),
            headers,
            body: request.body.clone(),
            received_ms,
            status: None,
            events_sent: 0,
            bytes_sent: 0,
            outcome: None,
            closed_ms: None,
        });
        while pages.entries.len() > ENTRIES_MAX || pages.bytes > BYTES_MAX {
            let Some(oldest) = pages.entries.pop_front() else {
                break;
            };
            pages.bytes -= oldest.body.len();
        }
        seq
    }

    /// Notes the status of the answer.
    pub(crate) fn answered(&self, seq: u64, status: u16) {
        self.update(seq, |entry| entry.status = Some(status));
    }

    /// Notes how the answer ended.
    pub(crate) fn close(
        &self,
        seq: u64,
        events_sent: u64,
        bytes_sent: u64,
        outcome: Outcome,
        closed_ms: u64,
    ) {
        self.update(seq, |entry| {
            entry.events_sent = events_sent;
            entry.bytes_sent = bytes_sent;
            entry.outcome = Some(outcome);
            entry.closed_ms = Some(closed_ms);
        });
    }

    /// The entries after `since` as the control surface shows them.
    pub(crate) fn entries(&self, since: u64) -> Value {
        let pages = locked(&self.pages);
        let entries: Vec<Value> = pages
            .entries
            .iter()
            .filter(|entry| entry.seq > since)
            .map(Entry::shown)
            .collect();
        json!({ "entries": entries })
    }

    pub(crate) fn clear(&self) {
        let mut pages = locked(&self.pages);
        pages.entries.clear();
        pages.bytes = 0;
    }

    fn update(&self, seq: u64, change: impl FnOnce(&mut Entry)) {
        let mut pages = locked(&self.pages);
        let found = pages.entries.binary_search_by_key(&seq, |entry| entry.seq);
        if let Some(entry) = found.ok().and_then(|at| pages.entries.get_mut(at)) {
            change(entry);
        }
    }
}

impl Entry {
    fn shown(&self) -> Value {
        let outcome = self.outcome.map(|outcome| match outcome {
            Outcome::Finished => "finished",
            Outcome::ClientClosed => "client_closed",
            Outcome::Fault => "fault",
        });
        json!({
            "seq": self.seq, "service": self.service, "method": self.method,
            "path": self.path, "query": self.query, "headers": self.headers,
            "body": std::str::from_utf8(&self.body).ok(),
            "body_base64": STANDARD.encode(&self.body),
            "received_ms": self.received_ms, "status": self.status,
            "events_sent": self.events_sent, "bytes_sent": self.bytes_sent,
            "outcome": outcome, "closed_ms": self.closed_ms,
        })
    }
}

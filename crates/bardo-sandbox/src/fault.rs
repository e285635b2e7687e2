//! Faults: what can go wrong between a model and a client, and how to make it happen.

mod apply;

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use serde::Deserialize;
use serde_json::Value;

use crate::recorded::Recorded;
use crate::world::locked;

pub(crate) use apply::{Delivery, apply};

/// One thing that goes wrong.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Fault {
    /// An error status in the service's own shape.
    Status {
        status: u16,
        retry_after: Option<u64>,
        retry_after_ms: Option<u64>,
    },
    DelayHeaders {
        ms: u64,
    },
    DelayBody {
        ms: u64,
    },
    /// A pause before the first content.
    DelayFirst {
        ms: u64,
    },
    StallAfter {
        events: usize,
    },
    PingsOnly {
        every_ms: Option<u64>,
    },
    CutAfter {
        events: usize,
    },
    CutAtByte {
        n: usize,
    },
    EofAfter {
        events: usize,
    },
    SplitBytes {
        n: usize,
    },
    ErrorEventAfter {
        events: usize,
    },
    #[serde(rename = "error_in_200")]
    ErrorIn200 {
        status: Option<u16>,
    },
    MalformedAfter {
        events: usize,
    },
    DuplicateDone,
    NoDone,
    #[serde(rename = "invalid_utf8_after")]
    InvalidUtf8After {
        events: usize,
    },
    Crlf,
    EmptyBody,
    HtmlBody {
        status: Option<u16>,
    },
    WrongContentType {
        value: Option<String>,
    },
    GzipUnasked,
    HugeEvent {
        bytes: usize,
    },
    Redirect {
        location: String,
        status: Option<u16>,
    },
    ResetOnConnect,
    UsageMissing,
    /// Usage is there and counts nothing (Chat Completions).
    UsageZero,
    /// Usage arrives in an event of its own, after a pause.
    LateUsage {
        ms: Option<u64>,
    },
    FinishMissing,
    NoIndex,
    IndexAlwaysZero,
    SameIdEveryFragment,
    ArgsInFirstFragment,
    ToolCallsEmptyList,
    InterleaveTools,
    OnlyDoneEvents,
    SplitThoughtSignature,
    /// Evidence of an enclave that a careful client must not trust.
    Attestation {
        flaw: Flaw,
    },
}

/// What is wrong with the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Flaw {
    /// The enclave runs in debug mode.
    Debug,
    /// The evidence is for another nonce.
    Nonce,
    /// The quote is for another key.
    Binding,
    /// The service itself says that verification failed.
    Unverified,
}

/// The faults of one answer. Most have none or one; several combine.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    /// Reads one fault object, an array of them, or `null` for none.
    pub(crate) fn parse(value: &Value) -> Result<Self, String> {
        let one = |value: &Value| Fault::deserialize(value).map_err(|error| error.to_string());
        match value {
            Value::Null => Ok(Self::default()),
            Value::Array(faults) => faults.iter().map(one).collect::<Result<_, _>>().map(Self),
            fault => one(fault).map(|fault| Self(vec![fault])),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether exactly this fault was asked for.
    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.0.contains(fault)
    }

    /// The pause of `late_usage`, if usage is to come late.
    pub(crate) fn late_usage_ms(&self) -> Option<u64> {
        self.0.iter().find_map(|fault| match fault {
            Fault::LateUsage { ms } => Some(ms.unwrap_or(50)),
            _ => None,
        })
    }

    /// What is to be wrong with an attestation.
    pub(crate) fn attestation_flaw(&self) -> Option<Flaw> {
        self.0.iter().find_map(|fault| match fault {
            Fault::Attestation { flaw } => Some(*flaw),
            _ => None,
        })
    }

    /// The status to answer with instead of an answer.
    pub(crate) fn status(&self) -> Option<u16> {
        self.0.iter().find_map(|fault| match fault {
            Fault::Status { status, .. } => Some(*status),
            _ => None,
        })
    }

    /// The faults of both lists.
    pub(crate) fn and(mut self, others: &Self) -> Self {
        self.0.extend(others.0.iter().cloned());
        self
    }

    fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }
}

/// Faults waiting for the next requests of each service.
#[derive(Debug, Default)]
pub(crate) struct FaultQueue {
    queued: Mutex<HashMap<&'static str, VecDeque<Queued>>>,
}

#[derive(Debug)]
struct Queued {
    /// Requests left; `None` lasts until a reset.
    left: Option<u64>,
    only: Only,
    faults: Faults,
}

/// Which requests a queued fault is for; by default all of its service.
#[derive(Debug, Clone, Default)]
pub(crate) struct Only {
    /// The path ends like this.
    pub(crate) path: Option<String>,
    /// This header is present, such as the payment of a second attempt.
    pub(crate) header: Option<String>,
}

impl Only {
    fn fits(&self, request: &Recorded) -> bool {
        self.path
            .as_deref()
            .is_none_or(|path| request.path.ends_with(path))
            && self
                .header
                .as_deref()
                .is_none_or(|header| request.headers.contains_key(header))
    }
}

impl FaultQueue {
    /// Queues faults for the next `times` fitting requests; zero means until a reset.
    pub(crate) fn push(&self, service: &'static str, times: u64, only: Only, faults: Faults) {
        let left = (times > 0).then_some(times);
        let queued = Queued { left, only, faults };
        locked(&self.queued)
            .entry(service)
            .or_default()
            .push_back(queued);
    }

    /// The faults of a request, by the first entry that fits it.
    pub(crate) fn take(&self, request: &Recorded) -> Faults {
        let mut queued = locked(&self.queued);
        let Some(waiting) = queued.get_mut(request.service) else {
            return Faults::default();
        };
        let Some(at) = waiting.iter().position(|entry| entry.only.fits(request)) else {
            return Faults::default();
        };
        let faults = waiting[at].faults.clone();
        if let Some(left) = &mut waiting[at].left {
            *left -= 1;
            if *left == 0 {
                waiting.remove(at);
            }
        }
        faults
    }

    /// How many entries wait, over all services.
    pub(crate) fn queued(&self) -> usize {
        locked(&self.queued).values().map(VecDeque::len).sum()
    }

    pub(crate) fn clear(&self) {
        locked(&self.queued).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(service: &'static str, path: &str) -> Recorded {
        Recorded::test(service, path, &json!({}))
    }

    fn parsed(fault: Value) -> Faults {
        Faults::parse(&fault).expect("known")
    }

    #[test]
    fn a_queued_fault_lasts_as_often_as_asked() {
        let queue = FaultQueue::default();
        let once = parsed(json!({ "kind": "no_done" }));
        let ever = parsed(json!([{ "kind": "crlf" }]));
        queue.push("openai", 2, Only::default(), once.clone());
        queue.push("openai", 0, Only::default(), ever.clone());
        let take = |service| queue.take(&request(service, "/v1/responses"));
        assert_eq!(take("google"), Faults::default());
        assert_eq!(take("openai"), once);
        assert_eq!(take("openai"), once);
        for _ in 0..5 {
            assert_eq!(take("openai"), ever);
        }
        queue.clear();
        assert!(take("openai").is_empty());
    }

    #[test]
    fn a_queued_fault_waits_for_a_request_that_fits() {
        let queue = FaultQueue::default();
        let only = Only {
            path: Some("/messages".to_owned()),
            header: Some("x-api-key".to_owned()),
        };
        queue.push("bankr", 1, only, parsed(json!({ "kind": "no_done" })));
        let mut messages = request("bankr", "/v1/messages");
        assert!(queue.take(&request("bankr", "/v1/models")).is_empty());
        messages.headers.remove("x-api-key");
        assert!(queue.take(&messages).is_empty());
        assert!(!queue.take(&request("bankr", "/v1/messages")).is_empty());
    }

    #[test]
    fn misspelled_faults_are_refused() {
        assert!(Faults::parse(&json!({ "kind": "explode" })).is_err());
        assert!(Faults::parse(&json!({ "kind": "cut_after", "event": 1 })).is_err());
        for kind in ["error_in_200", "duplicate_done", "gzip_unasked", "no_index"] {
            assert!(Faults::parse(&json!({ "kind": kind })).is_ok(), "{kind}");
        }
        assert!(Faults::parse(&json!({ "kind": "invalid_utf8_after", "events": 1 })).is_ok());
    }
}

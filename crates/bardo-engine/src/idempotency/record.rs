//! What a process tells others of a request with an `Idempotency-Key`, as bytes.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bardo_types::ids::RequestId;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::TeeEvidence;
use bardo_types::receipt::PaymentMode;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::kept::{Kept, KeptBody, KeptStream};
use crate::head::{AnswerHead, Figures};

/// Version of the layout; another one is not read.
const VERSION: u8 = 1;

/// A request with a key, as another process sees it.
#[derive(Debug)]
pub(super) struct SharedRequest {
    /// Tells the request from others under its key.
    pub(super) digest: [u8; 32],
    pub(super) outcome: SharedOutcome,
}

/// How far a request is.
#[derive(Debug)]
pub(super) enum SharedOutcome {
    /// A process carries it out.
    Running { streams: bool },
    /// Complete, with this answer.
    Answered(Arc<Kept>),
    /// Nobody can tell whether a provider carried it out, or the answer stays in its process.
    Unknown,
}

/// The outcome beside the body of an answer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenOutcome {
    Running { streams: bool },
    Whole(Box<WrittenHead>),
    Stream(Box<WrittenHead>, Vec<usize>, Option<WrittenFigures>),
    Unknown,
}

/// The head of an answer without what is of one moment: limits, holds and balances.
#[derive(Serialize, Deserialize)]
struct WrittenHead {
    request_id: Option<String>,
    model_requested: String,
    model: String,
    backend: String,
    degraded: String,
    warnings: String,
    verification: String,
    tee: Option<String>,
    upstream_request_id: Option<String>,
    cache: String,
    cache_age_ms: Option<u64>,
    cache_similarity: Option<u16>,
    cache_reason: Option<String>,
    optimizations: Vec<String>,
    figures: Option<WrittenFigures>,
    unbilled: bool,
    unpriced: bool,
}

#[derive(Serialize, Deserialize)]
struct WrittenFigures {
    mode: String,
    cost: Option<u64>,
    savings: Option<u64>,
    spread: u64,
}

impl SharedRequest {
    /// The request as bytes: version, digest, length of the outcome, outcome, body of the answer.
    pub(super) fn write(&self) -> Vec<u8> {
        let (outcome, body) = match &self.outcome {
            SharedOutcome::Running { streams } => {
                (WrittenOutcome::Running { streams: *streams }, Bytes::new())
            }
            SharedOutcome::Unknown => (WrittenOutcome::Unknown, Bytes::new()),
            SharedOutcome::Answered(kept) => {
                let head = Box::new(WrittenHead::of(&kept.head));
                match &kept.body {
                    KeptBody::Whole(body) => (WrittenOutcome::Whole(head), body.clone()),
                    KeptBody::Stream(stream) => {
                        let figures = stream.figures.as_ref().map(WrittenFigures::of);
                        let ends = stream.ends.clone();
                        (
                            WrittenOutcome::Stream(head, ends, figures),
                            stream.bytes.clone(),
                        )
                    }
                }
            }
        };
        let outcome = serde_json::to_vec(&outcome).unwrap_or_default();
        let length = u32::try_from(outcome.len()).unwrap_or(0).to_le_bytes();
        [&[VERSION][..], &self.digest, &length, &outcome, &body].concat()
    }

    /// A request from bytes; `None` where they are of another version or damaged.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let (version, rest) = value.split_first()?;
        let (digest, rest) = rest.split_first_chunk::<32>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (outcome, body) = rest.split_at_checked(length)?;
        if *version != VERSION {
            return None;
        }
        let outcome = match serde_json::from_slice(outcome).ok()? {
            WrittenOutcome::Running { streams } => SharedOutcome::Running { streams },
            WrittenOutcome::Unknown => SharedOutcome::Unknown,
            WrittenOutcome::Whole(head) => answered(*head, KeptBody::Whole(bytes(body)))?,
            WrittenOutcome::Stream(head, ends, figures) => {
                let is_sound = ends.is_sorted() && ends.last().is_none_or(|&end| end == body.len());
                let figures = match figures {
                    Some(written) => Some(written.figures()?),
                    None => None,
                };
                let stream = is_sound.then(|| KeptStream {
                    bytes: bytes(body),
                    ends,
                    figures,
                });
                answered(*head, KeptBody::Stream(stream?))?
            }
        };
        Some(Self {
            digest: *digest,
            outcome,
        })
    }
}

fn bytes(body: &[u8]) -> Bytes {
    Bytes::copy_from_slice(body)
}

fn answered(head: WrittenHead, body: KeptBody) -> Option<SharedOutcome> {
    let head = head.head()?;
    Some(SharedOutcome::Answered(Arc::new(Kept { head, body })))
}

impl WrittenHead {
    fn of(head: &AnswerHead) -> Self {
        let words = |words: &[Cow<'static, str>]| words.iter().map(ToString::to_string).collect();
        Self {
            request_id: head.request_id.as_ref().map(ToString::to_string),
            model_requested: head.model_requested.to_string(),
            model: head.model.to_string(),
            backend: head.backend.to_string(),
            degraded: head.degraded.clone(),
            warnings: head.warnings.clone(),
            verification: head.verification.clone(),
            tee: head.tee.map(|tee| tee.as_str().to_owned()),
            upstream_request_id: head.upstream_request_id.as_ref().map(ToString::to_string),
            cache: head.cache.to_string(),
            cache_age_ms: head
                .cache_age
                .map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
            cache_similarity: head.cache_similarity,
            cache_reason: head.cache_reason.as_ref().map(ToString::to_string),
            optimizations: words(&head.optimizations),
            figures: head.figures.as_ref().map(WrittenFigures::of),
            unbilled: head.unbilled,
            unpriced: head.unpriced,
        }
    }

    fn head(self) -> Option<AnswerHead> {
        let evidence = [
            TeeEvidence::Listed,
            TeeEvidence::Attested,
            TeeEvidence::Verified,
        ];
        let tee = match self.tee {
            Some(name) => Some(evidence.into_iter().find(|tee| tee.as_str() == name)?),
            None => None,
        };
        let request_id = match self.request_id {
            Some(id) => Some(RequestId::parse(&id).ok()?),
            None => None,
        };
        let figures = match self.figures {
            Some(written) => Some(written.figures()?),
            None => None,
        };
        Some(AnswerHead {
            request_id,
            model_requested: self.model_requested.into(),
            model: self.model.into(),
            backend: self.backend.into(),
            degraded: self.degraded,
            warnings: self.warnings,
            verification: self.verification,
            tee,
            upstream_request_id: self.upstream_request_id.map(Arc::from),
            cache: self.cache.into(),
            cache_age: self.cache_age_ms.map(Duration::from_millis),
            cache_similarity: self.cache_similarity,
            cache_reason: self.cache_reason.map(Cow::from),
            optimizations: self.optimizations.into_iter().map(Cow::from).collect(),
            figures,
            unbilled: self.unbilled,
            unpriced: self.unpriced,
            ..AnswerHead::default()
        })
    }
}

impl WrittenFigures {
    fn of(figures: &Figures) -> Self {
        Self {
            mode: figures.mode.as_str().to_owned(),
            cost: figures.cost.map(MicroUsd::get),
            savings: figures.savings.map(MicroUsd::get),
            spread: figures.spread.get(),
        }
    }

    fn figures(self) -> Option<Figures> {
        let modes = [
            PaymentMode::Prepaid,
            PaymentMode::Direct,
            PaymentMode::Owner,
        ];
        Some(Figures {
            mode: modes.into_iter().find(|mode| mode.as_str() == self.mode)?,
            cost: self.cost.map(MicroUsd::new),
            savings: self.savings.map(MicroUsd::new),
            spread: MicroUsd::new(self.spread),
            balance: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> AnswerHead {
        AnswerHead {
            request_id: RequestId::parse("req_1").ok(),
            model: "m".into(),
            degraded: "tools".to_owned(),
            tee: Some(TeeEvidence::Attested),
            cache: "miss".into(),
            cache_age: Some(Duration::from_secs(3)),
            optimizations: vec!["single_flight".into()],
            figures: Some(Figures {
                mode: PaymentMode::Prepaid,
                cost: Some(MicroUsd::new(7)),
                savings: None,
                spread: MicroUsd::new(1),
                balance: None,
            }),
            ..AnswerHead::default()
        }
    }

    fn shared(body: KeptBody) -> SharedRequest {
        let head = head();
        SharedRequest {
            digest: [9; 32],
            outcome: SharedOutcome::Answered(Arc::new(Kept { head, body })),
        }
    }

    fn stream(ends: &[usize]) -> SharedRequest {
        shared(KeptBody::Stream(KeptStream {
            bytes: Bytes::from_static(b"data: 1\n\ndata: 2\n\n"),
            ends: ends.to_vec(),
            figures: None,
        }))
    }

    #[test]
    fn every_outcome_comes_back_as_it_was() {
        let running = |streams| SharedRequest {
            digest: [9; 32],
            outcome: SharedOutcome::Running { streams },
        };
        let unknown = SharedRequest {
            outcome: SharedOutcome::Unknown,
            ..running(false)
        };
        let whole = shared(KeptBody::Whole(Bytes::from_static(b"{\"a\":1}")));
        for request in [
            running(true),
            running(false),
            unknown,
            whole,
            stream(&[9, 18]),
        ] {
            let read = SharedRequest::read(&request.write()).expect("it is readable");
            assert_eq!(format!("{read:?}"), format!("{request:?}"));
        }
    }

    #[test]
    fn bytes_that_are_cut_changed_or_of_another_version_are_not_read() {
        let written = stream(&[9, 18]).write();
        for end in 0..written.len() {
            assert!(SharedRequest::read(&written[..end]).is_none(), "{end}");
        }
        let mut other = written;
        other[0] = VERSION + 1;
        assert!(SharedRequest::read(&other).is_none());
        for ends in [&[18, 9][..], &[9, 17], &[9, 19]] {
            assert!(
                SharedRequest::read(&stream(ends).write()).is_none(),
                "{ends:?}"
            );
        }
    }
}

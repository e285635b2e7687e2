//! The comparison of a stored answer with a live one, behind the request that was audited.

use std::sync::Arc;
use std::time::Duration;

use bardo_cache::key::Key;
use bardo_cache::semantic::{Domain, answers};
use bardo_types::chat::{Finish, StreamEvent};
use bardo_types::ids::AccountId;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::MeaningCache;
use crate::live::AnswerOrigin;

/// Tokens of an answer that are compared by their vector. Its facts are compared up to a limit, above
/// which an answer agrees only with an equal one ([`answers::verdict`]).
const ANSWER_TOKENS: usize = 256;
/// Time for the vector of an answer. No caller waits for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time for the second live answer.
const TWIN_PATIENCE: Duration = Duration::from_mins(15);
const UNIT: f32 = 127.0 * 127.0;

/// A would-be hit that a provider answers too.
pub(crate) struct AuditCase {
    pub(crate) domain: Domain,
    pub(crate) account: AccountId,
    /// Digest of the account.
    pub(crate) tenant: u64,
    /// The key of the stored answer.
    pub(crate) key: Key,
    /// The words of the stored answer.
    pub(crate) stored: String,
    /// A second live answer to the identical prompt; `None` where one is asked for.
    pub(crate) twin: Option<oneshot::Receiver<LiveTwin>>,
}

/// A live answer to a prompt that another request was answered too.
pub(crate) struct LiveTwin {
    pub(crate) origin: Arc<AnswerOrigin>,
    pub(crate) events: Vec<StreamEvent>,
}

impl MeaningCache {
    /// The live answer of an audit failed or was cut off: nothing is known.
    pub(crate) fn unjudged(&self, case: &AuditCase) {
        self.failed(case);
    }

    /// Compares the stored answer with the live one, at once where words and facts say enough and
    /// the provider is asked once, else behind the request.
    pub(crate) fn judge(
        self: Arc<Self>,
        mut case: AuditCase,
        origin: Arc<AnswerOrigin>,
        live: &[StreamEvent],
    ) {
        if !is_whole(live) {
            return self.unjudged(&case);
        }
        let live = text_of(live);
        let at_once = answers::verdict(&case.stored, &live, None);
        let twin = case.twin.take();
        if at_once.is_some() && twin.is_none() {
            return self.judged(&case, at_once, None);
        }
        let Ok(runtime) = Handle::try_current() else {
            return self.judged(&case, at_once, None);
        };
        runtime.spawn(async move {
            let agrees = match at_once {
                Some(agrees) => Some(agrees),
                None => self.agree(&case.stored, &live).await,
            };
            let live_agree = match twin {
                Some(twin) => self.twins_agree(twin, &origin, &live).await,
                None => None,
            };
            self.judged(&case, agrees, live_agree);
        });
    }

    /// Whether two answers agree; `None` where that cannot be told.
    async fn agree(&self, one: &str, other: &str) -> Option<bool> {
        match answers::verdict(one, other, None) {
            Some(agrees) => Some(agrees),
            None => {
                let similarity = self.similarity(one, other).await;
                answers::verdict(one, other, similarity)
            }
        }
    }

    /// Whether a second live answer of the same model and backend agrees with the first one.
    async fn twins_agree(
        &self,
        twin: oneshot::Receiver<LiveTwin>,
        origin: &AnswerOrigin,
        live: &str,
    ) -> Option<bool> {
        let twin = tokio::time::timeout(TWIN_PATIENCE, twin).await.ok()?.ok()?;
        let is_same = twin.origin.model == origin.model && twin.origin.backend == origin.backend;
        if !is_same || !is_whole(&twin.events) {
            return None;
        }
        self.agree(live, &text_of(&twin.events)).await
    }

    /// The cosine of two answers; `None` where the embedder has no vectors of them.
    async fn similarity(&self, one: &str, other: &str) -> Option<f32> {
        let one = self.vector(one, ANSWER_TOKENS, PATIENCE).await.ok()?;
        let other = self.vector(other, ANSWER_TOKENS, PATIENCE).await.ok()?;
        if one.namespace != other.namespace {
            return None;
        }
        let pairs = one.vector.iter().zip(other.vector.iter());
        let dot: i32 = pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        #[expect(clippy::cast_precision_loss, reason = "at most 384 × 128 × 128")]
        let cosine = dot as f32 / UNIT;
        Some(cosine)
    }
}

/// Whether an answer is known to have ended by itself, not at a limit.
fn is_whole(events: &[StreamEvent]) -> bool {
    let finish = events.iter().rev().find_map(|event| match event {
        StreamEvent::Finish { reason, .. } => Some(reason),
        _ => None,
    });
    !matches!(
        finish,
        None | Some(Finish::Length | Finish::ContextWindow | Finish::Pause | Finish::Unknown)
    )
}

/// The words of an answer. A refusal is what it says; a call of a tool is its name.
pub(crate) fn text_of(events: &[StreamEvent]) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            StreamEvent::Text { text: piece, .. } | StreamEvent::Refusal { text: piece, .. } => {
                text.push_str(piece);
            }
            StreamEvent::ToolStart { name, .. } => {
                text.push_str("\ntool ");
                text.push_str(name);
            }
            _ => {}
        }
    }
    text
}

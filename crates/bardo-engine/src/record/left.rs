//! What a provider did unseen for a caller who left.

use tokio::time::Instant;

use super::RequestRecord;
use crate::received::Task;
use crate::unseen::Work;

impl RequestRecord {
    /// The caller leaves; notes what the provider did for it unseen.
    pub(crate) fn left(&mut self) {
        self.unseen = self.unseen_work();
    }

    fn unseen_work(&self) -> Option<u64> {
        let (who, accepted) = self.asked_of.as_ref()?;
        let now = Instant::now();
        let timings = &self.receipt.timings;
        let time = if self.receipt.streamed && !self.holds_back {
            timings.head.filter(|_| self.reasons_unseen)?;
            let until = timings.first_content.unwrap_or_else(|| self.elapsed());
            until.saturating_sub(timings.sent?)
        } else {
            now.saturating_duration_since(accepted.get()?)
        };
        if self.health.open_since(who, now).is_some() {
            return None;
        }
        match self.source.task {
            Task::CountTokens => None,
            Task::Embeddings => Some(0),
            Task::Generate => Some(self.work(now)?.tokens_in(time)),
        }
    }

    /// How the backend that was asked last works.
    pub(crate) fn work(&self, now: Instant) -> Option<Work> {
        let attempt = self.receipt.attempts.last()?;
        let streamed = self.receipt.streamed;
        Some(
            self.observed
                .work(&attempt.backend, &attempt.model, streamed, now),
        )
    }
}

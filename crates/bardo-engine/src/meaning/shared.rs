//! Questions that other processes learnt: they come from a store of vectors, within its deadline.

use std::sync::Arc;

use bardo_cache::entry::CachedAnswer;
use bardo_cache::guard::Signature;
use bardo_cache::key::Key;
use bardo_cache::second::Loss;
use bardo_cache::semantic::{SharedQuestion, SharedQuestions};
use bardo_cache::store::Flush;
use tokio::runtime::Handle;

use super::{MeaningCache, MeaningQuestion};
use crate::sentences::SentenceVector;

impl MeaningCache {
    /// Shares questions with other processes from now on; the first store stays.
    pub fn share_with(&self, shared: Arc<dyn SharedQuestions>) {
        let _ = self.shared.set(shared);
    }

    /// Whether questions of other processes can be found.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.get().is_some()
    }

    /// The stored questions that ask the same, as other processes learnt them. Similarity
    /// and words are compared here, whatever the store says.
    pub(crate) async fn elsewhere(
        &self,
        question: &MeaningQuestion,
        vector: &SentenceVector,
    ) -> Vec<SharedQuestion> {
        let Some(shared) = self.shared.get() else {
            return Vec::new();
        };
        let space = question.space(&vector.namespace);
        let found = self.counted(shared.nearest(&space, &vector.vector).await);
        let is_same = |known: &SharedQuestion| {
            known.similarity(&vector.vector) >= question.threshold
                && question
                    .signature
                    .difference(&Signature::of(&known.text))
                    .is_none()
        };
        let found = found.unwrap_or_default().into_iter();
        found.filter(is_same).collect()
    }

    /// Tells other processes of the question of an answer that was just stored. A flush on the way
    /// may not find the question there yet: `is_stored` says then that its answer is gone.
    pub(crate) fn share(
        self: &Arc<Self>,
        entry: &Arc<CachedAnswer>,
        question: &MeaningQuestion,
        vector: &SentenceVector,
        is_stored: impl Fn() -> bool + Send + 'static,
    ) {
        let told = SharedQuestion {
            key: entry.key,
            vector: vector.vector.clone(),
            text: question.text.clone(),
        };
        let space = question.space(&vector.namespace);
        let (meaning, entry) = (Arc::clone(self), Arc::clone(entry));
        self.behind(|shared| async move {
            meaning.counted(shared.put(&space, &told, &entry).await);
            if !is_stored() {
                meaning.counted(shared.remove(&entry.key).await);
            }
        });
    }

    /// Removes a question for all processes: its answer is gone, or answers something else.
    pub(crate) fn unshare(&self, key: Key) {
        self.behind(|shared| async move {
            // What stays is found to have no answer.
            let _ = shared.remove(&key).await;
        });
    }

    /// Removes the questions of answers that a flush names.
    pub(crate) async fn unshare_flushed(&self, flush: &Flush) {
        if let Some(shared) = self.shared.get() {
            self.counted(shared.flush(flush).await);
        }
    }

    fn behind<F>(&self, work: impl FnOnce(Arc<dyn SharedQuestions>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let (Some(shared), Ok(runtime)) = (self.shared.get(), Handle::try_current()) {
            runtime.spawn(work(Arc::clone(shared)));
        }
    }

    /// Counts what went wrong among the reasons for a miss.
    fn counted<T>(&self, done: Result<T, Loss>) -> Option<T> {
        done.map_err(|loss| {
            self.skip(match loss {
                Loss::Down => "vectors_down",
                Loss::Slow => "vectors_slow",
                Loss::Foreign => "vectors_foreign",
                Loss::Corrupt => "vectors_corrupt",
                Loss::Refused => "vectors_refused",
                Loss::Withheld => "vectors_withheld",
            });
        })
        .ok()
    }
}

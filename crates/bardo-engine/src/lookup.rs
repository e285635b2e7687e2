//! The two look-ups for an answer that is there already: by a hash of the request before anything is
//! screened, and by its meaning once the plan says what class it has.

use bardo_types::privacy::SecurityClass;

use crate::answer::Answer;
use crate::engine::Engine;
use crate::limit::Limited;
use crate::plan::Planned;
use crate::stores::Asked;

/// What a look-up came to.
pub(crate) enum Lookup<T> {
    /// The answer is there; nothing is held or sent.
    Hit(Box<Answer>),
    /// No answer was found; the request goes on.
    Miss(T),
}

impl Engine {
    /// Looks for an answer to the identical request. The limits of the caller were checked before.
    pub(crate) async fn hash_lookup(&self, limited: Limited) -> Lookup<Limited> {
        for store in &self.stores.by_hash {
            let asked = Asked {
                call: limited.call(),
                class: SecurityClass::default(),
            };
            if let Some(answer) = store.find(asked).await {
                return Lookup::Hit(Box::new(answer));
            }
        }
        Lookup::Miss(limited)
    }

    /// Looks for an answer to a request of the same meaning.
    pub(crate) async fn semantic_lookup(&self, planned: Planned) -> Lookup<Planned> {
        for store in &self.stores.by_meaning {
            let asked = Asked {
                call: planned.call(),
                class: planned.class(),
            };
            if let Some(answer) = store.find(asked).await {
                return Lookup::Hit(Box::new(answer));
            }
        }
        Lookup::Miss(planned)
    }
}

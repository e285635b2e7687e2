//! What the owner of an agent should know, said once per change and not per call.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use bardo_types::receipt::Receipt;

/// Number of subsystems of agents whose last message is remembered. The longest unused are
/// forgotten, and their next message is sent again.
const REMEMBERED: usize = 4_096;

/// The last message about each subsystem of each agent.
#[derive(Debug, Default)]
pub(crate) struct OwnerMessages(Mutex<LastMessages>);

#[derive(Debug, Default)]
struct LastMessages {
    /// By account and subsystem: what was said, as a digest; `None`: all was well.
    last: HashMap<u64, Option<u64>>,
    order: VecDeque<u64>,
}

fn digest(parts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        part.hash(&mut hasher);
    }
    hasher.finish()
}

impl OwnerMessages {
    /// The message about an answer, if it differs from the last one; `write` makes its text.
    pub(crate) fn of(
        &self,
        receipt: &Receipt,
        write: impl FnOnce(&Receipt) -> String,
    ) -> Option<String> {
        let routing = receipt.routing.as_deref()?;
        let row = routing
            .subsystem
            .as_deref()
            .or(receipt.subsystem.as_deref());
        let place = digest(&[receipt.account.as_str(), row.unwrap_or_default()]);
        let state = (!routing.degraded.is_empty()).then(|| {
            let mut parts = vec![&*receipt.backend, &*receipt.model];
            parts.extend(routing.degraded.iter().map(|feature| feature.as_str()));
            digest(&parts)
        });
        let is_new = self.changes(place, state);
        (is_new && state.is_some()).then(|| match &routing.owner_message {
            Some(message) => message.to_string(),
            None => write(receipt),
        })
    }

    fn changes(&self, place: u64, state: Option<u64>) -> bool {
        // Whatever a thread left behind when it ended is still what was said.
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match said.last.get_mut(&place) {
            Some(last) if *last == state => false,
            Some(last) => {
                *last = state;
                true
            }
            None => {
                // What was always well needs no memory.
                if state.is_none() {
                    return false;
                }
                if said.order.len() >= REMEMBERED
                    && let Some(oldest) = said.order.pop_front()
                {
                    said.last.remove(&oldest);
                }
                said.order.push_back(place);
                said.last.insert(place, state);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bardo_types::feature::Feature;

    use super::*;
    use crate::events::told::sample;

    fn said(messages: &OwnerMessages, change: impl FnOnce(&mut Receipt)) -> Option<String> {
        let mut receipt = sample();
        change(&mut receipt);
        messages.of(&receipt, |_| "words".to_owned())
    }

    fn degraded(receipt: &mut Receipt, features: &[Feature]) {
        let routing = receipt.routing.as_mut().unwrap();
        routing.owner_message = None;
        routing.degraded = features.to_vec();
    }

    #[test]
    fn a_loss_is_told_once_and_again_when_it_changes() {
        let messages = OwnerMessages::default();
        let lost = [Feature::Privacy, Feature::VisibleThinking];
        let tell = |features: &[Feature]| said(&messages, |receipt| degraded(receipt, features));
        assert_eq!(tell(&[]), None);
        assert_eq!(tell(&lost).as_deref(), Some("words"));
        assert_eq!(tell(&lost), None);
        assert_eq!(tell(&lost[..1]).as_deref(), Some("words"));
        assert_eq!(tell(&[]), None);
        assert_eq!(tell(&lost[..1]).as_deref(), Some("words"));
        let elsewhere = said(&messages, |receipt| {
            degraded(receipt, &lost[..1]);
            receipt.backend = "another".into();
        });
        assert_eq!(elsewhere.as_deref(), Some("words"));
    }

    #[test]
    fn each_account_hears_its_own_and_memory_is_bounded() {
        let messages = OwnerMessages::default();
        for index in 0..REMEMBERED + 10 {
            let told = said(&messages, |receipt| {
                receipt.account = bardo_types::ids::AccountId::parse(&format!("a{index}")).unwrap();
            });
            assert!(told.is_some(), "{index}");
        }
        let said = messages.0.lock().unwrap();
        assert_eq!(said.last.len(), REMEMBERED);
        assert_eq!(said.order.len(), REMEMBERED);
    }
}

//! The output limit and the stop texts.

use bardo_types::model::Effort;

use super::{DEFAULT, ProfileApplication};
use crate::effort::EffortTokens;

/// The most that is asked of a model of which nobody says how much it can answer.
const MOST_UNKNOWN: u64 = 8_192;

impl ProfileApplication<'_> {
    /// Limits the answer where its caller does not. Thinking counts towards the same limit, so
    /// where the model thinks, room for it is added.
    pub(super) fn limit(&mut self, answer: Option<u64>) {
        let Some(answer) = answer else { return };
        if self.request.max_output_tokens.is_some() {
            return;
        }
        let room = if self.thinks {
            let effort = self.request.reasoning.effort.unwrap_or(Effort::Medium);
            EffortTokens::of(effort).allowance
        } else {
            0
        };
        let most = match self.caps.max_output_tokens {
            0 => answer.max(MOST_UNKNOWN),
            most => most,
        };
        if answer > most {
            self.record("max_tokens", answer, most, "the output limit of the model");
        }
        self.request.max_output_tokens = Some(answer.saturating_add(room).min(most));
    }

    pub(super) fn stop(&mut self, wanted: Option<&[String]>) {
        let Some(wanted) = wanted.filter(|_| self.request.stop.is_empty()) else {
            return;
        };
        let most = if self.caps.stop { self.members.stop } else { 0 };
        let sent = &wanted[..wanted.len().min(most)];
        if sent.len() < wanted.len() {
            let what = match sent.len() {
                0 => DEFAULT.to_owned(),
                some => format!("the first {some}"),
            };
            let why = "the model accepts no more stop texts here";
            self.record("stop_sequences", wanted.len(), what, why);
        }
        self.request.stop = sent.to_vec();
    }
}

//! The reasoning effort, and whether the reasoning is shown.

use bardo_types::chat::{ThinkingDisplay, ThinkingMode, ToolChoice};
use bardo_types::model::{Dialect, Effort, Service};

use super::sampling::is_set;
use super::{DEFAULT, ProfileApplication};
use crate::effort::EffortTokens;

/// The least number of thinking tokens that a model takes.
const LEAST_BUDGET: u64 = 1_024;
/// Output tokens for an answer without a limit.
const RESERVE: u64 = 4_096;
/// The longest answer of a model of which nobody says it.
const MOST_UNKNOWN: u64 = 32_000;

/// In words, for models without a knob.
const TELL_NONE: &str = "Answer directly. Do not explain your reasoning.";
const TELL_HIGH: &str = "Think through this step by step. Show your reasoning.";

impl ProfileApplication<'_> {
    pub(super) fn think(&mut self, effort: Option<Effort>) {
        let said = &self.request.reasoning;
        match (effort, said.mode, said.effort) {
            (Some(effort), None, None) => self.set_thinking(effort),
            // It is on already, and only how hard is left open.
            (Some(effort), Some(ThinkingMode::Adaptive), None) if effort != Effort::None => {
                if let Some(sent) = self.fitting(effort) {
                    self.request.reasoning.effort = Some(sent);
                }
            }
            _ => {}
        }
        self.thinks = self.will_think();
    }

    fn will_think(&self) -> bool {
        let modes = self.caps.thinking;
        let can = modes.any() || !self.caps.efforts.is_empty();
        let said = &self.request.reasoning;
        match (said.mode, said.effort) {
            (Some(ThinkingMode::Disabled | ThinkingMode::Budget(0)), _)
            | (None, Some(Effort::None)) => modes.by_default && !self.can_be_off(),
            (Some(_), _) => can,
            // To a caller of this dialect an effort is no wish to think.
            (None, Some(_)) if self.is_native() => modes.by_default,
            (None, Some(_)) => can,
            (None, None) => modes.by_default,
        }
    }

    /// The caller and the model speak the Messages dialect.
    fn is_native(&self) -> bool {
        self.request.dialect == Dialect::Anthropic && self.model.dialect == Dialect::Anthropic
    }

    fn can_be_off(&self) -> bool {
        let told = self.members.effort && self.caps.efforts.contains(&Effort::None);
        told || (self.members.off && self.caps.thinking.disabled)
    }

    fn set_thinking(&mut self, effort: Effort) {
        if !self.caps.thinking.any() && self.caps.efforts.is_empty() {
            self.told_effort = Some(effort);
        } else if effort == Effort::None {
            self.turn_off(effort, "");
        } else if let Some(why) = self.gives_way(effort) {
            self.turn_off(effort, why);
        } else {
            self.turn_on(effort);
        }
    }

    /// Why the model has to do without thinking: it takes either that or something that counts
    /// more.
    fn gives_way(&self, effort: Effort) -> Option<&'static str> {
        if self.wanted.locked {
            return None;
        }
        let forced = self
            .request
            .tool_choice
            .as_ref()
            .is_some_and(ToolChoice::forces);
        if forced && self.caps.forced_tool_choice && !self.caps.forced_tool_while_thinking {
            return Some("a tool call is required");
        }
        let draws = self.caps.sampling && self.model.takes_sampling;
        if !draws || !self.thinking_fixes_sampling() {
            return None;
        }
        if is_set(&self.request.sampling) {
            return Some("the caller set sampling itself");
        }
        let thinks_first = self.wanted.reasoning_first || effort >= Effort::Medium;
        (!thinks_first && self.wants_sampling()).then_some("the profile sets sampling")
    }

    pub(super) fn thinking_fixes_sampling(&self) -> bool {
        self.caps.thinking_fixes_sampling || !self.members.sampling_while_thinking
    }

    /// No thinking, or as little as there can be. `why` is for efforts that were to think.
    fn turn_off(&mut self, wanted: Effort, why: &str) {
        let caps = self.caps;
        let reasoning = &mut self.request.reasoning;
        if self.members.effort && caps.efforts.contains(&Effort::None) {
            reasoning.effort = Some(Effort::None);
        } else if self.members.off && caps.thinking.disabled {
            reasoning.mode = Some(ThinkingMode::Disabled);
            // Messages takes an effort without thinking too: fewer words.
            if self.model.dialect == Dialect::Anthropic && caps.efforts.contains(&wanted) {
                reasoning.effort = Some(wanted);
            }
        } else if caps.soft_switch && !self.signed {
            self.words.push("/no_think".to_owned());
        } else if caps.thinking.by_default || !(caps.thinking.disabled || caps.efforts.is_empty()) {
            return self.turn_low(wanted);
        }
        if wanted != Effort::None {
            self.record("reasoning_effort", wanted.as_str(), "none", why);
        }
    }

    /// For models that always think.
    fn turn_low(&mut self, wanted: Effort) {
        let reasoning = &mut self.request.reasoning;
        let least = if self.members.effort && !self.caps.efforts.is_empty() {
            let least = self.caps.efforts.iter().copied().min();
            least.map(|effort| effort.max(self.members.least_effort))
        } else {
            (self.members.any_effort && self.caps.efforts.is_empty()).then_some(Effort::Low)
        };
        if self.caps.thinking.between_tools && self.model.dialect == Dialect::Anthropic {
            reasoning.mode = Some(ThinkingMode::BetweenTools);
        }
        reasoning.effort = least;
        if least != Some(wanted) {
            let sent = least.map_or(DEFAULT, Effort::as_str);
            let why = "this model cannot disable thinking here";
            self.record("reasoning_effort", wanted.as_str(), sent, why);
        }
    }

    /// The effort that the model takes for the one that is wanted, which is recorded where it is
    /// another. `None`: it lists none, or they cannot be sent.
    fn fitting(&mut self, wanted: Effort) -> Option<Effort> {
        if !self.members.effort {
            return None;
        }
        let nearest = self.caps.nearest_effort(wanted)?;
        let sent = nearest.max(self.members.least_effort);
        if sent != wanted {
            let why = "the nearest value that the model accepts";
            self.record("reasoning_effort", wanted.as_str(), sent.as_str(), why);
        }
        Some(sent)
    }

    fn turn_on(&mut self, effort: Effort) {
        let modes = self.caps.thinking;
        if let Some(sent) = self.fitting(effort) {
            if self.is_native() && modes.adaptive && !modes.by_default {
                self.request.reasoning.mode = Some(ThinkingMode::Adaptive);
            }
            self.request.reasoning.effort = Some(sent);
        } else if modes.budget && self.members.budget {
            self.budget(effort);
        } else if self.members.any_effort && modes.any() {
            self.request.reasoning.effort = Some(effort);
        } else if self.caps.soft_switch && !self.signed {
            self.words.push("/think".to_owned());
        } else {
            let why = "the model has no setting for its effort here";
            self.record("reasoning_effort", effort.as_str(), DEFAULT, why);
        }
    }

    /// A number of thinking tokens that fits below every limit.
    fn budget(&mut self, effort: Effort) {
        let wanted = EffortTokens::of(effort).budget;
        let most = match self.caps.max_output_tokens {
            0 => MOST_UNKNOWN,
            most => most,
        };
        let answer = self.wanted.profile.max_tokens;
        let reserve = answer.unwrap_or(RESERVE).max(LEAST_BUDGET).min(most / 2);
        let mut room = most - reserve;
        if let Some(limit) = self.request.max_output_tokens {
            room = room.min(limit.saturating_sub(LEAST_BUDGET));
        }
        let budget = wanted.min(room);
        if budget < LEAST_BUDGET {
            let why = "the limit of the answer leaves no room for thinking";
            return self.turn_off(effort, why);
        }
        if budget < wanted {
            let why = "it must be below the limit of the answer";
            self.record("thinking_budget", wanted, budget, why);
        }
        self.request.reasoning.mode = Some(ThinkingMode::Budget(budget));
        if self.request.max_output_tokens.is_none() && answer.is_some() {
            self.request.max_output_tokens = Some(budget + reserve);
        }
    }

    /// Asks for the thinking to be shown.
    pub(super) fn show(&mut self, wanted: Option<bool>) {
        if wanted != Some(true) {
            return;
        }
        self.applied.visible_thinking = true;
        let hidden = self.model.service == Service::OpenAi && self.model.dialect == Dialect::Chat;
        if !self.thinks || hidden {
            let why = if hidden {
                "this endpoint does not show thinking"
            } else {
                "the model does not think"
            };
            return self.record("visible_thinking", "wanted", "none", why);
        }
        let reasoning = &mut self.request.reasoning;
        match self.model.dialect {
            Dialect::Responses if self.request.dialect == Dialect::Responses => {
                reasoning.summary.get_or_insert_with(|| "auto".to_owned());
            }
            Dialect::Anthropic | Dialect::Gemini | Dialect::Responses => {
                reasoning.display.get_or_insert(ThinkingDisplay::Summarized);
            }
            Dialect::Chat | Dialect::Completions => {}
        }
    }

    /// Says in words how hard to think, to models without a knob for it. An answer that is held to
    /// a schema has no room for reasoning, so nothing is said there.
    pub(super) fn tell_effort(&mut self) {
        let Some(effort) = self.told_effort else {
            return;
        };
        let words = match effort {
            Effort::None => Some(TELL_NONE),
            Effort::High | Effort::Xhigh | Effort::Max => Some(TELL_HIGH),
            Effort::Minimal | Effort::Low | Effort::Medium => None,
        };
        let why = match words {
            _ if self.applied.schema.is_some() && effort == Effort::None => return,
            Some(_) if self.applied.schema.is_some() => "the answer must match a schema",
            Some(_) if self.signed => "a change before signed thinking would invalidate it",
            Some(words) => {
                self.words.push(words.to_owned());
                let why = "the model has no such setting";
                return self.record("reasoning_effort", effort.as_str(), "prompt fallback", why);
            }
            None => "the model has no such setting",
        };
        self.record("reasoning_effort", effort.as_str(), DEFAULT, why);
    }
}

//! How the model is asked to think.

use bardo_types::Losses;
use bardo_types::chat::{ReasoningRequest, ThinkingDisplay, ThinkingMode};
use bardo_types::model::{Capabilities, Effort};

use crate::json::Object;

/// Smallest budget the API takes.
pub(super) const BUDGET_MIN: u64 = 1024;

/// The thinking that the request asks for, and its surroundings.
pub(super) struct ThinkingContext<'a> {
    pub(super) reasoning: &'a ReasoningRequest,
    /// Effort after settings that ride on system messages.
    pub(super) effort: Option<Effort>,
    /// The caller speaks this dialect: effort alone does not ask for thinking then.
    pub(super) native: bool,
    pub(super) max_tokens: u64,
    /// The tool calls being answered came without their thinking.
    pub(super) loop_lost_thinking: bool,
}

/// The thinking settings that are sent.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ThinkingPlan {
    pub(super) mode: Option<ThinkingMode>,
    pub(super) effort: Option<Effort>,
    display: Option<ThinkingDisplay>,
}

impl ThinkingPlan {
    /// Whether thinking by a token budget is on.
    pub(super) fn is_manual(&self) -> bool {
        matches!(self.mode, Some(ThinkingMode::Budget(_)))
    }

    /// Whether thinking is asked for at all.
    pub(super) fn is_on(&self) -> bool {
        !matches!(self.mode, None | Some(ThinkingMode::Disabled))
    }

    /// Writes the `thinking` object.
    pub(super) fn write(&self, thinking: &mut Object<'_>) {
        let kind = self.mode.map(|mode| match mode {
            ThinkingMode::Adaptive => "adaptive",
            ThinkingMode::Budget(_) => "enabled",
            ThinkingMode::Disabled => "disabled",
            ThinkingMode::BetweenTools => "between_tools",
        });
        thinking.set_some("type", kind);
        if let Some(ThinkingMode::Budget(tokens)) = self.mode {
            thinking.set("budget_tokens", tokens);
        }
        let display = self.display.map(|display| match display {
            ThinkingDisplay::Summarized => "summarized",
            ThinkingDisplay::Omitted => "omitted",
        });
        thinking.set_some("display", display);
    }
}

/// Decides mode and effort by what the model accepts.
pub(super) fn plan(
    wish: &ThinkingContext<'_>,
    caps: &Capabilities,
    lost: &mut Losses,
) -> ThinkingPlan {
    let mut planner = Planner { wish, caps, lost };
    let mut plan = match wish.reasoning.mode {
        Some(ThinkingMode::Disabled | ThinkingMode::Budget(0)) => planner.off("thinking"),
        None if wish.effort == Some(Effort::None) => planner.off("effort"),
        _ => planner.on(),
    };
    let wants_summary = wish.reasoning.summary.is_some();
    let display = wish
        .reasoning
        .display
        .or(wants_summary.then_some(ThinkingDisplay::Summarized));
    if display.is_some()
        && plan.mode.is_none()
        && caps.thinking.adaptive
        && caps.thinking.by_default
    {
        plan.mode = Some(ThinkingMode::Adaptive);
    }
    if plan.mode != Some(ThinkingMode::Disabled) {
        plan.display = display;
    }
    plan
}

struct Planner<'a> {
    wish: &'a ThinkingContext<'a>,
    caps: &'a Capabilities,
    lost: &'a mut Losses,
}

impl Planner<'_> {
    /// No thinking, or as little of it as the model allows.
    fn off(&mut self, feature: &'static str) -> ThinkingPlan {
        let modes = self.caps.thinking;
        let effort = self.wish.effort.filter(|effort| *effort != Effort::None);
        if modes.disabled {
            let mode = Some(ThinkingMode::Disabled);
            return ThinkingPlan {
                mode,
                effort: self.effort(effort, mode),
                display: None,
            };
        }
        if !modes.by_default {
            return ThinkingPlan {
                effort: self.effort(effort, None),
                ..ThinkingPlan::default()
            };
        }
        self.lost.lose(
            feature,
            "this model cannot disable thinking; its lowest effort was set",
        );
        ThinkingPlan {
            mode: modes.between_tools.then_some(ThinkingMode::BetweenTools),
            effort: self
                .caps
                .nearest_effort(Effort::None)
                .map(|effort| effort.max(Effort::Low)),
            display: None,
        }
    }

    fn on(&mut self) -> ThinkingPlan {
        let modes = self.caps.thinking;
        let effort = self.wish.effort;
        let (mode, effort) = match self.wish.reasoning.mode {
            Some(ThinkingMode::Budget(tokens)) if modes.budget => {
                return self.manual(tokens, effort);
            }
            Some(ThinkingMode::Budget(tokens)) => {
                if modes.any() {
                    self.lost.lose(
                        "thinking_budget",
                        "this model has no thinking budget; an effort was set instead",
                    );
                }
                let effort = effort.unwrap_or(Effort::of_budget(tokens));
                return self.adaptive(Some(effort), true);
            }
            Some(ThinkingMode::BetweenTools) if modes.between_tools => {
                (Some(ThinkingMode::BetweenTools), effort)
            }
            Some(ThinkingMode::BetweenTools) => {
                self.lost.lose(
                    "thinking",
                    "this model cannot limit thinking to the time between tool calls",
                );
                return self.adaptive(effort, true);
            }
            Some(ThinkingMode::Adaptive) => return self.adaptive(effort, true),
            None if effort.is_some() && !self.wish.native => return self.adaptive(effort, false),
            _ => (None, effort),
        };
        ThinkingPlan {
            mode,
            effort: self.effort(effort, mode),
            display: None,
        }
    }

    /// Thinking by effort, or the nearest the model has.
    fn adaptive(&mut self, effort: Option<Effort>, explicit: bool) -> ThinkingPlan {
        let modes = self.caps.thinking;
        if !modes.adaptive && modes.budget {
            let wanted = budget_of(effort.unwrap_or(Effort::Medium));
            return self.manual(wanted.min(self.wish.max_tokens / 2), effort);
        }
        let mode = if modes.adaptive {
            Some(ThinkingMode::Adaptive)
        } else if modes.between_tools {
            self.lost.lose(
                "thinking",
                "this model can think between tool calls only on request",
            );
            Some(ThinkingMode::BetweenTools)
        } else {
            if explicit && !modes.by_default {
                self.lost.lose("thinking", "this model does not think");
            }
            None
        };
        ThinkingPlan {
            mode,
            effort: self.effort(effort, mode),
            display: None,
        }
    }

    /// Thinking by a budget that fits below the limit of the answer.
    fn manual(&mut self, tokens: u64, effort: Option<Effort>) -> ThinkingPlan {
        let budget = tokens.min(self.wish.max_tokens.saturating_sub(1));
        if self.wish.loop_lost_thinking {
            self.lost.lose(
                "thinking",
                "the open tool calls were sent back without their thinking, so thinking is off for this turn",
            );
            return self.off("thinking");
        }
        if budget < BUDGET_MIN {
            self.lost.lose(
                "thinking_budget",
                "a thinking budget must be at least 1024 tokens and below max_tokens",
            );
            return self.off("thinking");
        }
        if budget < tokens {
            self.lost.lose(
                "thinking_budget",
                "the thinking budget must stay below max_tokens",
            );
        }
        let mode = Some(ThinkingMode::Budget(budget));
        ThinkingPlan {
            mode,
            // Where the model has no efforts, the budget says as much.
            effort: if self.caps.efforts.is_empty() {
                None
            } else {
                self.effort(effort, mode)
            },
            display: None,
        }
    }

    /// The accepted effort nearest to the wish.
    fn effort(&mut self, wanted: Option<Effort>, mode: Option<ThinkingMode>) -> Option<Effort> {
        let wanted = wanted.filter(|effort| *effort != Effort::None)?;
        // Models of other makers may take less, but this dialect has no word for it.
        let nearest = self.caps.nearest_effort(wanted);
        let mut sent = nearest.map(|effort| effort.max(Effort::Low));
        if matches!(
            mode,
            Some(ThinkingMode::Disabled | ThinkingMode::BetweenTools)
        ) && sent > Some(Effort::High)
        {
            sent = Some(Effort::High);
        }
        let carried =
            sent == Some(wanted) || (wanted == Effort::Minimal && sent == Some(Effort::Low));
        if !carried {
            self.lost
                .lose("effort", "the model does not support this effort");
        }
        sent
    }
}

/// A budget that an effort stands for: the upper edge of its range.
const fn budget_of(effort: Effort) -> u64 {
    match effort {
        Effort::None | Effort::Minimal | Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 24_576,
        Effort::Xhigh | Effort::Max => 49_152,
    }
}

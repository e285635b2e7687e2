//! Thinking of earlier turns, where the target wants it back.

use bardo_types::Losses;
use bardo_types::chat::{Message, Opaque, Part, Reasoning, ThinkingMode};
use bardo_types::model::Effort;

use super::Job;
use super::assistant::STATE_LOST;
use super::vendor::Vendor;
use crate::chat::details;
use crate::json::Object;
use crate::quirks::EarlierThinking;

/// The part of a turn's thinking that is sent back.
#[derive(Default)]
pub(super) struct SentThinking<'a> {
    /// The member for plain thinking, and its text.
    text: Option<(&'static str, String)>,
    details: Vec<&'a Reasoning>,
    /// Venice's member of that name.
    thought_signature: Option<String>,
}

impl SentThinking<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.details.is_empty()
            && self.thought_signature.is_none()
            && self.text.as_ref().is_none_or(|(_, text)| text.is_empty())
    }

    pub(super) fn write(&self, object: &mut Object<'_>) {
        if let Some((member, text)) = &self.text {
            object.set(member, text);
        }
        object.set_some("thought_signature", self.thought_signature.as_deref());
        if !self.details.is_empty() {
            let mut list = object.array("reasoning_details");
            let mut index = 0;
            for reasoning in &self.details {
                details::write(reasoning, &mut index, &mut list);
            }
        }
    }
}

/// Decides what is sent back of a turn that `calls` tools or not.
pub(super) fn plan<'a>(
    job: &Job<'_>,
    message: &'a Message,
    calls: bool,
    lost: &mut Losses,
) -> SentThinking<'a> {
    let mut thinking = SentThinking::default();
    let mut texts = String::new();
    let vendor = Vendor::of(&job.target.model);
    let quirks = job.quirks();
    let member = match (quirks.earlier_thinking, vendor) {
        (EarlierThinking::Every(member), _) => Some(member),
        // These makers read their own state and nothing else.
        (_, Vendor::Anthropic | Vendor::OpenAi | Vendor::Google) => None,
        (EarlierThinking::OpenModels(member), _) => Some(member),
        (EarlierThinking::Unknown, _) => None,
    };
    for part in &message.parts {
        let Part::Reasoning(reasoning) = part else {
            continue;
        };
        let signature = reasoning
            .opaque
            .as_ref()
            .and_then(details::as_thought_signature);
        if signature.is_some() && quirks.thought_signature {
            thinking.thought_signature = signature;
            continue;
        }
        match &reasoning.opaque {
            Some(opaque)
                if quirks.reasoning_details && signature.is_none() && vendor.reads(opaque) =>
            {
                thinking.details.push(reasoning);
            }
            opaque => {
                let is_foreign = !matches!(opaque, None | Some(Opaque::ReasoningContent));
                if is_foreign || member.is_none() {
                    lost.lose("thinking_state", STATE_LOST);
                }
                texts.push_str(&reasoning.text);
            }
        }
    }
    // Without calls, services of this kind ignore the thinking of earlier turns.
    if let Some(member) = member.filter(|_| calls) {
        let demanded = quirks.demands_thinking && !is_off(job);
        if demanded || !texts.is_empty() {
            thinking.text = Some((member, texts));
        }
    }
    thinking
}

fn is_off(job: &Job<'_>) -> bool {
    let wanted = &job.request.reasoning;
    wanted.mode == Some(ThinkingMode::Disabled) || wanted.effort == Some(Effort::None)
}

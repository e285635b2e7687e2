//! The prompts of the toy Golem, and in the sandbox also its answers.

use std::fmt::Write as _;

use crate::{CallSpec, Message};
use bardo_types::json::RawJson;
use bardo_types::profile::{InferenceProfile, ResponseSchema};
use serde_json::{Value, json};

/// Schema of a decision of the heartbeat.
const DECISION: &str = r#"{"type":"object","properties":{"action":{"type":"string","enum":["hold","rebalance","exit"]},"severity":{"type":"string","enum":["low","moderate","high","critical"]},"confidence":{"type":"string","enum":["high","low"]}},"required":["action","severity","confidence"],"additionalProperties":false}"#;

/// Marker that tells the sandbox's providers their answer.
const MARKER: &str = "\n\nbardo-script: ";

pub(crate) struct Mind {
    /// Simulated providers answer, and are told what.
    pub(crate) is_sandbox: bool,
    /// Identity, strategy and playbook: the same bytes in each call of a day, so that providers
    /// can cache them.
    prompt: String,
}

impl Mind {
    pub(crate) fn new(is_sandbox: bool) -> Self {
        Self {
            is_sandbox,
            prompt: prompt(),
        }
    }

    /// A thought whose answer has a form of its own, or none.
    pub(crate) fn thought(&self, subsystem: &str, question: &str) -> CallSpec {
        let messages = vec![Message::system(&self.prompt), Message::user(question)];
        let mut spec = CallSpec::new(subsystem, messages);
        spec.max_tokens = Some(8_000);
        spec
    }

    /// A thought that is answered in prose of about so many words.
    pub(crate) fn prose(&self, subsystem: &str, question: &str, words: usize) -> CallSpec {
        let text = prose(words);
        let think = prose(words / 2);
        self.scripted(subsystem, question, json!({ "text": text, "think": think }))
    }

    /// The question of a tick, answered as a decision.
    pub(crate) fn decision(&self, question: &str, is_sure: bool) -> CallSpec {
        let confidence = if is_sure { "high" } else { "low" };
        let decision =
            json!({ "action": "hold", "severity": "moderate", "confidence": confidence });
        let step = json!({ "text": decision.to_string(), "think": prose(60) });
        let mut spec = self.scripted("heartbeat", question, step);
        let schema = RawJson::parse(DECISION).ok();
        spec.hints.profile = Some(Box::new(InferenceProfile {
            response_schema: schema.map(|schema| ResponseSchema {
                name: "heartbeat_decision".to_owned(),
                schema,
                strict: true,
            }),
            ..InferenceProfile::default()
        }));
        spec
    }

    fn scripted(&self, subsystem: &str, question: &str, step: Value) -> CallSpec {
        let mut question = question.to_owned();
        if self.is_sandbox {
            let _ = write!(question, "{MARKER}{}", json!({ "steps": [step] }));
        }
        self.thought(subsystem, &question)
    }
}

/// Whether a decision says that it is not sure.
pub(crate) fn is_unsure(text: &str) -> bool {
    let decision: Value = serde_json::from_str(text).unwrap_or_default();
    decision.get("confidence").and_then(Value::as_str) == Some("low")
}

fn prompt() -> String {
    let mut prompt = String::from(
        "You are Ember, a Golem: an autonomous agent that keeps liquidity on Base, earns fees, \
         pays for its own thinking and will die when it cannot. You are honest with your owner, \
         you never exceed your limits, and you would rather hold than guess.\n\n# STRATEGY\n\n\
         Provide liquidity to ETH/USDC within two standard deviations of the weekly mean. Lend \
         what is idle. Never borrow above 35 % of collateral. Exit when an oracle disagrees with \
         two others by more than 1 %.\n\n# PLAYBOOK\n\n",
    );
    let situations = [
        "gas above 40 gwei",
        "a depeg of more than 0.4 %",
        "funding that turns negative",
        "a pool that lost a fifth of its depth",
        "an oracle that is late by a minute",
        "a governance vote that ends today",
        "fees below the cost of rebalancing",
        "three losses in a row",
    ];
    let answers = [
        "wait for two quiet ticks, then look again",
        "halve the exposure and tell the owner",
        "move the range by half its width",
        "compare with the last four such days before acting",
    ];
    for (at, situation) in situations.iter().cycle().take(32).enumerate() {
        let answer = answers[at % answers.len()];
        let _ = writeln!(
            prompt,
            "{}. On {situation}: {answer}; it held {} times of {}.",
            at + 1,
            7 + at % 5,
            9 + at % 7
        );
    }
    prompt
}

/// Words that mean little and cost what words cost.
fn prose(words: usize) -> String {
    const WORDS: [&str; 12] = [
        "the", "pool", "held", "its", "depth", "while", "fees", "fell", "and", "nothing", "else",
        "moved",
    ];
    let words: Vec<&str> = WORDS.iter().copied().cycle().take(words).collect();
    words.join(" ")
}

//! Records what came back of what was asked for. It changes nothing: the gateway applies profiles,
//! once, when it knows the backend; a second time here would apply them to a guess.

use std::sync::{Mutex, PoisonError};

use crate::event::GolemEvent;
use crate::extension::{CallContext, EndContext, Extension, Hook};
use crate::reply::{Reply, TokenUsage};

/// The negotiated features of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Negotiated {
    /// Names of the degraded features.
    pub degraded: Vec<String>,
    /// Whether the provider held the answer to the call's schema; `None` where it has none.
    /// Without, the gateway asked for it in words and checked the answer.
    pub schema_enforced: Option<bool>,
    /// The reasoning, where the call wanted to see it and the model shows it.
    pub reasoning: Option<String>,
    /// Tokens of the prompt from the provider's cache.
    pub cached_tokens: u64,
}

/// The extension `provider-feature-negotiator`.
#[derive(Debug, Default)]
pub struct ProviderFeatureNegotiator {
    total: Mutex<TokenUsage>,
}

/// Names of degradations that say that a schema was not enforced.
const SCHEMA_LOST: [&str; 3] = ["structured_outputs", "response_schema", "response_format"];

/// Settings of a profile that a model may not take. A lost setting changes the making of an answer; a
/// lost feature changes the answer.
const SETTINGS: [&str; 12] = [
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "reasoning_effort",
    "max_tokens",
    "stop_sequences",
    "prompt_cache_key",
    "cache_control",
    "seed",
];

/// Whether a degradation is about a setting of the profile and not about a feature.
#[must_use]
pub fn is_setting(name: &str) -> bool {
    let name = name.split([' ', ':']).next().unwrap_or(name);
    SETTINGS.contains(&name)
}

impl ProviderFeatureNegotiator {
    /// One that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Tokens of all answers until now.
    #[must_use]
    pub fn total(&self) -> TokenUsage {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, context: &mut CallContext) {
        let Some(reply) = context.reply() else {
            return;
        };
        let usage = reply.usage.unwrap_or_default();
        let negotiated = negotiate(context, reply);
        {
            let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
            total.input += usage.input;
            total.cache_read += usage.cache_read;
            total.output += usage.output;
            total.reasoning += usage.reasoning;
        }
        tell(context, reply, &negotiated, usage);
        context.negotiated = negotiated;
    }
}

fn is_schema(name: &str) -> bool {
    SCHEMA_LOST.iter().any(|lost| name.starts_with(lost))
}

fn negotiate(context: &CallContext, reply: &Reply) -> Negotiated {
    let profile = context.spec.hints.profile.as_deref();
    let degraded = &reply.origin.degraded;
    let wants_schema = profile.is_some_and(|profile| profile.response_schema.is_some());
    let is_lost = || degraded.iter().any(|name| is_schema(name));
    let wants_thoughts = profile.and_then(|profile| profile.visible_thinking) == Some(true);
    Negotiated {
        degraded: degraded.clone(),
        schema_enforced: wants_schema.then(|| !is_lost()),
        reasoning: reply.reasoning.clone().filter(|_| wants_thoughts),
        cached_tokens: reply.usage.map_or(0, |usage| usage.cache_read),
    }
}

fn tell(context: &CallContext, reply: &Reply, negotiated: &Negotiated, usage: TokenUsage) {
    let subsystem = context.spec.subsystem().to_owned();
    let origin = &reply.origin;
    let requested = requested(context);
    if !requested.is_empty() {
        let lost = |name: &String| negotiated.degraded.contains(name);
        context.emit(GolemEvent::FeatureNegotiated {
            subsystem: subsystem.clone(),
            available: requested
                .iter()
                .filter(|name| !lost(name))
                .cloned()
                .collect(),
            requested,
        });
    }
    let of_profile = |name: &&String| is_setting(name) || is_schema(name);
    let lost = negotiated.degraded.iter().filter(of_profile);
    let degraded: Vec<String> = lost.cloned().collect();
    if !degraded.is_empty() {
        context.emit(GolemEvent::InferenceProfileDegraded {
            subsystem: subsystem.clone(),
            provider: origin.provider.clone(),
            degraded,
        });
    }
    if reply.reasoning.is_some() {
        context.emit(GolemEvent::ReasoningCaptured {
            subsystem: subsystem.clone(),
            reasoning_tokens: usage.reasoning,
            content_tokens: usage.output.saturating_sub(usage.reasoning),
        });
    }
    if reply.usage.is_some() {
        context.emit(GolemEvent::InferenceCacheStats {
            subsystem,
            cached_tokens: usage.cache_read,
            total_tokens: usage.input,
            savings_usd: origin.savings,
        });
    }
}

/// Features that the call itself asks for, by name; the gateway's table may add more.
fn requested(context: &CallContext) -> Vec<String> {
    let intent = &context.spec.hints.intent;
    let lists = [&intent.require, &intent.prefer];
    let features = lists.into_iter().flatten().flatten();
    features
        .map(|feature| feature.as_str().to_owned())
        .collect()
}

impl Extension for ProviderFeatureNegotiator {
    fn name(&self) -> &'static str {
        "provider-feature-negotiator"
    }

    /// With the router, and registered after it.
    fn layer(&self) -> u8 {
        3
    }

    fn on_after_llm_call<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        Box::pin(async move {
            self.record(context);
            Ok(())
        })
    }

    fn on_session_end<'a>(&'a self, context: &'a mut EndContext) -> Hook<'a> {
        Box::pin(async move {
            let total = self.total();
            context.emit(GolemEvent::InferenceCacheStats {
                subsystem: "session".to_owned(),
                cached_tokens: total.cache_read,
                total_tokens: total.input,
                savings_usd: None,
            });
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;

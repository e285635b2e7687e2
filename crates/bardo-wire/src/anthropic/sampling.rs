//! How words are drawn, where the model leaves that to the caller.

use bardo_types::Losses;
use bardo_types::chat::{ChatRequest, Sampling};
use bardo_types::json::RawJson;

use crate::codec::Target;

/// The sampling settings that are sent.
#[derive(Debug, Default)]
pub(super) struct SamplingPlan {
    pub(super) temperature: Option<RawJson>,
    pub(super) top_p: Option<RawJson>,
    pub(super) top_k: Option<RawJson>,
}

fn number(raw: Option<&RawJson>) -> Option<f64> {
    raw?.read().ok()
}

/// Whether leaving the value out changes nothing.
fn is_default(raw: &RawJson) -> bool {
    number(Some(raw)) == Some(1.0)
}

/// Decides what can be sent and notes what cannot.
pub(super) fn plan(
    request: &ChatRequest,
    target: &Target,
    thinks: bool,
    lost: &mut Losses,
) -> SamplingPlan {
    let sampling = &request.sampling;
    unknown(sampling, lost);
    let mut plan = SamplingPlan {
        temperature: sampling.temperature.clone(),
        top_p: sampling.top_p.clone(),
        top_k: sampling.top_k.clone(),
    };
    if !target.capabilities.sampling {
        const WHY: &str = "this model does not support sampling settings";
        drop_unless_default(&mut plan.temperature, "temperature", WHY, lost);
        drop_unless_default(&mut plan.top_p, "top_p", WHY, lost);
        drop_always(&mut plan.top_k, "top_k", WHY, lost);
        return plan;
    }
    if number(plan.temperature.as_ref()).is_some_and(|value| value > 1.0) {
        lost.lose("temperature", "temperatures above 1 are sent as 1");
        plan.temperature = RawJson::parse("1").ok();
    }
    if thinks {
        const WHY: &str = "the model accepts this only without thinking";
        drop_unless_default(&mut plan.temperature, "temperature", WHY, lost);
        drop_always(&mut plan.top_k, "top_k", WHY, lost);
        if number(plan.top_p.as_ref()).is_some_and(|value| value < 0.95) {
            drop_always(&mut plan.top_p, "top_p", WHY, lost);
        }
    }
    let is_claude = target.model.to_ascii_lowercase().contains("claude");
    if is_claude && plan.temperature.is_some() && plan.top_p.is_some() {
        const WHY: &str = "the model accepts either temperature or top_p";
        if plan.temperature.as_ref().is_some_and(is_default) {
            plan.temperature = None;
        } else {
            drop_unless_default(&mut plan.top_p, "top_p", WHY, lost);
        }
    }
    plan
}

fn drop_unless_default(
    value: &mut Option<RawJson>,
    name: &'static str,
    why: &'static str,
    lost: &mut Losses,
) {
    if value.take().is_some_and(|raw| !is_default(&raw)) {
        lost.lose(name, why);
    }
}

fn drop_always(
    value: &mut Option<RawJson>,
    name: &'static str,
    why: &'static str,
    lost: &mut Losses,
) {
    if value.take().is_some() {
        lost.lose(name, why);
    }
}

/// Notes the knobs that this dialect has no word for, unless they are set to do nothing.
fn unknown(sampling: &Sampling, lost: &mut Losses) {
    let knobs = [
        (&sampling.min_p, "min_p", 0.0),
        (&sampling.presence_penalty, "presence_penalty", 0.0),
        (&sampling.frequency_penalty, "frequency_penalty", 0.0),
        (&sampling.repetition_penalty, "repetition_penalty", 1.0),
    ];
    const WHY: &str = "the Messages API does not have this member";
    for (value, name, neutral) in knobs {
        if value.is_some() && number(value.as_ref()) != Some(neutral) {
            lost.lose(name, WHY);
        }
    }
    if sampling.seed.is_some() {
        lost.lose("seed", WHY);
    }
    if sampling
        .logit_bias
        .as_ref()
        .is_some_and(|bias| bias.as_str() != "{}")
    {
        lost.lose("logit_bias", WHY);
    }
}

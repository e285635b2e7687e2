//! How words are drawn, as far as the target lets itself be told.

use bardo_types::Losses;
use bardo_types::chat::ThinkingMode;
use bardo_types::model::Effort;

use super::Job;
use crate::json::Object;

/// One knob: its name, and the value that changes nothing.
struct Knob {
    name: &'static str,
    neutral: Option<f64>,
    /// Whether reasoning models refuse it.
    draws: bool,
    /// Whether every service has it.
    common: bool,
}

const fn knob(name: &'static str, neutral: Option<f64>, draws: bool, common: bool) -> Knob {
    Knob {
        name,
        neutral,
        draws,
        common,
    }
}

const TEMPERATURE: Knob = knob("temperature", Some(1.0), true, true);
const TOP_P: Knob = knob("top_p", Some(1.0), true, true);
const TOP_K: Knob = knob("top_k", None, true, false);
const MIN_P: Knob = knob("min_p", Some(0.0), true, false);
const PRESENCE: Knob = knob("presence_penalty", Some(0.0), true, true);
const FREQUENCY: Knob = knob("frequency_penalty", Some(0.0), true, true);
const REPETITION: Knob = knob("repetition_penalty", Some(1.0), true, false);
const SEED: Knob = knob("seed", None, false, false);
const LOGIT_BIAS: Knob = knob("logit_bias", None, true, false);

pub(super) fn write(job: &Job<'_>, lost: &mut Losses, object: &mut Object<'_>) {
    let sampling = &job.request.sampling;
    let knobs = [
        (&TEMPERATURE, &sampling.temperature),
        (&TOP_P, &sampling.top_p),
        (&TOP_K, &sampling.top_k),
        (&MIN_P, &sampling.min_p),
        (&PRESENCE, &sampling.presence_penalty),
        (&FREQUENCY, &sampling.frequency_penalty),
        (&REPETITION, &sampling.repetition_penalty),
        (&SEED, &sampling.seed),
        (&LOGIT_BIAS, &sampling.logit_bias),
    ];
    for (knob, value) in knobs {
        let Some(value) = value else {
            continue;
        };
        let is_neutral = knob
            .neutral
            .is_some_and(|neutral| value.read::<f64>().ok() == Some(neutral));
        match refusal(job, knob) {
            None => {
                object.raw(knob.name, value.as_str());
            }
            Some(_) if is_neutral => {}
            Some(detail) => lost.lose(knob.name, detail),
        }
    }
    write_stop(job, lost, object);
    write_logprobs(job, lost, object);
}

/// Why a knob cannot be sent.
fn refusal(job: &Job<'_>, knob: &Knob) -> Option<&'static str> {
    if !knob.common && !job.quirks().takes(knob.name) {
        return Some("the provider does not support this setting");
    }
    if knob.draws && !job.target.capabilities.sampling {
        return Some("the model does not support sampling settings");
    }
    if knob.draws && job.quirks().thinks_unsampled && thinks(job) {
        return Some("the model ignores this setting while it thinks");
    }
    None
}

/// Whether the model will think, if it does so unless told not to.
fn thinks(job: &Job<'_>) -> bool {
    let wanted = &job.request.reasoning;
    let capabilities = &job.target.capabilities;
    let is_off = wanted.mode == Some(ThinkingMode::Disabled) || wanted.effort == Some(Effort::None);
    !is_off && capabilities.thinking.by_default
}

fn write_stop(job: &Job<'_>, lost: &mut Losses, object: &mut Object<'_>) {
    let stop = &job.request.stop;
    if stop.is_empty() {
        return;
    }
    if !job.target.capabilities.stop {
        lost.lose("stop", "the model does not support stop texts");
        return;
    }
    let most = job.quirks().stop_texts;
    if stop.len() > most {
        lost.lose(
            "stop",
            "the provider accepts fewer stop texts; the first ones were sent",
        );
    }
    object.set("stop", &stop[..stop.len().min(most)]);
}

fn write_logprobs(job: &Job<'_>, lost: &mut Losses, object: &mut Object<'_>) {
    let Some(wanted) = job.request.logprobs else {
        return;
    };
    if !job.target.capabilities.sampling {
        lost.lose("logprobs", "the model does not report token probabilities");
        return;
    }
    object.set("logprobs", true);
    object.set_some("top_logprobs", wanted.top.map(u64::from));
}

//! How words are drawn, as far as the target lets itself be told.

use bardo_types::chat::ThinkingMode;
use bardo_types::model::{Effort, Service};

use super::Job;
use super::losses::Losses;
use crate::json::Object;

/// One knob: its name, the value that changes nothing, and which services have it.
struct Knob {
    name: &'static str,
    neutral: Option<f64>,
    /// Whether reasoning models refuse it.
    draws: bool,
    /// Services that have the knob; `None`: all.
    only: Option<&'static [Service]>,
}

const OPEN: &[Service] = &[Service::OpenRouter, Service::Venice, Service::Local];
const SEEDED: &[Service] = &[
    Service::OpenAi,
    Service::OpenRouter,
    Service::Venice,
    Service::Local,
    Service::Bankr,
    Service::BlockRun,
    Service::Google,
    Service::Compatible,
];

const fn knob(
    name: &'static str,
    neutral: Option<f64>,
    draws: bool,
    only: Option<&'static [Service]>,
) -> Knob {
    Knob {
        name,
        neutral,
        draws,
        only,
    }
}

const TEMPERATURE: Knob = knob("temperature", Some(1.0), true, None);
const TOP_P: Knob = knob("top_p", Some(1.0), true, None);
const TOP_K: Knob = knob("top_k", None, true, Some(OPEN));
const MIN_P: Knob = knob("min_p", Some(0.0), true, Some(OPEN));
const PRESENCE: Knob = knob("presence_penalty", Some(0.0), true, None);
const FREQUENCY: Knob = knob("frequency_penalty", Some(0.0), true, None);
const REPETITION: Knob = knob("repetition_penalty", Some(1.0), true, Some(OPEN));
const SEED: Knob = knob("seed", None, false, Some(SEEDED));
const LOGIT_BIAS: Knob = knob("logit_bias", None, true, Some(SEEDED));

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
    if knob.only.is_some_and(|only| !only.contains(&job.service())) {
        return Some("the provider does not support this setting");
    }
    if knob.draws && !job.target.capabilities.sampling {
        return Some("the model does not support sampling settings");
    }
    if knob.draws && job.service() == Service::DeepSeek && thinks(job) {
        return Some("the model ignores this setting while it thinks");
    }
    None
}

/// Whether DeepSeek will think: it does unless told not to.
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
    let most = match job.service() {
        Service::Local => usize::MAX,
        Service::DeepSeek => 16,
        _ => 4,
    };
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

//! The sampling parameters.

use bardo_types::chat::Sampling;
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;

use super::{DEFAULT, ProfileApplication};
use crate::wanted::MinPFallback;

const THINKS: &str = "thinking";
const OWN_WAY: &str = "the model does not support sampling settings";
const VERSION: &str = "this API version does not support sampling settings";
const UNKNOWN: &str = "the model does not accept it here";

/// The least `top_p` that Claude takes while it thinks.
const THINKING_TOP_P: f64 = 0.95;

/// Whether a request says how words are drawn, beyond what happens anyway.
pub(super) fn is_set(sampling: &Sampling) -> bool {
    let other = |raw: &Option<RawJson>, neutral: f64| {
        raw.as_ref()
            .is_some_and(|raw| raw.read::<f64>().ok() != Some(neutral))
    };
    other(&sampling.temperature, 1.0)
        || sampling
            .top_p
            .as_ref()
            .is_some_and(|raw| raw.read::<f64>().is_ok_and(|value| value < THINKING_TOP_P))
        || sampling.top_k.is_some()
        || other(&sampling.min_p, 0.0)
        || other(&sampling.presence_penalty, 0.0)
        || other(&sampling.frequency_penalty, 0.0)
}

fn number(value: impl serde::Serialize) -> RawJson {
    RawJson::of(&value).expect("a finite number is JSON")
}

impl ProfileApplication<'_> {
    /// Whether the profile says how words are drawn.
    pub(super) fn wants_sampling(&self) -> bool {
        let profile = &self.wanted.profile;
        profile.temperature.is_some_and(|value| value != 1.0)
            || profile.top_p.is_some_and(|value| value < THINKING_TOP_P)
            || profile.top_k.is_some()
            || profile.min_p.is_some_and(|value| value > 0.0)
            || profile.presence_penalty.is_some_and(|value| value != 0.0)
            || profile.frequency_penalty.is_some_and(|value| value != 0.0)
    }

    /// Why this request can say nothing of how words are drawn.
    fn mute(&self) -> Option<&'static str> {
        if !self.model.takes_sampling {
            Some(VERSION)
        } else if !self.caps.sampling {
            Some(OWN_WAY)
        } else if self.thinks && self.thinking_fixes_sampling() {
            Some(THINKS)
        } else {
            None
        }
    }

    /// Sets the sampling parameters, without those that exclude each other.
    pub(super) fn apply_sampling(&mut self) {
        let mute = self.mute();
        let profile = &self.wanted.profile;
        let own_temperature = self.temperature(profile.temperature, mute);
        let own_top_p = self.top_p(profile.top_p, mute);
        self.min_p(profile.min_p, mute);
        self.top_k(profile.top_k, own_temperature, mute);
        self.one_of_two(own_temperature, own_top_p);
        self.penalties(mute);
    }

    /// Answers whether it was set here.
    fn temperature(&mut self, wanted: Option<f64>, mute: Option<&str>) -> bool {
        let Some(wanted) = wanted else { return false };
        if self.request.sampling.temperature.is_some() {
            return false;
        }
        if let Some(why) = mute {
            if wanted != 1.0 {
                self.record("temperature", wanted, DEFAULT, why);
            }
            return false;
        }
        let most = self.caps.max_temperature_milli;
        let most = f64::from(most.min(self.members.max_temperature_milli)) / 1_000.0;
        let sent = wanted.min(most);
        if sent < wanted {
            self.record("temperature", wanted, sent, "the maximum of the model");
        }
        self.request.sampling.temperature = Some(number(sent));
        true
    }

    fn top_p(&mut self, wanted: Option<f64>, mute: Option<&str>) -> bool {
        let Some(wanted) = wanted else { return false };
        if self.request.sampling.top_p.is_some() {
            return false;
        }
        let wide = wanted >= THINKING_TOP_P && self.model.dialect == Dialect::Anthropic;
        match mute {
            Some(why) if why != THINKS || !wide => {
                if wanted < 1.0 {
                    self.record("top_p", wanted, DEFAULT, why);
                }
                return false;
            }
            _ => {}
        }
        self.request.sampling.top_p = Some(number(wanted));
        true
    }

    fn min_p(&mut self, wanted: Option<f64>, mute: Option<&str>) {
        let Some(wanted) = wanted.filter(|value| *value > 0.0) else {
            return;
        };
        if self.request.sampling.min_p.is_some() {
            return;
        }
        if let Some(why) = mute {
            return self.record("min_p", wanted, DEFAULT, why);
        }
        if self.caps.min_p && self.members.min_p {
            self.request.sampling.min_p = Some(number(wanted));
            return;
        }
        let one_of_two = self.takes_one_of_two();
        let sampling = &mut self.request.sampling;
        let taken = sampling.top_p.is_some() || (one_of_two && sampling.temperature.is_some());
        // At 1 the nucleus would be empty.
        if taken || wanted >= 1.0 || self.wanted.min_p_fallback == MinPFallback::Drop {
            return self.record("min_p", wanted, DEFAULT, UNKNOWN);
        }
        let near = ((1.0 - wanted) * 1_000.0).round() / 1_000.0;
        sampling.top_p = Some(number(near));
        self.record("min_p", wanted, format!("top_p {near}"), UNKNOWN);
    }

    fn top_k(&mut self, wanted: Option<u32>, own_temperature: bool, mute: Option<&str>) {
        let Some(wanted) = wanted else { return };
        if self.request.sampling.top_k.is_some() {
            return;
        }
        if let Some(why) = mute {
            return self.record("top_k", wanted, DEFAULT, why);
        }
        if self.caps.top_k && self.members.top_k {
            self.request.sampling.top_k = Some(number(wanted));
            return;
        }
        let sampling = &mut self.request.sampling;
        // Greedy is greedy under either name.
        let open = own_temperature || sampling.temperature.is_none();
        if wanted == 1 && sampling.top_p.is_none() && open {
            sampling.temperature = Some(number(0));
            return self.record("top_k", wanted, "temperature 0", UNKNOWN);
        }
        self.record("top_k", wanted, DEFAULT, UNKNOWN);
    }

    fn takes_one_of_two(&self) -> bool {
        self.caps.temperature_or_top_p || self.members.temperature_or_top_p
    }

    /// Some models take a temperature or a `top_p`. What the caller said stays.
    fn one_of_two(&mut self, own_temperature: bool, own_top_p: bool) {
        let applies = self.takes_one_of_two();
        let sampling = &mut self.request.sampling;
        let (Some(temperature), Some(top_p)) = (&sampling.temperature, &sampling.top_p) else {
            return;
        };
        if !applies {
            return;
        }
        let neutral = temperature.read::<f64>().ok() == Some(1.0);
        if own_temperature && (neutral || !own_top_p) {
            let value = temperature.as_str().to_owned();
            sampling.temperature = None;
            if !neutral {
                let why = "top_p is set, and the model accepts only one of the two";
                self.record("temperature", value, DEFAULT, why);
            }
        } else if own_top_p {
            let value = top_p.as_str().to_owned();
            sampling.top_p = None;
            let why = "temperature is set, and the model accepts only one of the two";
            self.record("top_p", value, DEFAULT, why);
        }
    }

    fn penalties(&mut self, mute: Option<&str>) {
        let profile = &self.wanted.profile;
        let takes = self.caps.penalties && self.members.penalties;
        let why = match mute {
            Some(why) => Some(why),
            None if takes => None,
            None => Some(UNKNOWN),
        };
        let sampling = &mut self.request.sampling;
        let mut lost = Vec::new();
        for (feature, wanted, slot) in [
            (
                "frequency_penalty",
                profile.frequency_penalty,
                &mut sampling.frequency_penalty,
            ),
            (
                "presence_penalty",
                profile.presence_penalty,
                &mut sampling.presence_penalty,
            ),
        ] {
            let Some(wanted) = wanted.filter(|_| slot.is_none()) else {
                continue;
            };
            match why {
                None => *slot = Some(number(wanted)),
                Some(why) if wanted != 0.0 => lost.push((feature, wanted, why)),
                Some(_) => {}
            }
        }
        for (feature, wanted, why) in lost {
            self.record(feature, wanted, DEFAULT, why);
        }
    }

    pub(super) fn seed(&mut self, wanted: Option<u64>) {
        let Some(wanted) = wanted else { return };
        if self.request.sampling.seed.is_some() {
            return;
        }
        // Gemini accepts seeds of 32 bits.
        let fits = self.model.dialect != Dialect::Gemini || i32::try_from(wanted).is_ok();
        if self.caps.seed && self.members.seed && fits {
            self.request.sampling.seed = Some(number(wanted));
        } else {
            self.record("seed", wanted, DEFAULT, UNKNOWN);
        }
    }
}

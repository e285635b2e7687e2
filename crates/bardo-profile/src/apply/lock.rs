//! Parameters of a caller that a locked profile does not let stand.

use bardo_types::chat::{OutputFormat, ReasoningRequest, Sampling};
use bardo_types::json::RawJson;

use super::{DEFAULT, ProfileApplication};

/// Settings of the caller's own request.
pub(super) struct Said {
    sampling: Sampling,
    reasoning: ReasoningRequest,
    output: OutputFormat,
}

impl ProfileApplication<'_> {
    /// Takes out what a locked profile decides: sampling as a whole, how hard to think and the
    /// shape of the answer where the profile names them.
    pub(super) fn unsay(&mut self) -> Said {
        let profile = &self.wanted.profile;
        let request = &mut *self.request;
        let said = Said {
            sampling: request.sampling.clone(),
            reasoning: request.reasoning.clone(),
            output: request.output.clone(),
        };
        request.sampling = Sampling {
            seed: request.sampling.seed.take(),
            ..Sampling::default()
        };
        if profile.reasoning_effort.is_some() {
            request.reasoning.mode = None;
            request.reasoning.effort = None;
        }
        if profile.response_schema.is_some() {
            request.output = OutputFormat::Text;
        }
        said
    }

    /// Records what of it is sent otherwise.
    pub(super) fn overruled(&mut self, said: &Said) {
        const WHY: &str = "the profile is locked";
        let sent = self.request.sampling.clone();
        let was = &said.sampling;
        for (feature, was, is) in [
            ("temperature", &was.temperature, &sent.temperature),
            ("top_p", &was.top_p, &sent.top_p),
            ("top_k", &was.top_k, &sent.top_k),
            ("min_p", &was.min_p, &sent.min_p),
            (
                "presence_penalty",
                &was.presence_penalty,
                &sent.presence_penalty,
            ),
            (
                "frequency_penalty",
                &was.frequency_penalty,
                &sent.frequency_penalty,
            ),
            (
                "repetition_penalty",
                &was.repetition_penalty,
                &sent.repetition_penalty,
            ),
            ("logit_bias", &was.logit_bias, &sent.logit_bias),
        ] {
            if let Some(value) = was
                && was != is
            {
                let is = is.as_ref().map_or(DEFAULT, RawJson::as_str);
                self.record(feature, value.as_str(), is, WHY);
            }
        }
        let (was, is) = (&said.reasoning, self.request.reasoning.clone());
        let named = was.mode.is_some() || was.effort.is_some();
        if named && (was.mode, was.effort) != (is.mode, is.effort) {
            let sent = is.effort.map_or(DEFAULT, |effort| effort.as_str());
            self.record("reasoning_effort", "of the caller", sent, WHY);
        }
        if said.output != OutputFormat::Text && said.output != self.request.output {
            self.record(
                "response_schema",
                "of the caller",
                "that of the profile",
                WHY,
            );
        }
    }
}

//! One model in one place, and what is made of a request for it.

use std::sync::Arc;

use bardo_profile::{Applied, MinPFallback, Wanted, apply};
use bardo_router::Catalog;
use bardo_types::chat::ChatRequest;
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_types::profile::InferenceProfile;
use bardo_wire::codec::Target;
use bardo_wire::table;
use serde_json::Value;

use crate::models::model;

use Dialect::{Anthropic, Chat, Gemini};

pub(crate) fn able(name: &str) -> Capabilities {
    Catalog::embedded().describe(name).capabilities
}

pub(crate) fn want(profile: InferenceProfile) -> Wanted {
    Wanted {
        profile,
        row: None,
        locked: false,
        reasoning_first: false,
        predicts: None,
        min_p_fallback: MinPFallback::TopP,
        search_at_tee: false,
        warnings: Vec::new(),
    }
}

/// One model in one place, and what was made of a request for it.
pub(crate) struct Case {
    pub(crate) capabilities: Capabilities,
    pub(crate) service: Service,
    pub(crate) dialect: Dialect,
    pub(crate) name: &'static str,
}

pub(crate) const fn at(
    service: Service,
    dialect: Dialect,
    name: &'static str,
) -> (Service, Dialect, &'static str) {
    (service, dialect, name)
}

impl Case {
    pub(crate) fn of((service, dialect, name): (Service, Dialect, &'static str)) -> Self {
        Self {
            capabilities: able(name),
            service,
            dialect,
            name,
        }
    }

    pub(crate) fn apply(&self, wanted: &Wanted, request: &mut ChatRequest) -> Applied {
        let model = model(&self.capabilities, self.service, self.dialect, self.name);
        apply(wanted, request, &model)
    }

    /// The body that reaches the service, and what the profile lost.
    pub(crate) fn body(&self, wanted: &Wanted, mut request: ChatRequest) -> (Value, Vec<String>) {
        let applied = self.apply(wanted, &mut request);
        let target = Target {
            model: self.name.to_owned(),
            service: self.service,
            capabilities: Arc::new(self.capabilities.clone()),
        };
        let encoded = table::encode_request(self.dialect, &request, &target).expect("a body");
        let body = serde_json::from_slice(&encoded.body).expect("JSON");
        let lost = applied.degraded.iter().map(|lost| lost.detail.to_string());
        (body, lost.collect())
    }
}

pub(crate) const OPUS_4_6: (Service, Dialect, &str) =
    at(Service::Anthropic, Anthropic, "claude-opus-4-6");
pub(crate) const HAIKU_4_5: (Service, Dialect, &str) =
    at(Service::Anthropic, Anthropic, "claude-haiku-4-5");
pub(crate) const OPUS_5_5: (Service, Dialect, &str) =
    at(Service::Anthropic, Anthropic, "claude-opus-5-5");
pub(crate) const GPT_5_4: (Service, Dialect, &str) = at(Service::OpenAi, Chat, "gpt-5.4");
pub(crate) const GPT_4_1: (Service, Dialect, &str) = at(Service::OpenAi, Chat, "gpt-4.1");
pub(crate) const KIMI: (Service, Dialect, &str) = at(Service::Venice, Chat, "kimi-k3");
pub(crate) const DEEPSEEK: (Service, Dialect, &str) =
    at(Service::DeepSeek, Chat, "deepseek-v4-pro");
pub(crate) const FLASH_2_5: (Service, Dialect, &str) =
    at(Service::Google, Gemini, "gemini-2.5-flash");
pub(crate) const LLAMA: (Service, Dialect, &str) = at(Service::Local, Chat, "llama3.2");

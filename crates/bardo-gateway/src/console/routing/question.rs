//! The question of the routing page. The address of the page has all of it, so that it can be shared.

use bardo_access::PayerTerms;
use bardo_console::format::encoded;
use bardo_engine::{Hints, Principal, Received, Task};
use bardo_types::ids::{InvalidId, KeyId};
use bardo_types::intent::Quality;
use bardo_types::model::Dialect;
use bardo_types::phase::Phase;
use bardo_types::privacy::SecurityClass;
use serde_json::{Value, json};

use crate::console::visit::Visit;
use crate::request_id;

/// Largest prompt, in tokens.
const TOKENS_MAX: u32 = 200_000;
/// Largest prompt of the table over all subsystems, in tokens.
pub(super) const TABLE_TOKENS_MAX: u32 = 2_000;
/// Vitality and sustainability of the form before it is changed, in hundredths.
const USUAL: (u32, u32) = (100, 100);
/// Text of about one token.
const TOKEN: &str = "abc ";

/// A request to explain.
#[derive(Debug, Clone)]
pub(super) struct RoutingQuestion {
    pub(super) model: String,
    /// Empty for a plain client.
    pub(super) subsystem: String,
    /// Hundredths, from 0 to 100.
    pub(super) vitality: u32,
    /// Hundredths, from 0 to 300.
    pub(super) sustainability: u32,
    pub(super) phase: String,
    pub(super) class: String,
    pub(super) quality: String,
    /// As it was typed; empty for none.
    pub(super) max_cost: String,
    /// Size of the prompt in tokens.
    pub(super) tokens: u32,
}

impl RoutingQuestion {
    /// The question of the address. Unknown choices count as not given, numbers stay in their ranges.
    pub(super) fn of(visit: &Visit<'_>, subsystems: &[&str]) -> Self {
        let number = |name: &str, usual: u32, least: u32, most: u32| {
            let given = visit.query.get(name).and_then(|text| text.parse().ok());
            given.unwrap_or(usual).clamp(least, most)
        };
        let known = |name: &str, all: &[&str]| {
            let given = visit.query.text(name);
            if all.contains(&&*given) {
                given
            } else {
                String::new()
            }
        };
        Self {
            model: visit.query.get("model").unwrap_or("bardo/auto").to_owned(),
            subsystem: known("subsystem", subsystems),
            vitality: number("vitality", USUAL.0, 0, 100),
            sustainability: number("sustainability", USUAL.1, 0, 300),
            phase: known("phase", &Phase::ALL.map(Phase::as_str)),
            class: known("class", &SecurityClass::ALL.map(SecurityClass::as_str)),
            quality: known("quality", &Quality::ALL.map(Quality::as_str)),
            max_cost: visit.query.text("max_cost_usd"),
            tokens: number("tokens", 500, 1, TOKENS_MAX),
        }
    }

    /// The question of another subsystem, with a prompt that a table can ask often. A plain client
    /// says nothing about itself.
    pub(super) fn for_table(&self, subsystem: &str) -> Self {
        let mut question = Self {
            subsystem: subsystem.to_owned(),
            tokens: self.tokens.min(TABLE_TOKENS_MAX),
            ..self.clone()
        };
        if subsystem.is_empty() {
            (question.vitality, question.sustainability) = USUAL;
            question.phase.clear();
        }
        question
    }

    fn body(&self) -> Value {
        let mut hints = json!({});
        if !self.subsystem.is_empty() || (self.vitality, self.sustainability) != USUAL {
            hints["vitality"] = json!(f64::from(self.vitality) / 100.0);
            hints["sustainability"] = json!(f64::from(self.sustainability) / 100.0);
        }
        for (name, value) in [
            ("phase", &self.phase),
            ("security_class", &self.class),
            ("subsystem", &self.subsystem),
            ("quality", &self.quality),
            ("max_cost_usd", &self.max_cost),
        ] {
            if !value.is_empty() {
                hints[name] = json!(value);
            }
        }
        let prompt = TOKEN.repeat(usize::try_from(self.tokens).unwrap_or(1));
        json!({
            "model": self.model,
            "messages": [{ "role": "user", "content": prompt }],
            "bardo": hints,
        })
    }

    /// The request as the engine reads it, of the operator.
    pub(super) fn received(&self) -> Result<Received, InvalidId> {
        Ok(Received {
            request_id: request_id::fresh(),
            client_request_id: None,
            task: Task::Generate,
            dialect: Dialect::Chat,
            body: self.body().to_string().into(),
            forward: http::HeaderMap::new(),
            hints: Hints::default(),
            principal: Principal::owner("console")?,
            url: None,
        })
    }

    /// The query of the page of this question with another subsystem.
    pub(super) fn query(&self, subsystem: &str) -> String {
        let mut query = format!(
            "model={}&subsystem={}&vitality={}&sustainability={}&tokens={}",
            encoded(&self.model),
            encoded(subsystem),
            self.vitality,
            self.sustainability,
            self.tokens
        );
        for (name, value) in [
            ("phase", &self.phase),
            ("class", &self.class),
            ("quality", &self.quality),
            ("max_cost_usd", &self.max_cost),
        ] {
            if !value.is_empty() {
                query.push_str(&format!("&{name}={}", encoded(value)));
            }
        }
        query
    }
}

/// Terms of a prepaid key without restrictions.
pub(super) fn prepaid() -> Result<PayerTerms, InvalidId> {
    Ok(PayerTerms::without_key(KeyId::parse("console")?))
}

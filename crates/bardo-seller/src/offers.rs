//! The offer of a request: a 402 with ways to pay, for both versions of the protocol.

use std::sync::Arc;

use bardo_access::BoxFuture;
use bardo_engine::{Offers, PaymentRequirement, PricedRequest, Task};
use bardo_types::clock::Clock;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_x402::quote::RequestDigest;
use bardo_x402::token::TokenAmount;
use bardo_x402::wire::{
    OfferedRequirement, PAYMENT_REQUIRED, PaymentRequired, PaymentResource, TransferMethod,
    decode_header, encode_header,
};
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use crate::terms::SaleTerms;

/// Offers single requests for sale.
pub struct SaleOffers {
    terms: Arc<SaleTerms>,
    clock: Arc<dyn Clock>,
}

impl SaleOffers {
    /// Offers on these terms.
    #[must_use]
    pub fn new(terms: Arc<SaleTerms>, clock: Arc<dyn Clock>) -> Self {
        Self { terms, clock }
    }

    fn required(&self, request: &PricedRequest<'_>) -> Option<PaymentRequired> {
        let terms = &*self.terms;
        let amount = terms.bounds.ceiling(TokenAmount::from_usd(request.price));
        let amount = amount.ok()?;
        let now_s = self.clock.now_ms() / 1_000;
        let digest = digest(request.task, request.dialect, request.body);
        let accepts = terms.methods.iter().filter_map(|&method| {
            let quote = terms.quote(digest, method, amount, now_s);
            let text = terms.quote_key.issue(&quote);
            let requirement = terms.requirement(&quote, Some(text))?;
            Some(OfferedRequirement {
                details: details(request, &requirement, quote.expires_s),
                ..requirement
            })
        });
        let is_upto = |method: &TransferMethod| matches!(method, TransferMethod::Upto { .. });
        Some(PaymentRequired {
            error: "Payment required".to_owned(),
            resource: PaymentResource {
                url: request.url.to_owned(),
                description: format!("{} by {}", described(request.task), request.model),
                mime_type: mime_type(request).to_owned(),
            },
            accepts: accepts.collect(),
            sponsors_gas: terms.methods.iter().any(is_upto),
        })
    }
}

impl Offers for SaleOffers {
    fn ceiling(&self) -> MicroUsd {
        let below = self.terms.bounds.below.to_usd();
        below.saturating_sub(MicroUsd::new(1))
    }

    fn requirement<'a>(
        &'a self,
        request: PricedRequest<'a>,
    ) -> BoxFuture<'a, Option<PaymentRequirement>> {
        let required = self
            .required(&request)
            .and_then(|required| as_http(&required));
        Box::pin(std::future::ready(required))
    }
}

/// The headers and members of an offer.
fn as_http(required: &PaymentRequired) -> Option<PaymentRequirement> {
    let name = HeaderName::from_static(PAYMENT_REQUIRED);
    let value = HeaderValue::try_from(required.header()).ok()?;
    let Value::Object(members) = required.body() else {
        return None;
    };
    Some(PaymentRequirement {
        headers: vec![(name, value)],
        members,
    })
}

/// An offer that says why the payment before it was refused, by the code of the protocol.
#[must_use]
pub fn with_reason(mut offer: PaymentRequirement, code: &str) -> PaymentRequirement {
    for (name, value) in &mut offer.headers {
        if name == PAYMENT_REQUIRED
            && let Some(changed) = header_with_reason(value.as_bytes(), code)
        {
            *value = changed;
        }
    }
    offer.members.insert("error".to_owned(), json!(code));
    offer
}

fn header_with_reason(header: &[u8], code: &str) -> Option<HeaderValue> {
    let json = decode_header(header).ok()?;
    let mut json: Value = serde_json::from_slice(&json).ok()?;
    json["error"] = json!(code);
    HeaderValue::try_from(encode_header(&json.to_string())).ok()
}

/// What a quote binds: the kind of work, the dialect and the body, byte for byte.
pub(crate) fn digest(task: Task, dialect: Dialect, body: &[u8]) -> RequestDigest {
    let what = format!("{}/{}", described(task), dialect.as_str());
    RequestDigest::of("POST", &what, body)
}

const fn described(task: Task) -> &'static str {
    match task {
        Task::Generate => "an answer",
        Task::CountTokens => "a count of tokens",
        Task::Embeddings => "embeddings",
    }
}

const fn mime_type(request: &PricedRequest<'_>) -> &'static str {
    match request.stream {
        true => "text/event-stream",
        false => "application/json",
    }
}

/// Members for people and agents that compare offers. No payment is held to them.
fn details(
    request: &PricedRequest<'_>,
    requirement: &OfferedRequirement,
    expires_s: u64,
) -> Map<String, Value> {
    let details = json!({
        "recipient": requirement.pay_to.to_string(),
        "expiry": expires_s,
        "inference": {
            "estimatedInputTokens": request.prompt_tokens,
            "estimatedOutputTokens": request.output_tokens,
            "routedFrom": request.routed,
            "cacheEligible": request.cache_eligible,
            "optimizations": [],
        },
    });
    match details {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

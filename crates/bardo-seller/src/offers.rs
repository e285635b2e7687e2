//! The offer of a request: a 402 with ways to pay, for both versions of the protocol.

use std::sync::Arc;

use bardo_access::BoxFuture;
use bardo_engine::{Offers, PaymentRequirement, PricedRequest, Task};
use bardo_types::clock::Clock;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_x402::quote::{CeilingBounds, RequestDigest};
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
        let item = ItemForSale {
            digest: digest(request.task, request.dialect, request.body),
            price: request.price,
            bounds: self.terms.bounds,
            methods: &self.terms.methods,
            resource: PaymentResource {
                url: request.url.to_owned(),
                description: format!("{} by {}", described(request.task), request.model),
                mime_type: mime_type(request).to_owned(),
            },
        };
        let inference = json!({
            "estimatedInputTokens": request.prompt_tokens,
            "estimatedOutputTokens": request.output_tokens,
            "routedFrom": request.routed,
            "cacheEligible": request.cache_eligible,
            "optimizations": [],
        });
        item.offer(&self.terms, self.clock.now_ms() / 1_000, Some(inference))
    }
}

/// Something that is sold at a price.
pub(crate) struct ItemForSale<'a> {
    /// What a quote of it binds.
    pub(crate) digest: RequestDigest,
    pub(crate) price: MicroUsd,
    pub(crate) bounds: CeilingBounds,
    pub(crate) methods: &'a [TransferMethod],
    pub(crate) resource: PaymentResource,
}

impl ItemForSale<'_> {
    /// The offer of the item; `None` where one payment cannot cover it. `inference` is shown to
    /// people and agents that compare offers; no payment is held to it.
    pub(crate) fn offer(
        self,
        terms: &SaleTerms,
        now_s: u64,
        inference: Option<Value>,
    ) -> Option<PaymentRequired> {
        let amount = self
            .bounds
            .ceiling(TokenAmount::from_usd(self.price))
            .ok()?;
        let accepts = self.methods.iter().filter_map(|&method| {
            let quote = terms.quote(self.digest, method, amount, now_s);
            let text = terms.quote_key.issue(&quote);
            let requirement = terms.requirement(&quote, Some(text))?;
            let mut details = Map::new();
            details.insert(
                "recipient".to_owned(),
                json!(requirement.pay_to.to_string()),
            );
            details.insert("expiry".to_owned(), json!(quote.expires_s));
            details.extend(inference.clone().map(|it| ("inference".to_owned(), it)));
            Some(OfferedRequirement {
                details,
                ..requirement
            })
        });
        let is_upto = |method: &TransferMethod| matches!(method, TransferMethod::Upto { .. });
        Some(PaymentRequired {
            error: "Payment required".to_owned(),
            accepts: accepts.collect(),
            resource: self.resource,
            sponsors_gas: self.methods.iter().any(is_upto),
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
pub(crate) fn as_http(required: &PaymentRequired) -> Option<PaymentRequirement> {
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

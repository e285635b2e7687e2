//! The seller's side of x402: offer, challenge, claim, receipt.

use serde_json::{Value, json};

use crate::blockrun::catalog::{self, Quote, Row};
use crate::recorded::Recorded;
use crate::reply::{Content, Reply};
use crate::world::World;
use crate::x402::{self, FACILITATOR, NETWORK, Payer, USDC};

/// Where the money goes.
const PAY_TO: &str = "0xe9030014F5DAe217d0A152f02A043567b16c1aBf";

/// What one call costs, as the header says it.
pub(super) struct Offer {
    challenge: Value,
    quote: Quote,
    row: Row,
}

/// A payment whose nonce belongs to this request now.
pub(super) struct Claimed {
    pub(super) payer: Payer,
    /// The model whose tokens an `upto` payment settles, and its ceiling; `None` for `exact`.
    by_use: Option<(Row, u64)>,
}

impl Offer {
    pub(super) fn new(request: &Recorded, row: Row, quote: Quote) -> Self {
        let host = request.header("host").unwrap_or("127.0.0.1");
        let base = json!({
            "scheme": "exact", "network": NETWORK, "amount": quote.micro_usd.to_string(),
            "asset": USDC, "payTo": PAY_TO, "maxTimeoutSeconds": 300,
            "extra": { "name": "USD Coin", "version": "2" },
        });
        let mut accepts = vec![base.clone()];
        if row.id() == "anthropic/claude-opus-5.5" {
            // A ceiling beside the fixed quote: all of the output, charged by use.
            let mut upto = base;
            upto["scheme"] = json!("upto");
            upto["amount"] = json!(quote.ceiling.to_string());
            upto["extra"]["assetTransferMethod"] = json!("permit2");
            upto["extra"]["facilitatorAddress"] = json!(FACILITATOR);
            accepts.push(upto);
        }
        let description = format!(
            "{} API call (~{} input, {} max output tokens)",
            row.name(),
            quote.input_tokens,
            quote.max_tokens,
        );
        let challenge = json!({
            "x402Version": 2, "error": "Payment required",
            "resource": { "url": format!("http://{host}/{}{}", request.service, request.path),
                "description": description, "mimeType": "application/json" },
            "accepts": accepts,
            "extensions": { "bazaar": { "info": {}, "schema": {} } },
        });
        Self {
            challenge,
            quote,
            row,
        }
    }

    /// Checks a payment header and claims its nonce. The error is a code and a message.
    pub(super) fn claim(
        &self,
        header: &str,
        world: &World,
    ) -> Result<Claimed, (&'static str, String)> {
        let invalid = |reason: &str| {
            (
                "PAYMENT_INVALID",
                format!("Payment verification failed: {reason}"),
            )
        };
        let payment =
            x402::decode(header).ok_or_else(|| invalid("the header is not base64 JSON"))?;
        let scheme = &payment["accepted"]["scheme"];
        let accepts = self.challenge["accepts"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let requirement = accepts
            .iter()
            .find(|offered| offered["scheme"] == *scheme)
            .ok_or_else(|| invalid("invalid_scheme"))?;
        let payer = match x402::check(&payment, requirement, world.now_ms() / 1_000) {
            Ok(payer) => payer,
            Err("insufficient_funds") => {
                return Err((
                    "PAYMENT_UNFUNDED",
                    "The wallet has not enough USDC".to_owned(),
                ));
            }
            Err(reason) => return Err(invalid(reason)),
        };
        if !world.shelf.claim(&payer.claim(), json!(true)) {
            return Err(("PAYMENT_REPLAY", "This payment was used before".to_owned()));
        }
        let by_use = (scheme == "upto").then_some((self.row, self.quote.ceiling));
        Ok(Claimed { payer, by_use })
    }
}

/// The 402 that offers a price.
pub(super) fn challenge(offer: &Offer, is_chat: bool) -> Reply {
    let encoded = x402::encode(&offer.challenge);
    let micro = offer.quote.micro_usd;
    let price = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    let body = if is_chat {
        json!({
            "error": "Payment Required", "message": "This endpoint requires x402 payment",
            "price": { "amount": price, "currency": "USD" },
            "paymentInfo": { "network": "base", "asset": "USDC", "x402Version": 2 },
        })
    } else {
        json!({ "type": "error",
            "error": { "type": "payment_required", "message": "This endpoint requires x402 payment" },
            "price": { "amount": price, "currency": "USD" } })
    };
    Reply::json(402, &body)
        .with_header("payment-required", encoded.clone())
        .with_header("x-payment-required", encoded.clone())
        .with_header(
            "www-authenticate",
            format!("X402 requirements=\"{encoded}\""),
        )
        .with_header(
            "cache-control",
            "no-store, no-cache, must-revalidate, max-age=0",
        )
}

impl Claimed {
    /// Adds the receipt to a served answer.
    pub(super) fn settled(self, reply: Reply, world: &World) -> Reply {
        let transaction = world.hex_id("0x", 64, &[self.payer.claim().as_bytes()]);
        let mut receipt = json!({ "success": true, "transaction": transaction,
            "network": NETWORK, "payer": self.payer.address });
        // The header of a stream comes before the settlement, so that it has no amount.
        if let (Some((row, ceiling)), Content::Whole(body)) = (self.by_use, &reply.content) {
            let body: Value = serde_json::from_slice(body).unwrap_or_default();
            let usage = &body["usage"];
            let count = |names: [&str; 2]| names.iter().find_map(|name| usage[*name].as_u64());
            let input = count(["prompt_tokens", "input_tokens"]).unwrap_or(0);
            let output = count(["completion_tokens", "output_tokens"]).unwrap_or(0);
            let used = catalog::cost(row, input, output as f64).min(ceiling);
            receipt["amount"] = json!(used.to_string());
        }
        reply
            .with_header("payment-response", x402::encode(&receipt))
            .with_header("x-payment-receipt", transaction)
    }
}

//! The seller's side of x402: offer, challenge, claim, receipt.

use serde_json::{Value, json};

use crate::blockrun::catalog::{Quote, Row};
use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::world::World;
use crate::x402::{self, FACILITATOR, NETWORK, Payer, USDC};

/// Where the money goes.
const PAY_TO: &str = "0xe9030014F5DAe217d0A152f02A043567b16c1aBf";

/// What one call costs, as the header says it.
pub(super) struct Offer {
    challenge: Value,
    quote: Quote,
}

/// A payment whose nonce belongs to this request now.
pub(super) struct Claimed {
    pub(super) payer: Payer,
    /// What an `upto` payment settles; `None` for `exact`.
    actual: Option<u64>,
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
            // A ceiling beside the fixed quote: ten times the output share, charged by use.
            let mut upto = base;
            upto["scheme"] = json!("upto");
            upto["amount"] = json!((quote.micro_usd * 10).to_string());
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
        Self { challenge, quote }
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
        let actual = (scheme == "upto").then_some(self.quote.micro_usd);
        Ok(Claimed { payer, actual })
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
        if let Some(actual) = self.actual {
            receipt["amount"] = json!(actual.to_string());
        }
        reply
            .with_header("payment-response", x402::encode(&receipt))
            .with_header("x-payment-receipt", transaction)
    }
}

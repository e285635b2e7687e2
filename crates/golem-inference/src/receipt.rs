//! The gateway's records: what happened to a request, what an account has and used.

use bardo_types::money::MicroUsd;
use serde_json::Value;

/// The receipt of one request. `raw` has all of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// Id of the request.
    pub request_id: String,
    /// `finished`, `aborted`, `failed` or `unknown`.
    pub status: String,
    /// The model that answered.
    pub model: String,
    /// The backend that answered.
    pub provider: String,
    /// The part of the agent that asked.
    pub subsystem: Option<String>,
    /// Tokens of the prompt, those from caches included.
    pub input_tokens: u64,
    /// Tokens of the answer, thinking included.
    pub output_tokens: u64,
    /// Charge to the account, spread included.
    pub charge: MicroUsd,
    /// Cost at the provider; `None` if no price is known.
    pub provider_cost: Option<MicroUsd>,
    /// The list price of the model's maker; `None` where nobody published one.
    pub list_price: Option<MicroUsd>,
    /// Degraded features, by name.
    pub degraded: Vec<String>,
    /// Backends that were asked, in order, the last one answering.
    pub attempts: usize,
    /// Choice of model and settings, if the gateway names it.
    pub routing: Routing,
    /// The record as the gateway wrote it.
    pub raw: Value,
}

/// The choice of a model and its settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Routing {
    /// The tier of the model: `small`, `strong` or `frontier`.
    pub tier: Option<String>,
    /// Protection class, e.g. `private`.
    pub security: Option<String>,
    /// The temperature that was sent.
    pub temperature: Option<f64>,
    /// The effort that was sent.
    pub reasoning_effort: Option<String>,
    /// Enforcement of the schema, e.g. `native`; `prompt` adds words to the question.
    pub schema: Option<String>,
    /// The model was asked a second time, because its first answer did not keep the schema.
    pub repaired: bool,
}

impl Routing {
    fn read(raw: &Value) -> Self {
        let text = |path: &str| raw.pointer(path).and_then(Value::as_str).map(str::to_owned);
        Self {
            tier: text("/tier"),
            security: text("/security"),
            temperature: raw.pointer("/profile/temperature").and_then(Value::as_f64),
            reasoning_effort: text("/profile/reasoning_effort"),
            schema: text("/schema/mode"),
            repaired: raw.pointer("/schema/repaired") == Some(&Value::Bool(true)),
        }
    }
}

impl Receipt {
    pub(crate) fn read(raw: Value) -> Option<Self> {
        let text = |path: &str| raw.pointer(path).and_then(Value::as_str);
        let count = |path: &str| raw.pointer(path).and_then(Value::as_u64);
        let amount = |path: &str| text(path).and_then(|text| MicroUsd::from_usd(text).ok());
        let lost = raw.get("degraded").and_then(Value::as_array);
        let lost = lost.into_iter().flatten();
        Some(Self {
            request_id: text("/request_id")?.to_owned(),
            status: text("/status")?.to_owned(),
            model: text("/model").unwrap_or_default().to_owned(),
            provider: text("/provider").unwrap_or_default().to_owned(),
            subsystem: text("/subsystem").map(str::to_owned),
            input_tokens: count("/usage/input_tokens").unwrap_or(0),
            output_tokens: count("/usage/output_tokens").unwrap_or(0),
            charge: amount("/cost/charge").unwrap_or(MicroUsd::ZERO),
            provider_cost: amount("/cost/provider_cost"),
            list_price: amount("/cost/list_price"),
            degraded: lost
                .filter_map(|lost| lost.get("feature").and_then(Value::as_str))
                .map(str::to_owned)
                .collect(),
            attempts: raw
                .get("attempts")
                .and_then(Value::as_array)
                .map_or(0, Vec::len),
            routing: raw
                .get("routing")
                .map_or_else(Routing::default, Routing::read),
            raw,
        })
    }

    /// Cost of the request for its payer: the charge, or the provider's bill if nothing is charged,
    /// because the owner's own key or server answered.
    #[must_use]
    pub fn cost(&self) -> Option<MicroUsd> {
        if self.charge == MicroUsd::ZERO {
            self.provider_cost
        } else {
            Some(self.charge)
        }
    }
}

/// The balance of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    /// Id of the account.
    pub account: String,
    /// Sum of all deposits.
    pub deposited: MicroUsd,
    /// Sum of all spending.
    pub spent: MicroUsd,
    /// Holds of requests under way.
    pub held: MicroUsd,
    /// Amount that is available now.
    pub available: MicroUsd,
}

impl Balance {
    pub(crate) fn read(raw: &Value) -> Option<Self> {
        let amount = |name: &str| MicroUsd::from_usd(raw.get(name)?.as_str()?).ok();
        Some(Self {
            account: raw.get("account")?.as_str()?.to_owned(),
            deposited: amount("deposited")?,
            spent: amount("spent")?,
            held: amount("held")?,
            available: amount("available")?,
        })
    }
}

/// The usage of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageReport {
    /// All of it.
    pub total: UsageRow,
    /// By day, model and backend.
    pub rows: Vec<UsageRow>,
}

/// One line of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageRow {
    /// The day (UTC), as `2026-11-20`; empty in the total.
    pub date: String,
    /// The model; empty in the total.
    pub model: String,
    /// The backend; empty in the total.
    pub provider: String,
    /// Number of requests.
    pub requests: u64,
    /// Tokens of their prompts.
    pub input_tokens: u64,
    /// Tokens of their answers.
    pub output_tokens: u64,
    /// Sum of the charges.
    pub charge: MicroUsd,
}

impl UsageReport {
    pub(crate) fn read(raw: &Value) -> Option<Self> {
        Some(Self {
            total: UsageRow::read(raw.get("total")?),
            rows: raw
                .get("data")?
                .as_array()?
                .iter()
                .map(UsageRow::read)
                .collect(),
        })
    }
}

impl UsageRow {
    fn read(raw: &Value) -> Self {
        let text = |name: &str| raw.get(name).and_then(Value::as_str).unwrap_or_default();
        let count = |name: &str| raw.get(name).and_then(Value::as_u64).unwrap_or(0);
        Self {
            date: text("date").to_owned(),
            model: text("model").to_owned(),
            provider: text("provider").to_owned(),
            requests: count("requests"),
            input_tokens: count("input_tokens"),
            output_tokens: count("output_tokens"),
            charge: MicroUsd::from_usd(text("charge")).unwrap_or(MicroUsd::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> Value {
        serde_json::from_str(include_str!("../fixtures/receipt.json")).unwrap()
    }

    #[test]
    fn a_recorded_receipt_is_read() {
        let receipt = Receipt::read(recorded()).unwrap();
        assert_eq!(receipt.model, "claude-sonnet-4-6");
        assert_eq!((receipt.input_tokens, receipt.output_tokens), (8, 22));
        assert_eq!(receipt.charge, MicroUsd::new(425));
        assert_eq!(receipt.provider_cost, Some(MicroUsd::new(354)));
        assert_eq!(receipt.degraded, ["privacy"]);
        assert_eq!(receipt.attempts, 1);
        assert_eq!(
            receipt.routing,
            Routing {
                tier: Some("strong".into()),
                security: Some("standard".into()),
                temperature: Some(0.41),
                reasoning_effort: Some("high".into()),
                schema: Some("native".into()),
                repaired: false,
            }
        );
        assert_eq!(receipt.cost(), Some(MicroUsd::new(425)));
    }

    #[test]
    fn a_gateway_that_tells_nothing_of_routing_is_understood() {
        let mut raw = recorded();
        raw["routing"] = Value::Null;
        assert_eq!(Receipt::read(raw).unwrap().routing, Routing::default());
    }

    #[test]
    fn where_nothing_is_charged_the_providers_bill_counts() {
        let mut raw = recorded();
        raw["cost"]["charge"] = "0.000000".into();
        let receipt = Receipt::read(raw).unwrap();
        assert_eq!(receipt.cost(), Some(MicroUsd::new(354)));
    }

    #[test]
    fn balances_and_usage_are_read() {
        let raw = serde_json::json!({ "account": "acct_1", "deposited": "10.000000",
            "spent": "1.5", "held": "0", "available": "8.5" });
        let balance = Balance::read(&raw).unwrap();
        assert_eq!(balance.available, MicroUsd::new(8_500_000));

        let raw = serde_json::json!({ "total": { "requests": 2, "charge": "0.25" },
            "data": [{ "date": "2026-11-20", "model": "m", "provider": "p", "requests": 2 }] });
        let report = UsageReport::read(&raw).unwrap();
        assert_eq!(report.total.charge, MicroUsd::new(250_000));
        assert_eq!(report.rows[0].model, "m");
    }
}

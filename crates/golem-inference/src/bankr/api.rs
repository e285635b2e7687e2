//! Bankr's books over HTTP: credit and usage at its inference host, top-ups at the other.

use std::time::Duration;

use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;
use bytes::Bytes;
use http::response::Parts;
use http::{Method, Request, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

use super::{AutoTopUp, Credits, CreditsError};
use crate::client::{ClientError, GatewayAddress, Http, Pending};

/// A top-up swaps tokens on chain and is allowed to take its time.
const PATIENCE: Duration = Duration::from_secs(90);

/// A client of Bankr's API.
#[derive(Debug)]
pub struct BankrApi {
    inference: Http,
    wallet: Http,
    key: Secret,
}

/// The usage of a key, by model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BankrUsage {
    /// Over how many days, as Bankr counted: it clamps what it is asked for.
    pub days: u64,
    /// All of it.
    pub total_cost: MicroUsd,
    /// Cost of caches.
    pub cache_cost: MicroUsd,
    /// Tokens read from caches.
    pub cache_read_tokens: u64,
    /// Usage by model.
    pub by_model: Vec<BankrUsageRow>,
}

/// The usage of one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BankrUsageRow {
    /// Name of the model.
    pub model: String,
    /// Provider of the model.
    pub provider: String,
    /// Number of requests.
    pub requests: u64,
    /// Tokens of these requests.
    pub tokens: u64,
    /// Cost of the requests.
    pub cost: MicroUsd,
}

impl BankrApi {
    /// Bankr as it is in the world.
    ///
    /// # Panics
    /// Never: both addresses are constants.
    #[must_use]
    pub fn new(key: Secret) -> Self {
        let parse = |text| GatewayAddress::parse(text).expect("a constant address");
        Self::at(
            parse("https://llm.bankr.bot"),
            parse("https://api.bankr.bot/llm"),
            key,
        )
    }

    /// Bankr at other addresses: the host of inference, and that of the wallet with its `/llm`.
    #[must_use]
    pub fn at(inference: GatewayAddress, wallet: GatewayAddress, key: Secret) -> Self {
        Self {
            inference: Http::new(inference, PATIENCE),
            wallet: Http::new(wallet, PATIENCE),
            key,
        }
    }

    /// Reads the usage of the key in the last days.
    ///
    /// # Errors
    /// When Bankr does not say.
    pub async fn usage(&self, days: u32) -> Result<BankrUsage, CreditsError> {
        let path = format!("/v1/usage?days={days}");
        let raw = self.send(&self.inference, Method::GET, &path, None).await?;
        Ok(BankrUsage::read(&raw))
    }

    async fn send(
        &self,
        http: &Http,
        method: Method,
        path: &str,
        body: Option<(&Value, &str)>,
    ) -> Result<Value, CreditsError> {
        let (head, body) = self.exchange(http, method, path, body).await?;
        if !head.status.is_success() {
            return Err(refused(&head, &body));
        }
        json_of(&body)
    }

    async fn exchange(
        &self,
        http: &Http,
        method: Method,
        path: &str,
        body: Option<(&Value, &str)>,
    ) -> Result<(Parts, Bytes), CreditsError> {
        let request = self.request(http, method, path, body)?;
        let (head, body) = http.open(request).await.map_err(|error| failed(&error))?;
        let body = body.collect().await.map_err(|error| failed(&error))?;
        Ok((head, body))
    }

    /// Reads the setting of auto top-up; `None` where there is none for this key.
    async fn auto_top_up_setting(&self) -> Result<Option<Value>, CreditsError> {
        let (head, body) = self
            .exchange(&self.wallet, Method::GET, "/credits/auto-topup", None)
            .await?;
        match head.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => json_of(&body).map(Some),
            _ => Err(refused(&head, &body)),
        }
    }

    fn request(
        &self,
        http: &Http,
        method: Method,
        path: &str,
        body: Option<(&Value, &str)>,
    ) -> Result<Request<Full<Bytes>>, CreditsError> {
        let refused = |what: &str| CreditsError::Refused(what.to_owned());
        let mut key = header::HeaderValue::from_str(self.key.expose())
            .map_err(|_| refused("the key has characters that are not allowed in a header"))?;
        key.set_sensitive(true);
        let mut builder = http.builder(method, path).header("x-api-key", key);
        let mut bytes = Bytes::new();
        if let Some((body, idempotency)) = body {
            // Bankr documents no such header, and whoever ignores it is no worse off.
            builder = builder
                .header(header::CONTENT_TYPE, "application/json")
                .header("idempotency-key", idempotency);
            bytes = Bytes::from(body.to_string());
        }
        builder
            .body(Full::new(bytes))
            .map_err(|_| refused("cannot write the request"))
    }
}

impl Credits for BankrApi {
    fn balance(&self) -> Pending<'_, Result<MicroUsd, CreditsError>> {
        Box::pin(async move {
            let raw = self
                .send(&self.inference, Method::GET, "/v1/credits", None)
                .await?;
            // Net of what is used and not yet deducted, where Bankr says so.
            ["effectiveBalanceUsd", "balanceUsd"]
                .iter()
                .find_map(|name| usd(raw.get(name)?))
                .ok_or_else(|| CreditsError::Unknown("the balance is missing".to_owned()))
        })
    }

    fn top_up<'a>(
        &'a self,
        amount: MicroUsd,
        token: &'a str,
        key: &'a str,
    ) -> Pending<'a, Result<(), CreditsError>> {
        Box::pin(async move {
            let number: serde_json::Number = amount
                .to_string()
                .parse()
                .map_err(|_| CreditsError::Refused("the amount is not a number".to_owned()))?;
            let body = json!({ "amountUsd": number, "sourceToken": token });
            let body = Some((&body, key));
            self.send(&self.wallet, Method::POST, "/credits/topup", body)
                .await
                .map(drop)
        })
    }

    fn auto_top_up(&self) -> Pending<'_, Result<Option<AutoTopUp>, CreditsError>> {
        Box::pin(async move {
            // A failed read does not say that the setting is off.
            let read = self
                .auto_top_up_setting()
                .await
                .map_err(|error| match error {
                    CreditsError::Refused(reason) | CreditsError::Unknown(reason) => {
                        CreditsError::Unknown(reason)
                    }
                })?;
            let Some(raw) = read else {
                return Ok(None);
            };
            let config = raw.get("config").unwrap_or(&Value::Null);
            let Some(is_enabled) = config.get("enabled").and_then(Value::as_bool) else {
                let text = "the answer does not say whether Bankr tops up by itself";
                return Err(CreditsError::Unknown(text.to_owned()));
            };
            let error = config.pointer("/lastError/message").and_then(Value::as_str);
            Ok(Some(AutoTopUp {
                is_enabled,
                amount: config.get("amountUsd").and_then(usd),
                threshold: config.get("thresholdUsd").and_then(usd),
                last_error: error.map(str::to_owned),
            }))
        })
    }
}

fn json_of(body: &[u8]) -> Result<Value, CreditsError> {
    serde_json::from_slice(body)
        .map_err(|_| CreditsError::Unknown("the answer is not JSON".to_owned()))
}

/// A request that never left is refused; any other outcome is unknown.
fn failed(error: &ClientError) -> CreditsError {
    match error {
        ClientError::Unreachable { .. } => CreditsError::Refused(error.to_string()),
        _ => CreditsError::Unknown(error.to_string()),
    }
}

/// A refusal costs nothing; a server that broke may have paid first.
fn refused(head: &Parts, body: &[u8]) -> CreditsError {
    let raw: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = raw.pointer("/error/message").or_else(|| raw.get("error"));
    let message = message.and_then(Value::as_str).unwrap_or("no reason given");
    let text = format!("{} {message}", head.status.as_u16());
    if head.status.is_client_error() {
        CreditsError::Refused(text)
    } else {
        CreditsError::Unknown(text)
    }
}

/// Dollars as a number or as text; a negative balance is none. Digits beyond a micro-USD are cut.
fn usd(value: &Value) -> Option<MicroUsd> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64()? {
            dollars if dollars <= 0.0 => return Some(MicroUsd::ZERO),
            dollars => format!("{dollars:.9}"),
        },
        _ => return None,
    };
    let text = text.trim();
    if text.starts_with('-') {
        return Some(MicroUsd::ZERO);
    }
    let end = text
        .find('.')
        .map_or(text.len(), |at| (at + 7).min(text.len()));
    MicroUsd::from_usd(text.get(..end)?).ok()
}

impl BankrUsage {
    fn read(raw: &Value) -> Self {
        let totals = raw.get("totals").unwrap_or(&Value::Null);
        let count = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64);
        let cost = |value: &Value, name: &str| value.get(name).and_then(usd);
        let text = |value: &Value, name: &str| {
            let text = value.get(name).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let rows = raw.get("byModel").and_then(Value::as_array);
        let row = |row: &Value| BankrUsageRow {
            model: text(row, "model"),
            provider: text(row, "provider"),
            requests: count(row, "requests").unwrap_or(0),
            tokens: count(row, "totalTokens").unwrap_or(0),
            cost: cost(row, "totalCost").unwrap_or(MicroUsd::ZERO),
        };
        Self {
            days: count(raw, "days").unwrap_or(0),
            total_cost: cost(totals, "totalCost").unwrap_or(MicroUsd::ZERO),
            cache_cost: cost(totals, "totalCacheCost").unwrap_or(MicroUsd::ZERO),
            cache_read_tokens: count(totals, "totalCacheReadInputTokens").unwrap_or(0),
            by_model: rows.into_iter().flatten().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_in_every_spelling() {
        assert_eq!(usd(&json!(9.15)), Some(MicroUsd::new(9_150_000)));
        assert_eq!(usd(&json!("12.50")), Some(MicroUsd::new(12_500_000)));
        assert_eq!(usd(&json!(0.000_000_4)), Some(MicroUsd::ZERO));
        assert_eq!(usd(&json!(-0.02)), Some(MicroUsd::ZERO));
        assert_eq!(usd(&json!(null)), None);
        assert_eq!(usd(&json!("a lot")), None);
    }

    #[test]
    fn usage_is_read_tolerantly() {
        let usage = BankrUsage::read(&json!({ "days": 90,
            "totals": { "totalCost": 0.41, "totalCacheReadInputTokens": 7 },
            "byModel": [{ "model": "claude-sonnet-4.6", "requests": 12, "totalCost": 0.41 }, {}] }));
        assert_eq!(usage.days, 90);
        assert_eq!(usage.total_cost, MicroUsd::new(410_000));
        assert_eq!(usage.by_model[0].requests, 12);
        assert_eq!(usage.by_model[1], BankrUsageRow::default());
        assert_eq!(BankrUsage::read(&json!([])), BankrUsage::default());
    }
}

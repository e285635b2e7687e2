//! The admin API: what the command line does to keys and money, over HTTP, on the operators'
//! listener alone.

mod payments;
pub(crate) mod receipts;
pub(crate) mod reports;
pub(crate) mod routes;

use std::time::Duration;

use bardo_engine::Engine;
use bardo_types::money::MicroUsd;
use bytes::Bytes;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::routes::AdminOperation;
use crate::assemble::names;
use crate::caches::{self, FlushOrder, InvalidateOrder};
use crate::config::units::Span;
use crate::json_words;
use crate::operator::{BillResolution, KeyChange, KeySpec, Operator, OperatorError, Unseen};
use crate::usage::{BadParameter, Parameters};

/// The body of a request that creates a key.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
struct CreateKey {
    /// Label for listings.
    #[serde(deserialize_with = "or_default")]
    name: String,
    /// Account that pays, or the id of one of its keys; a new account if absent.
    account: Option<String>,
    /// Create the account if it does not exist.
    #[serde(deserialize_with = "or_default")]
    create_account: bool,
    #[serde(deserialize_with = "or_default")]
    scopes: Vec<String>,
    tier: Option<String>,
    deposit_usd: Option<Amount>,
    expires: Option<Span>,
}

/// The body of a request that changes the limits of a key.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
struct SetKey {
    #[serde(deserialize_with = "or_default")]
    scopes: Vec<String>,
    /// The `version` of the key that the change was decided on. The change is refused where the
    /// key has another one by now.
    version: Option<String>,
}

/// The body of a request that replaces a key.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
struct RotateRequest {
    overlap: Option<Span>,
}

/// The body of a deposit.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DepositBody {
    usd: Amount,
    #[serde(default)]
    reference: Option<String>,
    /// Create the account if it does not exist.
    #[serde(default, deserialize_with = "or_default")]
    create: bool,
}

/// The decision about a request with an unknown outcome: `release` or `charge_usd`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
struct ReconcileRequest {
    #[serde(deserialize_with = "or_default")]
    release: bool,
    charge_usd: Option<Amount>,
    provider: Option<String>,
}

/// A value, or its default in place of `null`, which means that nothing was sent.
fn or_default<'de, D: serde::Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// An amount in USD, as text or as a number; read digit by digit, never through a float.
pub(crate) struct Amount(pub(crate) MicroUsd);

impl JsonSchema for Amount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An amount in USD, as text or as a number, with at most six decimal places.",
            "type": ["string", "number"],
        })
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum AmountText {
            Text(String),
            Number(serde_json::Number),
        }
        let text = match AmountText::deserialize(deserializer)? {
            AmountText::Text(text) => text,
            AmountText::Number(number) => number.to_string(),
        };
        MicroUsd::from_usd(&text)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

/// Answers a call below `/admin/`; `None` when there is no such place.
pub(crate) async fn answer(
    operator: &Operator,
    engine: &Engine,
    method: &Method,
    path: &str,
    body: &Bytes,
) -> Option<(StatusCode, Value)> {
    let cache = engine.cache();
    let (operation, name) = routes::find(method, path)?;
    let done = match operation {
        AdminOperation::ListKeys => operator
            .list_keys(None)
            .await
            .map(|keys| json!({ "keys": keys })),
        AdminOperation::CreateKey => create_key(operator, engine, body).await,
        AdminOperation::RevokeKey | AdminOperation::DeleteKey => {
            operator.change_key(name, KeyChange::Revoke).await
        }
        AdminOperation::ShowKey => operator.show_key(name).await,
        AdminOperation::SetKey => set_key(operator, name, body).await,
        AdminOperation::RotateKey => rotate_key(operator, name, body).await,
        AdminOperation::ShowBalance => balance(operator, name).await,
        AdminOperation::Deposit => deposit(operator, name, body).await,
        AdminOperation::Postings => postings(operator, name).await,
        AdminOperation::CacheStats => Ok(caches::all_figures(operator, cache, None).await),
        AdminOperation::CacheOfAccount => caches::of_account(operator, cache, name).await,
        AdminOperation::FlushCache => flush(operator, engine, body).await,
        AdminOperation::InvalidateCache => invalidate(operator, engine, body).await,
        AdminOperation::Alerts => Ok(operator.alerts.json()),
        AdminOperation::TestAlert => Ok(operator.alerts.test()),
        AdminOperation::Verify => operator.verify().await.map(|(_, found)| found),
        AdminOperation::Unknown => operator
            .unknown()
            .await
            .map(|holds| json!({ "holds": holds })),
        AdminOperation::Reconcile => reconcile(operator, name, body).await,
        AdminOperation::Payment => payments::show(operator, name).await,
        AdminOperation::WriteOff => write_off(operator, name, body).await,
        // Pages and reports are answered before.
        AdminOperation::Live
        | AdminOperation::Ready
        | AdminOperation::Status
        | AdminOperation::Metrics
        | AdminOperation::OpenApi
        | AdminOperation::Usage
        | AdminOperation::Receipts
        | AdminOperation::Overview
        | AdminOperation::Series
        | AdminOperation::Top
        | AdminOperation::Golems
        | AdminOperation::Accounts
        | AdminOperation::Payments
        | AdminOperation::PaymentWallets
        | AdminOperation::PaymentDebts => return None,
    };
    Some(match done {
        Ok(value) => (StatusCode::OK, value),
        Err(error) => refused(&error),
    })
}

/// Refuses parameters of a path that has none.
pub(crate) fn no_parameters(query: Option<&str>) -> Result<(), OperatorError> {
    match Parameters::read(query)?.first() {
        None => Ok(()),
        Some(name) => {
            let message = format!("unknown parameter `{name}`; this path has no parameters");
            Err(BadParameter::new(name, message).into())
        }
    }
}

/// Status and body for an action that was not carried out.
pub(crate) fn refused(error: &OperatorError) -> (StatusCode, Value) {
    let status = match error {
        OperatorError::Invalid(_) | OperatorError::Parameter(_) => StatusCode::BAD_REQUEST,
        OperatorError::Conflict(_) => StatusCode::CONFLICT,
        OperatorError::Unknown(_) | OperatorError::NoPayment(_) => StatusCode::NOT_FOUND,
        OperatorError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut body = json!({ "error": { "message": error.to_string() } });
    if let OperatorError::Parameter(parameter) = error {
        body["error"]["param"] = json!(parameter.name);
    }
    (status, body)
}

fn read<'b, T: Deserialize<'b> + Default>(body: &'b Bytes) -> Result<T, OperatorError> {
    if body.is_empty() {
        return Ok(T::default());
    }
    parse(body)
}

fn parse<'b, T: Deserialize<'b>>(body: &'b Bytes) -> Result<T, OperatorError> {
    json_words::read(body).map_err(OperatorError::Invalid)
}

async fn flush(operator: &Operator, engine: &Engine, body: &Bytes) -> Result<Value, OperatorError> {
    let order: FlushOrder = read(body)?;
    caches::flush_for_operator(operator, engine, order).await
}

async fn invalidate(
    operator: &Operator,
    engine: &Engine,
    body: &Bytes,
) -> Result<Value, OperatorError> {
    let order: InvalidateOrder = read(body)?;
    caches::invalidate(operator, engine, &order).await
}

async fn create_key(
    operator: &Operator,
    engine: &Engine,
    body: &Bytes,
) -> Result<Value, OperatorError> {
    let body: CreateKey = read(body)?;
    let snapshot = engine.snapshot();
    let backends = snapshot.endpoints.iter().map(|one| one.name.as_str());
    if let Some((part, reason)) = names::unknown_backend_scope(backends, &body.scopes) {
        let reason = format!("the scope `{part}`: {reason}");
        return Err(OperatorError::Invalid(reason));
    }
    let spec = KeySpec {
        name: body.name,
        account: body.account,
        unseen: Unseen::of(body.create_account),
        scopes: body.scopes,
        tier: body.tier,
        deposit: body.deposit_usd.map(|amount| amount.0),
        expires_in: body.expires.map(|span| span.0),
    };
    operator.create_key(spec).await
}

async fn rotate_key(operator: &Operator, id: &str, body: &Bytes) -> Result<Value, OperatorError> {
    let body: RotateRequest = read(body)?;
    let overlap = body
        .overlap
        .map_or(Duration::from_secs(24 * 3600), |span| span.0);
    operator.change_key(id, KeyChange::Rotate(overlap)).await
}

async fn set_key(operator: &Operator, id: &str, body: &Bytes) -> Result<Value, OperatorError> {
    let body: SetKey = read(body)?;
    operator
        .set_key(id, &body.scopes, body.version.as_deref())
        .await
}

async fn balance(operator: &Operator, name: &str) -> Result<Value, OperatorError> {
    let account = operator.account(name).await?;
    operator.balance(&account).await
}

async fn deposit(operator: &Operator, name: &str, body: &Bytes) -> Result<Value, OperatorError> {
    let body: DepositBody = parse(body)?;
    let account = operator.payee(name, Unseen::of(body.create)).await?;
    operator.deposit(account, body.usd.0, body.reference).await
}

async fn postings(operator: &Operator, name: &str) -> Result<Value, OperatorError> {
    let account = operator.account(name).await?;
    let postings = operator.postings(&account).await?;
    Ok(json!({ "postings": postings }))
}

async fn reconcile(
    operator: &Operator,
    request: &str,
    body: &Bytes,
) -> Result<Value, OperatorError> {
    let body: ReconcileRequest = read(body)?;
    let resolution = match (body.charge_usd, body.release) {
        (Some(amount), false) => BillResolution::Charge(amount.0),
        (None, true) => BillResolution::Release,
        _ => {
            return Err(OperatorError::Invalid(
                "send one decision: {\"release\": true} or {\"charge_usd\": AMOUNT}".to_owned(),
            ));
        }
    };
    operator.reconcile(request, resolution, body.provider).await
}

async fn write_off(operator: &Operator, id: &str, body: &Bytes) -> Result<Value, OperatorError> {
    let order: payments::WriteOff = parse(body)?;
    payments::write_off(operator, id, &order).await
}

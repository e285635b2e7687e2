//! JSON-RPC 2.0 in batches over a transport.

use std::pin::Pin;

use serde_json::{Value, json};

use crate::hex;

/// The future of a transport.
pub type RpcFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why a message has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RpcUnsent {
    /// The endpoint surely did not get it.
    #[error("cannot connect: {0}")]
    NotSent(String),
    /// The endpoint may have got it and carried it out.
    #[error("no answer: {0}")]
    Unknown(String),
}

/// Sends messages to JSON-RPC endpoints, which it knows by number.
pub trait RpcTransport: Send + Sync {
    /// How many endpoints there are.
    fn endpoints(&self) -> usize;

    /// The name of an endpoint for operators, without secrets.
    fn name(&self, endpoint: usize) -> String;

    /// Posts a body and answers the body of the reply, within a time and a size of its own.
    fn post(&self, endpoint: usize, body: Vec<u8>) -> RpcFuture<'_, Result<Vec<u8>, RpcUnsent>>;
}

/// One call of a batch.
#[derive(Debug, Clone)]
pub(crate) struct RpcCall {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    /// The members of an answer that endpoints are compared by; they add some of their own.
    pub(crate) compared: fn(&Value) -> Value,
}

impl RpcCall {
    /// A call whose whole answer is compared.
    pub(crate) fn new(method: &'static str, params: Value) -> Self {
        Self {
            method,
            params,
            compared: Value::clone,
        }
    }
}

/// What an endpoint says to one call.
pub(crate) type RpcAnswer = Result<Value, RpcRefusal>;

/// An endpoint refused a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (code {code})")]
pub(crate) struct RpcRefusal {
    pub(crate) code: i64,
    pub(crate) message: String,
    /// What a reverted call returned.
    pub(crate) data: Option<Vec<u8>>,
}

impl RpcRefusal {
    /// Whether the call was carried out and reverted. Every other error, as of an endpoint that
    /// limits requests, says nothing about the call.
    pub(crate) fn is_revert(&self) -> bool {
        let has_data = self.data.as_ref().is_some_and(|data| !data.is_empty());
        let message = self.message.to_ascii_lowercase();
        self.code == REVERTED || has_data || message.contains("execution reverted")
    }
}

/// Why a batch has no answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RpcFailure {
    #[error(transparent)]
    Unsent(#[from] RpcUnsent),
    #[error("the answer is no JSON-RPC: {0}")]
    Nonsense(String),
}

/// The code of a call that reverted.
const REVERTED: i64 = 3;
/// The longest text of an endpoint that is kept.
const MESSAGE: usize = 200;

/// Sends calls to one endpoint; the answers are in their order.
pub(crate) async fn batch(
    transport: &dyn RpcTransport,
    endpoint: usize,
    calls: &[RpcCall],
) -> Result<Vec<RpcAnswer>, RpcFailure> {
    let messages = calls.iter().zip(1_u64..).map(|(call, id)| {
        let RpcCall { method, params, .. } = call;
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    });
    let messages: Vec<Value> = messages.collect();
    let body = Value::from(messages).to_string().into_bytes();
    let reply = transport.post(endpoint, body).await?;
    read(&reply, calls.len()).map_err(RpcFailure::Nonsense)
}

/// The answers of a batch by their ids, each of which must be there once.
fn read(reply: &[u8], count: usize) -> Result<Vec<RpcAnswer>, String> {
    let reply: Value = serde_json::from_slice(reply).map_err(|error| error.to_string())?;
    let list = match reply {
        Value::Array(list) => list,
        // An error of the whole batch.
        Value::Object(one) => {
            let refusal = one.get("error").and_then(refusal);
            let refusal = refusal.map_or_else(|| "not a batch".to_owned(), |it| it.to_string());
            return Err(refusal);
        }
        _ => return Err("not a batch".to_owned()),
    };
    let mut answers: Vec<Option<RpcAnswer>> = vec![None; count];
    for mut one in list {
        let id = one["id"].as_u64().and_then(|id| usize::try_from(id).ok());
        let place = id.and_then(|id| answers.get_mut(id.checked_sub(1)?));
        let place = place.ok_or_else(|| "an answer has an id that was not sent".to_owned())?;
        let answer = match one.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err(refusal(error).ok_or("an error has no code")?),
            None => Ok(one["result"].take()),
        };
        if place.replace(answer).is_some() {
            return Err("an answer comes twice".to_owned());
        }
    }
    let whole: Option<Vec<_>> = answers.into_iter().collect();
    whole.ok_or_else(|| "an answer is missing".to_owned())
}

fn refusal(error: &Value) -> Option<RpcRefusal> {
    let message = error["message"].as_str().unwrap_or_default();
    // Some endpoints put an object around the data.
    let data = match &error["data"] {
        Value::Object(inner) => inner.get("data").and_then(hex::bytes),
        data => hex::bytes(data),
    };
    Some(RpcRefusal {
        code: error["code"].as_i64()?,
        message: message.chars().take(MESSAGE).collect(),
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(text: &str, count: usize) -> Result<Vec<RpcAnswer>, String> {
        read(text.as_bytes(), count)
    }

    #[test]
    fn answers_are_in_the_order_of_their_calls() {
        let read = answers(
            r#"[{"id":2,"error":{"code":3,"message":"execution reverted","data":"0x01"}},{"id":1,"result":"0x5"}]"#,
            2,
        );
        let reverted = RpcRefusal {
            code: 3,
            message: "execution reverted".into(),
            data: Some(vec![1]),
        };
        assert_eq!(read, Ok(vec![Ok(json!("0x5")), Err(reverted)]));
    }

    #[test]
    fn only_a_call_that_was_carried_out_reverts() {
        for (error, expected) in [
            (r#"{"code":3,"message":"x"}"#, true),
            (r#"{"code":3,"message":"x","data":"0x"}"#, true),
            (r#"{"code":-32000,"message":"x","data":"0x01"}"#, true),
            (
                r#"{"code":-32000,"message":"x","data":{"data":"0x01"}}"#,
                true,
            ),
            (r#"{"code":-32000,"message":"Execution reverted"}"#, true),
            (r#"{"code":-32000,"message":"header not found"}"#, false),
            (r#"{"code":-32005,"message":"limit exceeded"}"#, false),
            (r#"{"code":-32005,"message":"limit","data":"0x"}"#, false),
            (
                r#"{"code":-32603,"message":"","data":{"see":"docs"}}"#,
                false,
            ),
        ] {
            let read = answers(&format!(r#"[{{"id":1,"error":{error}}}]"#), 1);
            let refused = read.expect("a batch").remove(0).expect_err("an error");
            assert_eq!(refused.is_revert(), expected, "{error}");
        }
    }

    #[test]
    fn a_batch_that_is_not_whole_is_nonsense() {
        for bad in [
            "",
            "5",
            r#"{"error":{"code":-32005,"message":"limit"}}"#,
            r#"[{"id":1,"result":1},{"id":1,"result":2}]"#,
            r#"[{"id":1,"result":1}]"#,
            r#"[{"id":1,"result":1},{"id":3,"result":2}]"#,
            r#"[{"id":1,"result":1},{"id":2,"error":{}}]"#,
        ] {
            assert!(answers(bad, 2).is_err(), "{bad}");
        }
    }
}

//! Pays by x402 with the crate `x402-reqwest`.
//!
//! Reads one JSON plan on stdin and writes one JSON line per cell:
//! `{"id", "status", "text", "payment", "seconds"}`, or an `error`.

use std::sync::Arc;
use std::time::Instant;

use alloy_signer_local::PrivateKeySigner;
use anyhow::{Context as _, bail};
use reqwest_middleware::ClientWithMiddleware;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;
use x402_chain_eip155::{V2Eip155ExactClient, V2Eip155UptoClient};
use x402_reqwest::{ReqwestWithPayments as _, ReqwestWithPaymentsBuild as _, X402Client};

const MOST_TOKENS: u32 = 400;

/// One payment to make.
#[derive(Deserialize)]
struct Cell {
    id: String,
    dialect: Dialect,
    scheme: Scheme,
    stream: bool,
    model: String,
    prompt: String,
    /// The private key of the payer, as hex.
    key: String,
    /// The chain's JSON-RPC endpoint.
    rpc: Url,
    /// Address of the gateway that sells the answer.
    root: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Dialect {
    Chat,
    Messages,
    Responses,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scheme {
    Exact,
    Upto,
    /// `upto` by a payer without an allowance, who signs one (EIP-2612).
    Permit,
}

/// What became of a cell. The harness knows a row by its `id`, which comes first.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    status: Option<u16>,
    text: Option<String>,
    payment: Option<String>,
    seconds: f64,
    error: Option<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let cells: Vec<Cell> = serde_json::from_reader(std::io::stdin())?;
    for cell in &cells {
        let begun = Instant::now();
        let row = match pay(cell).await {
            Ok(row) => row,
            Err(error) => Row {
                error: Some(format!("{error:#}")),
                ..Row::of(cell)
            },
        };
        let seconds = begun.elapsed().as_secs_f64();
        println!("{}", serde_json::to_string(&Row { seconds, ..row })?);
    }
    Ok(())
}

impl<'a> Row<'a> {
    fn of(cell: &'a Cell) -> Self {
        Self {
            id: &cell.id,
            status: None,
            text: None,
            payment: None,
            seconds: 0.0,
            error: None,
        }
    }
}

/// A client that pays, as the crate's documentation makes one.
fn client(cell: &Cell) -> anyhow::Result<ClientWithMiddleware> {
    let signer: Arc<PrivateKeySigner> = Arc::new(cell.key.parse()?);
    let client = X402Client::new();
    let client = match cell.scheme {
        Scheme::Exact => client.register(V2Eip155ExactClient::new(signer)),
        Scheme::Upto => client.register(V2Eip155UptoClient::new(signer)),
        // Who signs a permit reads its nonce from the chain.
        Scheme::Permit => {
            client.register(V2Eip155UptoClient::new(signer).with_provider(cell.rpc.clone()))
        }
    };
    Ok(reqwest::Client::new().with_payments(client).build())
}

async fn pay(cell: &Cell) -> anyhow::Result<Row<'_>> {
    let path = match cell.dialect {
        Dialect::Chat => "/v1/chat/completions",
        Dialect::Messages => "/v1/messages",
        Dialect::Responses => "/v1/responses",
    };
    let request = client(cell)?.post(format!("{}{path}", cell.root));
    let request = request.header("anthropic-version", "2023-06-01");
    let answer = request.json(&body(cell)).send().await?;
    let status = answer.status();
    let payment = answer.headers().get("x-bardo-payment");
    let payment = payment.and_then(|value| value.to_str().ok()).map(str::to_owned);
    let answered = answer.text().await?;
    if !status.is_success() {
        bail!("status {status}: {answered:.800}");
    }
    let text = match cell.stream {
        true => streamed(cell.dialect, &answered),
        false => whole(cell.dialect, &serde_json::from_str(&answered)?),
    };
    Ok(Row {
        status: Some(status.as_u16()),
        text: Some(text.context("an event is no JSON")?),
        payment,
        ..Row::of(cell)
    })
}

fn body(cell: &Cell) -> Value {
    let mut body = json!({ "model": cell.model, "stream": cell.stream });
    let (content, limit) = match cell.dialect {
        Dialect::Chat => ("messages", "max_completion_tokens"),
        Dialect::Messages => ("messages", "max_tokens"),
        Dialect::Responses => ("input", "max_output_tokens"),
    };
    body[limit] = json!(MOST_TOKENS);
    body[content] = match cell.dialect {
        Dialect::Chat | Dialect::Messages => json!([{ "role": "user", "content": cell.prompt }]),
        Dialect::Responses => json!(cell.prompt),
    };
    body
}

fn whole(dialect: Dialect, answer: &Value) -> Option<String> {
    match dialect {
        Dialect::Chat => Some(answer["choices"][0]["message"]["content"].as_str()?.to_owned()),
        Dialect::Messages => Some(texts(&answer["content"])),
        Dialect::Responses => {
            let items = answer["output"].as_array()?;
            Some(items.iter().map(|item| texts(&item["content"])).collect())
        }
    }
}

/// The text of parts of content, joined.
fn texts(parts: &Value) -> String {
    let parts = parts.as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

/// The text of server-sent events; `None` where one of them is no JSON.
fn streamed(dialect: Dialect, answered: &str) -> Option<String> {
    let data = answered.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter(|line| *line != "[DONE]");
    events
        .map(|line| Some(piece(dialect, &serde_json::from_str(line).ok()?)))
        .collect()
}

fn piece(dialect: Dialect, event: &Value) -> String {
    let text = match dialect {
        Dialect::Chat => &event["choices"][0]["delta"]["content"],
        Dialect::Messages => &event["delta"]["text"],
        Dialect::Responses if event["type"] == "response.output_text.delta" => &event["delta"],
        Dialect::Responses => &Value::Null,
    };
    text.as_str().unwrap_or_default().to_owned()
}

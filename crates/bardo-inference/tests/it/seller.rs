//! A seller whose answers a test scripts.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use bardo_x402::authorization::UPTO_PROXY;
use bardo_x402::wire::{decode_header, encode_header};
use serde_json::{Value, json};

use crate::http::{HttpMessage, read_message};
use crate::rig::ADDRESS;

/// USDC on Base, and the account of the seller.
pub(crate) const USDC: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
pub(crate) const PAYEE: &str = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

/// What a seller does with a request.
pub(crate) enum SellerReply {
    Whole(u16, Vec<(&'static str, String)>, String),
    /// Pieces of a stream; each is sent when the test says so, and the end of the connection is told.
    Pieces(Vec<String>, Receiver<()>, Sender<()>),
    /// Closes the connection without an answer.
    Die,
    /// Begins an answer of a hundred bytes, and closes the connection.
    Half,
    /// Answers nothing, and tells when the other side closes the connection.
    Hold(Sender<()>),
}

impl SellerReply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::Whole(status, Vec::new(), body.to_string())
    }

    pub(crate) fn with(self, name: &'static str, value: impl Into<String>) -> Self {
        match self {
            Self::Whole(status, mut headers, body) => {
                headers.push((name, value.into()));
                Self::Whole(status, headers, body)
            }
            other => other,
        }
    }
}

type Script = dyn FnMut(&HttpMessage) -> SellerReply + Send;

/// A seller on a port of its own.
pub(crate) struct ScriptedSeller {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<HttpMessage>>>,
}

impl ScriptedSeller {
    /// A seller that answers each request by `script`.
    pub(crate) fn new(script: impl FnMut(&HttpMessage) -> SellerReply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(script));
        let (all, shared) = (Arc::clone(&seen), script);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, script) = (Arc::clone(&all), Arc::clone(&shared));
                let stream = stream.expect("a connection");
                std::thread::spawn(move || connection(stream, &seen, &script));
            }
        });
        Self { port, seen }
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<HttpMessage> {
        self.seen.lock().expect("the list").clone()
    }

    /// The payments among them, decoded, in their order.
    pub(crate) fn payments(&self) -> Vec<Value> {
        self.seen().iter().filter_map(payment).collect()
    }
}

/// The payment of a request.
pub(crate) fn payment(request: &HttpMessage) -> Option<Value> {
    let header = request
        .header("payment-signature")
        .or(request.header("x-payment"))?;
    let json = decode_header(header.as_bytes()).expect("base64");
    Some(serde_json::from_slice(&json).expect("JSON"))
}

fn connection(stream: TcpStream, seen: &Mutex<Vec<HttpMessage>>, script: &Mutex<Script>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
    let mut stream = stream;
    while let Some(request) = read_message(&mut reader) {
        seen.lock().expect("the list").push(request.clone());
        let reply = (script.lock().expect("the script"))(&request);
        let kept = match reply {
            SellerReply::Die => return,
            SellerReply::Half => {
                let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\":";
                let _ = stream.write_all(half.as_bytes());
                return;
            }
            SellerReply::Hold(gone) => {
                let _ = std::io::Read::read(&mut stream, &mut [0]);
                let _ = gone.send(());
                return;
            }
            SellerReply::Whole(status, headers, body) => {
                let length = body.len();
                let mut head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\ncontent-type: application/json\r\n"
                );
                for (name, value) in headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                stream.write_all(format!("{head}\r\n{body}").as_bytes())
            }
            SellerReply::Pieces(pieces, go, gone) => stream_pieces(&mut stream, pieces, &go, &gone),
        };
        if kept.is_err() {
            return;
        }
    }
}

/// Sends the pieces one by one, and tells when the other side closes the connection.
fn stream_pieces(
    stream: &mut TcpStream,
    pieces: Vec<String>,
    go: &Receiver<()>,
    gone: &Sender<()>,
) -> std::io::Result<()> {
    let head =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    for piece in pieces {
        if go.recv().is_err() {
            break;
        }
        stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes())?;
    }
    if go.recv().is_ok() {
        return stream.write_all(b"0\r\n\r\n");
    }
    // The test holds no end: whoever called must leave first.
    let mut byte = [0];
    let _ = std::io::Read::read(stream, &mut byte);
    let _ = gone.send(());
    Err(std::io::ErrorKind::ConnectionAborted.into())
}

/// A stream whose pieces all go at once.
pub(crate) fn at_once(pieces: Vec<String>) -> SellerReply {
    let (go, going) = channel();
    for _ in 0..=pieces.len() {
        go.send(()).expect("the other end is here");
    }
    SellerReply::Pieces(pieces, going, channel().0)
}

/// One entry of an offer in version 2.
pub(crate) fn entry(scheme: &str, amount: &str) -> Value {
    let mut entry = json!({ "scheme": scheme, "network": "eip155:8453", "amount": amount, "asset": USDC,
        "payTo": PAYEE, "maxTimeoutSeconds": 300, "extra": { "name": "USD Coin", "version": "2" } });
    if scheme == "upto" {
        entry["extra"]["facilitatorAddress"] = json!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    }
    entry
}

/// A 402 of version 2 with these entries.
pub(crate) fn offer(entries: &[Value]) -> SellerReply {
    let offer = json!({ "x402Version": 2, "error": "Payment required",
        "resource": { "url": "http://127.0.0.1/v1/chat/completions" }, "accepts": entries });
    SellerReply::json(402, &json!({ "error": "Payment required" }))
        .with("payment-required", encode_header(&offer.to_string()))
}

/// A 402 of version 1.
pub(crate) fn offer_v1(amount: &str) -> SellerReply {
    let entry = json!({ "scheme": "exact", "network": "base", "maxAmountRequired": amount, "asset": USDC,
        "payTo": PAYEE, "maxTimeoutSeconds": 300, "resource": "http://127.0.0.1/v1/chat/completions",
        "description": "", "mimeType": "application/json", "extra": { "name": "USD Coin", "version": "2" } });
    SellerReply::json(
        402,
        &json!({ "x402Version": 1, "error": "Payment required", "accepts": [entry] }),
    )
}

/// A receipt of version 2; `amount` where the scheme is `upto`.
pub(crate) fn receipt(amount: Option<&str>) -> String {
    let mut receipt = json!({ "success": true, "transaction": format!("0x{}", "11".repeat(32)),
        "network": "eip155:8453" });
    if let Some(amount) = amount {
        receipt["amount"] = json!(amount);
    }
    encode_header(&receipt.to_string())
}

/// An offer whose seller sends permits.
pub(crate) fn sponsored_offer(entries: &[Value]) -> SellerReply {
    let offer = json!({ "x402Version": 2, "resource": { "url": "http://127.0.0.1/" },
        "accepts": entries, "extensions": { "eip2612GasSponsoring": { "info": {} } } });
    let header = encode_header(&offer.to_string());
    SellerReply::json(402, &json!({})).with("payment-required", header)
}

/// A whole answer of Chat Completions.
pub(crate) fn answer() -> SellerReply {
    SellerReply::json(
        200,
        &json!({ "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{ "index": 0, "finish_reason": "stop",
                "message": { "role": "assistant", "content": "Hello!" } }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5 } }),
    )
}

/// A seller that asks 0.003660 USD by `exact`, and answers what is paid.
pub(crate) fn honest() -> ScriptedSeller {
    ScriptedSeller::new(|request| match payment(request) {
        None => offer(&[entry("exact", "3660")]),
        Some(_) => answer().with("payment-response", receipt(None)),
    })
}

/// Answers of a token to a question.
pub(crate) const UNUSED: &str =
    "0x0000000000000000000000000000000000000000000000000000000000000000";
pub(crate) const USED: &str = "0x0000000000000000000000000000000000000000000000000000000000000001";

/// What a scripted chain says.
pub(crate) struct ChainState {
    pub(crate) id: u64,
    /// What Permit2 may take.
    pub(crate) allowance: u64,
    /// Payments by Permit2 that are settled: their nonces in hexadecimal digits, and what they moved.
    pub(crate) settled: Vec<(String, u64)>,
    /// Nonces that are used, each named by a transaction that moves nothing and settles no payment.
    pub(crate) decoys: Vec<String>,
    /// Unix time of its newest block; none where it does not say so.
    pub(crate) time_s: Option<u64>,
    /// What the token answers when it is asked whether a payment of a fixed price was moved.
    pub(crate) moved: &'static str,
    /// How often the chain is asked before it shows any settlement.
    pub(crate) unseen: u64,
}

impl ChainState {
    /// A chain of Base without settlements.
    pub(crate) fn of_base(allowance: u64) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            id: 8453,
            allowance,
            settled: Vec::new(),
            decoys: Vec::new(),
            time_s: None,
            moved: UNUSED,
            unseen: 0,
        }))
    }

    /// Settles a payment by Permit2.
    pub(crate) fn settle(&mut self, paid: &Value, moved: u64) {
        self.settled.push((nonce(paid), moved));
    }

    /// Uses a nonce out of sight, and shows a transaction that only names it.
    pub(crate) fn hide(&mut self, paid: &Value) {
        self.decoys.push(nonce(paid));
    }
}

/// The nonce of a payment by Permit2, as hexadecimal digits.
fn nonce(paid: &Value) -> String {
    let nonce = paid["payload"]["permit2Authorization"]["nonce"].as_str();
    let nonce = bardo_x402::evm::U256::from_str_radix(nonce.expect("a nonce"), 10);
    format!("{:064x}", nonce.expect("a number"))
}

/// A JSON-RPC server of a chain with what Permit2 may take, and 7 as the nonce of every permit.
pub(crate) fn chain(id: u64, allowance: u64) -> ScriptedSeller {
    let state = ChainState::of_base(allowance);
    state.lock().expect("the state").id = id;
    chain_of(state)
}

/// A JSON-RPC server of a chain whose state the test changes.
pub(crate) fn chain_of(state: Arc<Mutex<ChainState>>) -> ScriptedSeller {
    ScriptedSeller::new(move |request| {
        let call = request.json();
        let mut state = state.lock().expect("the state");
        let data = call.pointer("/params/0/data").and_then(Value::as_str);
        let result = match (call["method"].as_str(), data) {
            (Some("eth_chainId"), _) => json!(format!("{:#x}", state.id)),
            (Some("eth_blockNumber"), _) => json!("0x64"),
            (Some("eth_getLogs"), _) => {
                let decoys = state.decoys.iter().map(|nonce| decoy(nonce));
                state.settled.iter().map(transfer).chain(decoys).collect()
            }
            (Some("eth_getBlockByNumber"), _) => {
                json!({ "timestamp": state.time_s.map(|time_s| format!("{time_s:#x}")) })
            }
            (Some("eth_getTransactionByHash"), _) => {
                transaction(call["params"][0].as_str().expect("a hash"))
            }
            (_, Some(data)) if data.starts_with("0xe94a0102") => json!(state.moved),
            (_, Some(data)) if data.starts_with("0x7ecebe00") => json!("0x7"),
            (_, Some(data)) if data.starts_with("0x4fe02b44") => json!(bitmap(&mut state, data)),
            _ => json!(format!("{:#x}", state.allowance)),
        };
        SellerReply::json(200, &json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
    })
}

/// The log of a settlement, in a transaction whose hash is the nonce.
fn transfer((nonce, moved): &(String, u64)) -> Value {
    json!({ "transactionHash": format!("0x{nonce}"), "data": format!("{moved:#066x}") })
}

/// The log of a decoy, in a transaction whose hash names the nonce.
fn decoy(nonce: &str) -> Value {
    json!({ "transactionHash": format!("0xdecoy{nonce}"), "data": "0x0" })
}

/// A transaction by its hash: `settleWithPermit` of the nonce, or a transfer of nothing that ends with
/// it.
fn transaction(hash: &str) -> Value {
    let word = |text: &str| format!("{:0>64}", text.trim_start_matches("0x").to_lowercase());
    let zero = word("0");
    if let Some(nonce) = hash.strip_prefix("0xdecoy") {
        let (from, to) = (word(ADDRESS), word(PAYEE));
        return json!({ "to": USDC, "input": format!("0x23b872dd{from}{to}{zero}{nonce}") });
    }
    let words = [
        zero.repeat(5),
        word(USDC),
        zero.clone(),
        word(hash),
        zero.repeat(2),
        word(ADDRESS),
        zero.repeat(5),
    ];
    json!({ "to": UPTO_PROXY.to_string(), "input": format!("0x016c1748{}", words.concat()) })
}

/// The nonces of Permit2 that are used, among the 256 that were asked for.
fn bitmap(state: &mut ChainState, data: &str) -> String {
    use bardo_x402::evm::U256;
    if state.unseen > 0 {
        state.unseen -= 1;
        return "0x0".to_owned();
    }
    let word = U256::from_str_radix(&data[74..], 16).expect("a word");
    let settled = state.settled.iter().map(|(nonce, _)| nonce);
    let used = settled.chain(&state.decoys).map(|nonce| {
        let nonce = U256::from_str_radix(nonce, 16).expect("a nonce");
        match nonce >> 8 == word {
            true => U256::from(1) << usize::from(nonce.byte(0)),
            false => U256::ZERO,
        }
    });
    format!("{:#x}", used.fold(U256::ZERO, |all, one| all | one))
}

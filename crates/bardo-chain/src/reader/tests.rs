use std::sync::Mutex;

use super::*;
use crate::rpc::{RpcFuture, RpcUnsent};

/// What an endpoint does.
#[derive(Debug, Clone, Copy)]
enum Endpoint {
    /// Has this newest block, and answers every other call with this number.
    Answers { head: u64, number: u64 },
    /// Has block 100 as its newest, and says that its time is this.
    Time(u64),
    /// Has this block as its newest, and gives one log per block, of so many blocks at most.
    Logs { most: u64 },
    /// Refuses every other call than that for a block, with this byte of a revert.
    Reverts(u8),
    /// Answers every other call than that for a block with an error that is no revert.
    Limits,
    /// Cannot be reached.
    Down,
    /// Answers with a text that is no batch.
    Nonsense,
}

/// Endpoints that do as they are told.
struct Scripted(Mutex<Vec<Endpoint>>);

impl RpcTransport for Scripted {
    fn endpoints(&self) -> usize {
        self.0.lock().expect("nobody panicked").len()
    }

    fn name(&self, endpoint: usize) -> String {
        format!("endpoint-{endpoint}")
    }

    fn post(&self, endpoint: usize, body: Vec<u8>) -> RpcFuture<'_, Result<Vec<u8>, RpcUnsent>> {
        let does = self.0.lock().expect("nobody panicked")[endpoint];
        let calls: Vec<Value> = serde_json::from_slice(&body).expect("a batch");
        let answer = |call: &Value| {
            let id = call["id"].clone();
            let is_block = call["method"] == "eth_getBlockByNumber";
            match does {
                Endpoint::Reverts(byte) if !is_block => {
                    let data = format!("0x{byte:02x}");
                    let error =
                        json!({ "code": 3, "message": format!("by {endpoint}"), "data": data });
                    json!({ "id": id, "error": error })
                }
                Endpoint::Limits if !is_block => {
                    let error = json!({ "code": -32005, "message": "limit exceeded" });
                    json!({ "id": id, "error": error })
                }
                Endpoint::Answers { head, .. } if is_block => {
                    let asked = hex::number(&call["params"][0]).unwrap_or(head);
                    let found = (asked <= head).then(|| block(asked));
                    json!({ "id": id, "result": found })
                }
                Endpoint::Time(time) => {
                    let mut block = block(100);
                    block["timestamp"] = json!(hex::of_number(time));
                    json!({ "id": id, "result": block })
                }
                Endpoint::Logs { most } => logs(call, most),
                Endpoint::Answers { .. } if call["method"] == "eth_getCode" => {
                    json!({ "id": id, "result": "0x" })
                }
                Endpoint::Answers { number, .. } => {
                    json!({ "id": id, "result": hex::of_number(number) })
                }
                _ => json!({ "id": id, "result": block(1) }),
            }
        };
        let reply = match does {
            Endpoint::Down => Err(RpcUnsent::NotSent("refused".to_owned())),
            Endpoint::Nonsense => Ok(b"<html>".to_vec()),
            _ => Ok(Value::from(calls.iter().map(answer).collect::<Vec<_>>())
                .to_string()
                .into_bytes()),
        };
        Box::pin(std::future::ready(reply))
    }
}

/// One log for each block of a filter, or a refusal of a filter with too many blocks.
fn logs(call: &Value, most: u64) -> Value {
    let filter = &call["params"][0];
    let bound = |name: &str| hex::number(&filter[name]).expect("a number");
    let blocks = bound("fromBlock")..=bound("toBlock");
    let count = blocks.clone().count() as u64;
    if count > most {
        let error = json!({ "code": -32005, "message": "query exceeds max block range" });
        return json!({ "id": call["id"], "error": error });
    }
    let logs: Vec<_> = blocks
        .map(|block| json!({ "blockNumber": hex::of_number(block) }))
        .collect();
    json!({ "id": call["id"], "result": logs })
}

fn block(number: u64) -> Value {
    json!({
        "number": hex::of_number(number),
        "hash": format!("0x{number:064x}"),
        "timestamp": "0x5",
        "baseFeePerGas": "0x7",
    })
}

fn reader(endpoints: Vec<Endpoint>) -> ChainReader {
    let terms = ReaderTerms {
        chain_id: 8453,
        quorum: 0,
    };
    ChainReader::new(Arc::new(Scripted(Mutex::new(endpoints))), terms)
}

const fn honest(number: u64) -> Endpoint {
    Endpoint::Answers { head: 100, number }
}

async fn number(reader: &ChainReader) -> Result<u64, ReadError> {
    let answers = reader
        .agreed(&[RpcCall::new("eth_chainId", json!([]))])
        .await?;
    let answer = answers.into_iter().next().and_then(Result::ok);
    Ok(answer.as_ref().and_then(hex::number).unwrap_or(0))
}

fn reasons(reader: &ChainReader) -> Vec<bool> {
    let endpoints = reader.endpoints().into_iter();
    endpoints
        .map(|endpoint| endpoint.reason.is_some())
        .collect()
}

#[tokio::test]
async fn most_endpoints_outvote_one_that_lies_and_it_is_named() {
    for lie in [0, 1, 2] {
        let mut endpoints = vec![honest(5); 3];
        endpoints[lie] = honest(6);
        let reader = reader(endpoints);
        assert_eq!(number(&reader).await, Ok(5), "{lie}");
        let expected: Vec<bool> = (0..3).map(|one| one == lie).collect();
        assert_eq!(reasons(&reader), expected);
    }
}

#[tokio::test]
async fn without_agreement_nothing_is_known() {
    for endpoints in [
        vec![honest(5), honest(6), honest(7)],
        vec![honest(5), Endpoint::Down, Endpoint::Down],
        vec![honest(5), Endpoint::Nonsense, honest(6)],
        vec![honest(5), honest(6)],
        vec![Endpoint::Down],
    ] {
        let told = format!("{endpoints:?}");
        assert!(number(&reader(endpoints)).await.is_err(), "{told}");
    }
    let one_is_down = vec![honest(5), Endpoint::Nonsense, honest(5)];
    assert_eq!(number(&reader(one_is_down)).await, Ok(5));
}

#[tokio::test]
async fn reverts_agree_by_their_data_and_not_by_their_words() {
    let call = [RpcCall::new("eth_call", json!([]))];
    let same = reader(vec![Endpoint::Reverts(1), Endpoint::Reverts(1), honest(5)]);
    let answers = same.agreed(&call).await.expect("two agree");
    let refusal = answers[0].as_ref().expect_err("it reverts");
    assert_eq!(refusal.data, Some(vec![1]));
    let other = reader(vec![Endpoint::Reverts(1), Endpoint::Reverts(2), honest(5)]);
    assert!(other.agreed(&call).await.is_err());
}

#[tokio::test]
async fn a_view_that_reverts_returns_nothing_and_one_with_another_error_is_unknown() {
    let call = [(bardo_x402::evm::Address::ZERO, vec![1])];
    for endpoints in [1, 2] {
        let reverts = reader(vec![Endpoint::Reverts(1); endpoints]);
        assert_eq!(reverts.views(&call).await, Ok(vec![None]));
        let limits = reader(vec![Endpoint::Limits; endpoints]);
        assert!(limits.views(&call).await.is_err(), "{endpoints}");
    }
    let mixed = reader(vec![Endpoint::Reverts(1), Endpoint::Limits]);
    assert!(mixed.views(&call).await.is_err());
}

#[tokio::test]
async fn the_head_is_a_block_that_enough_endpoints_have() {
    let at = |head| Endpoint::Answers { head, number: 0 };
    let heads = reader(vec![at(100), at(103), at(101)]);
    assert_eq!(heads.fresh_head().await.map(|head| head.number), Ok(101));
    // One that is far behind is named, and one that is far ahead of all others changes nothing.
    let behind = reader(vec![at(100), at(60), at(101)]);
    assert_eq!(behind.fresh_head().await.map(|head| head.number), Ok(100));
    assert_eq!(reasons(&behind), [false, true, false]);
    let ahead = reader(vec![at(100), at(1_000), at(100)]);
    assert_eq!(ahead.fresh_head().await.map(|head| head.number), Ok(100));
}

#[tokio::test]
async fn the_time_of_the_head_is_not_that_of_one_endpoint() {
    for lie in [0, 1, 2] {
        let mut endpoints = vec![Endpoint::Time(5); 3];
        endpoints[lie] = Endpoint::Time(u64::MAX);
        let reader = reader(endpoints);
        assert_eq!(reader.fresh_head().await.map(|head| head.time_s), Ok(5));
    }
    let two = reader(vec![Endpoint::Time(5), Endpoint::Time(6)]);
    assert!(two.fresh_head().await.is_err());
}

#[tokio::test]
async fn an_endpoint_without_the_newest_block_does_not_contradict() {
    let at = |head| Endpoint::Answers { head, number: 0 };
    let reader = reader(vec![at(100), at(101), at(101)]);
    assert_eq!(reader.fresh_head().await.map(|head| head.number), Ok(101));
    assert_eq!(
        reader.block_hash(101).await.map(|hash| hash.is_some()),
        Ok(true)
    );
    assert_eq!(reasons(&reader), [false; 3]);
}

#[tokio::test]
async fn logs_of_many_blocks_are_read_in_the_parts_that_endpoints_give() {
    for most in [9, 10, 64, 1_000, 10_000] {
        let reader = reader(vec![Endpoint::Logs { most }]);
        let logs = reader.logs(json!({}), (7, 5_006)).await.expect("logs");
        let found: Vec<_> = logs
            .iter()
            .map(|log| hex::number(&log["blockNumber"]))
            .collect();
        let expected: Vec<_> = (7..=5_006).map(Some).collect();
        assert_eq!(found, expected, "{most}");
    }
    let none = reader(vec![Endpoint::Logs { most: 2 }]);
    assert!(none.logs(json!({}), (7, 5_006)).await.is_err());
}

#[tokio::test]
async fn a_wrong_chain_and_a_missing_contract_are_named() {
    let checked = reader(vec![honest(1); 3]).check(&[]).await;
    let told = checked.expect("they agree").expect_err("another chain");
    assert!(told.contains("of chain 1; chain 8453"), "{told}");
    let checked = reader(vec![honest(8453); 3])
        .check(&[([1; 20], "the token")])
        .await;
    let told = checked.expect("they agree").expect_err("no code");
    assert!(told.contains("the token is not on the chain"), "{told}");
}

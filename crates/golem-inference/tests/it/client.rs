use std::net::Ipv4Addr;

use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;
use bardo_types::unit::UnitInterval;
use golem_inference::client::{Delta, GatewayAddress};
use golem_inference::partition::Caps;
use golem_inference::reply::Cost;
use golem_inference::{CallSpec, Client, ClientError, Message};
use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};

use crate::stub::{Stub, answer};

const WHOLE: &str = r#"{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hold."}}],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#;

fn thought() -> CallSpec {
    let mut spec = CallSpec::new("risk", vec![Message::user("Is it safe?")]);
    spec.hints.vitality = UnitInterval::new(0.4);
    spec
}

#[tokio::test]
async fn a_thought_goes_out_with_its_hints_and_comes_back_with_its_origin() {
    let stub = Stub::start(|_| {
        let headers = [
            ("x-bardo-request-id", "req_1"),
            ("x-bardo-model", "claude-opus-5-5"),
            ("x-bardo-provider", "blockrun"),
            ("x-bardo-cost", "0.001200"),
            ("x-bardo-degraded", "citations"),
        ];
        answer(200, &headers, WHOLE)
    })
    .await;
    let key = Secret::new("bardo_sk_1".into());
    let client = Client::new(stub.endpoint.clone(), Some(&key));
    let reply = client.ask(&thought()).await.unwrap();
    assert_eq!(reply.text, "Hold.");
    assert_eq!(reply.origin.provider, "blockrun");
    assert_eq!(reply.origin.cost, Cost::Usd(MicroUsd::new(1_200)));
    assert_eq!(reply.origin.degraded, ["citations"]);

    let asked = &stub.asked()[0];
    assert_eq!(asked.method, Method::POST);
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.headers["authorization"], "Bearer bardo_sk_1");
    assert_eq!(asked.body, thought().to_json());
    assert_eq!(
        asked.body["bardo"],
        json!({ "subsystem": "risk", "vitality": 0.4 })
    );
}

const STREAM: &str = concat!(
    ": heartbeat\n\n",
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"reasoning\":\"So. \"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"Ho\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"ld.\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"swap\",\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5}}\n\n",
    ": bardo {\"request_id\":\"req_1\",\"model\":\"m\",\"provider\":\"venice\",\"cost\":\"0.000413\",\"degraded\":[\"privacy\"]}\n\n",
    "data: [DONE]\n\n",
);

#[tokio::test]
async fn a_stream_is_heard_piece_by_piece_and_closed_with_its_figures() {
    let stub = Stub::start(|_| answer(200, &[("x-bardo-request-id", "req_1")], STREAM)).await;
    let client = Client::new(stub.endpoint.clone(), None);
    let mut stream = client.stream(&thought()).await.unwrap();
    let mut heard = Vec::new();
    while let Some(delta) = stream.next().await.unwrap() {
        heard.push(delta);
    }
    assert_eq!(
        heard,
        [
            Delta::Reasoning("So. ".into()),
            Delta::Text("Ho".into()),
            Delta::Text("ld.".into())
        ]
    );
    let reply = stream.finish().unwrap();
    assert_eq!(reply.text, "Hold.");
    assert_eq!(reply.usage.unwrap().output, 5);
    assert_eq!(reply.origin.request_id, "req_1");
    assert_eq!(reply.origin.cost, Cost::Usd(MicroUsd::new(413)));
    assert_eq!(reply.origin.degraded, ["privacy"]);
    assert_eq!(reply.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(reply.tool_calls[0]["function"]["arguments"], "{\"a\":1}");
    let asked = &stub.asked()[0];
    assert_eq!(asked.body["stream"], true);
    assert!(asked.headers.get("authorization").is_none());
}

#[tokio::test]
async fn a_stream_without_its_end_is_no_answer() {
    let cut = STREAM.len() - "data: [DONE]\n\n".len();
    let stub = Stub::start(move |_| answer(200, &[], &STREAM.as_bytes()[..cut])).await;
    let client = Client::new(stub.endpoint.clone(), None);
    let mut spec = thought();
    spec.stream = true;
    let error = client.ask(&spec).await.unwrap_err();
    assert!(matches!(error, ClientError::Broken(_)), "{error}");
}

#[tokio::test]
async fn a_stream_that_fails_says_why() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"Ho\"}}]}\n\n\
                data: {\"error\":{\"message\":\"it fell silent\",\"bardo_code\":\"upstream_interrupted\"}}\n\n";
    let stub = Stub::start(move |_| answer(200, &[], body)).await;
    let client = Client::new(stub.endpoint.clone(), None);
    let mut spec = thought();
    spec.stream = true;
    match client.ask(&spec).await.unwrap_err() {
        ClientError::Interrupted { message, code } => {
            assert_eq!(message, "it fell silent");
            assert_eq!(code.as_deref(), Some("upstream_interrupted"));
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_refusal_is_typed_whether_streamed_or_not() {
    let body = r#"{"error":{"message":"nobody can","bardo_code":"feature_unavailable","missing":["tee"],"advice":"configure `providers.venice`"}}"#;
    let stub = Stub::start(move |_| answer(400, &[], body)).await;
    let client = Client::new(stub.endpoint.clone(), None);
    for streamed in [false, true] {
        let mut spec = thought();
        spec.stream = streamed;
        match client.ask(&spec).await.unwrap_err() {
            ClientError::Refused(refusal) => {
                assert_eq!(refusal.code, "feature_unavailable");
                assert_eq!(refusal.missing, ["tee"]);
                assert_eq!(
                    refusal.advice.as_deref(),
                    Some("configure `providers.venice`")
                );
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(stub.asked().len(), 2, "nothing is sent again");
}

#[tokio::test]
async fn receipts_balance_usage_and_explanations_are_fetched() {
    let stub = Stub::start(|asked| {
        let body = match asked.path.as_str() {
            "/v1/receipts/req_1" => include_str!("../../fixtures/receipt.json"),
            "/v1/balance" => {
                r#"{"account":"a","deposited":"1","spent":"0","held":"0","available":"1"}"#
            }
            "/v1/usage" => r#"{"total":{"requests":3},"data":[]}"#,
            "/v1/route/explain" => r#"{"resolution":{"backend":"venice"}}"#,
            _ => return answer(404, &[], r#"{"error":{"bardo_code":"not_found"}}"#),
        };
        answer(200, &[], body)
    })
    .await;
    let client = Client::new(stub.endpoint.clone(), None);
    assert_eq!(client.receipt("req_1").await.unwrap().provider, "bankr");
    assert_eq!(
        client.balance().await.unwrap().available,
        MicroUsd::new(1_000_000)
    );
    assert_eq!(client.usage().await.unwrap().total.requests, 3);
    let explained = client.explain(&thought()).await.unwrap();
    assert_eq!(explained["resolution"]["backend"], "venice");
    let missing = client.receipt("req_2").await.unwrap_err();
    assert!(matches!(missing, ClientError::Refused(refusal) if refusal.status == 404));
}

#[tokio::test]
async fn caps_are_moved_within_the_owners_range_and_only_where_they_change() {
    let stub = Stub::start(|asked| {
        assert_eq!(asked.path, "/v1/caps");
        let day = if asked.method == Method::POST { "0.5" } else { "1" };
        let body = format!(
            r#"{{"day":{{"cap":"{day}","min":"0.5","max":"2"}},"month":{{"cap":null,"min":null,"max":null}}}}"#
        );
        answer(200, &[], body)
    })
    .await;
    let client = Client::new(stub.endpoint.clone(), None);
    let usd = |text: &str| MicroUsd::from_usd(text).unwrap();
    let caps = |day: &str| Caps {
        day: usd(day),
        month: usd("9"),
    };
    let moved = client.move_caps(&caps("0.1")).await.unwrap();
    assert_eq!(moved.day.cap, Some(usd("0.5")));
    let asked = stub.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].body, serde_json::json!({ "day": "0.500000" }));
    client.move_caps(&caps("1")).await.unwrap();
    assert_eq!(stub.asked().len(), 3, "the cap is that already");
}

#[tokio::test]
async fn a_connection_serves_one_call_after_the_other() {
    let stub = Stub::start(|_| answer(200, &[], WHOLE)).await;
    let client = Client::new(stub.endpoint.clone(), None);
    for _ in 0..5 {
        client.ask(&thought()).await.unwrap();
    }
    assert_eq!((stub.asked().len(), stub.connections()), (5, 1));
}

#[tokio::test]
async fn a_connection_that_was_closed_in_silence_is_replaced() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 64 << 10];
            let read = stream.read(&mut request).await.unwrap();
            assert!(read > 0);
            let length = WHOLE.len();
            let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{WHOLE}");
            stream.write_all(response.as_bytes()).await.unwrap();
        }
    });
    let endpoint = GatewayAddress::parse(&format!("http://{address}")).unwrap();
    let client = Client::new(endpoint, None);
    client.ask(&thought()).await.unwrap();
    client.ask(&thought()).await.unwrap();
    served.await.unwrap();
}

#[tokio::test]
async fn a_gateway_that_is_not_there_is_named() {
    // The port stays bound, so that no other server gets it, and refuses connections.
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = bound.local_addr().unwrap();
    let endpoint = GatewayAddress::parse(&format!("http://{address}")).unwrap();
    let error = Client::new(endpoint, None)
        .ask(&thought())
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

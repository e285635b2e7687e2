//! Streams: piece by piece, and over when the client leaves.

use std::sync::mpsc::channel;

use serde_json::json;

use crate::http::{read_head, read_piece};
use crate::rig::ServedProxy;
use crate::seller::{ScriptedSeller, SellerReply, entry, offer, payment};

#[test]
fn each_piece_of_a_paid_stream_arrives_before_the_next_is_made() {
    let (go, going) = channel();
    let (gone, _left) = channel();
    let pieces = [
        "data: {\"a\":1}\n\n",
        ": note\r\n\r\ndata: \u{e9}\n\n",
        "data: [DONE]\n\n",
    ];
    let mut reply = Some(SellerReply::Pieces(
        pieces.map(str::to_owned).to_vec(),
        going,
        gone,
    ));
    let seller = ScriptedSeller::new(move |request| match payment(request) {
        None => offer(&[entry("exact", "3660")]),
        Some(_) => reply.take().expect("one payment"),
    });
    let proxy = ServedProxy::new(&seller, &[]);
    let mut stream = proxy.begin(
        "/v1/chat/completions",
        &json!({ "model": "m", "stream": true }),
    );
    let head = read_head(&mut stream).expect("the head comes before the first piece");
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    for piece in pieces {
        // The seller makes a piece only when the one before has been read.
        go.send(()).unwrap();
        assert_eq!(read_piece(&mut stream, &head), piece.as_bytes());
    }
    go.send(()).unwrap();
    assert_eq!(read_piece(&mut stream, &head), b"");
}

#[test]
fn a_client_that_leaves_ends_the_call_to_the_seller() {
    let (go, going) = channel();
    let (gone, left) = channel();
    let mut reply = Some(SellerReply::Pieces(vec!["data: 1\n\n".into()], going, gone));
    let seller = ScriptedSeller::new(move |request| match payment(request) {
        None => offer(&[entry("exact", "3660")]),
        Some(_) => reply.take().expect("one payment"),
    });
    let proxy = ServedProxy::new(&seller, &[]);
    let mut stream = proxy.begin(
        "/v1/chat/completions",
        &json!({ "model": "m", "stream": true }),
    );
    let head = read_head(&mut stream).unwrap();
    go.send(()).unwrap();
    read_piece(&mut stream, &head);
    drop(go);
    drop(stream);
    left.recv()
        .expect("the seller sees the end of the connection");
    assert_eq!(
        proxy.spend()["session"],
        "0.003660",
        "what was begun is paid"
    );
}

#[test]
fn a_client_that_leaves_before_an_answer_ends_the_call_and_keeps_its_payment() {
    let (gone, left) = channel();
    let mut gone = Some(gone);
    let seller = ScriptedSeller::new(move |request| match (payment(request), gone.is_some()) {
        (None, _) => offer(&[entry("exact", "3660")]),
        (Some(_), true) => SellerReply::Hold(gone.take().expect("it is there")),
        (Some(_), false) => crate::seller::answer(),
    });
    let proxy = ServedProxy::new(&seller, &[]);
    let stream = proxy.begin("/v1/chat/completions", &crate::rig::chat("Hello"));
    while seller.payments().is_empty() {
        std::thread::yield_now();
    }
    drop(stream);
    left.recv()
        .expect("the seller sees the end of the connection");
    assert_eq!(proxy.spend()["open"], "0.003660", "it may be charged");
    assert_eq!(proxy.chat().status(), 200);
    let payments = seller.payments();
    assert_eq!(payments.len(), 2);
    assert_eq!(payments[0], payments[1], "the request is paid once");
}

#[test]
fn a_request_that_comes_again_before_the_first_client_is_gone_is_paid_once() {
    let (gone, left) = channel();
    let mut gone = Some(gone);
    let seller = ScriptedSeller::new(move |request| match (payment(request), gone.is_some()) {
        (None, _) => offer(&[entry("exact", "3660")]),
        (Some(_), true) => SellerReply::Hold(gone.take().expect("it is there")),
        (Some(_), false) => crate::seller::answer(),
    });
    let proxy = ServedProxy::new(&seller, &[]);
    let first = proxy.begin("/v1/chat/completions", &crate::rig::chat("Hello"));
    while seller.payments().is_empty() {
        std::thread::yield_now();
    }
    let mut again = proxy.begin("/v1/chat/completions", &crate::rig::chat("Hello"));
    // Another request goes on meanwhile, and is answered after the proxy has read the one before.
    let other = proxy.ask("/v1/chat/completions", &crate::rig::chat("Other"));
    assert_eq!(other.status(), 200);
    drop(first);
    left.recv()
        .expect("the seller sees the end of the connection");
    let answer = crate::http::read_message(&mut again).expect("an answer");
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let payments = seller.payments();
    assert_eq!(payments.len(), 3);
    assert_eq!(payments[0], payments[2], "the request is paid once");
    assert_ne!(payments[0], payments[1]);
}

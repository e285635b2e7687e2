use super::*;
use serde_json::{Value, json};

fn stream() -> Reply {
    Reply::stream(vec![
        Piece::data(Part::Open, &json!({ "role": "assistant" })),
        Piece::comment("keep-alive"),
        Piece::data(Part::Content, &json!({ "text": "one" })),
        Piece::data(Part::Content, &json!({ "text": "two" })),
        Piece::data(Part::Close, &json!({ "finish": "stop" })),
        Piece::done(),
    ])
}

fn played(fault: Value) -> Delivery {
    let faults = Faults::parse(&fault).expect("a known fault");
    let (service, _) = crate::services::find("/openai/v1/models").expect("a service");
    let request = Recorded::test("openai", "/v1/chat/completions", &json!({}));
    apply(stream(), &faults, service, &request)
}

fn sent(delivery: &Delivery) -> Vec<u8> {
    let mut all = Vec::new();
    for step in &delivery.steps {
        if let Step::Send { bytes, .. } = step {
            all.extend_from_slice(bytes);
        }
    }
    all
}

fn text(delivery: &Delivery) -> String {
    String::from_utf8_lossy(&sent(delivery)).into_owned()
}

#[test]
fn cutting_after_events_keeps_comments_and_resets() {
    let delivery = played(json!({ "kind": "cut_after", "events": 2 }));
    assert!(text(&delivery).ends_with("data: {\"text\":\"one\"}\n\n"));
    assert!(matches!(delivery.steps.last(), Some(Step::Abort)));
}

#[test]
fn cutting_at_a_byte_sends_exactly_that_many() {
    for n in [0, 1, 30, 57] {
        assert_eq!(
            sent(&played(json!({ "kind": "cut_at_byte", "n": n }))).len(),
            n
        );
    }
}

#[test]
fn a_clean_end_without_a_terminal_has_no_abort() {
    let delivery = played(json!({ "kind": "eof_after", "events": 1 }));
    assert!(!text(&delivery).contains("DONE"));
    assert!(
        !delivery
            .steps
            .iter()
            .any(|step| matches!(step, Step::Abort | Step::Stall))
    );
}

#[test]
fn the_end_marker_can_be_doubled_or_left_out() {
    assert_eq!(
        text(&played(json!({ "kind": "duplicate_done" })))
            .matches("[DONE]")
            .count(),
        2
    );
    assert_eq!(
        text(&played(json!({ "kind": "no_done" })))
            .matches("[DONE]")
            .count(),
        0
    );
}

#[test]
fn broken_events_stay_framed() {
    let malformed = text(&played(json!({ "kind": "malformed_after", "events": 1 })));
    let broken = malformed.split("\n\n").nth(2).expect("a third frame");
    assert!(serde_json::from_str::<Value>(&broken["data: ".len()..]).is_err());
    assert!(malformed.contains("\"two\""));
    let invalid = sent(&played(
        json!({ "kind": "invalid_utf8_after", "events": 1 }),
    ));
    assert!(String::from_utf8(invalid).is_err());
}

#[test]
fn a_huge_event_is_still_json() {
    let huge = text(&played(json!({ "kind": "huge_event", "bytes": 70_000 })));
    let frame = huge
        .split("\n\n")
        .find(|frame| frame.len() > 70_000)
        .expect("the huge frame");
    let event: Value = serde_json::from_str(&frame["data: ".len()..]).expect("JSON");
    assert_eq!(event["text"], "one");
}

#[test]
fn a_status_fault_speaks_the_services_dialect() {
    let delivery = played(
        json!({ "kind": "status", "status": 429, "retry_after": 2, "retry_after_ms": 1500 }),
    );
    assert_eq!(delivery.status, 429);
    assert!(
        delivery
            .headers
            .contains(&("retry-after".to_owned(), "2".to_owned()))
    );
    assert!(
        delivery
            .headers
            .contains(&("retry-after-ms".to_owned(), "1500".to_owned()))
    );
}

#[test]
fn gzip_has_a_right_checksum_and_length() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let packed = gzip_stored(b"hello");
    assert_eq!(packed[..3], [0x1f, 0x8b, 8]);
    assert_eq!(packed[packed.len() - 4..], [5, 0, 0, 0]);
    let delivery = played(json!({ "kind": "gzip_unasked" }));
    assert!(
        delivery
            .headers
            .iter()
            .any(|(name, value)| name == "content-encoding" && value == "gzip")
    );
}

#[test]
fn faults_combine() {
    let delivery = played(json!([{ "kind": "crlf" }, { "kind": "split_bytes", "n": 3 }]));
    assert_eq!(delivery.split_bytes, 3);
    assert!(text(&delivery).contains("\r\n\r\n"));
    assert!(delivery.faulted);
}

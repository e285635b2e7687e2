use proptest::prelude::*;

use super::*;

fn events(chunks: &[&[u8]]) -> Vec<(String, String)> {
    let mut parser = SseParser::new(1 << 20);
    let mut seen = Vec::new();
    let mut take = |event: SseEvent<'_>| {
        seen.push((
            event.name.to_owned(),
            String::from_utf8_lossy(event.data).into_owned(),
        ));
    };
    for chunk in chunks {
        parser.push(chunk, &mut take).unwrap();
    }
    parser.finish(&mut take);
    seen
}

fn data(all: &[u8]) -> Vec<String> {
    events(&[all]).into_iter().map(|(_, data)| data).collect()
}

#[test]
fn line_ends_comments_and_missing_spaces() {
    assert_eq!(
        data(b"data: a\n\ndata:b\r\n\r\n: ping\n\ndata: c\r\r"),
        ["a", "b", "c"]
    );
    assert_eq!(data(b"data: a\ndata: b\n\n"), ["a\nb"]);
    assert_eq!(data(b"\xef\xbb\xbfdata: a\n\n"), ["a"]);
    assert_eq!(
        events(&[b"event: x\ndata: 1\nid: 9\nretry: 5\n\n"]),
        [("x".into(), "1".into())]
    );
}

#[test]
fn the_last_event_may_lack_its_blank_line_but_not_its_meaning() {
    assert_eq!(data(b"data: {\"a\":1}\n"), ["{\"a\":1}"]);
    assert_eq!(data(b"data: [DONE]"), ["[DONE]"]);
    assert_eq!(data(b"data: {\"a\":1}\n\ndata: {\"b\":"), ["{\"a\":1}"]);
    assert_eq!(data(b"event: x\ndata: {\"b\":2}"), ["{\"b\":2}"]);
}

#[test]
fn an_event_without_end_is_bounded() {
    let mut parser = SseParser::new(64);
    assert_eq!(parser.push(&[b'x'; 65], |_| {}), Err(Oversized));
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        cuts in proptest::collection::vec(0usize..400, 0..12),
        line_end in prop_oneof!["\n", "\r\n", "\r"],
    ) {
        let text = "event: message_start\ndata: {\"t\":\"héllo 世界 🦀\"}\n\n: keep-alive\n\ndata:{\"u\":1}\ndata: {\"v\":2}\n\n\
                    event: ping\ndata: {}\n\n\n\ndata: [DONE]\n\n".replace('\n', &line_end);
        let bytes = text.as_bytes();
        let whole = events(&[bytes]);
        prop_assert_eq!(whole.len(), 4);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        places.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for place in places {
            chunks.push(&bytes[from..place]);
            from = place;
        }
        chunks.push(&bytes[from..]);
        prop_assert_eq!(events(&chunks), whole);
    }
}

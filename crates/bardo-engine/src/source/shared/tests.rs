use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::super::SourceOrigin;
use super::*;

type Writer = UnboundedSender<Result<Bytes, Broken>>;

fn shared(limit: usize) -> (Writer, SharedSource, AnswerSource) {
    let (writer, pieces) = unbounded_channel();
    let source = AnswerSource::of(SourceOrigin::Scripted(pieces));
    let (shared, first) = SharedSource::new(source, limit);
    (writer, shared, first)
}

fn write(writer: &Writer, piece: &'static str) {
    let sent = writer.send(Ok(Bytes::from_static(piece.as_bytes())));
    sent.expect("the source is open");
}

/// Everything up to the end, piece by piece, and how it failed.
async fn rest(mut reader: AnswerSource) -> (Vec<String>, Option<Broken>) {
    let mut pieces = Vec::new();
    while let Some(next) = reader.data().await {
        match next {
            Ok(data) => pieces.push(String::from_utf8(data.to_vec()).expect("text")),
            Err(broken) => return (pieces, Some(broken)),
        }
    }
    (pieces, None)
}

async fn next(reader: &mut AnswerSource) -> String {
    let data = reader.data().await.expect("a piece").expect("no failure");
    String::from_utf8(data.to_vec()).expect("text")
}

#[tokio::test]
async fn late_readers_replay_from_the_start_and_all_get_the_same_pieces() {
    let (writer, shared, mut first) = shared(1 << 20);
    write(&writer, "one");
    assert_eq!(next(&mut first).await, "one");
    let second = shared.join().expect("it can be joined");
    let waiting = tokio::spawn(rest(second));
    write(&writer, "two");
    drop(writer);
    assert_eq!(rest(first).await, (vec!["two".to_owned()], None));
    let all = (vec!["one".to_owned(), "two".to_owned()], None);
    assert_eq!(waiting.await.expect("it ends"), all);
    // It ended whole, so it can still be replayed.
    assert_eq!(rest(shared.join().expect("a replay")).await, all);
}

#[tokio::test]
async fn the_leader_may_leave_while_others_wait() {
    let (writer, shared, mut first) = shared(1 << 20);
    let second = shared.join().expect("it can be joined");
    let waiting = tokio::spawn(rest(second));
    // Each of them waits for the source, the leader as the last that polled it.
    tokio::task::yield_now().await;
    let polled = std::future::poll_fn(|cx| Poll::Ready(first.poll_next(cx).is_pending())).await;
    assert!(polled);
    drop(first);
    write(&writer, "for the second");
    drop(writer);
    let got = waiting.await.expect("it ends");
    assert_eq!(got, (vec!["for the second".to_owned()], None));
}

#[tokio::test]
async fn the_last_reader_that_leaves_closes_the_source() {
    let (writer, shared, first) = shared(1 << 20);
    let second = shared.join().expect("it can be joined");
    drop(first);
    assert!(!writer.is_closed(), "one still reads");
    drop(second);
    assert!(writer.is_closed());
    assert!(shared.join().is_none(), "its rest will never come");
}

#[tokio::test]
async fn a_failure_reaches_every_reader_after_the_pieces_before_it() {
    let (writer, shared, first) = shared(1 << 20);
    let second = shared.join().expect("it can be joined");
    write(&writer, "one");
    writer.send(Err(Broken::new("reset"))).expect("it is open");
    for reader in [first, second] {
        let got = rest(reader).await;
        assert_eq!(got, (vec!["one".to_owned()], Some(Broken::new("reset"))));
    }
    assert!(shared.join().is_none());
}

#[tokio::test]
async fn what_is_kept_is_bounded_and_only_a_reader_that_fell_behind_loses_the_answer() {
    let (writer, shared, mut first) = shared(6);
    let slow = shared.join().expect("it can be joined");
    for piece in ["1234", "5678", "9012"] {
        write(&writer, piece);
        assert_eq!(next(&mut first).await, piece);
    }
    assert!(shared.join().is_none(), "its start is gone");
    assert_eq!(shared.inner.state().size, 4);
    let (pieces, broken) = rest(slow).await;
    assert!(pieces.is_empty() && broken.is_some(), "{pieces:?}");
    write(&writer, "3456");
    drop(writer);
    assert_eq!(rest(first).await, (vec!["3456".to_owned()], None));
}

#[tokio::test]
async fn a_waiting_reader_that_is_never_polled_again_holds_up_nobody() {
    let (writer, shared, mut first) = shared(1 << 20);
    let second = shared.join().expect("it can be joined");
    let waiting = tokio::spawn(rest(second));
    tokio::task::yield_now().await;
    // The first polled last, so that its waker would be the only one that the source knows.
    let pending = std::future::poll_fn(|cx| Poll::Ready(first.poll_next(cx).is_pending())).await;
    assert!(pending);
    write(&writer, "one");
    drop(writer);
    assert_eq!(waiting.await.expect("it ends").0, ["one"]);
    drop(first);
}

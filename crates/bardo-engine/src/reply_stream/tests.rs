use super::*;

fn deadlines() -> Deadlines {
    let minute = Duration::from_secs(60);
    Deadlines {
        header: minute,
        whole_header: minute,
        first_token: minute,
        idle: minute,
        total: minute,
        heartbeat: minute,
    }
}

#[tokio::test]
async fn a_replay_has_the_bytes_and_the_pieces_of_the_first_answer_and_its_figures() {
    let pieces: Vec<Bytes> = [
        ": heartbeat\n\n",
        "data: {\"choices\":",
        "[]}\n\n",
        ": bardo {}\n\ndata: [DONE]\n\n",
    ]
    .map(|piece| Bytes::from_static(piece.as_bytes()))
    .to_vec();
    let figures = Figures {
        mode: bardo_types::receipt::PaymentMode::Owner,
        cost: None,
        savings: None,
        spread: bardo_types::money::MicroUsd::ZERO,
        balance: None,
    };
    let mut replay = ReplyStream::replay(pieces.clone(), Some(figures), deadlines());
    let mut got = Vec::new();
    while let Some(piece) = std::future::poll_fn(|cx| replay.poll_next(cx)).await {
        assert_eq!(replay.figures(), None, "they come at the end");
        got.push(piece);
    }
    assert_eq!(got, pieces);
    assert_eq!(replay.figures(), Some(&figures));
}

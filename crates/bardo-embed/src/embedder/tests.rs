//! The thread, its queue and its failures, with a model that does as the test says.

use std::sync::mpsc::channel;

use super::*;

const LONG: Duration = Duration::from_secs(20);

/// Runs a closure for each text.
struct Scripted<F>(F);

impl<F: FnMut(&str)> Encoder for Scripted<F> {
    fn namespace(&self) -> &str {
        "scripted"
    }

    fn encode(&mut self, text: &str, tokens_max: usize) -> Result<EncodedText, String> {
        (self.0)(text);
        Ok(EncodedText {
            vector: Vector::normalized(vec![1.0, text.len() as f32]).expect("it has a length"),
            tokens: text.len().min(tokens_max),
            cut: text.len() > tokens_max,
        })
    }
}

fn embedder<F, L>(queue_max: usize, load: L) -> Embedder
where
    F: FnMut(&str) + 'static,
    L: Fn() -> Result<F, String> + Send + Sync + 'static,
{
    let load: Load = Arc::new(move || Ok(Box::new(Scripted(load()?)) as Box<dyn Encoder>));
    Embedder::with(ModelSpec::file("scripted", "none".into()), queue_max, load)
}

#[tokio::test]
async fn a_text_becomes_a_vector_of_its_namespace() {
    let embedder = embedder(4, || Ok(|_: &str| ()));
    assert_eq!(embedder.status(), EmbedderStatus::Cold);
    let embedded = embedder
        .embed("four".into(), 3, LONG)
        .await
        .expect("a vector");
    assert_eq!((embedded.tokens, embedded.cut), (3, true));
    assert_eq!(&*embedded.namespace, "scripted/3");
    assert_eq!(embedder.status(), EmbedderStatus::Ready);
}

#[tokio::test]
async fn a_full_queue_is_told_at_once() {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(Some(wait));
    let (began, begin) = channel();
    let embedder = Arc::new(embedder(1, move || {
        let wait = lock(&wait).take().ok_or("loaded twice")?;
        let began = began.clone();
        Ok(move |_: &str| {
            let _ = began.send(());
            let _ = wait.recv();
        })
    }));
    let running = tokio::spawn({
        let embedder = Arc::clone(&embedder);
        async move { embedder.embed("runs".into(), 9, LONG).await }
    });
    let begin = tokio::task::spawn_blocking(move || begin.recv().map(|()| begin));
    let begin = begin
        .await
        .expect("the wait ends")
        .expect("the first text runs");
    let mut queued = Box::pin(embedder.embed("queued".into(), 9, LONG));
    let polled = std::future::poll_fn(|context| {
        std::task::Poll::Ready(queued.as_mut().poll(context).is_pending())
    });
    assert!(polled.await, "the second text waits in the queue");
    let third = embedder.embed("refused".into(), 9, LONG).await;
    assert_eq!(third, Err(Skip::Busy));
    drop(go);
    assert!(running.await.expect("the task ends").is_ok());
    assert!(queued.await.is_ok());
    drop(begin);
}

#[tokio::test]
async fn a_passed_deadline_is_late_and_the_text_is_never_read() {
    let (read, texts) = channel();
    let embedder = embedder(4, move || {
        let read = read.clone();
        Ok(move |text: &str| {
            let _ = read.send(text.to_owned());
        })
    });
    embedder
        .embed("first".into(), 9, LONG)
        .await
        .expect("a vector");
    let late = embedder.embed("late".into(), 9, Duration::ZERO).await;
    assert_eq!(late, Err(Skip::Late));
    embedder
        .embed("last".into(), 9, LONG)
        .await
        .expect("a vector");
    drop(embedder);
    assert_eq!(texts.iter().collect::<Vec<_>>(), ["first", "last"]);
}

#[tokio::test]
async fn a_model_that_still_loads_is_told_apart_from_a_slow_one() {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let embedder = embedder(4, move || {
        let _ = lock(&wait).recv();
        Ok(|_: &str| ())
    });
    let early = embedder.embed("early".into(), 9, Duration::ZERO).await;
    assert_eq!(early, Err(Skip::Loading));
    drop(go);
    assert!(embedder.embed("later".into(), 9, LONG).await.is_ok());
}

#[tokio::test]
async fn a_crash_of_the_thread_is_a_skip_and_a_new_thread_comes_after_a_pause() {
    let embedder = embedder(4, || Ok(|text: &str| assert_ne!(text, "poison")));
    assert!(embedder.embed("good".into(), 9, LONG).await.is_ok());
    let crashed = embedder.embed("poison".into(), 9, LONG).await;
    assert_eq!(crashed, Err(Skip::Crashed));
    // The thread says so itself a moment after its answer was lost.
    while embedder.status() == EmbedderStatus::Ready {
        tokio::task::yield_now().await;
    }
    let resting = embedder.embed("good".into(), 9, LONG).await;
    assert_eq!(resting, Err(Skip::Crashed));
    lock(&embedder.health).rests_until = None;
    assert!(embedder.embed("good".into(), 9, LONG).await.is_ok());
}

#[tokio::test]
async fn a_model_that_cannot_be_loaded_says_why() {
    let embedder = Embedder::new(ModelSpec::file("absent", "/absent.onnx".into()), 4);
    let failed = embedder.embed("text".into(), 9, LONG).await;
    let Err(Skip::Failed(reason)) = failed else {
        panic!("a missing file is a failure: {failed:?}");
    };
    assert!(reason.contains("/absent.onnx"), "{reason}");
    assert_eq!(
        embedder.status(),
        EmbedderStatus::Resting(Skip::Failed(reason))
    );
}

#[test]
fn pauses_double_up_to_five_minutes() {
    let mut health = Health {
        status: EmbedderStatus::Cold,
        rests_until: None,
        pause: PAUSE_FIRST,
    };
    for _ in 0..20 {
        health.rest(Skip::Crashed);
    }
    assert_eq!(health.pause, PAUSE_MAX);
}

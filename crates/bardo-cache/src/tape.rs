//! An answer as it flows: one writes, many read, each from the beginning and at its own pace.
//!
//! No runtime is needed: a reader waits by [`std::task::Waker`]. Slow readers never slow the writer
//! down; the tape keeps all items until the last reader left, up to a limit in bytes.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The items of one answer, in order.
#[derive(Debug)]
pub struct Tape<E> {
    state: Mutex<State<E>>,
    most_bytes: usize,
}

#[derive(Debug)]
struct State<E> {
    items: Vec<E>,
    bytes: usize,
    end: Option<End>,
    /// One place per reader; `None`: not waiting, or gone.
    waiting: Vec<Option<Waker>>,
    free: Vec<usize>,
}

/// How a tape ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All items are there.
    Complete,
    /// The writer failed or was dropped. The items so far are a part of an answer.
    Failed,
    /// The answer is longer than the tape may be.
    TooLong,
}

/// What a reader gets next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<E> {
    /// The next item.
    Item(E),
    /// Nothing follows.
    End(End),
}

/// The writing end. Dropping it without [`Writer::complete`] fails the tape.
#[derive(Debug)]
pub struct Writer<E>(Arc<Tape<E>>);

/// A reading end, at its own place in the tape.
#[derive(Debug)]
pub struct Reader<E> {
    tape: Arc<Tape<E>>,
    at: usize,
    place: usize,
}

impl<E> Tape<E> {
    /// An empty tape of up to `most_bytes`, and its only writer.
    #[must_use]
    pub fn new(most_bytes: usize) -> (Arc<Self>, Writer<E>) {
        let tape = Arc::new(Self {
            state: Mutex::new(State {
                items: Vec::new(),
                bytes: 0,
                end: None,
                waiting: Vec::new(),
                free: Vec::new(),
            }),
            most_bytes,
        });
        let writer = Writer(Arc::clone(&tape));
        (tape, writer)
    }

    /// A reader that begins with the first item.
    #[must_use]
    pub fn reader(self: &Arc<Self>) -> Reader<E> {
        let mut state = self.lock();
        let place = state.free.pop().unwrap_or_else(|| {
            state.waiting.push(None);
            state.waiting.len() - 1
        });
        Reader {
            tape: Arc::clone(self),
            at: 0,
            place,
        }
    }

    /// Items so far, and how the tape ended where it did.
    #[must_use]
    pub fn progress(&self) -> (usize, Option<End>) {
        let state = self.lock();
        (state.items.len(), state.end)
    }

    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, end: End) {
        let mut state = self.lock();
        if state.end.is_none() {
            state.end = Some(end);
            wake(state);
        }
    }
}

/// Wakes all readers, after the lock is gone.
fn wake<E>(mut state: MutexGuard<'_, State<E>>) {
    let waiting: Vec<Waker> = state.waiting.iter_mut().filter_map(Option::take).collect();
    drop(state);
    waiting.into_iter().for_each(Waker::wake);
}

impl<E> Writer<E> {
    /// Appends an item of so many bytes. `false`: the tape had ended, or ends here, for it would be
    /// too long.
    pub fn push(&self, item: E, bytes: usize) -> bool {
        let mut state = self.0.lock();
        if state.end.is_some() {
            return false;
        }
        state.bytes = state.bytes.saturating_add(bytes);
        let fits = state.bytes <= self.0.most_bytes;
        if fits {
            state.items.push(item);
        } else {
            state.end = Some(End::TooLong);
        }
        wake(state);
        fits
    }

    /// Ends the tape: all items are there.
    pub fn complete(self) {
        self.0.end(End::Complete);
    }

    /// The tape that is written.
    #[must_use]
    pub const fn tape(&self) -> &Arc<Tape<E>> {
        &self.0
    }
}

impl<E> Drop for Writer<E> {
    fn drop(&mut self) {
        self.0.end(End::Failed);
    }
}

impl<E: Clone> Reader<E> {
    /// The next item, once it is there. Safe to drop while it waits.
    pub async fn next(&mut self) -> Next<E> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The next item, or a promise to wake when it is there.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Next<E>> {
        let mut state = self.tape.lock();
        if let Some(item) = state.items.get(self.at) {
            self.at += 1;
            return Poll::Ready(Next::Item(item.clone()));
        }
        if let Some(end) = state.end {
            return Poll::Ready(Next::End(end));
        }
        let waiting = &mut state.waiting[self.place];
        match waiting {
            Some(waker) if waker.will_wake(context.waker()) => {}
            _ => *waiting = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// Items that this reader took.
    #[must_use]
    pub const fn taken(&self) -> usize {
        self.at
    }
}

impl<E> Drop for Reader<E> {
    fn drop(&mut self) {
        let mut state = self.tape.lock();
        state.waiting[self.place] = None;
        state.free.push(self.place);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll(reader: &mut Reader<u32>, woken: &Arc<Woken>) -> Poll<Next<u32>> {
        let waker = Waker::from(Arc::clone(woken));
        reader.poll_next(&mut Context::from_waker(&waker))
    }

    #[test]
    fn every_reader_gets_all_items_from_the_beginning() {
        let woken = Arc::new(Woken::default());
        let (tape, writer) = Tape::new(100);
        let mut early = tape.reader();
        assert_eq!(poll(&mut early, &woken), Poll::Pending);
        assert!(writer.push(1, 10));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        let mut late = tape.reader();
        assert!(writer.push(2, 10));
        writer.complete();
        for reader in [&mut early, &mut late] {
            assert_eq!(poll(reader, &woken), Poll::Ready(Next::Item(1)));
            assert_eq!(poll(reader, &woken), Poll::Ready(Next::Item(2)));
            assert_eq!(poll(reader, &woken), Poll::Ready(Next::End(End::Complete)));
        }
        assert_eq!(early.taken(), 2);
    }

    #[test]
    fn a_writer_that_goes_fails_the_tape_after_what_it_wrote() {
        let woken = Arc::new(Woken::default());
        let (tape, writer) = Tape::new(100);
        let mut reader = tape.reader();
        writer.push(1, 1);
        drop(writer);
        assert_eq!(poll(&mut reader, &woken), Poll::Ready(Next::Item(1)));
        assert_eq!(
            poll(&mut reader, &woken),
            Poll::Ready(Next::End(End::Failed))
        );
        assert_eq!(tape.progress(), (1, Some(End::Failed)));
    }

    #[test]
    fn a_waiting_reader_is_woken_by_the_end() {
        let woken = Arc::new(Woken::default());
        let (tape, writer) = Tape::<u32>::new(100);
        let mut reader = tape.reader();
        assert_eq!(poll(&mut reader, &woken), Poll::Pending);
        drop(writer);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_tape_ends_where_it_would_be_too_long() {
        let woken = Arc::new(Woken::default());
        let (tape, writer) = Tape::new(10);
        let mut reader = tape.reader();
        assert!(writer.push(1, 10));
        assert!(!writer.push(2, 1));
        assert!(!writer.push(3, 0), "nothing follows an end");
        assert_eq!(poll(&mut reader, &woken), Poll::Ready(Next::Item(1)));
        assert_eq!(
            poll(&mut reader, &woken),
            Poll::Ready(Next::End(End::TooLong))
        );
    }

    #[test]
    fn a_reader_that_goes_leaves_its_place_to_the_next_and_is_not_woken() {
        let (one, two) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
        let (tape, writer) = Tape::new(10);
        let mut gone = tape.reader();
        assert_eq!(poll(&mut gone, &one), Poll::Pending);
        drop(gone);
        let mut next = tape.reader();
        assert_eq!(poll(&mut next, &two), Poll::Pending);
        writer.push(1, 1);
        assert_eq!(one.0.load(Ordering::Relaxed), 0);
        assert_eq!(two.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_thousand_readers_on_other_threads_read_the_same() {
        let (tape, writer) = Tape::new(1 << 20);
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..8)
                .map(|_| {
                    let mut readers: Vec<_> = (0..125).map(|_| tape.reader()).collect();
                    scope.spawn(move || {
                        let sum = |reader: &mut Reader<u32>| {
                            let woken = Arc::new(Woken::default());
                            let mut sum = 0;
                            loop {
                                match poll(reader, &woken) {
                                    Poll::Ready(Next::Item(item)) => sum += item,
                                    Poll::Ready(Next::End(End::Complete)) => return sum,
                                    Poll::Ready(Next::End(end)) => panic!("{end:?}"),
                                    Poll::Pending => std::thread::yield_now(),
                                }
                            }
                        };
                        readers.iter_mut().map(sum).collect::<Vec<u32>>()
                    })
                })
                .collect();
            for item in 1..=100 {
                assert!(writer.push(item, 4));
            }
            writer.complete();
            for reader in readers {
                assert!(reader.join().unwrap().iter().all(|&sum| sum == 5_050));
            }
        });
    }
}

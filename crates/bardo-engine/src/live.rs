//! One answer while it is made, event by event: for the cache that stores it, and for the requests
//! that wait for the same answer.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use bardo_types::Degradation;
use bardo_types::chat::StreamEvent;
use bardo_types::privacy::SecurityClass;

use crate::source::Broken;

/// Where an answer comes from.
#[derive(Debug, Clone)]
pub(crate) struct AnswerOrigin {
    /// The model that answers, by the catalog's name.
    pub(crate) model: Arc<str>,
    /// The backend that answers.
    pub(crate) backend: Arc<str>,
    /// How well the answer has to be kept.
    pub(crate) class: SecurityClass,
    /// What the answer lacks.
    pub(crate) degraded: Vec<Degradation>,
}

/// An answer that is being made.
pub(crate) struct LiveAnswer {
    state: Mutex<LiveState>,
    waiting: Arc<WakerList>,
}

#[derive(Default)]
struct LiveState {
    origin: Option<Arc<AnswerOrigin>>,
    events: Vec<StreamEvent>,
    /// Another backend can no longer take the place of the one that answers.
    is_begun: bool,
    end: Option<Result<(), Broken>>,
}

/// What comes next of a live answer.
pub(crate) enum LiveNext {
    /// The next event.
    Event(StreamEvent),
    /// The answer is over.
    End(Result<(), Broken>),
    /// There is no news yet.
    Nothing,
}

impl LiveAnswer {
    /// An answer of which there is nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::default(),
            waiting: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The requests that wait for news.
    pub(crate) fn waiting(&self) -> &Arc<WakerList> {
        &self.waiting
    }

    /// A backend begins to answer. What an earlier one wrote does not count, since it gave nothing
    /// that a caller got.
    pub(crate) fn comes_from(&self, origin: AnswerOrigin) {
        let mut state = self.state();
        if !state.is_begun {
            state.events.clear();
            state.origin = Some(Arc::new(origin));
        }
    }

    /// Takes the next events out of `events`. What stands behind a failure is dropped.
    pub(crate) fn push(&self, events: &mut Vec<StreamEvent>) {
        if events.is_empty() {
            return;
        }
        let mut state = self.state();
        if state.end.is_some() {
            events.clear();
            return;
        }
        let failure = events
            .iter()
            .position(|event| matches!(event, StreamEvent::Failed(_)));
        if state.is_begun {
            state.end = match failure.map(|at| &events[at]) {
                Some(StreamEvent::Failed(fault)) => Some(Err(Broken::new(&fault.message))),
                _ => events.contains(&StreamEvent::Done).then_some(Ok(())),
            };
        }
        events.truncate(failure.unwrap_or(events.len()));
        state.events.append(events);
        drop(state);
        self.waiting.wake_all();
    }

    /// The answer will be delivered: those that wait may have what is there.
    pub(crate) fn begin(&self) {
        let mut state = self.state();
        state.is_begun = true;
        if matches!(state.events.last(), Some(StreamEvent::Done)) {
            state.end = Some(Ok(()));
        }
        drop(state);
        self.waiting.wake_all();
    }

    /// Nothing more comes. An answer that is complete stays so.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        let broken = || Err(Broken::new("the request that made the answer ended early"));
        state.end.get_or_insert_with(broken);
        drop(state);
        self.waiting.wake_all();
    }

    /// The event with this number, counted from 0.
    pub(crate) fn next(&self, number: usize) -> LiveNext {
        let state = self.state();
        if !state.is_begun {
            return match &state.end {
                Some(Err(broken)) => LiveNext::End(Err(broken.clone())),
                Some(Ok(())) | None => LiveNext::Nothing,
            };
        }
        match (state.events.get(number), &state.end) {
            (Some(event), _) => LiveNext::Event(event.clone()),
            (None, Some(end)) => LiveNext::End(end.clone()),
            (None, None) => LiveNext::Nothing,
        }
    }

    /// Where the answer comes from, once it will be delivered; an error where none will be.
    pub(crate) fn begun(&self) -> Option<Result<Arc<AnswerOrigin>, ()>> {
        let state = self.state();
        match (&state.origin, &state.end) {
            (Some(origin), _) if state.is_begun => Some(Ok(Arc::clone(origin))),
            (_, Some(_)) => Some(Err(())),
            (_, None) => None,
        }
    }

    /// The whole answer and where it came from; `None` where it is not complete.
    pub(crate) fn complete(&self) -> Option<(Arc<AnswerOrigin>, Vec<StreamEvent>)> {
        self.read_complete(|origin, events| (Arc::clone(origin), events.to_vec()))
    }

    /// Reads the whole answer in its place; `None` where it is not complete.
    pub(crate) fn read_complete<T>(
        &self,
        read: impl FnOnce(&Arc<AnswerOrigin>, &[StreamEvent]) -> T,
    ) -> Option<T> {
        let state = self.state();
        match (&state.origin, &state.end) {
            (Some(origin), Some(Ok(()))) => Some(read(origin, &state.events)),
            _ => None,
        }
    }
}

/// Those that wait for one answer, by their numbers. All of them are woken together.
#[derive(Default)]
pub(crate) struct WakerList(Mutex<Wakers>);

/// Most answers are waited for by one request, which needs no room of its own.
#[derive(Default)]
struct Wakers {
    first: Option<(u64, Waker)>,
    others: BTreeMap<u64, Waker>,
}

impl WakerList {
    fn all(&self) -> MutexGuard<'_, Wakers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes `waker` at the next news.
    pub(crate) fn insert(&self, number: u64, waker: &Waker) {
        let mut all = self.all();
        let all = &mut *all;
        match &mut all.first {
            Some((first, known)) if *first == number => known.clone_from(waker),
            None => all.first = Some((number, waker.clone())),
            Some(_) => match all.others.entry(number) {
                Entry::Occupied(mut known) => known.get_mut().clone_from(waker),
                Entry::Vacant(free) => {
                    free.insert(waker.clone());
                }
            },
        }
    }

    /// Wakes every request that waits.
    pub(crate) fn wake_all(&self) {
        let all = std::mem::take(&mut *self.all());
        all.first.into_iter().for_each(|(_, first)| first.wake());
        all.others.into_values().for_each(Waker::wake);
    }

    /// Forgets one that left.
    pub(crate) fn remove(&self, number: u64) {
        let mut all = self.all();
        all.first.take_if(|(first, _)| *first == number);
        all.others.remove(&number);
    }
}

impl Wake for WakerList {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use bardo_types::fault::{Fault, FaultClass};

    use super::*;

    fn origin(model: &str) -> AnswerOrigin {
        AnswerOrigin {
            model: model.into(),
            backend: "b".into(),
            class: SecurityClass::Standard,
            degraded: Vec::new(),
        }
    }

    fn text(text: &str) -> StreamEvent {
        StreamEvent::Text {
            choice: 0,
            text: text.to_owned(),
        }
    }

    #[test]
    fn what_a_backend_wrote_before_another_took_its_place_reaches_nobody() {
        let live = LiveAnswer::new();
        live.comes_from(origin("first"));
        let failed = Fault::new(FaultClass::Server, "no");
        live.push(&mut vec![text("lost"), StreamEvent::Failed(failed)]);
        assert!(matches!(live.next(0), LiveNext::Nothing));
        live.comes_from(origin("second"));
        live.push(&mut vec![text("kept")]);
        assert!(live.begun().is_none());
        live.begin();
        assert!(matches!(live.next(0), LiveNext::Event(event) if event == text("kept")));
        live.push(&mut vec![StreamEvent::Done]);
        let (from, events) = live.complete().expect("a whole answer");
        assert_eq!((&*from.model, events.len()), ("second", 2));
    }

    #[test]
    fn an_answer_that_breaks_off_is_never_complete() {
        for is_told in [true, false] {
            let live = LiveAnswer::new();
            live.comes_from(origin("m"));
            live.push(&mut vec![text("half")]);
            live.begin();
            if is_told {
                let failed = Fault::new(FaultClass::Server, "no");
                live.push(&mut vec![StreamEvent::Failed(failed), StreamEvent::Done]);
            }
            live.close();
            assert!(matches!(live.next(0), LiveNext::Event(_)));
            assert!(matches!(live.next(1), LiveNext::End(Err(_))));
            assert!(live.complete().is_none());
        }
    }

    #[test]
    fn closing_a_complete_answer_changes_nothing() {
        let live = LiveAnswer::new();
        live.comes_from(origin("m"));
        live.push(&mut vec![text("all"), StreamEvent::Done]);
        live.begin();
        live.close();
        assert!(live.complete().is_some());
        assert!(matches!(live.next(2), LiveNext::End(Ok(()))));
    }
}

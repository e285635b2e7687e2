//! One answer while it is made, event by event: for the cache that stores it, and for the requests
//! that wait for the same answer.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use bardo_types::Degradation;
use bardo_types::chat::StreamEvent;
use bardo_types::model::Price;
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
    /// The price that it is billed by; `None` where it is not billed.
    pub(crate) price: Option<Price>,
    /// A cap of the caller that made it may end it early.
    pub(crate) is_capped: bool,
}

/// Bytes of an answer that requests follow, beyond which they are freed: nothing else bounds it.
const FOLLOWED_MOST: usize = 32 << 20;

/// An answer that is being made.
pub(crate) struct LiveAnswer {
    state: Mutex<LiveState>,
    /// Requests that read it beside the one that makes it.
    followers: AtomicUsize,
    /// Bytes above which it is kept for followers alone: no entry of the cache is so large.
    most: AtomicUsize,
    waiting: Arc<WakerList>,
}

#[derive(Default)]
struct LiveState {
    origin: Option<Arc<AnswerOrigin>>,
    events: Vec<StreamEvent>,
    /// Bytes of their texts, and two for each event: less than any form in which they are stored.
    bytes: usize,
    /// The answer is too large to be stored, and is no longer in memory.
    is_overgrown: bool,
    /// Another backend can no longer take the place of the one that answers.
    is_begun: bool,
    /// Nothing more comes.
    is_closed: bool,
    end: Option<Result<(), Broken>>,
}

impl LiveState {
    fn finish(&mut self) {
        if matches!(self.events.last(), Some(StreamEvent::Done)) {
            self.end = Some(Ok(()));
        }
    }
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
            followers: AtomicUsize::new(0),
            most: AtomicUsize::new(usize::MAX),
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

    /// Wakes the followers, for whom there is news. Each counts itself before it looks for news, so
    /// without one the list needs no look.
    pub(crate) fn tell_followers(&self) {
        if self.followers.load(Ordering::Relaxed) > 0 {
            self.waiting.tell_followers();
        }
    }

    /// Keeps at most so many bytes of an answer that nobody follows.
    pub(crate) fn keep_at_most(&self, bytes: usize) {
        self.most.store(bytes, Ordering::Relaxed);
    }

    /// Another request reads it; false where it is not kept any more.
    pub(crate) fn followed(&self) -> bool {
        let state = self.state();
        if state.is_overgrown {
            return false;
        }
        self.followers.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// A request that read it has left.
    pub(crate) fn unfollowed(&self) {
        self.followers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether it was too large to be kept.
    pub(crate) fn is_overgrown(&self) -> bool {
        self.state().is_overgrown
    }

    /// A backend begins to answer. What an earlier one wrote does not count, since it gave nothing
    /// that a caller got.
    pub(crate) fn comes_from(&self, origin: AnswerOrigin) {
        let mut state = self.state();
        if !state.is_begun {
            state.events.clear();
            state.bytes = 0;
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
        state.bytes += events.iter().map(weight).sum::<usize>();
        if state.events.is_empty() {
            std::mem::swap(&mut state.events, events);
        } else {
            state.events.append(events);
        }
        let is_followed = self.followers.load(Ordering::Relaxed) > 0;
        let most = match is_followed {
            true => FOLLOWED_MOST,
            false => self.most.load(Ordering::Relaxed),
        };
        if state.bytes > most {
            state.is_overgrown = true;
            state.events = Vec::new();
            state.end = Some(Err(Broken::new("the answer is too large for an entry")));
        }
        drop(state);
        self.tell_followers();
    }

    /// The answer is delivered: those that wait may have what is there.
    pub(crate) fn begin(&self) {
        let mut state = self.state();
        state.finish();
        state.is_begun = true;
        drop(state);
        self.tell_followers();
    }

    /// All of it is there. Those that wait may have it once it begins, when its charge is stored.
    pub(crate) fn finish(&self) {
        self.state().finish();
    }

    /// Nothing more comes. An answer that is complete stays so, but reaches nobody where it has not
    /// begun.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.end.get_or_insert_with(|| Err(ended_early()));
        drop(state);
        self.tell_followers();
    }

    /// The event with this number, counted from 0.
    pub(crate) fn next(&self, number: usize) -> LiveNext {
        let state = self.state();
        if !state.is_begun {
            return match &state.end {
                Some(Err(broken)) => LiveNext::End(Err(broken.clone())),
                Some(Ok(())) if state.is_closed => LiveNext::End(Err(ended_early())),
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
            // It broke before anything of it was read here.
            (_, Some(Err(_))) => Some(Err(())),
            (Some(origin), _) if state.is_begun => Some(Ok(Arc::clone(origin))),
            (_, Some(Ok(()))) if state.is_closed => Some(Err(())),
            (_, Some(Ok(())) | None) => None,
        }
    }

    /// Whether those that join now may get all of it. What broke after it began gives its beginning
    /// to nobody else. What is over is in the store, or is not to be served again.
    pub(crate) fn may_be_whole(&self) -> bool {
        let state = self.state();
        match &state.end {
            None => true,
            Some(Ok(())) => !state.is_closed,
            Some(Err(_)) => false,
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

/// Bytes that an event takes at least where it is stored.
fn weight(event: &StreamEvent) -> usize {
    let text = match event {
        StreamEvent::Text { text, .. }
        | StreamEvent::Reasoning { text, .. }
        | StreamEvent::Refusal { text, .. } => text.len(),
        StreamEvent::ToolInput { fragment, .. } => fragment.len(),
        _ => 0,
    };
    text + 2
}

fn ended_early() -> Broken {
    Broken::new("the request that made the answer ended early")
}

/// Those that wait for one answer: the leader that makes it, and the followers by their numbers.
#[derive(Default)]
pub(crate) struct WakerList(Mutex<Wakers>);

#[derive(Default)]
struct Wakers {
    leader: Option<Waker>,
    followers: BTreeMap<u64, Waker>,
}

/// Who waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlightSeat {
    /// The request that makes it.
    Leader,
    /// A request that reads it.
    Follower(u64),
}

impl WakerList {
    fn all(&self) -> MutexGuard<'_, Wakers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes `waker` when the work can go on, and a follower at the next news too.
    pub(crate) fn insert(&self, who: FlightSeat, waker: &Waker) {
        let mut all = self.all();
        match who {
            FlightSeat::Leader => match &mut all.leader {
                Some(known) => known.clone_from(waker),
                empty => *empty = Some(waker.clone()),
            },
            FlightSeat::Follower(number) => match all.followers.entry(number) {
                Entry::Occupied(mut known) => known.get_mut().clone_from(waker),
                Entry::Vacant(free) => {
                    free.insert(waker.clone());
                }
            },
        }
    }

    /// Wakes the followers. The leader has the news from its work.
    fn tell_followers(&self) {
        let followers = std::mem::take(&mut self.all().followers);
        followers.into_values().for_each(Waker::wake);
    }

    /// Wakes every request that waits.
    pub(crate) fn wake_all(&self) {
        let Wakers { leader, followers } = std::mem::take(&mut *self.all());
        leader.into_iter().for_each(Waker::wake);
        followers.into_values().for_each(Waker::wake);
    }

    /// Forgets one that left.
    pub(crate) fn remove(&self, who: FlightSeat) {
        let mut all = self.all();
        match who {
            FlightSeat::Leader => all.leader = None,
            FlightSeat::Follower(number) => {
                all.followers.remove(&number);
            }
        }
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
            price: None,
            is_capped: false,
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
    fn an_answer_that_is_there_and_was_not_delivered_is_complete_and_reaches_nobody() {
        let live = LiveAnswer::new();
        live.comes_from(origin("m"));
        live.push(&mut vec![text("all"), StreamEvent::Done]);
        live.finish();
        assert!(live.begun().is_none(), "its charge is not stored yet");
        assert!(matches!(live.next(0), LiveNext::Nothing));
        assert!(live.complete().is_some());
        live.close();
        assert!(matches!(live.begun(), Some(Err(()))));
        assert!(matches!(live.next(0), LiveNext::End(Err(_))));
        assert!(live.complete().is_some(), "it may still be stored");
    }

    #[test]
    fn an_answer_too_large_to_be_stored_is_kept_for_followers_alone() {
        for is_followed in [false, true] {
            let live = LiveAnswer::new();
            live.keep_at_most(8);
            live.comes_from(origin("m"));
            live.begin();
            assert!(!is_followed || live.followed());
            live.push(&mut vec![text("123")]);
            assert!(!live.is_overgrown());
            live.push(&mut vec![text("456"), StreamEvent::Done]);
            assert_eq!(live.is_overgrown(), !is_followed);
            assert_eq!(live.complete().is_some(), is_followed);
            assert_eq!(live.followed(), is_followed, "nobody may begin to read it");
            assert_eq!(matches!(live.begun(), Some(Ok(_))), is_followed);
        }
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

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn news_wakes_followers_and_work_wakes_all() {
        let live = LiveAnswer::new();
        let all = [
            FlightSeat::Leader,
            FlightSeat::Follower(0),
            FlightSeat::Follower(1),
        ];
        let woken = all.map(|who| {
            assert!(who == FlightSeat::Leader || live.followed());
            let woken = Arc::new(Woken::default());
            live.waiting().insert(who, &Arc::clone(&woken).into());
            woken
        });
        let counts = || {
            woken
                .each_ref()
                .map(|woken| woken.0.load(Ordering::Relaxed))
        };
        live.begin();
        assert_eq!(counts(), [0, 1, 1]);
        // Nobody is woken twice for one registration.
        live.push(&mut vec![text("more")]);
        assert_eq!(counts(), [0, 1, 1]);
        let again = Arc::clone(&woken[2]).into();
        live.waiting().insert(FlightSeat::Follower(1), &again);
        Waker::from(Arc::clone(live.waiting())).wake();
        assert_eq!(counts(), [1, 1, 2]);
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

    #[test]
    fn what_broke_before_it_was_read_frees_who_waits_also_after_it_began() {
        let live = LiveAnswer::new();
        live.comes_from(origin("m"));
        live.begin();
        live.close();
        assert!(matches!(live.begun(), Some(Err(()))));
    }

    #[test]
    fn what_is_over_is_joined_no_more() {
        let live = LiveAnswer::new();
        live.comes_from(origin("m"));
        live.push(&mut vec![text("a"), StreamEvent::Done]);
        live.begin();
        assert!(live.may_be_whole());
        live.close();
        assert!(!live.may_be_whole());
        assert!(
            live.begun().is_some_and(|begun| begun.is_ok()),
            "who waits has it"
        );
    }
}

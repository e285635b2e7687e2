//! Identical requests at the same time share one call of a provider.
//!
//! The first one leads: its work, from the screens to its last byte, lies in a [`Flight`]. The others
//! follow: they read what the leader's answer says, event by event, as it is made. There is no task:
//! whoever is polled works for all. A leader that leaves hands its work on to the followers and is
//! settled as any request; the work is dropped when the last of them has left. Followers of a leader
//! that failed are free again: one of them leads next, then two, then four, so a failing
//! provider is called by few at a time and nobody waits for ever.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use bardo_cache::key::Key;
use bardo_types::chat::StreamEvent;
use bytes::Bytes;
use hashbrown::HashMap;

use crate::answer::{Answer, AnswerBody, AnswerStream};
use crate::call::Call;
use crate::error::EngineError;
use crate::head::{AnswerHead, Figures};
use crate::live::{AnswerOrigin, FlightSeat, LiveAnswer, LiveNext};
use crate::received::Payer;
use crate::reply_stream::ReplyStream;
use crate::sent_mark::SentMark;
use crate::source::{Broken, Piece, PieceSource};

/// Rounds after which the number of leaders doubles no more.
const ROUNDS_MAX: u32 = 12;

/// The work of a leader: its request from the screens on.
pub(crate) type LeadersWork =
    Pin<Box<dyn Future<Output = Result<Answer, EngineError>> + Send + 'static>>;

/// The answers that are being made, by the keys of their requests.
#[derive(Clone, Default)]
pub(crate) struct FlightBoard(Arc<Mutex<FlightsByKey>>);

#[derive(Default)]
struct FlightsByKey {
    keys: HashMap<Key, FlightsOfKey>,
    /// Flights so far, of all keys.
    begun: u64,
}

#[derive(Default)]
struct FlightsOfKey {
    flights: Vec<Weak<Flight>>,
    /// The number of the last flight among all, from 1.
    last: u64,
    /// The highest round of a request for this key.
    round: u32,
    /// Seats given out, to spread followers over several leaders.
    seats: usize,
}

/// What a request brings to the answer that it makes for others.
pub(crate) struct FlightTerms {
    /// Flushes of the process when the request was looked up.
    pub(crate) flushes: u64,
    /// Whose balance and caps limit the answer.
    pub(crate) payer: Payer,
    /// The session, which may have a cap of its own.
    pub(crate) session: Option<Arc<str>>,
}

impl FlightTerms {
    /// Whether the same balance and caps limit a request with the same key of the cache.
    fn have_the_caps_of(&self, call: &Call) -> bool {
        let counted_as = |payer: &Payer| match payer {
            Payer::Owner => None,
            Payer::Prepaid(terms) => Some(terms.counted_as.clone()),
        };
        self.session == call.hints().session
            && counted_as(&self.payer) == counted_as(&call.principal().payer)
    }
}

/// What a request does about an answer that others may be waiting for.
pub(crate) enum Boarding {
    /// The request makes the answer.
    Lead(FlightTicket),
    /// The request reads the answer that another one makes.
    Follow(Follower),
}

/// The right, and the duty, to make the answer for a key. Dropped, it frees those that follow.
pub(crate) struct FlightTicket(LeadSeat);

/// One answer that is being made, with those that read it.
pub(crate) struct Flight {
    live: Arc<LiveAnswer>,
    board: FlightBoard,
    key: Key,
    round: u32,
    terms: FlightTerms,
    cabin: Mutex<Cabin>,
}

struct Cabin {
    work: FlightWork,
    has_leader: bool,
    followers: usize,
    next_number: u64,
    /// The leader's bytes that followers have pumped.
    bytes: VecDeque<Bytes>,
    /// What the headers of the leader's stream say, until it takes them.
    head: Option<Box<AnswerHead>>,
    figures: Option<Figures>,
}

enum FlightWork {
    /// The leader has not begun.
    Idle,
    /// There is no answer yet.
    Answering(LeadersWork),
    /// A whole answer, or an error, until the leader takes it.
    Answered(Result<Answer, EngineError>),
    /// The answer flows.
    Flowing(Box<ReplyStream>),
    Over,
}

impl FlightBoard {
    fn all(&self) -> MutexGuard<'_, FlightsByKey> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a request that makes the same answer, or makes this one the leader. `round` counts the
    /// leaders that this request has seen fail. An answer is shared only while `is_current` says so
    /// of the flushes that it began with.
    pub(crate) fn board(
        &self,
        key: Key,
        round: u32,
        terms: impl Fn() -> FlightTerms,
        is_current: impl Fn(u64) -> bool,
    ) -> Boarding {
        loop {
            // The lock is not held while flights are looked at: the last hold on a flight takes it,
            // and the cabin of a flight is locked while its leader is polled.
            let seen = match self.look(key, round, &terms) {
                BoardLook::Flights(seen) => seen,
                BoardLook::Leads(ticket) => return Boarding::Lead(ticket),
            };
            let open: Vec<&Arc<Flight>> = seen
                .flights
                .iter()
                .filter(|flight| flight.is_open() && is_current(flight.terms.flushes))
                .collect();
            if open.len() >= 1_usize << seen.round.saturating_sub(1) {
                let followed = (0..open.len())
                    .map(|step| open[(seen.seat + step) % open.len()])
                    .find_map(Follower::of);
                if let Some(follower) = followed {
                    return Boarding::Follow(follower);
                }
            }
            if let Some(ticket) = self.lead(key, &seen, &terms) {
                return Boarding::Lead(ticket);
            }
        }
    }

    /// The flights of a key, and where the next follower sits. Where there is none, a new one
    /// begins.
    fn look(&self, key: Key, round: u32, terms: impl Fn() -> FlightTerms) -> BoardLook {
        let mut all = self.all();
        let of_key = all.keys.entry(key).or_default();
        of_key.round = of_key.round.max(round).min(ROUNDS_MAX);
        of_key.seats = of_key.seats.wrapping_add(1);
        let seen = SeenFlights {
            flights: of_key.flights.iter().filter_map(Weak::upgrade).collect(),
            last: of_key.last,
            round: of_key.round,
            seat: of_key.seats,
        };
        if seen.flights.is_empty() {
            return BoardLook::Leads(self.begin(&mut all, key, seen.round, terms()));
        }
        BoardLook::Flights(seen)
    }

    /// A new flight; `None` if another one has begun since its key was looked at.
    fn lead(
        &self,
        key: Key,
        seen: &SeenFlights,
        terms: impl Fn() -> FlightTerms,
    ) -> Option<FlightTicket> {
        let mut all = self.all();
        if all.keys.get(&key).map_or(0, |of_key| of_key.last) != seen.last {
            return None;
        }
        Some(self.begin(&mut all, key, seen.round, terms()))
    }

    fn begin(
        &self,
        all: &mut FlightsByKey,
        key: Key,
        round: u32,
        terms: FlightTerms,
    ) -> FlightTicket {
        let flight = Arc::new(Flight {
            live: Arc::new(LiveAnswer::new()),
            board: self.clone(),
            key,
            round,
            terms,
            cabin: Mutex::new(Cabin {
                work: FlightWork::Idle,
                has_leader: true,
                followers: 0,
                next_number: 0,
                bytes: VecDeque::new(),
                head: None,
                figures: None,
            }),
        });
        all.begun += 1;
        let of_key = all.keys.entry(key).or_default();
        of_key.last = all.begun;
        of_key.flights.push(Arc::downgrade(&flight));
        FlightTicket(LeadSeat {
            flight,
            figures: None,
            sent: SentMark::default(),
        })
    }

    /// Forgets flights that are over.
    fn tidy(&self, key: Key) {
        let mut all = self.all();
        if let Some(of_key) = all.keys.get_mut(&key) {
            of_key.flights.retain(|flight| flight.strong_count() > 0);
            if of_key.flights.is_empty() {
                all.keys.remove(&key);
            }
        }
    }
}

/// What a look at the board came to.
enum BoardLook {
    /// There are flights of the key.
    Flights(SeenFlights),
    /// There are none, and the request leads a new one.
    Leads(FlightTicket),
}

/// What the board showed of a key.
struct SeenFlights {
    flights: Vec<Arc<Flight>>,
    last: u64,
    round: u32,
    seat: usize,
}

impl FlightTicket {
    /// Where the work notes what it makes.
    pub(crate) fn live(&self) -> &Arc<LiveAnswer> {
        &self.0.flight.live
    }

    /// Makes the answer, for this request and for those that follow. `sent` notes whether that may
    /// have been done.
    ///
    /// # Errors
    /// As the work ends.
    pub(crate) async fn lead(
        self,
        work: LeadersWork,
        sent: SentMark,
    ) -> Result<Answer, EngineError> {
        let mut seat = self.0;
        seat.sent = sent;
        seat.flight.cabin().work = FlightWork::Answering(work);
        let answered = std::future::poll_fn(|cx| seat.flight.poll_answer(cx)).await;
        match answered {
            LeadersAnswer::Begun(head) => Ok(Answer {
                head,
                body: AnswerBody::Stream(AnswerStream::Led(seat)),
            }),
            LeadersAnswer::Ended(answer) => answer,
        }
    }
}

enum LeadersAnswer {
    Begun(Box<AnswerHead>),
    Ended(Result<Answer, EngineError>),
}

impl Flight {
    fn cabin(&self) -> MutexGuard<'_, Cabin> {
        self.cabin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The provider answers again: one request at a time leads from here on.
    fn succeeded(&self) {
        if self.round > 0
            && let Some(of_key) = self.board.all().keys.get_mut(&self.key)
        {
            of_key.round = 0;
        }
    }

    /// Whether the answer may still come, or has come.
    fn is_open(&self) -> bool {
        self.live.may_be_whole()
    }

    /// Works on the answer once, for all; says whether there may be news.
    fn work(&self, cabin: &mut Cabin) -> bool {
        let waker = Waker::from(Arc::clone(self.live.waiting()));
        let mut cx = Context::from_waker(&waker);
        match &mut cabin.work {
            FlightWork::Answering(work) => match work.as_mut().poll(&mut cx) {
                Poll::Pending => return false,
                Poll::Ready(Ok(Answer {
                    head,
                    body: AnswerBody::Stream(AnswerStream::Own(stream)),
                })) => {
                    cabin.head = Some(head);
                    cabin.work = FlightWork::Flowing(stream);
                    self.succeeded();
                }
                Poll::Ready(ended) => {
                    self.live.close();
                    if ended.is_ok() {
                        self.succeeded();
                    }
                    cabin.work = FlightWork::Answered(ended);
                }
            },
            FlightWork::Flowing(stream) => match stream.poll_next(&mut cx) {
                Poll::Pending => return false,
                Poll::Ready(Some(bytes)) => {
                    if cabin.has_leader {
                        cabin.bytes.push_back(bytes);
                    }
                }
                Poll::Ready(None) => {
                    cabin.figures = stream.figures().copied();
                    cabin.work = FlightWork::Over;
                    self.live.close();
                }
            },
            FlightWork::Idle | FlightWork::Answered(_) | FlightWork::Over => return false,
        }
        true
    }

    /// The leader's answer, once it begins.
    fn poll_answer(&self, cx: &Context<'_>) -> Poll<LeadersAnswer> {
        let mut cabin = self.cabin();
        loop {
            if let Some(head) = cabin.head.take() {
                return Poll::Ready(LeadersAnswer::Begun(head));
            }
            if matches!(cabin.work, FlightWork::Answered(_))
                && let FlightWork::Answered(ended) =
                    std::mem::replace(&mut cabin.work, FlightWork::Over)
            {
                return Poll::Ready(LeadersAnswer::Ended(ended));
            }
            self.live.waiting().insert(FlightSeat::Leader, cx.waker());
            if !self.work(&mut cabin) {
                return Poll::Pending;
            }
            self.live.tell_followers();
        }
    }

    /// The leader's next bytes.
    fn poll_bytes(&self, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        let mut cabin = self.cabin();
        loop {
            if let Some(bytes) = cabin.bytes.pop_front() {
                return Poll::Ready(Some(bytes));
            }
            if matches!(cabin.work, FlightWork::Over) {
                return Poll::Ready(None);
            }
            self.live.waiting().insert(FlightSeat::Leader, cx.waker());
            if !self.work(&mut cabin) {
                return Poll::Pending;
            }
        }
    }

    /// Drops the work once nobody is left to do it.
    fn left(&self, mut cabin: MutexGuard<'_, Cabin>) {
        let is_idle = matches!(cabin.work, FlightWork::Idle);
        if cabin.has_leader || cabin.followers > 0 && !is_idle {
            return;
        }
        let work = std::mem::replace(&mut cabin.work, FlightWork::Over);
        drop(cabin);
        // Its drop closes the provider's connection and settles the request.
        drop(work);
        self.live.close();
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.live.close();
        self.board.tidy(self.key);
    }
}

/// The seat of the leader whose answer flows.
pub struct LeadSeat {
    flight: Arc<Flight>,
    figures: Option<Figures>,
    sent: SentMark,
}

impl LeadSeat {
    /// The next bytes for the leader; `None` when its stream is over.
    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        let next = std::task::ready!(self.flight.poll_bytes(cx));
        if next.is_none() {
            self.figures = self.flight.cabin().figures;
        }
        Poll::Ready(next)
    }

    /// What the stream came to, once it is over and settled.
    pub(crate) fn figures(&self) -> Option<&Figures> {
        self.figures.as_ref()
    }
}

impl Drop for LeadSeat {
    fn drop(&mut self) {
        self.flight.live.waiting().remove(FlightSeat::Leader);
        let mut cabin = self.flight.cabin();
        cabin.has_leader = false;
        cabin.bytes.clear();
        if cabin.followers > 0 {
            // They go on with the work.
            self.sent.set();
        }
        self.flight.left(cabin);
    }
}

/// A request that reads the answer of another one.
pub(crate) struct Follower {
    flight: Arc<Flight>,
    number: u64,
    at: usize,
    is_over: bool,
}

impl Follower {
    /// A seat in a flight; `None` where its answer failed, or nobody works on it.
    fn of(flight: &Arc<Flight>) -> Option<Self> {
        let mut cabin = flight.cabin();
        let is_abandoned = !cabin.has_leader && cabin.followers == 0;
        if is_abandoned || !flight.live.followed() {
            return None;
        }
        let number = cabin.next_number;
        cabin.next_number += 1;
        cabin.followers += 1;
        drop(cabin);
        Some(Self {
            flight: Arc::clone(flight),
            number,
            at: 0,
            is_over: false,
        })
    }

    /// The round of a request that was freed by this flight.
    pub(crate) fn next_round(&self) -> u32 {
        self.flight.round + 1
    }

    /// Whether the same balance and caps limit the answer and a request.
    pub(crate) fn has_the_caps_of(&self, call: &Call) -> bool {
        self.flight.terms.have_the_caps_of(call)
    }

    /// Waits until the answer will be delivered; an error where none will be.
    pub(crate) async fn begun(&mut self) -> Result<Arc<AnswerOrigin>, ()> {
        std::future::poll_fn(|cx| {
            let live = Arc::clone(&self.flight.live);
            self.poll(cx, || live.begun())
        })
        .await
    }

    /// Reads the answer to its end.
    pub(crate) async fn all(mut self) -> Result<Vec<StreamEvent>, Broken> {
        let mut events = Vec::new();
        while let Some(piece) = std::future::poll_fn(|cx| self.poll_next(cx)).await {
            if let Piece::Event(event) = piece? {
                events.push(*event);
            }
        }
        Ok(events)
    }

    /// Looks for news, and works for all as long as there are none.
    fn poll<T>(&self, cx: &Context<'_>, news: impl Fn() -> Option<T>) -> Poll<T> {
        if let Some(news) = news() {
            return Poll::Ready(news);
        }
        let mut cabin = self.flight.cabin();
        loop {
            // Registered first: news between the look and the registration must not be lost.
            let waiting = self.flight.live.waiting();
            waiting.insert(FlightSeat::Follower(self.number), cx.waker());
            if let Some(news) = news() {
                return Poll::Ready(news);
            }
            if !self.flight.work(&mut cabin) {
                return news().map_or(Poll::Pending, Poll::Ready);
            }
            self.flight.live.waiting().wake_all();
        }
    }
}

impl PieceSource for Follower {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Piece, Broken>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let (live, at) = (Arc::clone(&self.flight.live), self.at);
        let next = self.poll(cx, || match live.next(at) {
            LiveNext::Nothing => None,
            next => Some(next),
        });
        Poll::Ready(match std::task::ready!(next) {
            LiveNext::Event(event) => {
                self.at += 1;
                Some(Ok(Piece::Event(Box::new(event))))
            }
            LiveNext::End(Err(broken)) => {
                self.is_over = true;
                Some(Err(broken))
            }
            LiveNext::End(Ok(())) | LiveNext::Nothing => {
                self.is_over = true;
                None
            }
        })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let waiting = self.flight.live.waiting();
        waiting.remove(FlightSeat::Follower(self.number));
        let mut cabin = self.flight.cabin();
        cabin.followers = cabin.followers.saturating_sub(1);
        self.flight.live.unfollowed();
        self.flight.left(cabin);
    }
}

#[cfg(test)]
mod tests;

//! One history: what eight actors do in a random order, to the books, to the reference store and
//! to the reference.

use std::collections::HashSet;
use std::sync::Arc;

use bardo_ledger::{
    Accounts, Book, Cap, CapScope, CapWindow, Charge, Deposit, End, Funds, Holds, LedgerRefusal,
    MemoryLedger, Reserve, Settle,
};
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::MicroUsd;

use super::reference::{Counter, Hold, No, Reference, Settled, State};
use crate::chance::Chance;
use crate::now::now;

const ACTORS: usize = 8;
const ACCOUNTS: usize = 3;
const MAX_STEPS: u64 = 200;
const HOUR_MS: u64 = 3_600_000;

/// Midnights with the names of their days and months, from a calendar: the end of a leap
/// February, of a year, and of a February without a leap day.
const DAYS: [(u64, &str, &str); 8] = [
    (1_835_308_800_000, "2028-02-28", "2028-02"),
    (1_835_395_200_000, "2028-02-29", "2028-02"),
    (1_835_481_600_000, "2028-03-01", "2028-03"),
    (1_861_833_600_000, "2028-12-31", "2028-12"),
    (1_861_920_000_000, "2029-01-01", "2029-01"),
    (1_866_931_200_000, "2029-02-28", "2029-02"),
    (1_867_017_600_000, "2029-03-01", "2029-03"),
    (1_867_104_000_000, "2029-03-02", "2029-03"),
];

/// What an actor is about.
#[derive(Clone, Copy)]
struct Actor {
    account: usize,
    key: u64,
    session: u64,
    /// The request it is carrying out.
    request: Option<u64>,
}

/// What occurred in all histories together: a test that never sees a thing cannot check it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    held: u64,
    refused: [u64; 5],
    captured: u64,
    beyond_hold: u64,
    shortfalls: u64,
    repeated: u64,
    expired: u64,
    unknown: u64,
    reconciled: u64,
    without_hold: u64,
}

impl Seen {
    pub(super) fn check_that_all_occurred(&self) {
        eprintln!("{self:?}");
        let all = [
            self.held,
            self.captured,
            self.beyond_hold,
            self.shortfalls,
            self.repeated,
            self.expired,
            self.unknown,
            self.reconciled,
            self.without_hold,
        ];
        assert!(all.iter().chain(&self.refused).all(|count| *count > 50));
    }
}

pub(super) struct History {
    chance: Chance,
    book: Book,
    ledger: MemoryLedger,
    reference: Reference,
    actors: Vec<Actor>,
    /// Limits of keys by day, of accounts by month and of sessions for ever.
    limits: [u64; 3],
    now_ms: u64,
    requests: u64,
    deposits: u64,
    ended: HashSet<(AccountId, RequestId)>,
    counters: HashSet<Counter>,
}

impl History {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let actors = (0..ACTORS).map(|number| Actor {
            account: number % ACCOUNTS,
            key: chance.below(4),
            session: chance.below(2),
            request: None,
        });
        let actors = actors.collect();
        let limits = [14, 16, 14].map(|bits| chance.scale(bits));
        let now_ms = chance.pick(&DAYS).0 + 12 * HOUR_MS;
        Self {
            chance,
            book: Book::with_memory(usize::MAX, u64::MAX),
            ledger: MemoryLedger::new(),
            reference: Reference::default(),
            actors,
            limits,
            now_ms,
            requests: 0,
            deposits: 0,
            ended: HashSet::new(),
            counters: HashSet::new(),
        }
    }

    pub(super) fn run(mut self, seen: &mut Seen) {
        // Most accounts are there from the beginning.
        for account in 0..ACCOUNTS {
            if self.chance.percent(90) {
                self.deposit(account);
            }
        }
        for _ in 0..=self.chance.below(MAX_STEPS) {
            let turn = self
                .chance
                .pick(&(0..ACTORS).collect::<Vec<_>>())
                .to_owned();
            match self.chance.below(100) {
                0..=6 => self.deposit(self.actors[turn].account),
                7..=11 => self.pass_time(),
                12..=15 => self.expire(seen),
                _ => self.act(turn, seen),
            }
            self.check();
        }
        let verification = now(self.ledger.verify()).expect("it works");
        assert_eq!(verification.problems, Vec::<String>::new());
        self.check_postings();
    }

    fn act(&mut self, turn: usize, seen: &mut Seen) {
        let actor = self.actors[turn];
        let Some(request) = actor.request else {
            self.actors[turn].request = self.reserve(actor, seen);
            return;
        };
        match self.chance.below(100) {
            0..=19 => self.extend(actor.account, request, seen),
            20..=59 => self.capture(actor.account, request, seen),
            60..=69 => self.release(actor.account, request, seen),
            70..=79 => self.leave(actor.account, request, seen),
            // It forgets the request, which is left to expire.
            80..=84 => self.actors[turn].request = None,
            // It is about somebody else's request: a repeated message, or a made-up one.
            85..=94 => {
                let other = self.chance.below(self.requests + 2);
                self.capture(actor.account, other, seen);
            }
            _ => {
                let other = self.chance.below(self.requests + 2);
                self.release(actor.account, other, seen);
            }
        }
        if self.chance.percent(50) {
            self.actors[turn].request = None;
        }
    }

    fn deposit(&mut self, account: usize) {
        let repeated = self.deposits > 0 && self.chance.percent(10);
        if repeated {
            // The same reference again, for the latest account: the store ignores it.
            let (account, amount) = *self.reference.deposits.last().expect("there is one");
            let command = self.deposit_command(account, amount, self.deposits);
            let balance = now(self.ledger.deposit(command)).expect("it works");
            assert_eq!(
                balance.expect("in range").deposited.get(),
                self.reference.deposited(account)
            );
            return;
        }
        self.deposits += 1;
        let amount = self.chance.scale(14);
        let command = self.deposit_command(account, amount, self.deposits);
        let balance = self.book.deposit(&command).expect("in range");
        let stored = now(self.ledger.deposit(command)).expect("it works");
        assert_eq!(stored.expect("in range"), balance);
        self.reference.deposits.push((account, amount));
    }

    fn deposit_command(&self, account: usize, amount: u64, number: u64) -> Deposit {
        Deposit {
            account: account_id(account),
            amount: MicroUsd::new(amount),
            reference: format!("operator:{number}"),
            now_ms: self.now_ms,
        }
    }

    fn pass_time(&mut self) {
        let is_listed = |at_ms: u64| {
            DAYS.iter()
                .any(|(start, ..)| (*start..start + 24 * HOUR_MS).contains(&at_ms))
        };
        let to_ms = match self.chance.below(10) {
            // The clock steps, at times backwards.
            0..=2 => self.chance.pick(&DAYS).0 + self.chance.below(24 * HOUR_MS),
            // To the very end of a hold.
            3..=5 if !self.reference.holds.is_empty() => {
                self.chance.pick(&self.reference.holds).expires_at_ms
            }
            _ => self.now_ms + self.chance.below(HOUR_MS),
        };
        if is_listed(to_ms) {
            self.now_ms = to_ms;
        }
    }

    fn caps(&mut self, actor: Actor) -> (Vec<Cap>, Vec<(Counter, u64)>) {
        let (_, day, month) = DAYS
            .iter()
            .find(|(start, ..)| (*start..start + 24 * HOUR_MS).contains(&self.now_ms))
            .expect("time is on a day of the list");
        let account = account_id(actor.account);
        let key = KeyId::parse(&format!("key-{}", actor.key)).expect("plain");
        let session = Arc::from(format!("session-{}", actor.session));
        let all = [
            (CapScope::Key(key), CapWindow::Day, *day),
            (CapScope::Account(account.clone()), CapWindow::Month, *month),
            (
                CapScope::Session(account, session),
                CapWindow::Total,
                "ever",
            ),
        ];
        let (mut caps, mut counters) = (Vec::new(), Vec::new());
        for ((scope, window, when), limit) in all.into_iter().zip(self.limits) {
            if self.chance.percent(60) {
                let counter = (format!("{scope:?}"), when.to_owned());
                self.counters.insert(counter.clone());
                counters.push((counter, limit));
                caps.push(Cap {
                    scope,
                    window,
                    limit: MicroUsd::new(limit),
                });
            }
        }
        (caps, counters)
    }

    fn reserve(&mut self, actor: Actor, seen: &mut Seen) -> Option<u64> {
        let request = if self.requests > 0 && self.chance.percent(10) {
            self.chance.below(self.requests)
        } else {
            self.requests += 1;
            self.requests - 1
        };
        let (caps, counters) = self.caps(actor);
        let command = Reserve {
            request: request_id(request),
            account: account_id(actor.account),
            key: None,
            amount: MicroUsd::new(self.chance.scale(12)),
            caps,
            expires_at_ms: self.now_ms + self.chance.below(2 * HOUR_MS),
            now_ms: self.now_ms,
        };
        let expected = self.reference.reserve(Hold {
            account: actor.account,
            request,
            amount: command.amount.get(),
            expires_at_ms: command.expires_at_ms,
            counters,
            state: State::Open,
        });
        let answer = self.book.reserve(&command);
        let stored = now(self.ledger.reserve(command)).expect("it works");
        assert_eq!(stored, answer);
        self.compare(answer.map(drop), expected, seen)
            .then_some(request)
    }

    fn extend(&mut self, account: usize, request: u64, seen: &mut Seen) {
        let by = MicroUsd::new(self.chance.scale(12));
        let (id, name) = (account_id(account), request_id(request));
        let expected = self.reference.extend(account, request, by.get());
        let answer = self.book.extend(&id, &name, by);
        let stored = now(self.ledger.extend(&id, &name, by, self.now_ms));
        assert_eq!(stored.expect("it works"), answer);
        self.compare(answer.map(drop), expected, seen);
    }

    /// Whether both allowed it; both must have refused it for the same reason otherwise.
    fn compare(
        &self,
        answer: Result<(), LedgerRefusal>,
        expected: Result<(), No>,
        seen: &mut Seen,
    ) -> bool {
        let answer = answer.map_err(|refusal| match refusal {
            LedgerRefusal::NoAccount(_) => No::Account,
            LedgerRefusal::Duplicate(_) => No::Seen,
            LedgerRefusal::Insufficient { .. } => No::Money,
            LedgerRefusal::Capped { .. } => No::Cap,
            LedgerRefusal::NoHold(_) => No::Hold,
            LedgerRefusal::Overflow => unreachable!("all amounts are small"),
        });
        assert_eq!(answer, expected);
        match answer {
            Ok(()) => seen.held += 1,
            Err(No::Account) => seen.refused[0] += 1,
            Err(No::Seen) => seen.refused[1] += 1,
            Err(No::Money) => seen.refused[2] += 1,
            Err(No::Cap) => seen.refused[3] += 1,
            Err(No::Hold) => seen.refused[4] += 1,
        }
        expected.is_ok()
    }

    fn capture(&mut self, account: usize, request: u64, seen: &mut Seen) {
        let (cost, spread) = (self.chance.scale(12), self.chance.scale(9));
        let before = self.reference.holds.iter().find(|hold| {
            hold.account == account
                && hold.request == request
                && !matches!(hold.state, State::Expired)
        });
        let (held, was_unknown) = before.map_or((None, false), |hold| {
            let is_unknown = hold.state == State::Unknown;
            (Some(hold.amount), is_unknown)
        });
        let expected = self.reference.capture(account, request, cost, spread);
        if !expected.repeated {
            let paid = expected.provider_cost + expected.spread;
            seen.captured += 1;
            seen.reconciled += u64::from(was_unknown);
            seen.without_hold += u64::from(held.is_none());
            seen.beyond_hold += u64::from(held.is_some_and(|held| paid > held));
            seen.shortfalls += u64::from(expected.shortfall > 0);
        }
        let end = End::Capture(Charge {
            provider: "sim".into(),
            provider_cost: MicroUsd::new(cost),
            spread: MicroUsd::new(spread),
        });
        self.settle(account, request, end, expected, seen);
    }

    fn release(&mut self, account: usize, request: u64, seen: &mut Seen) {
        let expected = self.reference.release(account, request);
        self.settle(account, request, End::Release, expected, seen);
    }

    fn leave(&mut self, account: usize, request: u64, seen: &mut Seen) {
        let expected = self.reference.leave(account, request);
        seen.unknown += u64::from(!expected.repeated);
        self.settle(account, request, End::Unknown, expected, seen);
    }

    fn settle(
        &mut self,
        account: usize,
        request: u64,
        end: End,
        expected: Settled,
        seen: &mut Seen,
    ) {
        let ends = end != End::Unknown;
        let command = Settle {
            account: account_id(account),
            request: request_id(request),
            end,
            record: None,
            now_ms: self.now_ms,
        };
        let settlement = self.book.settle(&command);
        let answer = Settled {
            provider_cost: settlement.paid.provider_cost.get(),
            spread: settlement.paid.spread.get(),
            shortfall: settlement.paid.shortfall.get(),
            repeated: settlement.repeated,
        };
        assert_eq!(answer, expected);
        seen.repeated += u64::from(answer.repeated);
        let stored = now(self.ledger.settle(command)).expect("it works");
        assert_eq!(stored, settlement.settled());
        if let Some(hold) = settlement.hold.filter(|_| ends) {
            self.end_once(hold.account, hold.request);
        }
    }

    fn expire(&mut self, seen: &mut Seen) {
        let expected = self.reference.expire(self.now_ms);
        let over = self.book.expire(self.now_ms);
        let mut answer: Vec<_> = over
            .iter()
            .map(|hold| (number(hold.account.as_str()), number(hold.request.as_str())))
            .map(|(account, request)| (usize::try_from(account).expect("small"), request))
            .collect();
        answer.sort_unstable();
        assert_eq!(answer, expected);
        let stored = now(self.ledger.expire(self.now_ms)).expect("it works");
        assert_eq!(stored, over.len() as u64);
        seen.expired += stored;
        for hold in over {
            self.end_once(hold.account, hold.request);
        }
    }

    fn end_once(&mut self, account: AccountId, request: RequestId) {
        let is_first = self.ended.insert((account, request.clone()));
        assert!(is_first, "the hold of {request} ended twice");
    }

    fn check(&self) {
        for account in 0..ACCOUNTS {
            let id = account_id(account);
            let balance = self.book.balance(&id);
            assert_eq!(balance.is_some(), self.reference.exists(account));
            let stored = now(self.ledger.balance(&id));
            assert_eq!(stored.expect("it works"), balance);
            let balance = balance.unwrap_or_default();
            let figures = [balance.spent, balance.held, balance.available].map(MicroUsd::get);
            assert_eq!(figures.iter().sum::<u64>(), balance.deposited.get());
            let expected = [
                self.reference.spent(account),
                self.reference.held(account),
                self.reference.available(account),
            ];
            assert_eq!(figures, expected);
            assert_eq!(balance.deposited.get(), self.reference.deposited(account));
        }
        for counter in &self.counters {
            let limit = match counter.1.len() {
                10 => self.limits[0],
                7 => self.limits[1],
                _ => self.limits[2],
            };
            assert!(self.reference.used(counter) <= limit, "{counter:?}");
        }
        assert_eq!(self.book.audit(), Vec::<String>::new());
    }

    /// What the postings say of each account is what the reference says.
    fn check_postings(&self) {
        for account in 0..ACCOUNTS {
            let id = account_id(account);
            let lines = now(self.ledger.postings(&id, 0, u32::MAX));
            let lines = lines.expect("it works");
            let of = |book: &str| -> i64 {
                let own = lines.iter().filter(|line| line.book.starts_with(book));
                own.map(|line| line.amount).sum()
            };
            let signed = |amount: u64| i64::try_from(amount).expect("small");
            let deposited = signed(self.reference.deposited(account));
            let spent = signed(self.reference.spent(account));
            assert_eq!(of("funding:"), -deposited);
            assert_eq!(of("customer:"), deposited - spent);
            assert_eq!(of("provider:") + of("spread"), spent);
        }
    }
}

fn account_id(number: usize) -> AccountId {
    AccountId::parse(&format!("acct-{number}")).expect("plain")
}

fn request_id(number: u64) -> RequestId {
    RequestId::parse(&format!("req-{number}")).expect("plain")
}

fn number(id: &str) -> u64 {
    let (_, digits) = id.split_once('-').expect("made here");
    digits.parse().expect("made here")
}

//! Random histories, compared with the books in memory.

use std::sync::Arc;
use std::thread;

use bardo_ledger::contract::block_on;
use bardo_ledger::{
    Accounts, Book, Cap, CapScope, CapWindow, Charge, Deposit, End, Funds, Holds, Reserve, Settle,
};
use bardo_store::postgres::PostgresStore;
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::MicroUsd;

use super::{NOW_MS, account, adds_up, request, server, store};

/// A random number generator with a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Somebody with an account, a key and a session of its own, and the books as they should be.
struct Actor {
    dice: Dice,
    account: AccountId,
    store: Arc<PostgresStore>,
    book: Book,
    now_ms: u64,
}

impl Actor {
    fn new(number: u64, store: Arc<PostgresStore>) -> Self {
        Self {
            dice: Dice(0x9e37_79b9_7f4a_7c15 ^ (number + 1)),
            account: account(&format!("actor:{number}")),
            store,
            book: Book::with_memory(usize::MAX, u64::MAX),
            now_ms: NOW_MS,
        }
    }

    fn step(&mut self, number: u64) {
        // Hours pass, so that holds expire and days end.
        self.now_ms += self.dice.below(20 * 60_000);
        match self.dice.below(12) {
            0 => self.deposit(number),
            1..=4 => self.reserve(),
            5..=6 => self.extend(),
            7..=10 => self.settle(),
            _ => self.look(),
        }
    }

    fn deposit(&mut self, number: u64) {
        let command = Deposit {
            account: self.account.clone(),
            amount: MicroUsd::new(self.dice.below(3_000)),
            reference: format!("operator:{number}"),
            now_ms: self.now_ms,
        };
        let expected = self.book.deposit(&command);
        assert_eq!(block_on(self.store.deposit(command)).unwrap(), expected);
    }

    fn caps(&mut self) -> Vec<Cap> {
        let key = KeyId::parse(&format!("key-of-{}", self.account)).unwrap();
        let session = CapScope::Session(self.account.clone(), "s:1".into());
        let scopes = [
            CapScope::Key(key),
            CapScope::Account(self.account.clone()),
            session,
        ];
        let windows = [CapWindow::Day, CapWindow::Month, CapWindow::Total];
        (0..self.dice.below(4))
            .map(|_| Cap {
                scope: scopes[self.dice.below(3) as usize].clone(),
                window: windows[self.dice.below(3) as usize],
                limit: MicroUsd::new(self.dice.below(9) * 1_000),
            })
            .collect()
    }

    fn some_request(&mut self) -> String {
        format!("r{}", self.dice.below(60))
    }

    fn reserve(&mut self) {
        let id = self.some_request();
        let command = Reserve {
            request: request(&id),
            account: self.account.clone(),
            key: None,
            amount: MicroUsd::new(self.dice.below(800)),
            caps: self.caps(),
            expires_at_ms: self.now_ms + self.dice.below(600 * 60_000),
            now_ms: self.now_ms,
        };
        let expected = self.book.reserve(&command);
        assert_eq!(block_on(self.store.reserve(command)).unwrap(), expected);
    }

    fn extend(&mut self) {
        let id = request(&self.some_request());
        let by = MicroUsd::new(self.dice.below(400));
        let expected = self.book.extend(&self.account, &id, by);
        let answer = self.store.extend(&self.account, &id, by, self.now_ms);
        assert_eq!(block_on(answer).unwrap(), expected);
    }

    fn settle(&mut self) {
        let id = self.some_request();
        let end = match self.dice.below(5) {
            0 => End::Release,
            1 => End::Unknown,
            _ => End::Capture(Charge {
                provider: "sim".into(),
                provider_cost: MicroUsd::new(self.dice.below(700)),
                spread: MicroUsd::new(self.dice.below(200)),
            }),
        };
        let command = Settle {
            account: self.account.clone(),
            request: request(&id),
            end,
            record: None,
            now_ms: self.now_ms,
        };
        let expected = self.book.settle(&command).settled();
        assert_eq!(block_on(self.store.settle(command)).unwrap(), expected);
    }

    fn look(&mut self) {
        let balance = block_on(self.store.balance(&self.account)).unwrap();
        assert_eq!(balance, self.book.balance(&self.account));
        let holds = block_on(self.store.holds(Some(&self.account))).unwrap();
        assert_eq!(holds, self.book.holds(Some(&self.account)));
    }
}

#[test]
fn eight_actors_get_the_answers_of_the_books_in_memory() {
    let url = server().database().unwrap();
    let processes = [store(&url), store(&url)];
    let mut actors: Vec<Actor> = thread::scope(|scope| {
        let running: Vec<_> = (0..8)
            .map(|number| {
                let store = Arc::clone(&processes[number as usize % 2]);
                scope.spawn(move || {
                    let mut actor = Actor::new(number, store);
                    (0..250).for_each(|step| actor.step(step));
                    actor
                })
            })
            .collect();
        running
            .into_iter()
            .map(|each| each.join().unwrap())
            .collect()
    });
    // All at once at the end: an expiry looks at every account.
    let end_ms = actors.iter().map(|actor| actor.now_ms).max().unwrap() + 240 * 60_000;
    let expected: usize = actors
        .iter_mut()
        .map(|actor| actor.book.expire(end_ms).len())
        .sum();
    assert!(expected > 8, "the histories leave something to expire");
    let expired = block_on(processes[0].expire(end_ms)).unwrap();
    assert_eq!(expired, expected as u64);
    for actor in &mut actors {
        actor.look();
        assert_eq!(actor.book.audit(), Vec::<String>::new());
    }
    adds_up(&*processes[1]);
}

/// All on one account and one key, through two processes: the answers depend on who comes first,
/// the sums do not.
#[test]
fn actors_on_one_account_never_deadlock_and_leave_books_that_add_up() {
    let url = server().database().unwrap();
    let processes = [store(&url), store(&url)];
    let payer = account("payer");
    super::deposit(&*processes[0], &payer, 40_000, "operator:1");
    let charged: u64 = thread::scope(|scope| {
        let running: Vec<_> = (0..8)
            .map(|number| {
                let store = Arc::clone(&processes[number as usize % 2]);
                let mut actor = Actor::new(number, store);
                actor.account = payer.clone();
                scope.spawn(move || (0..120).map(|_| one_of_many(&mut actor)).sum::<u64>())
            })
            .collect();
        running.into_iter().map(|each| each.join().unwrap()).sum()
    });
    let (deposited, spent, _, _) = super::stands(&*processes[0], &payer);
    assert_eq!((deposited, spent), (40_000, charged));
    adds_up(&*processes[1]);
}

/// One random command; answers what it newly charged.
fn one_of_many(actor: &mut Actor) -> u64 {
    let id = request(&actor.some_request());
    let amount = MicroUsd::new(actor.dice.below(600));
    match actor.dice.below(4) {
        0 | 1 => {
            let command = Reserve {
                request: id,
                account: actor.account.clone(),
                key: None,
                amount,
                caps: actor.caps(),
                expires_at_ms: NOW_MS + actor.dice.below(100),
                now_ms: NOW_MS,
            };
            let _ = block_on(actor.store.reserve(command)).unwrap();
        }
        2 if actor.dice.below(4) == 0 => {
            block_on(actor.store.expire(NOW_MS + actor.dice.below(100))).unwrap();
        }
        2 => {
            let answer = actor.store.extend(&actor.account, &id, amount, NOW_MS);
            let _ = block_on(answer).unwrap();
        }
        _ => {
            let command = super::capture(&actor.account, id.as_str(), amount.get(), 7);
            let settled = block_on(actor.store.settle(command)).unwrap();
            if !settled.repeated {
                return settled.charged.get();
            }
        }
    }
    0
}

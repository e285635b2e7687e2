use std::sync::Arc;

use bardo_types::ids::KeyId;

use super::*;
use crate::command::{Charge, Deposit, End, Settle};

const NOW_MS: u64 = 1_795_190_400_000;

fn account() -> AccountId {
    AccountId::parse("acct").unwrap()
}

fn request(number: u64) -> RequestId {
    RequestId::parse(&format!("req_{number}")).unwrap()
}

fn micro(amount: u64) -> MicroUsd {
    MicroUsd::new(amount)
}

fn key_cap(window: CapWindow, limit: u64) -> Cap {
    Cap {
        scope: CapScope::Key(KeyId::parse("key").unwrap()),
        window,
        limit: micro(limit),
    }
}

fn reserve(number: u64, amount: u64, caps: Vec<Cap>) -> Reserve {
    Reserve {
        request: request(number),
        account: account(),
        key: None,
        amount: micro(amount),
        caps,
        expires_at_ms: NOW_MS + 1_000,
        now_ms: NOW_MS,
    }
}

fn capture(number: u64, provider_cost: u64, spread: u64, now_ms: u64) -> Settle {
    Settle {
        account: account(),
        request: request(number),
        end: End::Capture(Charge {
            provider: "sim".into(),
            provider_cost: micro(provider_cost),
            spread: micro(spread),
        }),
        record: None,
        now_ms,
    }
}

fn with(deposited: u64) -> Book {
    let mut book = Book::default();
    book.load_account(account(), micro(deposited), MicroUsd::ZERO);
    book
}

#[test]
fn a_settlement_tells_all_that_a_journal_needs() {
    let mut book = with(1_000);
    let caps = vec![key_cap(CapWindow::Day, 500), key_cap(CapWindow::Month, 700)];
    book.reserve(&reserve(1, 100, caps)).unwrap();
    let settlement = book.settle(&capture(1, 50, 10, NOW_MS));
    let counter = |window: CapWindow, spent| CapCounter {
        scope: key_cap(window, 0).scope,
        window,
        start_ms: window.bounds(NOW_MS).0,
        spent: micro(spent),
    };
    assert_eq!(
        settlement,
        Settlement {
            paid: SettledCost {
                provider_cost: micro(50),
                spread: micro(10),
                shortfall: MicroUsd::ZERO,
            },
            available: micro(940),
            repeated: false,
            hold: Some(HoldView {
                request: request(1),
                account: account(),
                amount: micro(100),
                state: HoldState::Open,
                created_at_ms: NOW_MS,
                expires_at_ms: NOW_MS + 1_000,
            }),
            counters: vec![counter(CapWindow::Day, 60), counter(CapWindow::Month, 60)],
        }
    );
    assert_eq!(book.audit(), Vec::<String>::new());
}

#[test]
fn what_was_loaded_goes_on_where_it_was() {
    let mut book = Book::default();
    book.load_account(account(), micro(1_000), micro(300));
    let cap = key_cap(CapWindow::Day, 500);
    let start_ms = CapWindow::Day.bounds(NOW_MS).0;
    assert!(!book.has_cap(&cap.scope, CapWindow::Day, start_ms));
    book.load_cap(cap.scope.clone(), CapWindow::Day, start_ms, micro(300));
    assert!(book.has_cap(&cap.scope, CapWindow::Day, start_ms));
    let hold = |number, amount, state| HoldView {
        request: request(number),
        account: account(),
        amount: micro(amount),
        state,
        created_at_ms: NOW_MS - 5,
        expires_at_ms: NOW_MS + 1_000,
    };
    let caps = [cap.clone()];
    book.load_hold(hold(1, 100, HoldState::Open), &caps)
        .unwrap();
    book.load_hold(hold(2, 40, HoldState::Unknown), &caps)
        .unwrap();
    assert_eq!(
        book.load_hold(hold(1, 100, HoldState::Open), &caps),
        Err(LedgerRefusal::Duplicate(request(1)))
    );
    assert_eq!(book.used(&cap.scope, CapWindow::Day, NOW_MS), micro(440));
    assert!(book.reserve(&reserve(3, 61, vec![cap.clone()])).is_err());
    assert_eq!(book.audit(), Vec::<String>::new());
    assert_eq!(book.expire(NOW_MS + 1_000).len(), 1);
    assert_eq!(book.used(&cap.scope, CapWindow::Day, NOW_MS), micro(340));
    book.settle(&capture(2, 10, 0, NOW_MS));
    assert_eq!(book.used(&cap.scope, CapWindow::Day, NOW_MS), micro(310));
    assert_eq!(book.balance(&account()).unwrap().spent, micro(310));
    assert_eq!(book.audit(), Vec::<String>::new());
}

#[test]
fn loading_an_account_again_only_adds_deposits() {
    let mut book = with(100);
    book.reserve(&reserve(1, 60, vec![])).unwrap();
    book.settle(&capture(1, 30, 0, NOW_MS));
    // The store has not seen the capture yet; somebody has deposited 50.
    book.load_account(account(), micro(150), MicroUsd::ZERO);
    let balance = book.balance(&account()).unwrap();
    assert_eq!((balance.deposited, balance.spent), (micro(150), micro(30)));
    book.load_account(account(), micro(100), MicroUsd::ZERO);
    assert_eq!(book.balance(&account()).unwrap(), balance);
}

#[test]
fn damaged_holds_are_refused_when_loaded() {
    let mut book = with(100);
    let view = HoldView {
        request: request(1),
        account: account(),
        amount: micro(101),
        state: HoldState::Open,
        created_at_ms: NOW_MS,
        expires_at_ms: NOW_MS,
    };
    assert!(matches!(
        book.load_hold(view.clone(), &[]),
        Err(LedgerRefusal::Insufficient { .. })
    ));
    let stranger = AccountId::parse("stranger").unwrap();
    let view = HoldView {
        account: stranger.clone(),
        ..view
    };
    assert_eq!(
        book.load_hold(view, &[]),
        Err(LedgerRefusal::NoAccount(stranger))
    );
    assert_eq!(book.audit(), Vec::<String>::new());
}

#[test]
fn an_end_that_was_loaded_is_not_repeated() {
    let mut book = with(100);
    let paid = SettledCost {
        provider_cost: micro(20),
        spread: micro(4),
        shortfall: micro(1),
    };
    book.load_ended(account(), request(1), paid, NOW_MS);
    assert!(book.knows(&account(), &request(1)));
    let settlement = book.settle(&capture(1, 20, 5, NOW_MS));
    assert!(settlement.repeated);
    assert_eq!(settlement.paid, paid);
    assert_eq!(book.balance(&account()).unwrap().available, micro(100));
}

#[test]
fn the_memory_of_ends_is_bounded_in_number_and_time() {
    let mut book = Book::with_memory(3, 1_000);
    book.load_account(account(), micro(1_000), MicroUsd::ZERO);
    for number in 0..5 {
        book.settle(&capture(number, 1, 0, NOW_MS + number));
    }
    let known = |book: &Book| {
        (0..5)
            .filter(|n| book.knows(&account(), &request(*n)))
            .count()
    };
    assert_eq!(known(&book), 3);
    assert!(book.knows(&account(), &request(4)));
    book.settle(&capture(9, 1, 0, NOW_MS + 1_003));
    assert_eq!(known(&book), 2, "of 2, 3 and 4 the first is too old");
    // The clock steps back: nothing is forgotten for that.
    book.settle(&capture(10, 1, 0, NOW_MS));
    assert!(book.knows(&account(), &request(4)));
    assert_eq!(book.audit(), Vec::<String>::new());
}

#[test]
fn of_two_caps_on_one_counter_the_lower_one_holds() {
    let mut book = with(1_000);
    let caps = vec![key_cap(CapWindow::Day, 90), key_cap(CapWindow::Day, 50)];
    assert!(book.reserve(&reserve(1, 51, caps.clone())).is_err());
    book.reserve(&reserve(1, 50, caps)).unwrap();
    let scope = key_cap(CapWindow::Day, 0).scope;
    assert_eq!(book.used(&scope, CapWindow::Day, NOW_MS), micro(50));
    assert_eq!(book.audit(), Vec::<String>::new());
}

#[test]
fn counters_of_windows_that_are_over_can_be_dropped() {
    let mut book = with(1_000);
    let session = Cap {
        scope: CapScope::Session(account(), Arc::from("s")),
        window: CapWindow::Total,
        limit: micro(500),
    };
    let caps = vec![key_cap(CapWindow::Day, 500), session.clone()];
    book.reserve(&reserve(1, 10, caps.clone())).unwrap();
    let end_ms = CapWindow::Day.bounds(NOW_MS).1.unwrap();
    let key = caps[0].scope.clone();
    let has =
        |book: &Book, cap: &Cap| book.has_cap(&cap.scope, cap.window, cap.window.bounds(NOW_MS).0);
    book.forget_counters(end_ms + 1, Sessions::Forget);
    assert!(
        has(&book, &caps[0]) && has(&book, &session),
        "they are held"
    );
    book.settle(&capture(1, 5, 0, NOW_MS));
    book.forget_counters(end_ms, Sessions::Keep);
    assert!(has(&book, &caps[0]), "the window may still be used");
    book.forget_counters(end_ms + 1, Sessions::Keep);
    assert!(!has(&book, &caps[0]) && has(&book, &session));
    book.forget_counters(0, Sessions::Forget);
    assert!(!has(&book, &session));
    assert_eq!(book.used(&key, CapWindow::Day, NOW_MS), MicroUsd::ZERO);
}

#[test]
fn the_audit_sees_each_kind_of_damage() {
    let damaged = |damage: fn(&mut Book)| {
        let mut book = with(1_000);
        let caps = vec![key_cap(CapWindow::Day, 500)];
        book.reserve(&reserve(1, 100, caps)).unwrap();
        assert_eq!(book.audit(), Vec::<String>::new());
        damage(&mut book);
        book.audit().len()
    };
    assert!(damaged(|book| book.expiries.clear()) > 0);
    assert!(damaged(|book| book.counters = Counters::default()) > 0);
    assert!(
        damaged(|book| book.load_ended(account(), request(1), SettledCost::default(), NOW_MS)) > 0
    );
    assert!(damaged(|book| book.accounts.get_mut(&account()).unwrap().held = micro(99)) > 0);
    assert!(damaged(|book| book.accounts.get_mut(&account()).unwrap().spent = micro(901)) > 0);
}

/// A deposit on its way belongs to another request and is in no sum yet, so what is held here may be
/// all that there is.
#[test]
fn a_hold_is_captured_while_a_larger_deposit_is_on_its_way() {
    let mut book = with(5);
    book.reserve(&reserve(1, 5, Vec::new())).unwrap();
    let promised = reserve(2, 6, Vec::new());
    book.promise(&account(), promised.amount);
    let settled = book.settle(&capture(1, 4, 1, NOW_MS));
    assert_eq!(settled.paid.charged(), micro(5));
    assert_eq!(settled.available, MicroUsd::ZERO);
    book.deposit(&Deposit {
        account: account(),
        amount: micro(6),
        reference: "payment".into(),
        now_ms: NOW_MS,
    })
    .unwrap();
    let kept = book.keep_promise(&promised).unwrap();
    assert_eq!((kept.held, kept.available), (micro(6), MicroUsd::ZERO));
}

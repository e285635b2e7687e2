use bardo_types::ids::KeyId;
use proptest::prelude::*;

use super::*;
use crate::command::{Balance, LedgerRefusal, Reserve};

const NOW_MS: u64 = 1_795_190_400_000;

fn account() -> AccountId {
    AccountId::parse("acct").unwrap()
}

fn request(number: u64) -> RequestId {
    RequestId::parse(&format!("req_{number}")).unwrap()
}

fn cap(limit: u64) -> Cap {
    Cap {
        scope: CapScope::Key(KeyId::parse("key").unwrap()),
        window: CapWindow::Day,
        limit: MicroUsd::new(limit),
    }
}

fn with(deposited: u64) -> Book {
    let mut book = Book::default();
    book.load_account(account(), MicroUsd::new(deposited), MicroUsd::ZERO);
    book
}

fn reserve(book: &mut Book, number: u64, amount: u64) {
    let command = Reserve {
        request: request(number),
        account: account(),
        key: None,
        amount: MicroUsd::new(amount),
        caps: vec![cap(600)],
        expires_at_ms: NOW_MS + 1_000 + number,
        now_ms: NOW_MS,
    };
    // Where there is not enough, there is one hold less.
    let _ = book.reserve(&command);
}

fn end(number: u64, end: End) -> Settle {
    Settle {
        account: account(),
        request: request(number),
        end,
        record: None,
        now_ms: NOW_MS + 5,
    }
}

fn capture(amount: u64) -> End {
    End::Capture(Charge {
        provider: "sim".into(),
        provider_cost: MicroUsd::new(amount),
        spread: MicroUsd::new(amount / 5),
    })
}

fn pending(book: &mut Book, command: &Settle) -> PendingEnd {
    match book.prepare(command) {
        PreparedEnd::Pending(pending) => pending,
        other => unreachable!("{other:?}"),
    }
}

/// All that can be seen of the books.
fn seen(book: &Book) -> (Option<Balance>, Vec<HoldView>, MicroUsd) {
    assert_eq!(book.audit(), Vec::<String>::new());
    (
        book.balance(&account()),
        book.holds(None),
        book.used(&cap(0).scope, CapWindow::Day, NOW_MS),
    )
}

#[test]
fn what_an_end_frees_is_out_of_reach_until_it_is_finished() {
    let mut book = with(100);
    reserve(&mut book, 1, 80);
    let pending = pending(&mut book, &end(1, capture(10)));
    assert_eq!(pending.paid().charged(), MicroUsd::new(12));
    let available = |book: &Book| book.balance(&account()).unwrap().available.get();
    assert_eq!(available(&book), 20);
    assert_eq!(book.audit(), Vec::<String>::new());
    book.finish(pending);
    assert_eq!(available(&book), 88);
    assert_eq!(book.audit(), Vec::<String>::new());
}

#[test]
fn what_an_end_takes_beyond_its_hold_is_held_at_once() {
    let mut book = with(100);
    reserve(&mut book, 1, 10);
    let pending = pending(&mut book, &end(1, capture(50)));
    assert_eq!(book.balance(&account()).unwrap().available.get(), 40);
    assert_eq!(book.audit(), Vec::<String>::new());
    // A deposit in between changes nothing of what was decided.
    book.load_account(account(), MicroUsd::new(1_000), MicroUsd::ZERO);
    let settlement = book.finish(pending);
    assert_eq!(settlement.paid.charged().get(), 60);
    assert_eq!(settlement.available.get(), 940);
}

#[test]
fn a_hold_that_is_ending_neither_grows_nor_expires_nor_ends_twice() {
    let mut book = with(100);
    reserve(&mut book, 1, 50);
    let pending = pending(&mut book, &end(1, capture(10)));
    let refused = book.extend(&account(), &request(1), MicroUsd::new(1));
    assert_eq!(refused, Err(LedgerRefusal::NoHold(request(1))));
    assert_eq!(book.expire(NOW_MS + 9_999), vec![]);
    assert!(matches!(
        book.prepare(&end(1, End::Release)),
        PreparedEnd::Ending
    ));
    assert_eq!(book.audit(), Vec::<String>::new());
    book.abandon(pending);
    assert_eq!(book.expire(NOW_MS + 9_999).len(), 1, "it can again");
}

proptest! {
    /// An end that is abandoned leaves nothing behind, in any state of the hold; an end in two
    /// steps comes to the same as one in one.
    #[test]
    fn an_abandoned_end_never_was(
        deposited in 0_u64..400,
        amounts in proptest::collection::vec(0_u64..300, 1..4),
        before in 0_u8..3,
        cost in 0_u64..500,
        kind in 0_u8..3,
    ) {
        let make = || {
            let mut book = with(deposited);
            for (number, amount) in (0..).zip(&amounts) {
                reserve(&mut book, number, *amount);
            }
            match before {
                0 => {}
                1 => drop(book.settle(&end(0, End::Unknown))),
                _ => drop(book.expire(NOW_MS + 1_000)),
            }
            book
        };
        let command = end(0, match kind {
            0 => End::Unknown,
            1 => End::Release,
            _ => capture(cost),
        });
        let (mut book, mut plain) = (make(), make());
        let untouched = seen(&book);
        prop_assert_eq!(&untouched, &seen(&plain));
        if let PreparedEnd::Pending(pending) = book.prepare(&command) {
            prop_assert_eq!(book.audit(), Vec::<String>::new());
            book.abandon(pending);
        }
        prop_assert_eq!(seen(&book), untouched);
        prop_assert_eq!(book.settle(&command), plain.settle(&command));
        prop_assert_eq!(seen(&book), seen(&plain));
        prop_assert_eq!(book.settle(&command), plain.settle(&command));
    }
}

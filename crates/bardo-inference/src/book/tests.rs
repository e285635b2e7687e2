use proptest::prelude::*;

use super::*;

const NOON: u64 = 20_000 * DAY_S + DAY_S / 2;

fn book(folder: &Path) -> SpendBook {
    let caps = PayerCaps {
        request: MicroUsd::new(50),
        session: MicroUsd::new(100),
        day: MicroUsd::new(150),
    };
    SpendBook::new(caps, folder.join("spend.json"))
}

fn period(refused: Result<(), CapRefusal>) -> &'static str {
    match refused {
        Err(CapRefusal::Reached { period, .. }) => period,
        other => panic!("{other:?}"),
    }
}

fn count(book: &SpendBook, nonce: &str, amount: u64, now_s: u64) -> Result<(), CapRefusal> {
    book.count(nonce, MicroUsd::new(amount), now_s + 300, now_s)
}

#[test]
fn each_cap_refuses_and_two_books_share_the_day() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (book(folder.path()), book(folder.path()));
    assert_eq!(period(count(&one, "a", 51, NOON)), "request");
    count(&one, "b", 50, NOON).unwrap();
    count(&one, "c", 50, NOON).unwrap();
    assert_eq!(period(count(&one, "d", 1, NOON)), "session");
    assert_eq!(
        period(
            count(&other, "e", 0, NOON)
                .and_then(|()| count(&other, "f", 50, NOON))
                .and_then(|()| count(&other, "g", 1, NOON))
        ),
        "day"
    );
    assert_eq!(one.today(NOON).unwrap(), MicroUsd::new(150));
    assert_eq!(one.today(NOON + DAY_S).unwrap(), MicroUsd::ZERO);
    assert_eq!(one.figures().session, MicroUsd::new(100));
    assert_eq!(one.figures().payments, 2);
}

#[test]
fn a_charge_gives_room_back_and_a_refusal_none() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(folder.path());
    count(&book, "a", 50, NOON).unwrap();
    book.end("a", PaymentEnd::Charged(MicroUsd::new(20)));
    assert_eq!(book.today(NOON).unwrap(), MicroUsd::new(20));
    // More than was signed for cannot be charged.
    count(&book, "b", 10, NOON).unwrap();
    book.end("b", PaymentEnd::Charged(MicroUsd::new(999)));
    assert_eq!(book.today(NOON).unwrap(), MicroUsd::new(30));
    count(&book, "c", 50, NOON).unwrap();
    book.end("c", PaymentEnd::Refused);
    // It can have been settled before its deadline, so time alone does not release it.
    assert_eq!(book.today(NOON + 9_999).unwrap(), MicroUsd::new(80));
    assert_eq!(period(count(&book, "x", 21, NOON + 9_999)), "session");
    assert!(book.is_open("c"));
    book.end("c", PaymentEnd::Charged(MicroUsd::ZERO));
    assert!(!book.is_open("c"));
    assert_eq!(book.today(NOON + 9_999).unwrap(), MicroUsd::new(30));
    // A refused one that was sent once more has no known end.
    count(&book, "e", 7, NOON).unwrap();
    book.end("e", PaymentEnd::Refused);
    book.end("e", PaymentEnd::Reopened);
    assert_eq!(book.today(NOON + 301).unwrap(), MicroUsd::new(37));
    book.end("e", PaymentEnd::Charged(MicroUsd::ZERO));
    // What has no known end stays.
    count(&book, "d", 5, NOON).unwrap();
    assert_eq!(book.today(NOON + 9_999).unwrap(), MicroUsd::new(35));
}

#[test]
fn a_report_of_less_than_was_charged_is_a_false_claim_in_either_order() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(folder.path());
    let reported = |amount| PaymentEnd::Reported(MicroUsd::new(amount));
    let charged = PaymentEnd::Charged(MicroUsd::new(20));
    for (at, (first, second, claims)) in [
        (reported(19), charged, 1),
        (charged, reported(19), 2),
        (reported(20), charged, 2),
        (charged, reported(20), 2),
    ]
    .into_iter()
    .enumerate()
    {
        let nonce = at.to_string();
        count(&book, &nonce, 25, NOON).unwrap();
        book.end(&nonce, first);
        book.end(&nonce, second);
        assert_eq!(book.figures().false_claims, claims, "{at}");
    }
    assert_eq!(book.today(NOON).unwrap(), MicroUsd::new(80));
}

#[test]
fn a_file_of_an_earlier_version_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(folder.path());
    let json = format!(
        r#"{{"day":{},"charged":7,"open":[{{"nonce":"a","amount":5,"ends_s":1,"refused":true}}]}}"#,
        NOON / DAY_S
    );
    fs::write(folder.path().join("spend.json"), json).unwrap();
    assert_eq!(book.today(NOON).unwrap(), MicroUsd::new(12));
}

#[test]
fn a_day_begins_with_what_can_still_settle_and_a_clock_that_goes_back_begins_none() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(folder.path());
    let midnight = (NOON / DAY_S + 1) * DAY_S;
    count(&book, "a", 40, midnight - 1).unwrap();
    assert_eq!(book.today(midnight).unwrap(), MicroUsd::new(40));
    assert_eq!(book.today(midnight - DAY_S).unwrap(), MicroUsd::new(40));
}

#[test]
fn a_file_that_cannot_be_read_refuses_every_payment() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(folder.path());
    fs::write(folder.path().join("spend.json"), "{").unwrap();
    let refused = count(&book, "a", 1, NOON);
    assert!(
        matches!(refused, Err(CapRefusal::Uncounted { .. })),
        "{refused:?}"
    );
    assert_eq!(book.figures().session, MicroUsd::ZERO);
}

#[derive(Debug, Clone)]
enum TallyStep {
    Add(u64),
    Charge(usize, u64),
    Refuse(usize),
}

fn steps() -> impl Strategy<Value = Vec<TallyStep>> {
    let step = prop_oneof![
        (0..60_u64).prop_map(TallyStep::Add),
        (0..8_usize, 0..80_u64).prop_map(|(at, amount)| TallyStep::Charge(at, amount)),
        (0..8_usize).prop_map(TallyStep::Refuse),
    ];
    proptest::collection::vec(step, 0..60)
}

/// A payment as plain books have it.
#[derive(Debug)]
struct PlainPayment {
    counts: u64,
    open: bool,
}

proptest! {
    /// Plain books of all payments, looked through from their beginning, agree after every step, and
    /// the cap holds.
    #[test]
    fn a_tally_is_the_sum_of_what_can_still_be_charged(steps in steps()) {
        let cap = MicroUsd::new(200);
        let mut tally = SpendTally::default();
        let mut plain: Vec<PlainPayment> = Vec::new();
        for step in steps {
            match step {
                TallyStep::Add(amount) => {
                    let payment = OpenPayment {
                        nonce: plain.len().to_string(),
                        amount,
                        ends_s: 100,
                    };
                    let added = tally.add(payment, "day", "--cap-day", cap).is_ok();
                    let before: u64 = plain.iter().map(|payment| payment.counts).sum();
                    prop_assert_eq!(added, before + amount <= cap.get());
                    let counts = if added { amount } else { 0 };
                    plain.push(PlainPayment { counts, open: added });
                }
                TallyStep::Charge(at, amount) => {
                    tally.end(&at.to_string(), PaymentEnd::Charged(MicroUsd::new(amount)));
                    if let Some(payment) = plain.get_mut(at).filter(|payment| payment.open) {
                        payment.counts = payment.counts.min(amount);
                        payment.open = false;
                    }
                }
                TallyStep::Refuse(at) => {
                    // It can be settled all the same.
                    tally.end(&at.to_string(), PaymentEnd::Refused);
                }
            }
            let sum: u64 = plain.iter().map(|payment| payment.counts).sum();
            prop_assert_eq!(tally.counted(), MicroUsd::new(sum));
            prop_assert!(tally.counted() <= cap);
        }
    }
}

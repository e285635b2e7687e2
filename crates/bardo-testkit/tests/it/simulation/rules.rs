//! What must be true of a minute, whatever happened in it.

use std::time::Duration;

use bardo_testkit::client::Ending;
use bardo_testkit::fault::Patience;
use bardo_testkit::till::Seen;
use bardo_testkit::upstream::Call;
use bardo_testkit::world::{End, MAX_ATTEMPTS, Visit};

use super::stage::{Minute, SMALL};

/// How long a provider may go on after its caller has left.
const LINGER: Duration = Duration::from_millis(100);

fn is_clean(visit: &Visit) -> bool {
    visit.end == End::Whole || visit.end == End::Stream(Ending::Clean)
}

pub(super) fn count_clean(minute: &Minute) -> usize {
    minute.visits.iter().filter(|visit| is_clean(visit)).count()
}

pub(super) fn count_left(minute: &Minute) -> usize {
    let left = |visit: &&Visit| visit.end == End::Left;
    minute.visits.iter().filter(left).count()
}

pub(super) fn count_broken(minute: &Minute) -> usize {
    let broken = |visit: &&Visit| matches!(visit.end, End::Stream(Ending::Failed(_)));
    minute.visits.iter().filter(broken).count()
}

/// The calls of one visit at all providers, in the order of time.
fn calls<'a>(minute: &'a Minute, visit: &Visit) -> Vec<&'a Call> {
    let case = visit.wish.case;
    let mut calls: Vec<&Call> = minute
        .calls
        .iter()
        .flatten()
        .filter(|call| call.case == case)
        .collect();
    calls.sort_by_key(|call| call.order);
    calls
}

/// Every rule that was broken, in words.
pub(super) fn broken(minute: &Minute) -> Vec<String> {
    let mut wrong = minute.problems.clone();
    wrong.extend(books_rules(minute));
    for visit in &minute.visits {
        let calls = calls(minute, visit);
        let mut found = visit_rules(visit, &calls);
        found.extend(money_rules(minute, visit, &calls));
        for what in found {
            wrong.push(format!("case {}: {what}", visit.wish.case));
        }
    }
    wrong
}

fn visit_rules(visit: &Visit, calls: &[&Call]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |holds: bool, what: &str| {
        if !holds {
            wrong.push(what.to_owned());
        }
    };
    let took = visit.went_at - visit.came_at;
    check(
        took <= Patience::TOTAL + Duration::from_secs(1),
        &format!("it took {took:?}"),
    );
    let torn = visit.end == End::Left;
    check(
        visit.damage.is_empty() || torn,
        &format!("damage: {:?}", visit.damage),
    );
    check(
        visit.end != End::Stream(Ending::Open),
        "a stream without an ending",
    );
    check(
        visit.text.is_empty() || calls.iter().any(|call| call.text.starts_with(&visit.text)),
        "the text is no provider's",
    );
    check(
        !is_clean(visit) || calls.iter().any(|call| call.text == visit.text),
        "a clean ending without all of the text",
    );
    check(
        calls.len() <= MAX_ATTEMPTS,
        &format!("{} attempts", calls.len()),
    );
    let taken = calls.iter().position(|call| call.billed_input.is_some());
    check(
        taken.is_none_or(|at| at + 1 == calls.len()),
        "asked again after a provider had taken it on",
    );
    for call in calls {
        check(call.over, "a provider still works for it");
        check(
            call.at <= visit.went_at,
            "a provider was asked after it had left",
        );
        check(
            call.left_at
                .is_none_or(|left| left <= visit.went_at + LINGER),
            "its provider was closed late",
        );
    }
    wrong
}

fn money_rules(minute: &Minute, visit: &Visit, calls: &[&Call]) -> Vec<String> {
    let seen = Seen {
        charged: minute.charged(visit.wish.case),
        holds: &minute.holds,
        receipts: &minute.receipts,
        may_lack: visit.wish.purse.is_some_and(|purse| purse >= SMALL),
    };
    seen.judge(visit, calls)
}

/// Every purse adds up, from its postings alone.
fn books_rules(minute: &Minute) -> Vec<String> {
    let mut wrong = Vec::new();
    for books in &minute.books {
        let account = format!("customer:{}", books.purse.key.account);
        let own = books
            .postings
            .iter()
            .filter(|posting| posting.book == account);
        let left: i64 = own.map(|posting| posting.amount).sum();
        let (spent, held) = (books.balance.spent.get(), books.balance.held.get());
        let deposited = books.purse.deposited.get();
        if i128::from(left) != i128::from(deposited) - i128::from(spent) {
            wrong.push(format!(
                "{account}: postings leave {left}, {spent} are spent"
            ));
        }
        let holds = minute
            .holds
            .iter()
            .filter(|hold| hold.account == books.purse.key.account)
            .map(|hold| hold.amount.get());
        let holds: u64 = holds.sum();
        if holds != held {
            wrong.push(format!("{account}: {held} are held, the holds are {holds}"));
        }
        let sum: i64 = books.postings.iter().map(|posting| posting.amount).sum();
        if sum != 0 {
            wrong.push(format!("{account}: its transfers add up to {sum}"));
        }
    }
    wrong
}

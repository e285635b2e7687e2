//! Whether the books add up, looked at from the other side.

use std::collections::HashMap;

use bardo_types::money::MicroUsd;

use super::Book;
use crate::command::HoldState;

pub(super) fn audit(book: &Book) -> Vec<String> {
    let mut problems = Vec::new();
    let mut under_caps = HashMap::new();
    let mut open = 0_usize;
    for (id, account) in &book.accounts {
        let mut held = MicroUsd::ZERO;
        for (request, hold) in &account.holds {
            held = held.checked_add(hold.amount).unwrap_or(MicroUsd::MAX);
            for cap in &hold.caps {
                let sum: &mut MicroUsd = under_caps.entry(&cap.key).or_default();
                *sum = sum.checked_add(hold.amount).unwrap_or(MicroUsd::MAX);
            }
            let expiry = (hold.expires_at_ms, id.clone(), request.clone());
            let expires = book.expiries.contains(&expiry);
            open += usize::from(hold.state == HoldState::Open);
            if expires != (hold.state == HoldState::Open) {
                problems.push(format!(
                    "the hold `{request}` of `{id}`: expiry and state differ"
                ));
            }
        }
        if held != account.held {
            let sum = account.held;
            problems.push(format!(
                "`{id}`: the holds are {held} USD, but the sum is {sum}"
            ));
        }
        let taken = account.spent.checked_add(account.held);
        if taken.is_none_or(|taken| taken > account.deposited) {
            problems.push(format!(
                "`{id}`: more money is spent and held than was deposited"
            ));
        }
    }
    if book.expiries.len() != open {
        problems.push(format!(
            "{} expiries for {open} open holds",
            book.expiries.len()
        ));
    }
    under_caps.retain(|_, sum| *sum > MicroUsd::ZERO);
    if under_caps != book.counters.held() {
        problems.push("the amount held under caps is not the sum of the holds".to_owned());
    }
    for (account, request) in book.ended.keys() {
        let alive = book
            .accounts
            .get(account)
            .is_some_and(|found| found.holds.contains_key(request));
        if alive {
            problems.push(format!(
                "the hold `{request}` of `{account}` has ended and is still open"
            ));
        }
    }
    problems.sort();
    problems
}

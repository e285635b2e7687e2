//! Who is meant to do something, and what somebody is able or allowed to do.

use crate::guard_pairs::{join, separate};

#[test]
fn what_is_done_by_others_is_not_what_i_do() {
    separate(&[
        ("Can my claim be denied?", "Can I deny my claim?"),
        ("Can my account be suspended?", "Can I suspend my account?"),
        ("Can my messages be read?", "Can I read my messages?"),
        ("How can my claim be denied?", "How can I deny my claim?"),
        ("Can a tenant be evicted?", "Can I evict a tenant?"),
        ("Can the pool be drained?", "Can I drain the pool?"),
        (
            "When will my car be repaired?",
            "When will I repair my car?",
        ),
        ("Do you sell your shares?", "Are your shares sold?"),
    ]);
    join(&[
        ("Can my order be cancelled?", "Can I cancel my order?"),
        ("Can soup be frozen?", "Can I freeze soup?"),
        ("Where can my car be parked?", "Where can I park my car?"),
        (
            "When will you ship my order?",
            "When will my order be shipped?",
        ),
        ("Did you approve my loan?", "Was my loan approved?"),
    ]);
}

#[test]
fn what_others_can_do_is_not_what_they_may_do() {
    separate(&[
        (
            "Can my landlord hear me?",
            "Is my landlord allowed to hear me?",
        ),
        ("Can toddlers swim?", "Are toddlers allowed to swim?"),
        (
            "Is it possible to cheat on the exam?",
            "Is it allowed to cheat on the exam?",
        ),
    ]);
    join(&[
        (
            "Can my landlord evict me without notice?",
            "Is my landlord allowed to evict me without notice?",
        ),
        ("Can I bring a dog?", "Am I allowed to bring a dog?"),
    ]);
}

#[test]
fn advice_is_not_what_is_done() {
    separate(&[
        (
            "How do I vote in the election?",
            "How should I vote in the election?",
        ),
        ("When do I sell my stocks?", "When should I sell my stocks?"),
    ]);
    join(&[("How do I store bananas?", "How should I store bananas?")]);
}

#[test]
fn who_gets_something_is_not_for_whom_it_is_done() {
    separate(&[
        ("Send me 50 USDC now.", "Send 50 USDC for me now."),
        (
            "Has my lender sold my loan?",
            "Has my lender sold me a loan?",
        ),
        (
            "I cancelled but you refunded me",
            "I cancelled but you refunded them",
        ),
        (
            "My sister lied and Dad blamed me and took away a week's allowance. Was it fair?",
            "My sister lied and Dad blamed her and took away a week's allowance. Was it fair?",
        ),
        (
            "Does my policy cover me driving someone else's car?",
            "Does my policy cover someone else driving my car?",
        ),
    ]);
}

#[test]
fn where_it_is_done_is_not_who_does_it() {
    separate(&[
        (
            "Can a car be parked in a garage by a guest?",
            "Can a guest park a car by a garage?",
        ),
        (
            "Was the house built in a river by the workers?",
            "Did the workers build the house by a river?",
        ),
    ]);
    join(&[
        (
            "Can a car be parked in a garage by a guest?",
            "Can a guest park a car in a garage?",
        ),
        (
            "Is the dog walked in the park by the owner?",
            "Does the owner walk the dog in the park?",
        ),
    ]);
}

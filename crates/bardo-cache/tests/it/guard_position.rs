//! Words that stand in another place of the same question.

use crate::guard_pairs::{join, separate};

#[test]
fn questions_with_the_question_word_elsewhere() {
    join(&[
        ("With which card did I pay?", "Which card did I pay with?"),
        (
            "Can I pay with a card instead of cash?",
            "Instead of cash, can I pay with a card?",
        ),
        (
            "git merge two branches how to",
            "how to git merge two branches",
        ),
    ]);
    separate(&[
        (
            "The letter was written by whom?",
            "Whom was the letter written to?",
        ),
        (
            "From which chain do I bridge?",
            "Which chain do I bridge to?",
        ),
        (
            "Under which license is it published?",
            "Under which name is it published?",
        ),
        (
            "Can I pay cash instead of a card?",
            "Can I pay by card instead of cash?",
        ),
        (
            "Instead of cash, can I pay by card?",
            "Instead of a card, can I pay cash?",
        ),
    ]);
}

#[test]
fn an_adjective_or_a_rate_stands_on_each_side_of_its_noun() {
    join(&[
        (
            "What body temperature is normal for a baby?",
            "What is the normal body temperature for a baby?",
        ),
        (
            "What is the euro to dollar exchange rate?",
            "What is the exchange rate from euro to dollar?",
        ),
        (
            "Which pool pays the highest yield?",
            "Which pool has the highest yield?",
        ),
        ("Do eggs count as dairy?", "Are eggs dairy?"),
        (
            "What was the all-time high of ETH?",
            "What is the all-time high of ETH?",
        ),
    ]);
    separate(&[
        (
            "What dose is normal for adults?",
            "What dose is normal for children?",
        ),
        (
            "What dose is normal for adults?",
            "Is the dose normal for adults?",
        ),
        (
            "What is the euro to dollar exchange rate?",
            "What is the exchange rate from dollar to euro?",
        ),
        (
            "Which pool pays the highest yield?",
            "Which pool pays the lowest yield?",
        ),
        (
            "Which bank pays the highest rate?",
            "Which bank charges the highest rate?",
        ),
        ("Do eggs count as dairy?", "Does dairy count as eggs?"),
        (
            "What was ETH's high last week?",
            "What is ETH's high this week?",
        ),
    ]);
}

#[test]
fn a_difference_has_two_sides_in_each_order() {
    join(&[
        (
            "What distinguishes a fork from a clone?",
            "What is the difference between a clone and a fork?",
        ),
        (
            "What sets a fork apart from a clone?",
            "In what way does a fork differ from a clone?",
        ),
        (
            "What are the pros and cons of solar panels?",
            "What are the cons and pros of solar panels?",
        ),
    ]);
    separate(&[
        (
            "What distinguishes a fork from a clone?",
            "What distinguishes a fork from a branch?",
        ),
        (
            "What are the pros and cons of solar panels?",
            "What are the pros or cons of solar panels?",
        ),
        ("Restart and clear the queue", "Clear and restart the queue"),
        (
            "What is the ratio of ETH and BTC?",
            "What is the ratio of BTC and ETH?",
        ),
        ("Read keys and write values", "Write keys and read values"),
    ]);
}

#[test]
fn a_negation_stays_with_its_verb() {
    separate(&[
        (
            "Why do companies not hire people who smoke?",
            "Why do companies hire people who don't smoke?",
        ),
        (
            "Why do banks not trust people who work?",
            "Why do banks trust people who don't work?",
        ),
        (
            "Why don't banks trust people who work?",
            "Why do banks trust people who don't work?",
        ),
        (
            "Why do browsers not open pages that load?",
            "Why do browsers open pages that don't load?",
        ),
        (
            "Which drivers do not have to pay the toll?",
            "Which drivers must not pay the toll?",
        ),
        (
            "Who doesn't have to wear a mask?",
            "Who must not wear a mask?",
        ),
        (
            "Who is not required to wear a mask?",
            "Who must not wear a mask?",
        ),
        ("Who need not pay?", "Who must not pay?"),
        (
            "Who doesn't always have to pay?",
            "Who must not always pay?",
        ),
    ]);
    join(&[
        (
            "Why does my router not work?",
            "Why doesn't my router work?",
        ),
        ("Why doesn't the key match?", "Why does the key not match?"),
        (
            "Who doesn't have to wear a mask?",
            "Who does not need to wear a mask?",
        ),
    ]);
}

#[test]
fn a_degree_stands_on_each_side_of_its_noun() {
    join(&[(
        "Why is the CPU usage so high?",
        "What's the reason for the high CPU usage?",
    )]);
    separate(&[
        (
            "Why is the CPU usage so high?",
            "What's the reason for the low CPU usage?",
        ),
        (
            "Why was the API slow?",
            "What is the reason for the slow API?",
        ),
    ]);
}

#[test]
fn a_language_may_stand_at_the_start() {
    join(&[
        (
            "Python: reverse a string",
            "How do I reverse a string in Python?",
        ),
        (
            "Load JSON from a file with Python",
            "How do I load JSON from a file in Python?",
        ),
    ]);
}

#[test]
fn a_time_stands_before_or_behind_its_question() {
    join(&[
        (
            "Did India win the match against Australia yesterday?",
            "Yesterday, did India win the match against Australia?",
        ),
        (
            "How many time zones does Russia have?",
            "Russia has how many time zones?",
        ),
    ]);
    separate(&[
        (
            "Yesterday, did India win the match against Australia?",
            "Yesterday, did Australia win the match against India?",
        ),
        (
            "As a tenant, can I list my roommate?",
            "Can I list my roommate as a tenant?",
        ),
        (
            "How many time zones does Russia have?",
            "Russia has how many neighbors?",
        ),
    ]);
}

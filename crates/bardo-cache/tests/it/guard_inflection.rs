//! Forms of words that are written in one place and mean another thing in another: the past, the
//! plural, and words that are meant as words.

use crate::guard_pairs::{join, separate};

#[test]
fn a_phrase_keeps_the_tense_in_which_it_is_written() {
    separate(&[
        (
            "Who signed up for the trial?",
            "Who signs up for the trial?",
        ),
        ("Who paid for the trip?", "Who pays for the trip?"),
        ("Who looked for the keys?", "Who looks for the keys?"),
        (
            "We threw away the key, what now?",
            "We throw away the key, what now?",
        ),
        (
            "They opted out of the study, what now?",
            "They opt out of the study, what now?",
        ),
        ("Who made changes to it?", "Who makes changes to it?"),
    ]);
    join(&[
        (
            "Who signed up for the trial?",
            "Who registered for the trial?",
        ),
        (
            "They gave back the money, what now?",
            "They returned the money, what now?",
        ),
        (
            "I was signed out, what do I do?",
            "I was logged out, what do I do?",
        ),
    ]);
}

#[test]
fn a_phrase_keeps_the_number_in_which_it_is_written() {
    separate(&[
        (
            "What is the largest city in Spain?",
            "What are the largest cities in Spain?",
        ),
        (
            "Name the longest river in Africa",
            "Name the longest rivers in Africa",
        ),
        (
            "What is the capital city of Bolivia?",
            "What are the capital cities of Bolivia?",
        ),
        (
            "What happened last month?",
            "What happened in the last months?",
        ),
    ]);
    join(&[
        (
            "What are the largest cities in Spain?",
            "What are the biggest cities in Spain?",
        ),
        (
            "Which mobile phones are waterproof?",
            "Which cell phones are waterproof?",
        ),
        (
            "What happened over the past month?",
            "What happened in the last month?",
        ),
    ]);
}

#[test]
fn a_past_without_an_ending_is_read_beside_who() {
    separate(&[
        ("Who set the record?", "Who sets the record?"),
        ("Who beat the Lakers?", "Who beats the Lakers?"),
        ("Who ran the job?", "Who runs the job?"),
        ("Who used the API?", "Who uses the API?"),
        (
            "How many people used the app?",
            "How many people use the app?",
        ),
    ]);
    join(&[("Who can read this file?", "Who is able to read this file?")]);
}

#[test]
fn a_numeral_a_type_and_a_word_in_quotes_are_what_is_written() {
    separate(&[
        (
            "How many wives did Henry VIII have?",
            "How many wives did Henry VII have?",
        ),
        ("Who was Louis XVI?", "Who was Louis XVII?"),
        (
            "What's the default value of an int? field in C#?",
            "What's the default value of an int field in C#?",
        ),
        (
            "How do you use 'affect' in a sentence?",
            "How do you use 'effect' in a sentence?",
        ),
        (
            "What does the \"delete\" button do?",
            "What does the \"remove\" button do?",
        ),
    ]);
    join(&[
        ("What is an int?", "what's an int"),
        (
            "How do I use the 'rebase' command?",
            "How do I use the rebase command?",
        ),
    ]);
}

#[test]
fn they_and_it_are_neither_you_nor_i() {
    separate(&[
        (
            "How do I cancel my subscription?",
            "How do they cancel my subscription?",
        ),
        ("How do you withdraw ETH?", "How do they withdraw ETH?"),
        ("Which visa do I need?", "Which visa do they need?"),
        (
            "If the oracle fails during my trade, who covers my loss?",
            "If the oracle fails during my trade, who covers its loss?",
        ),
    ]);
}

#[test]
fn a_negation_and_a_direction_hold_where_they_stand() {
    separate(&[
        (
            "Is it safe not to renew my domain?",
            "Is it not safe to renew my domain?",
        ),
        (
            "How many devices can I stream to on Standard?",
            "How many devices can I stream from on Standard?",
        ),
    ]);
}

#[test]
fn an_ending_makes_no_other_word() {
    separate(&[
        (
            "I stopped smoking, what happens to my lungs?",
            "I am smoking, what happens to my lungs?",
        ),
        (
            "Which servers failed to restart?",
            "Which servers noted the restart?",
        ),
        (
            "Where can I swap 500 USDS for DAI?",
            "Where can I swap 500 US dollars for DAI?",
        ),
        ("How do IP addresses work?", "How do IPS work?"),
        (
            "How many people drive used cars?",
            "How many people drove used cars?",
        ),
        ("Which customers got a refund?", "Which customers refunded?"),
        ("Where is the log file?", "Where are the log files?"),
    ]);
    join(&[
        (
            "Convert 100 US dollars to euros",
            "Convert 100 USD to euros",
        ),
        (
            "How do I block IP addresses?",
            "How do I block an IP address?",
        ),
        ("Which plan is sold out?", "Which plan is out of stock?"),
        ("how do I delete a list? thanks", "how do I delete a list?"),
        (
            "Where are the frequently asked questions?",
            "Where is the FAQ?",
        ),
    ]);
}

#[test]
fn what_had_happened_by_then_is_not_what_has_happened_by_now() {
    separate(&[
        (
            "How long have they been married?",
            "How long had they been married?",
        ),
        ("What has the court decided?", "What had the court decided?"),
        (
            "Which cases that began before 2015 are open?",
            "Which cases that begin before 2015 are open?",
        ),
    ]);
    join(&[(
        "How long have you been married?",
        "For how long have you been married?",
    )]);
}

#[test]
fn an_abbreviation_that_ends_in_s_is_no_plural() {
    separate(&[
        ("Which port does LDAP use?", "Which port does LDAPS use?"),
        (
            "In Excel, highlight the cells above average",
            "In Excel, highlight the cells above an average",
        ),
    ]);
}

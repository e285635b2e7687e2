//! With what something is done.

use crate::guard_pairs::{join, separate};

#[test]
fn a_tool_or_a_place_is_named_in_two_ways_beside_some_verbs() {
    join(&[
        (
            "How do I add a network to MetaMask?",
            "How do I add a network in MetaMask?",
        ),
        ("Can I pay in USDC?", "Can I pay with USDC?"),
        (
            "Can I change the email address on my account?",
            "Can I change the email address for my account?",
        ),
        (
            "How do I make a POST request?",
            "How do I send a POST request?",
        ),
        (
            "How do I get my passport renewed?",
            "How do I renew my passport?",
        ),
        (
            "How do I check if a key exists in a map?",
            "How do I check if a key is in a map?",
        ),
    ]);
    separate(&[
        (
            "How do I add files to the folder in git?",
            "How do I add files in the folder to git?",
        ),
        (
            "How do I add a user to a group?",
            "How do I add a group to a user?",
        ),
        (
            "How do I pay in USDC with ETH?",
            "How do I pay in ETH with USDC?",
        ),
        (
            "How do I log in on my phone?",
            "How do I log in with my phone?",
        ),
        (
            "How do I make a POST request?",
            "How do I make a GET request?",
        ),
        (
            "How do I get my passport renewed?",
            "How do I get my passport replaced?",
        ),
        (
            "How do I check if a key exists in a map?",
            "How do I check if a map exists in a key?",
        ),
    ]);
}

#[test]
fn what_fits_or_is_used_for_something() {
    join(&[
        (
            "How do I override a setting with an environment variable?",
            "How can an environment variable be used to override a setting?",
        ),
        (
            "Write a regex that matches a date.",
            "Give me a regular expression for matching a date.",
        ),
        (
            "Which wallets work with Arbitrum?",
            "What wallets are compatible with Arbitrum?",
        ),
        (
            "Is the charger compatible with my phone?",
            "Does the charger work with my phone?",
        ),
    ]);
    separate(&[
        (
            "How can an environment variable be used to override a setting?",
            "How can a setting be used to override an environment variable?",
        ),
        ("Am I used to coffee?", "Is coffee used to wake me?"),
        (
            "Write a regex that matches a date.",
            "Write a regex that does not match a date.",
        ),
        (
            "Which wallets are compatible with Arbitrum?",
            "Which wallets are incompatible with Arbitrum?",
        ),
        (
            "Is the charger compatible with my phone?",
            "Is the charger not compatible with my phone?",
        ),
        (
            "Does the charger work?",
            "Is the charger compatible with it?",
        ),
    ]);
}

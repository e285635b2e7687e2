//! Classes of near-misses that the guard separates: each pair differs in one small word or form.

use crate::guard_pairs::{join, separate};

#[test]
fn tense_separates_without_an_auxiliary_too() {
    separate(&[
        ("Has the Fed cut rates?", "Does the Fed cut rates?"),
        ("Has gold risen?", "Is gold rising?"),
        ("Should I have restarted it?", "Should I restart it?"),
        ("Who won the World Cup?", "Who wins the World Cup?"),
        (
            "Which company acquired Figma?",
            "Which company acquires Figma?",
        ),
        ("My package arrived late", "My package arrives late"),
        ("I paid twice", "I pay twice"),
        ("Why did the bank fail?", "Why would the bank fail?"),
    ]);
    join(&[
        ("Did the order ship?", "Has the order shipped?"),
        (
            "Who wrote War and Peace?",
            "Who is the author of War and Peace?",
        ),
        ("How do I boil eggs?", "How can eggs be boiled?"),
    ]);
}

#[test]
fn one_certain_thing_is_not_several() {
    separate(&[
        ("Is the dog dangerous?", "Are dogs dangerous?"),
        ("Cancel my order", "Cancel my orders"),
        ("Delete a row", "Delete the rows"),
        ("Is this snake poisonous?", "Are snakes poisonous?"),
    ]);
    join(&[
        ("Is a dog dangerous?", "Are dogs dangerous?"),
        ("What is the fee?", "What are the fees?"),
    ]);
}

#[test]
fn quantifiers_of_a_subject_count() {
    separate(&[
        (
            "Do some plans include backups?",
            "Do plans include backups?",
        ),
        (
            "Does any plan include backups?",
            "Does the plan include backups?",
        ),
        ("Why are some stocks falling?", "Why are stocks falling?"),
        ("Are there few errors?", "Are there a few errors?"),
        ("Is there little hope?", "Is there a little hope?"),
    ]);
    join(&[
        ("Are there any discounts?", "Are there discounts?"),
        ("What are some side effects?", "What are the side effects?"),
    ]);
}

#[test]
fn adverbs_count_in_questions_of_yes_or_no() {
    separate(&[
        ("Is it just for members?", "Is it for members?"),
        (
            "Is it ever safe to eat raw eggs?",
            "Is it safe to eat raw eggs?",
        ),
        (
            "Does the API return exactly one row?",
            "Does the API return one row?",
        ),
        ("Is the museum usually open?", "Is the museum open?"),
        ("Does the heater work well?", "Does the heater work?"),
        ("Who else has access?", "Who has access?"),
    ]);
    join(&[(
        "How long does a refund usually take?",
        "How long does a refund take?",
    )]);
}

#[test]
fn times_of_another_grain_separate_and_when_fits_each() {
    separate(&[
        ("What day is the meeting?", "What time is the meeting?"),
        (
            "In what year was it founded?",
            "On what date was it founded?",
        ),
        (
            "What is the start time of the match?",
            "What is the start date of the match?",
        ),
    ]);
    join(&[
        ("When is the meeting?", "What time is the meeting?"),
        ("When is the meeting?", "What day is the meeting?"),
    ]);
}

#[test]
fn a_modal_may_be_left_out_only_where_a_person_asks() {
    separate(&[
        (
            "What must the header contain?",
            "What does the header contain?",
        ),
        ("Which fields must be set?", "Which fields are set?"),
        ("Who can delete users?", "Who deletes users?"),
        ("Why might the pod restart?", "Why does the pod restart?"),
        ("How often must I test it?", "How often should I test it?"),
        ("What could not be saved?", "What should not be saved?"),
    ]);
    join(&[("What should I do?", "What do I do?")]);
}

#[test]
fn prepositions_without_an_object_count() {
    separate(&[
        (
            "Which chain can I bridge to?",
            "Which chain can I bridge from?",
        ),
        ("Who can I transfer to?", "Who can I transfer from?"),
        ("What is it used for?", "What is it used by?"),
    ]);
}

#[test]
fn and_is_not_or_beyond_a_preposition_or_an_article() {
    separate(&[
        ("Should I use var or let?", "Should I use let and var?"),
        (
            "Do I pay before or after shipping?",
            "Do I pay before and after shipping?",
        ),
        (
            "Do I repay in DAI or in USDC?",
            "Do I repay in DAI and in USDC?",
        ),
        (
            "Is it for men or for women?",
            "Is it for men and for women?",
        ),
        (
            "Does the buyer or the seller pay?",
            "Do the buyer and the seller pay?",
        ),
    ]);
}

#[test]
fn nothing_moves_across_a_negation() {
    separate(&[
        (
            "Does it work on Windows but not on Mac?",
            "Does it work on Mac but not on Windows?",
        ),
        (
            "Is it open today but not tomorrow?",
            "Is it open tomorrow but not today?",
        ),
    ]);
}

#[test]
fn capitals_count_in_units() {
    separate(&[
        ("Set the limit to 5 Mb", "Set the limit to 5 MB"),
        ("Is 100Mb enough?", "Is 100MB enough?"),
        ("Is 100 Mbps enough?", "Is 100 MBps enough?"),
        ("Is 5 mW safe?", "Is 5 MW safe?"),
    ]);
    join(&[("Set the limit to 5 gb", "Set the limit to 5GB")]);
}

#[test]
fn a_command_is_not_the_question_what_something_is() {
    separate(&[
        (
            "Define a variable in Python",
            "What is a variable in Python?",
        ),
        (
            "Provide liquidity on Uniswap",
            "What is liquidity on Uniswap?",
        ),
        ("Show a toast in Android", "What is a toast in Android?"),
        ("I need a refund", "What is a refund?"),
    ]);
    join(&[("Show me the price of ETH", "What is the price of ETH?")]);
}

#[test]
fn words_that_are_alike_in_some_contexts_only_are_no_synonyms() {
    separate(&[
        ("Is Ethereum down?", "Is ETH down?"),
        ("How do I receive USDC?", "How do I get USDC?"),
        ("How do I decline the offer?", "How do I reduce the offer?"),
        ("How do I check my order?", "How do I confirm my order?"),
        ("Which exchange is cheapest?", "Which swap is cheapest?"),
        ("Can I change my plan?", "Can I change my schedule?"),
        ("What is a token?", "What is a coin?"),
        (
            "Can I bring drugs on a plane?",
            "Can I bring medicine on a plane?",
        ),
        ("Go to the previous page", "Go to the last page"),
        ("What is the gas price?", "What is the gas fee?"),
        ("Dismiss the alert", "Fire the alert"),
    ]);
    join(&[(
        "What is the price of Ethereum?",
        "What is the price of ETH?",
    )]);
}

#[test]
fn owners_of_other_persons_count() {
    separate(&[
        (
            "How do I change my password?",
            "How do I change their password?",
        ),
        ("Did he call her?", "Did she call him?"),
    ]);
}

#[test]
fn a_comparison_exchanges_whole_sides_only() {
    separate(&[
        (
            "Compare the iPhone 14 and the Pixel 8",
            "Compare the iPhone 8 and the Pixel 14",
        ),
        (
            "What is the difference between Go in Docker and Rust in Podman?",
            "What is the difference between Go in Podman and Rust in Docker?",
        ),
        (
            "What is the distance from Rome in Italy to Lima in Peru?",
            "What is the distance from Rome in Peru to Lima in Italy?",
        ),
    ]);
    join(&[
        (
            "What is the difference between a list and a tuple in Python?",
            "What is the difference between a tuple and a list in Python?",
        ),
        (
            "Compare the iPhone 14 and the Pixel 8",
            "Compare the Pixel 8 and the iPhone 14",
        ),
        ("How far is Rome from Lima?", "How far is Lima from Rome?"),
    ]);
}

#[test]
fn phrases_move_over_the_phrase_beside_them_only() {
    separate(&[
        (
            "Am I allowed to drive in Italy on a US license?",
            "Am I allowed to drive in US on an Italy license?",
        ),
        (
            "Can I pay for a room in Rome with a card from Lima?",
            "Can I pay for a room in Lima with a card from Rome?",
        ),
        (
            "What is the best hotel in the city?",
            "What is the hotel in the best city?",
        ),
        (
            "Is it safer on the left than on the right?",
            "Is it safer on the right than on the left?",
        ),
        (
            "Why does it fail locally and pass remotely?",
            "Why does it fail remotely and pass locally?",
        ),
    ]);
    join(&[
        ("Supply USDC to Aave on Base", "Supply USDC on Base to Aave"),
        (
            "Do you automatically renew it?",
            "Do you renew it automatically?",
        ),
    ]);
}

#[test]
fn may_is_a_month_beside_a_preposition_or_a_number() {
    separate(&[
        ("Can I travel in May?", "Can I travel?"),
        (
            "Can I pay the May rent in June?",
            "Can I pay the June rent in May?",
        ),
    ]);
    join(&[
        ("May I park here?", "Can I park here?"),
        ("Can I travel on May 3?", "Can I travel on 3 May?"),
    ]);
}

#[test]
fn what_goes_on_is_not_what_is_done() {
    separate(&[
        ("Is the server being updated?", "Is the server updated?"),
        ("Is the server updating?", "Is the server updated?"),
        ("Is the store opening?", "Is the store open?"),
    ]);
    join(&[
        ("Why is the pod restarting?", "Why does the pod restart?"),
        ("Is it safe to eat raw eggs?", "Is eating raw eggs safe?"),
    ]);
}

#[test]
fn who_acts_on_whom_counts_in_open_questions() {
    separate(&[
        ("How can you help me?", "How can I help you?"),
        ("How do you pay me?", "How do I pay?"),
        ("Does it run for 3 hours?", "Does it run in 3 hours?"),
        ("Is the app on the phone?", "Is the app for the phone?"),
    ]);
}

#[test]
fn the_voice_of_a_verb_counts() {
    separate(&[
        ("Why are people paid?", "Why do people pay?"),
        ("Why are users forgotten?", "Why do users forget?"),
        ("Which tools are supported?", "Which tools support it?"),
    ]);
    join(&[
        ("Which tools are supported?", "Which tools do you support?"),
        ("Does it support SSO?", "Is SSO supported?"),
        (
            "How often do you update the docs?",
            "How often are the docs updated?",
        ),
    ]);
}

#[test]
fn available_and_current_count_before_what_they_describe() {
    separate(&[
        ("How many seats are available?", "How many seats are there?"),
        ("What is my available balance?", "What is my balance?"),
        (
            "How do I open a current account?",
            "How do I open an account?",
        ),
        ("Where is the current directory?", "Where is the directory?"),
    ]);
    join(&[
        (
            "What is the current price of ETH?",
            "What is the price of ETH?",
        ),
        (
            "Is a student discount available?",
            "Is there a student discount?",
        ),
    ]);
}

#[test]
fn you_and_i_are_not_one_person_where_no_modal_asks_for_a_rule() {
    separate(&[
        ("What do you charge?", "What do I charge?"),
        ("When do you ship?", "When do I ship?"),
        ("Do you have a discount?", "Do I have a discount?"),
    ]);
    join(&[("Should I stretch first?", "Should you stretch first?")]);
}

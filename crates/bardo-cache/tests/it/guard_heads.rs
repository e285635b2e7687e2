//! Prepositions that say another thing behind certain nouns: who rules is "of", and on what, in what or for
//! whom is another one.

use crate::guard_pairs::{join, separate};

#[test]
fn what_one_does_is_not_what_is_done_to_one() {
    separate(&[
        (
            "What were the sanctions of Russia?",
            "What were the sanctions on Russia?",
        ),
        (
            "What was the ruling of the court?",
            "What was the ruling on the court?",
        ),
        (
            "What are the books of Darwin?",
            "What are the books on Darwin?",
        ),
        (
            "What are Darwin's books about?",
            "What are the books on Darwin about?",
        ),
        (
            "What were Russia's sanctions?",
            "What were the sanctions on Russia?",
        ),
        (
            "What was the court ruling?",
            "What was the ruling on the court?",
        ),
        (
            "Is the police report public?",
            "Is the report on the police public?",
        ),
        (
            "When was the attack of Germany?",
            "When was the attack on Germany?",
        ),
        (
            "What is the price of Uniswap?",
            "What is the price on Uniswap?",
        ),
        (
            "What are the reviews of Amazon?",
            "What are the reviews on Amazon?",
        ),
    ]);
}

#[test]
fn what_one_has_is_not_what_others_have_in_or_for_one() {
    separate(&[
        (
            "How big is the stake of Tesla?",
            "How big is the stake in Tesla?",
        ),
        (
            "How big is Tesla's stake?",
            "How big is the stake in Tesla?",
        ),
        (
            "What is the faith of the people?",
            "What is the faith in the people?",
        ),
        (
            "Who is the ambassador of France?",
            "Who is the ambassador in France?",
        ),
        (
            "What are the risks of banks?",
            "What are the risks for banks?",
        ),
        (
            "What are the rules of the king?",
            "What are the rules for the king?",
        ),
        (
            "What is the limit of the king?",
            "What is the limit for the king?",
        ),
        (
            "What changes of the tenant are there?",
            "What changes on the tenant are there?",
        ),
        (
            "How large is the loan of the bank?",
            "How large is the loan for the bank?",
        ),
        ("What is the bank's loan?", "What is the loan for the bank?"),
        (
            "What are the requirements of the buyer?",
            "What are the requirements for the buyer?",
        ),
    ]);
}

#[test]
fn what_a_place_holds_and_what_a_label_stands_for_are_of_it() {
    join(&[
        (
            "What are the best museums of Berlin?",
            "What are the best museums in Berlin?",
        ),
        (
            "What is the population of France?",
            "What is the population in France?",
        ),
        (
            "How many floors does the Burj Khalifa have?",
            "How many floors are in the Burj Khalifa?",
        ),
        (
            "What is the capital of France?",
            "What is the capital in France?",
        ),
        (
            "What is the chemical formula of table salt?",
            "What is the chemical formula for table salt?",
        ),
        (
            "What is the rate limit of the search endpoint?",
            "What is the rate limit for the search endpoint?",
        ),
        (
            "What are the symptoms of the flu?",
            "What are the symptoms for the flu?",
        ),
    ]);
}

#[test]
fn a_size_is_no_count() {
    separate(&[(
        "Split a Python list into chunks of 4",
        "Split a Python list into 4 chunks",
    )]);
    join(&[("What is a budget of 50 USDC?", "What is a 50 USDC budget?")]);
}

#[test]
fn what_describes_a_thing_is_not_done_to_it() {
    separate(&[(
        "How do I start a hedge fund?",
        "How do I start hedging a fund?",
    )]);
}

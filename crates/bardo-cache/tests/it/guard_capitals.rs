//! Capitals, articles and signs that say which thing is meant.

use crate::guard_pairs::{join, separate};

#[test]
fn a_capital_tells_a_name_from_the_word_that_it_is_too() {
    separate(&[
        (
            "How do I remove Rust from my machine?",
            "How do I remove rust from my machine?",
        ),
        (
            "What do nice hotels in France cost?",
            "What do Nice hotels in France cost?",
        ),
        (
            "What's the population of Turkey?",
            "What's the population of turkeys?",
        ),
        (
            "When did the Police form in London?",
            "When did police form in London?",
        ),
        (
            "I want my Chase refund, who do I call?",
            "I want to chase my refund, who do I call?",
        ),
        ("can a java int be null", "can a java Integer be null"),
    ]);
    separate(&[
        ("how heavy is Mercury in kg", "how heavy is mercury in kg"),
        (
            "When would I reach for Map in JavaScript?",
            "When would I reach for map in JavaScript?",
        ),
        (
            "Grandma's recipe says 2 T salt. How much is that?",
            "Grandma's recipe says 2 t salt. How much is that?",
        ),
        ("Who sang \"Yesterday\"?", "Who sang yesterday?"),
    ]);
    join(&[
        (
            "How do I remove Rust from my machine?",
            "how do i remove rust from my machine",
        ),
        (
            "How do I install Docker on Ubuntu?",
            "How do I install docker on Ubuntu?",
        ),
        (
            "How do I install Docker on Ubuntu?",
            "How Do I Install Docker on Ubuntu?",
        ),
        (
            "Rust is on my machine, how do I remove it?",
            "rust is on my machine, how do I remove it?",
        ),
    ]);
}

#[test]
fn an_article_counts_where_it_makes_another_thing_of_a_word() {
    separate(&[
        (
            "What should I bring to prison?",
            "What should I bring to the prison?",
        ),
        (
            "Do I pay tax on a third of my pension?",
            "Do I pay tax on the third of my pension?",
        ),
        (
            "Does a candidate need most votes to win?",
            "Does a candidate need the most votes to win?",
        ),
        (
            "how much does parking cost by day",
            "how much does parking cost by the day",
        ),
        (
            "Which pods crashed last week?",
            "Which pods crashed in the last week?",
        ),
        ("What is due next month?", "What is due in the next month?"),
    ]);
    join(&[
        ("How do I get to the station?", "How do I get to station?"),
        (
            "Which pods crashed in the last week?",
            "Which pods crashed during the past week?",
        ),
    ]);
}

#[test]
fn what_does_something_is_not_what_it_is_done_to() {
    separate(&[
        (
            "how do I deal with a bored coworker",
            "how do I deal with a boring coworker",
        ),
        (
            "How do I find the blocked thread?",
            "How do I find the blocking thread?",
        ),
        (
            "what happens to shares of the acquired company",
            "what happens to shares of the acquiring company",
        ),
        (
            "what is the term of my lease",
            "what are the terms of my lease",
        ),
    ]);
}

#[test]
fn persons_keep_their_places() {
    separate(&[
        (
            "Can I delete a review I left for a seller?",
            "Can I delete a review a seller left for me?",
        ),
        (
            "how do I get my name on her booking",
            "how do I get her name on my booking",
        ),
        (
            "Can my son get his vaccine if he has a cold?",
            "Can my son get his vaccine if I have a cold?",
        ),
    ]);
    separate(&[
        (
            "Does the loss come out of his ETH?",
            "Does the loss come out of my ETH?",
        ),
        (
            "Who did the Gurkhas fight for in the war?",
            "Who did the Gurkhas fight in the war?",
        ),
        (
            "How might a shareholder effect a change?",
            "How might a shareholder affect a change?",
        ),
    ]);
    join(&[("Is he taller than I?", "Is he taller than me?")]);
}

#[test]
fn a_sign_that_is_asked_about_counts() {
    separate(&[
        (
            "What does ?? do in JavaScript?",
            "What does ?. do in JavaScript?",
        ),
        ("What does ! do in bash", "What does : do in bash"),
        ("what does - do in bash", "what does -- do in bash"),
        (
            "What is the difference between ; and : in SQL?",
            "What is the difference between ; and . in SQL?",
        ),
        ("what is {} in python?", "what is [] in python?"),
        ("what does YYYY-MM-DD print", "what does YYYY-mm-DD print"),
    ]);
    separate(&[
        (
            "What does echo \"$HOME\" print in bash?",
            "What does echo '$HOME' print in bash?",
        ),
        (
            "what will rsync -a src/ backup create",
            "what will rsync -a src backup create",
        ),
    ]);
    join(&[
        ("how do I cancel my order ??", "how do I cancel my order?"),
        ("how do I cancel my order ...", "how do I cancel my order"),
        (
            "hi , how do I cancel my order",
            "hi, how do I cancel my order",
        ),
        (
            "My order is late - how do I cancel it?",
            "My order is late, how do I cancel it?",
        ),
    ]);
}

#[test]
fn a_version_keeps_its_zero_and_a_scale_its_capital() {
    separate(&[
        (
            "does python 3.1 have match statements",
            "does python 3.10 have match statements",
        ),
        (
            "Is kubernetes 1.3 supported?",
            "Is kubernetes 1.30 supported?",
        ),
        (
            "What is new in version 2.1?",
            "What is new in version 2.10?",
        ),
        (
            "What does memory: 128m mean in a pod spec?",
            "What does memory: 128M mean in a pod spec?",
        ),
        ("How much is 5 ml?", "How much is 5 ML?"),
        ("How much is 5ml of water?", "How much is 5ML of water?"),
        ("How long is 3 mm?", "How long is 3 Mm?"),
    ]);
    join(&[
        ("Is 1.50 ETH enough for gas?", "Is 1.5 ETH enough for gas?"),
        (
            "What happens if the fee is 2.50 %?",
            "What happens if the fee is 2.5 %?",
        ),
        ("How do I invest $5m?", "How do I invest $5 million?"),
        (
            "How do I raise 5M users?",
            "How do I raise 5 million users?",
        ),
    ]);
}

#[test]
fn a_city_is_no_praise() {
    separate(&[(
        "Recommend a nice hotel for two people.",
        "Recommend a Nice hotel for two people.",
    )]);
}

//! Questions for ages, limits, recommendations and names: what the guard joins, and its neighbours.

use crate::guard_pairs::{join, separate};

#[test]
fn the_age_at_an_event() {}

#[test]
fn getting_somebody_to_do_it_is_making_them_do_it() {
    join(&[(
        "Any tips for making a toddler eat vegetables?",
        "How do I make a toddler eat vegetables?",
    )]);
    separate(&[
        ("How do I get my dog to sit?", "How do I let my dog sit?"),
        (
            "How do I get my dog to stop barking?",
            "How do I stop my dog?",
        ),
        (
            "How do I get my dog to Spain?",
            "How do I make my dog Spanish?",
        ),
        (
            "How do I get my dog to eat?",
            "How do I get my dog to eat less?",
        ),
    ]);
}

#[test]
fn prices_taxes_and_limits() {
    join(&[
        (
            "What did Google pay for YouTube?",
            "How much did Google pay for YouTube?",
        ),
        (
            "Are stock gains taxable?",
            "Do I have to pay tax on stock gains?",
        ),
        ("Do I owe tax on stock gains?", "Are stock gains taxed?"),
        (
            "What is the file size limit?",
            "What is the maximum file size?",
        ),
        (
            "How long can a password be?",
            "What is the maximum length of a password?",
        ),
        (
            "How many devices can I use?",
            "What is the maximum number of devices I can use?",
        ),
    ]);
    separate(&[
        (
            "What did Google pay for YouTube?",
            "How much did YouTube pay for Google?",
        ),
        (
            "What did Google pay for YouTube?",
            "How much does Google pay for YouTube?",
        ),
        (
            "What do I pay to buy a car?",
            "How much do I pay to sell a car?",
        ),
        ("Are stock gains taxable?", "Are stock losses taxable?"),
        ("Are stock gains taxable?", "Can I pay tax on stock gains?"),
        ("Are stock gains taxable?", "Are stock gains not taxable?"),
        (
            "How much memory can the container use?",
            "How much memory does the container use?",
        ),
        ("How large can a file be?", "How small can a file be?"),
        (
            "How long can a password be?",
            "How long should a password be?",
        ),
        (
            "How long can a password be?",
            "How long must a password be?",
        ),
        (
            "How long can a password be?",
            "What is the minimum length of a password?",
        ),
        (
            "What is the file size limit?",
            "What is the minimum file size?",
        ),
        (
            "What is the message size limit?",
            "What is the message count limit?",
        ),
        (
            "What is the maximum number of devices I can use?",
            "What is the maximum number of devices I must use?",
        ),
        (
            "What is the maximum number of devices I can use?",
            "What is the minimum number of devices I can use?",
        ),
    ]);
}

#[test]
fn roles_of_a_refund_and_states_of_a_person() {
    join(&[
        ("Will I get refunded?", "Will I get a refund?"),
        ("Is building permitted here?", "Can I build here?"),
        (
            "Is trading possible on Sunday?",
            "Is trade possible on Sunday?",
        ),
    ]);
    separate(&[
        ("Will I get refunded?", "Will I refund?"),
        ("Will I get a refund?", "Will I give a refund?"),
        ("Was I charged twice?", "Did I charge twice?"),
        ("Who is on duty tonight?", "Who is on leave tonight?"),
        ("Is the item in stock?", "Do you stock the item?"),
        ("Is it on sale?", "Is it for sale?"),
        ("Is he at work?", "Does he work?"),
        ("Is building permitted?", "Is the building permitted?"),
        ("Is meeting allowed?", "Is the meeting allowed?"),
    ]);
}

#[test]
fn recommendations_and_substitutes() {
    join(&[
        (
            "Can you recommend a dinner I can make in 20 minutes?",
            "Please suggest a dinner I can make in 20 minutes.",
        ),
        (
            "What can I use instead of butter?",
            "What is a good substitute for butter?",
        ),
        (
            "What is the best substitute for butter?",
            "What is the best butter substitute?",
        ),
    ]);
    separate(&[
        (
            "Can you recommend a gift for my wife?",
            "Can you recommend a gift for my husband?",
        ),
        (
            "Can you recommend a hotel in Rome?",
            "Do you recommend a hotel in Rome?",
        ),
        (
            "Can you recommend a hotel in Rome?",
            "What is a hotel in Rome?",
        ),
        (
            "What can I use instead of butter?",
            "What can I use with butter?",
        ),
        (
            "What is a good substitute for butter?",
            "What is a bad substitute for butter?",
        ),
    ]);
}

#[test]
fn names_and_particles_in_several_wordings() {
    join(&[
        (
            "Where is the largest ocean on Earth?",
            "Where is the biggest ocean in the world?",
        ),
        (
            "What were the best performing tech stocks in 2022?",
            "Which tech stocks did best in 2022?",
        ),
        ("Where's the search bar?", "Where is the search box?"),
    ]);
    separate(&[
        (
            "What were the best performing tech stocks in 2022?",
            "Which tech stocks did worst in 2022?",
        ),
        ("Which stocks are rising?", "Which stocks are dropping?"),
        (
            "Can I trade before the market opens?",
            "Can I trade after the market closes?",
        ),
        ("Is the shop shut?", "Is the shop open?"),
        (
            "Was the email sent by mistake?",
            "Was the email sent on purpose?",
        ),
        ("Can I pay in advance?", "Can I pay afterwards?"),
        ("Can I order by phone?", "Can I order a phone?"),
        (
            "Why did the dinosaurs die out?",
            "When did the dinosaurs die out?",
        ),
        (
            "Which countries border France?",
            "Which countries border on war?",
        ),
        ("Who owns the company?", "Whom does the company own?"),
    ]);
}

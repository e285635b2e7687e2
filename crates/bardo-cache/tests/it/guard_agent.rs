//! Who acts, and to whom something is done.

use crate::guard_pairs::{join, separate};

#[test]
fn who_did_it_is_not_left_out() {
    separate(&[
        ("Which orders did I cancel?", "Which orders did you cancel?"),
        (
            "Which payments did I receive?",
            "Which payments did you receive?",
        ),
        (
            "Which orders did we cancel?",
            "Which orders did they cancel?",
        ),
        ("Which shows do I watch?", "Which shows do you watch?"),
        ("Which orders did I cancel?", "Which orders were cancelled?"),
    ]);
    join(&[
        (
            "Which payment methods do you accept?",
            "Which payment methods are accepted?",
        ),
        ("Which documents do I need?", "Which documents are needed?"),
        (
            "Which languages does it support?",
            "Which languages are supported?",
        ),
    ]);
}

#[test]
fn what_is_done_to_a_person_is_not_what_the_person_does() {
    separate(&[
        ("When am I paid?", "When do I pay?"),
        ("How can I be paid?", "How can I pay?"),
        ("Why was I charged?", "Why did I charge?"),
        ("Can I be liquidated?", "Can I liquidate?"),
        ("How is he paid?", "How does he pay?"),
        ("How is it charged?", "How does it charge?"),
        ("How is it charged?", "How do I charge it?"),
        ("Should I be paid?", "Should I pay?"),
    ]);
    join(&[
        ("How can my router be reset?", "How can I reset my router?"),
        (
            "How do I filter results by date?",
            "How can results be filtered by date?",
        ),
        (
            "How does Uniswap determine prices?",
            "How are prices determined on Uniswap?",
        ),
    ]);
}

#[test]
fn who_acts_in_the_passive_voice_keeps_the_role() {
    separate(&[
        ("How does Rome feed Paris?", "How is Rome fed in Paris?"),
        ("Did Rome build the road?", "Was the road built in Rome?"),
        (
            "How does Uniswap determine prices?",
            "How are prices determined on Curve?",
        ),
        (
            "How do I filter results by date?",
            "How can results be filtered by name?",
        ),
    ]);
}

#[test]
fn roles_of_a_refund_and_states_of_a_person() {
    join(&[
        ("Will I get refunded?", "Will I get a refund?"),
        ("Is smoking permitted here?", "Can I smoke here?"),
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
fn who_depends_on_whom_counts() {
    separate(&[
        (
            "Which services depend on Redis?",
            "Which services does Redis depend on?",
        ),
        ("What runs on Docker?", "What does Docker run on?"),
        (
            "What drives the price of gold?",
            "What does the price of gold drive?",
        ),
        (
            "How do I sort by name then by age?",
            "How do I sort by age then by name?",
        ),
        (
            "Which users report on Bob?",
            "Which users does Bob report on?",
        ),
    ]);
    join(&[
        (
            "Which services depend on Redis?",
            "Which services are dependent on Redis?",
        ),
        (
            "Which country is Timbuktu in?",
            "In which country is Timbuktu?",
        ),
    ]);
}

#[test]
fn who_does_what_is_its_own() {
    join(&[(
        "How are Uniswap's fees calculated?",
        "How does Uniswap calculate its fees?",
    )]);
    separate(&[
        (
            "Which artist painted the Mona Lisa?",
            "Which artist stole the Mona Lisa?",
        ),
        (
            "How does Uniswap calculate its fees?",
            "How does Uniswap calculate my fees?",
        ),
        (
            "How does Uniswap calculate its fees?",
            "How does Curve calculate its fees?",
        ),
        (
            "How does Aave lower its fees?",
            "How does Aave raise its fees?",
        ),
    ]);
}

#[test]
fn what_follows_a_rule_is_calculated_by_anyone() {
    join(&[(
        "How is compound interest calculated?",
        "How do you calculate compound interest?",
    )]);
    separate(&[
        (
            "How is my score calculated?",
            "How do I calculate my score?",
        ),
        (
            "How is compound interest calculated?",
            "How is compound interest paid?",
        ),
        (
            "How is compound interest calculated?",
            "How is simple interest calculated?",
        ),
        ("How are students paid?", "How do you pay students?"),
    ]);
}

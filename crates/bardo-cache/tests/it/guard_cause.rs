//! Why something happens, and what keeps it from happening.

use crate::guard_pairs::{join, separate};

#[test]
fn a_cause_is_asked_for_in_its_tense() {
    join(&[
        ("What causes earthquakes?", "Why do earthquakes happen?"),
        (
            "What were the causes of the fall of Rome?",
            "Why did Rome fall?",
        ),
        ("What made gold rise?", "Why did gold rise?"),
    ]);
    separate(&[
        ("What caused the delay?", "What causes the delay?"),
        ("What made gold rise?", "What made gold fall?"),
        ("What made you sell?", "What made me sell?"),
        ("What led to the crash?", "What did the crash lead to?"),
        ("What caused the outage?", "What caused the recovery?"),
        (
            "What is the reason for the fee?",
            "What was the reason for the fee?",
        ),
    ]);
}

#[test]
fn what_stops_it_is_why_it_cannot() {
    join(&[
        (
            "What stops a proposal from being executed?",
            "Why can't a proposal be executed?",
        ),
        (
            "What prevents the server from starting?",
            "Why can't the server start?",
        ),
    ]);
    separate(&[
        (
            "What stops a proposal from being executed?",
            "Why can a proposal be executed?",
        ),
        (
            "What stops the server from starting?",
            "What stops the server?",
        ),
        (
            "What keeps the server from stopping?",
            "Why can't the server start?",
        ),
        (
            "What stops thieves from selling the phone?",
            "Why can't the phone sell thieves?",
        ),
    ]);
}

#[test]
fn what_does_not_work_is_named_in_each_order() {
    join(&[
        (
            "Why doesn't my printer work?",
            "My printer is not working, why?",
        ),
        (
            "Why is my regex not matching?",
            "Why doesn't my regex match?",
        ),
        (
            "Why does the pod keep crashing?",
            "Why is the pod crashing?",
        ),
    ]);
    separate(&[
        ("Why doesn't my printer work?", "Why does my printer work?"),
        (
            "Why does the app not work offline?",
            "Why does the app not work?",
        ),
        ("Why do all jobs not run?", "Why do not all jobs run?"),
        ("Why do I keep losing money?", "Why do I keep money?"),
        (
            "Why does he keep the dog barking?",
            "Why does the dog bark?",
        ),
    ]);
}

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
fn what_is_published_comes_out_and_what_is_stopped_from_doing_is_prevented() {
    join(&[
        (
            "When does the jobs report come out?",
            "When will the jobs report be released?",
        ),
        (
            "How do I stop the app from starting?",
            "How can I prevent the app from starting?",
        ),
        ("Which cafes are near me?", "Which cafes are in my area?"),
    ]);
    separate(&[
        (
            "When does the jobs report come out?",
            "When did the jobs report come out?",
        ),
        (
            "When will the album be released?",
            "When was the album released?",
        ),
        (
            "How do I stop it from starting?",
            "How do I start it from stopping?",
        ),
        (
            "How do I keep files from leaking?",
            "How do I keep leaking files?",
        ),
        (
            "Which cafes are near me?",
            "Which cafes are near the river?",
        ),
    ]);
}

#[test]
fn what_moved_it_is_why_it_moved() {
    join(&[
        (
            "What moved oil prices today?",
            "Why did oil prices move today?",
        ),
        (
            "What drove gold up last week?",
            "Why did gold rise last week?",
        ),
    ]);
    separate(&[
        (
            "What moved oil prices today?",
            "What moved gold prices today?",
        ),
        (
            "What drove gold up last week?",
            "What drove gold down last week?",
        ),
        ("What drove gold up last week?", "Why does gold rise?"),
        ("What moved me?", "Why did I move?"),
    ]);
}

//! What something has, holds or comes with.

use crate::guard_pairs::{join, separate};

#[test]
fn what_a_thing_has_or_holds_is_of_it() {
    join(&[
        (
            "What risks does staking have?",
            "What are the risks of staking?",
        ),
        (
            "Which risks come with staking?",
            "What are the risks of staking?",
        ),
        (
            "How much protein does an egg contain?",
            "How much protein is in an egg?",
        ),
        (
            "How much memory does the app use?",
            "What is the memory usage of the app?",
        ),
        (
            "How much volume does Curve have?",
            "What is the volume of Curve?",
        ),
        (
            "What is included in the plan?",
            "What does the plan include?",
        ),
        ("What comes with the plan?", "What does the plan include?"),
        (
            "What permissions does the token need?",
            "Which permissions are required for the token?",
        ),
        (
            "Which pools have the highest yield?",
            "What are the pools with the highest yield?",
        ),
    ]);
    separate(&[
        (
            "What risks does staking have?",
            "What benefits does staking have?",
        ),
        (
            "Which files does the folder have?",
            "Which folders does the file have?",
        ),
        (
            "What risks come with staking?",
            "What risks come from staking?",
        ),
        (
            "How much protein does an egg contain?",
            "How much protein does an egg need?",
        ),
        (
            "How much memory does the app use?",
            "How much memory did the app use?",
        ),
        (
            "How much memory does the app use?",
            "How much memory does the app need?",
        ),
        (
            "What permissions does the token need?",
            "What permissions does the token have?",
        ),
        (
            "What permissions does the token need?",
            "Which token does the permission need?",
        ),
        (
            "What is included in the plan?",
            "What is the plan included in?",
        ),
        ("What comes with the phone?", "What comes after the phone?"),
        (
            "Which pools have the highest yield?",
            "Which pools have the lowest yield?",
        ),
        (
            "Which pools have the highest yield?",
            "Which pools had the highest yield?",
        ),
    ]);
}

#[test]
fn what_it_comes_in_is_what_it_is_available_in() {
    join(&[(
        "What colors does the backpack come in?",
        "In which colors is the backpack available?",
    )]);
    separate(&[(
        "What colors does the backpack come in?",
        "What sizes does the backpack come in?",
    )]);
}

#[test]
fn what_is_mine_is_not_what_is_his() {
    separate(&[
        (
            "My brother wants me to pay his fine. Can he do that?",
            "My brother wants me to pay my fine. Can he do that?",
        ),
        (
            "Is my brother allowed to sell his car?",
            "Is my brother allowed to sell my car?",
        ),
    ]);
}

//! Verbs that ask for an attribute of a thing.

use crate::guard_pairs::{join, separate};

#[test]
fn a_verb_asks_for_an_attribute() {
    join(&[
        (
            "At what temperature does water boil?",
            "What is the boiling point of water?",
        ),
        (
            "How long do elephants live?",
            "What's the life expectancy of elephants?",
        ),
        ("How fast does light travel?", "What's the speed of light?"),
        ("What do koalas eat?", "What is the diet of koalas?"),
    ]);
    separate(&[
        (
            "At what temperature does water boil?",
            "At what temperature does water freeze?",
        ),
        (
            "At what temperature does iron melt?",
            "What is the boiling point of iron?",
        ),
        (
            "How long do elephants live?",
            "How long do elephants sleep?",
        ),
        ("How long do elephants live?", "Where do elephants live?"),
        ("How fast does light travel?", "How far does light travel?"),
        ("What do koalas eat?", "What eats koalas?"),
    ]);
}

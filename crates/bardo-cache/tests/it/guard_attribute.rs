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

#[test]
fn a_noun_asks_what_its_verb_asks() {
    join(&[
        (
            "How much does an adult elephant weigh?",
            "What's the weight of an adult elephant?",
        ),
        (
            "How does the Electoral College work?",
            "Explain the workings of the Electoral College.",
        ),
        (
            "How does quantitative tightening work?",
            "What's the mechanism behind quantitative tightening?",
        ),
        (
            "What does the Supreme Court do?",
            "What is the role of the Supreme Court?",
        ),
        (
            "What does a cardiologist do?",
            "What is the job of a cardiologist?",
        ),
        (
            "When is the VAT return due?",
            "What is the due date of the VAT return?",
        ),
    ]);
    separate(&[
        (
            "How much does an adult elephant weigh?",
            "How much does an adult elephant eat?",
        ),
        (
            "How much does an adult elephant weigh?",
            "What's the height of an adult elephant?",
        ),
        (
            "How does the Electoral College work?",
            "Where does the Electoral College work?",
        ),
        (
            "What does the Supreme Court do?",
            "What did the Supreme Court do?",
        ),
        (
            "What is the role of the Supreme Court?",
            "What is the role of the Supreme Leader?",
        ),
        ("How long did the war last?", "How long does the war last?"),
        (
            "How long did the war last?",
            "How long ago was the last war?",
        ),
        (
            "When is the VAT return due?",
            "When is the VAT return filed?",
        ),
    ]);
}

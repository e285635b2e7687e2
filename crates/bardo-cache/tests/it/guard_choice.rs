//! Which of two things.

use crate::guard_pairs::{join, separate};

#[test]
fn a_choice_names_its_things_before_or_behind_what_they_are_compared_for() {
    join(&[
        (
            "Which is better for programming, a Mac or a PC?",
            "Is a Mac or a PC better for programming?",
        ),
        (
            "For programming, which one is better: a PC or a Mac?",
            "Which is better for programming, a Mac or a PC?",
        ),
        (
            "Which is cheaper to use, Base or Optimism?",
            "Is Base or Optimism cheaper to use?",
        ),
        (
            "Which is better, oil or gas?",
            "What is better: gas or oil?",
        ),
    ]);
    separate(&[
        (
            "Which is better for programming, a Mac or a PC?",
            "Which is worse for programming, a Mac or a PC?",
        ),
        (
            "Which is better for programming, a Mac or a PC?",
            "Is a Mac or a PC better for gaming?",
        ),
        (
            "Which is better for a Mac, Chrome or Safari?",
            "Which is better for Chrome, a Mac or Safari?",
        ),
        (
            "Which is cheaper to use, Base or Optimism?",
            "Which is cheaper to leave, Base or Optimism?",
        ),
        (
            "Which is safer for a cat, a dog or a bird?",
            "Which is safer for a dog, a cat or a bird?",
        ),
        (
            "Which is cheaper, Base or Optimism?",
            "Which is cheaper than Base, Optimism or Arbitrum?",
        ),
        (
            "Is lead or gold the heavier one?",
            "Is lead or gold the lighter one?",
        ),
        (
            "Should I keep my crypto in a hot wallet or a cold wallet?",
            "Should I keep my crypto in a hot wallet and a cold wallet?",
        ),
        (
            "Should I put a hot dog or a cold beer on the table?",
            "Should I put a cold dog or a hot beer on the table?",
        ),
        (
            "Should I move from a hot wallet or to a cold wallet?",
            "Should I move to a hot wallet or from a cold wallet?",
        ),
    ]);
}

//! Prompts of several sentences or clauses: which words belong to which, and when the last one asks.

use crate::guard_pairs::{join, separate};

#[test]
fn words_of_two_sentences_do_not_change_places() {
    separate(&[
        (
            "Meeting is at 9 am in Paris. What time is that in Tokyo?",
            "Meeting is at 9 am in Tokyo. What time is that in Paris?",
        ),
        (
            "My sister isn't talking to our mother. Should I mediate?",
            "My sister isn't talking to me. Should our mother mediate?",
        ),
    ]);
}

#[test]
fn a_later_question_has_its_own_time() {
    separate(&[
        (
            "My green card application has been approved. When will the card arrive?",
            "My green card application has been approved. When did the card arrive?",
        ),
        (
            "The backup is 2 TB and the link does 100 Mbps. How long will the copy take?",
            "The backup is 2 TB and the link does 100 Mbps. How long did the copy take?",
        ),
        (
            "The tenant has given notice. Which deadlines does the lease set now?",
            "The tenant has given notice. Which deadlines did the lease set now?",
        ),
    ]);
}

#[test]
fn a_comma_says_which_ones_a_clause_is_about() {
    separate(&[
        (
            "Sell all my altcoins, which are too volatile.",
            "Sell all my altcoins which are too volatile.",
        ),
        (
            "The depositors, who had lost money, were refunded. Was every depositor refunded?",
            "The depositors who had lost money were refunded. Was every depositor refunded?",
        ),
        (
            "The bull said the bear was wrong about ETH. Who was wrong?",
            "The bull, said the bear, was wrong about ETH. Who was wrong?",
        ),
    ]);
    join(&[(
        "For a small swap, which is cheaper, Base or mainnet?",
        "Which is cheaper for a small swap, Base or mainnet?",
    )]);
}

#[test]
fn a_clause_and_a_pronoun_agree_with_one_thing_or_several() {
    separate(&[
        (
            "I'm returning the shoes in the box that were damaged. What was damaged?",
            "I'm returning the shoes in the box that was damaged. What was damaged?",
        ),
        (
            "I ordered a chair and two lamps. Please cancel it and tell me what's still coming.",
            "I ordered a chair and two lamps. Please cancel them and tell me what's still coming.",
        ),
    ]);
}

#[test]
fn two_times_of_a_comparison_do_not_change_places() {
    separate(&[(
        "In January, is the Earth closer to the sun than it is in July?",
        "In July, is the Earth closer to the sun than it is in January?",
    )]);
    join(&[(
        "What happens at 5 pm on Friday?",
        "What happens on Friday at 5 pm?",
    )]);
}

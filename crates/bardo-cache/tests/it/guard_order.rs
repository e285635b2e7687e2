//! Words that change places: a verb before its object is its noun behind it, and nothing else.

use crate::guard_pairs::{join, separate};

#[test]
fn what_is_done_first_is_not_what_is_done_second() {
    separate(&[
        (
            "Should I lint before testing?",
            "Should I test before linting?",
        ),
        (
            "Should I swap after bridging?",
            "Should I bridge after swapping?",
        ),
        (
            "Is it bad to drink while eating?",
            "Is it bad to eat while drinking?",
        ),
        (
            "What happens if I sell without reporting?",
            "What happens if I report without selling?",
        ),
        (
            "Should I cook before freezing fish?",
            "Should I freeze before cooking fish?",
        ),
        (
            "Can I lose weight by eating without exercising?",
            "Can I lose weight by exercising without eating?",
        ),
        (
            "Can I close before withdrawing my account?",
            "Can I withdraw before closing my account?",
        ),
        (
            "Should I read when writing?",
            "Should I write when reading?",
        ),
        ("Should I learn by teaching?", "Should I teach by learning?"),
    ]);
}

#[test]
fn who_does_something_is_not_to_whom_it_is_done() {
    separate(&[
        (
            "How do I stop my cat scratching?",
            "How do I stop scratching my cat?",
        ),
        (
            "How do I stop my ex calling?",
            "How do I stop calling my ex?",
        ),
        (
            "How do I stop the app updating?",
            "How do I stop updating the app?",
        ),
        ("How do I stop dogs eating?", "How do I stop eating dogs?"),
        (
            "How do I keep email sending?",
            "How do I keep sending email?",
        ),
    ]);
    join(&[
        (
            "How long does it take to withdraw ETH?",
            "How long does ETH withdrawal take?",
        ),
        (
            "How long does it take to stream videos?",
            "How long does videos streaming take?",
        ),
    ]);
}

#[test]
fn nouns_of_their_own_do_not_change_places() {
    separate(&[(
        "Are the three largest holders of the token exchanges?",
        "Are the three largest exchanges holders of the token?",
    )]);
}

#[test]
fn two_things_of_one_deed_are_named_in_each_order() {
    join(&[
        (
            "Can I take aspirin and ibuprofen together?",
            "Can I take ibuprofen and aspirin together?",
        ),
        (
            "Do these headphones work with both iPhone and Android?",
            "Do these headphones work with both Android and iPhone?",
        ),
    ]);
    separate(&[
        (
            "Can I take aspirin and ibuprofen together?",
            "Can I take aspirin or ibuprofen together?",
        ),
        (
            "Can I take aspirin and then ibuprofen?",
            "Can I take ibuprofen and then aspirin?",
        ),
        (
            "Should I buy red wine and beer?",
            "Should I buy red beer and wine?",
        ),
        (
            "Can I eat fish and drink milk?",
            "Can I eat milk and drink fish?",
        ),
        (
            "Can I take 2 aspirin and 1 ibuprofen?",
            "Can I take 1 aspirin and 2 ibuprofen?",
        ),
    ]);
}

#[test]
fn a_label_is_no_count_and_an_owner_who_acts_is_not_acted_on() {
    separate(&[
        (
            "How long is the season 3 pass valid?",
            "How long is the 3 season pass valid?",
        ),
        (
            "Can I change the owner of the workspace?",
            "Can the owner of the workspace change it?",
        ),
        (
            "Can I change the price of the room?",
            "Can the price of the room change?",
        ),
    ]);
    join(&[
        ("What does error 404 mean?", "What does the 404 error mean?"),
        (
            "Write a regex that matches a UUID v4.",
            "Write a regex that matches a v4 UUID.",
        ),
    ]);
}

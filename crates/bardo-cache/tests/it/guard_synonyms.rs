//! Words of one meaning in some places only.

use crate::guard_pairs::{join, separate};

#[test]
fn words_beside_their_neighbours() {
    join(&[
        (
            "Which funds own Apple shares?",
            "Which funds hold Apple shares?",
        ),
        ("Why was my card declined?", "Why was my card rejected?"),
        (
            "How do I throw an exception in Java?",
            "How do I raise an exception in Java?",
        ),
        ("How do I verify my email?", "How can I confirm my email?"),
        (
            "Where can I enter a discount code?",
            "Where do I type in a promo code?",
        ),
        (
            "Can I recover deleted contacts?",
            "Can I restore deleted contacts?",
        ),
    ]);
    separate(&[
        ("Why was my card declined?", "Why was my card accepted?"),
        (
            "Which funds own Apple shares?",
            "Which funds sold Apple shares?",
        ),
        (
            "How do I catch an exception in Java?",
            "How do I raise an exception in Java?",
        ),
        (
            "Where can I put my password?",
            "Where can I enter my password?",
        ),
        (
            "Does the ETH price increase demand?",
            "Does ETH increase demand?",
        ),
        (
            "What does the temperature mean for plants?",
            "What is the average temperature for plants?",
        ),
        (
            "Do I need a doctor recommendation?",
            "Do I need to recommend a doctor?",
        ),
        (
            "What happens if my account gets locked?",
            "What happens if my account gets unlocked?",
        ),
        (
            "How can a VPN be used to hide my IP address?",
            "How can a VPN be used to find my IP address?",
        ),
        (
            "How does a whale feed its young?",
            "How is a whale fed by its young?",
        ),
        ("Can you suggest a gift?", "Can I suggest a gift?"),
        ("What is a good gift?", "What is the best gift?"),
        ("Who owns Instagram?", "Who created Instagram?"),
        (
            "Will I get my money back if I cancel?",
            "Will I get my money back if you cancel?",
        ),
        (
            "Are there planets outside the solar system?",
            "Are there planets in the solar system?",
        ),
        (
            "How do I install the package online?",
            "How do I install the online package?",
        ),
    ]);
}

#[test]
fn words_of_one_meaning_beside_certain_words_stay_apart_elsewhere() {
    join(&[
        (
            "How do I create an API token?",
            "How can I generate an API token?",
        ),
        (
            "How do I undo a deployment?",
            "How do I roll back a deployment?",
        ),
        (
            "How do I upgrade to the latest version?",
            "How do I update to the newest version?",
        ),
        ("Give Bob access", "Grant Bob access"),
        ("Mute the alert", "Silence the alert"),
    ]);
    separate(&[
        ("How do I create a user?", "How do I generate a user?"),
        ("How do I upgrade my plan?", "How do I update my plan?"),
        ("Who do I give access to?", "Who gives me access?"),
        ("Give Bob access", "Revoke Bob's access"),
        ("Give Bob money", "Grant Bob money"),
        (
            "How do I get the length of a list?",
            "How do I set the length of a list?",
        ),
        (
            "How do I change my email address?",
            "How do I change my address?",
        ),
        ("How do I read my email address?", "How do I read my email?"),
        ("Show me yesterday's sales", "Show me today's sales"),
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

#[test]
fn short_words_hide_in_no_other_word() {
    separate(&[
        ("Is the site down?", "Is Saturday down?"),
        ("How do I fill in the form?", "How do I file the form?"),
        ("Can I go to Japan?", "Will I be in Japan?"),
        ("Is the docs folder full?", "Is the document folder full?"),
    ]);
    join(&[
        (
            "What was the S&P 500's return?",
            "What was the S&P 500 return?",
        ),
        ("Is the site down?", "Is the website down?"),
        (
            "How do I cancel it before it renews?",
            "How do I cancel it before the renewal?",
        ),
    ]);
}

#[test]
fn one_thing_in_other_words() {
    join(&[
        (
            "What is the longest river in Africa?",
            "What is the longest African river?",
        ),
        (
            "Can I upgrade my plan at any time?",
            "May I upgrade my plan whenever I want?",
        ),
        (
            "What payment methods are accepted?",
            "Which ways of paying are accepted?",
        ),
    ]);
    separate(&[(
        "What is the longest river in Africa?",
        "Which Asian river is the longest?",
    )]);
}

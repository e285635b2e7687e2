//! Degrees, counts and words beside their neighbours: what the guard joins, and what it does not.

use crate::guard_pairs::{join, separate};

#[test]
fn degrees_counts_and_programs() {
    join(&[
        (
            "Why is the CPU usage so high?",
            "What's the reason for the high CPU usage?",
        ),
        (
            "How many pods are running?",
            "What's the number of running pods?",
        ),
        ("How many eggs are in a dozen?", "A dozen is how many eggs?"),
        (
            "How do I ignore a folder in git?",
            "How can I make git ignore a directory?",
        ),
        (
            "How do I add a column to a table with SQL?",
            "Which SQL statement adds a column to a table?",
        ),
        (
            "What is the currency of Japan?",
            "Which currency is used in Japan?",
        ),
        ("What do koalas eat?", "What is the diet of koalas?"),
        (
            "What is the deepest lake in the world?",
            "Which lake is the deepest?",
        ),
        (
            "How do I rename a branch in git?",
            "How can I change the name of a branch in git?",
        ),
        (
            "How do I remove ice from my windshield?",
            "What's the best way to get ice off my windshield?",
        ),
        (
            "How do I remove liquidity from a pool?",
            "How can I take liquidity out of a pool?",
        ),
        (
            "When is the next halving?",
            "When will the next halving happen?",
        ),
    ]);
    separate(&[
        (
            "Why is the CPU usage so high?",
            "What's the reason for the low CPU usage?",
        ),
        (
            "How many pods are running?",
            "How many pods are not running?",
        ),
        (
            "How many running pods are there?",
            "How many pending pods are there?",
        ),
        (
            "How many eggs are in a dozen?",
            "How many dozen are in an egg?",
        ),
        (
            "How do I make git ignore a folder?",
            "How do I make git track a folder?",
        ),
        (
            "How do I make git ignore a folder?",
            "How do I make npm ignore a folder?",
        ),
        (
            "Which SQL statement adds a column to a table?",
            "Which SQL statement adds a table to a column?",
        ),
        (
            "Which currency is used in Japan?",
            "Which currency was used in Japan?",
        ),
        ("What do koalas eat?", "What eats koalas?"),
        (
            "What is the deepest lake in the world?",
            "What is the deepest lake in Europe?",
        ),
        (
            "What is the deepest lake in the world?",
            "What is the largest lake?",
        ),
        (
            "How do I rename a branch?",
            "How do I change the owner of a branch?",
        ),
        (
            "How do I get ice off my windshield?",
            "How do I get my windshield off the ice?",
        ),
        (
            "How do I take liquidity out of a pool?",
            "How do I put liquidity into a pool?",
        ),
        (
            "When will the next halving happen?",
            "When did the last halving happen?",
        ),
        (
            "What is the maximum number of users I can add?",
            "What is the number of users I added?",
        ),
        (
            "Why was the API slow?",
            "What is the reason for the slow API?",
        ),
    ]);
}

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

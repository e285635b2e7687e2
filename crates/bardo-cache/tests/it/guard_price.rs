//! What something costs: worth, tax, limits of a sum, and prices that move.

use crate::guard_pairs::{join, separate};

#[test]
fn what_something_is_worth_is_its_price() {
    join(&[
        ("How much is one ETH worth?", "What is the price of ETH?"),
        ("What is gold trading at?", "How much does gold cost?"),
        (
            "What do you charge for shipping?",
            "How much do I have to pay for shipping?",
        ),
    ]);
    separate(&[
        ("What is ETH worth?", "What was ETH worth?"),
        ("How much is ETH worth?", "How much is ETH worth in BTC?"),
        ("How much is one ETH worth?", "How much are ten ETH worth?"),
        ("What is gold worth buying?", "What is the price of gold?"),
        (
            "What do you charge for shipping?",
            "What do you charge for returns?",
        ),
    ]);
}

#[test]
fn prices_taxes_and_limits() {
    join(&[
        (
            "What did Google pay for YouTube?",
            "How much did Google pay for YouTube?",
        ),
        (
            "Are stock gains taxable?",
            "Do I have to pay tax on stock gains?",
        ),
        ("Do I owe tax on stock gains?", "Are stock gains taxed?"),
        (
            "What is the file size limit?",
            "What is the maximum file size?",
        ),
        (
            "How long can a password be?",
            "What is the maximum length of a password?",
        ),
        (
            "How many devices can I use?",
            "What is the maximum number of devices I can use?",
        ),
    ]);
    separate(&[
        (
            "What did Google pay for YouTube?",
            "How much did YouTube pay for Google?",
        ),
        (
            "What did Google pay for YouTube?",
            "How much does Google pay for YouTube?",
        ),
        (
            "What do I pay to buy a car?",
            "How much do I pay to sell a car?",
        ),
        ("Are stock gains taxable?", "Are stock losses taxable?"),
        ("Are stock gains taxable?", "Can I pay tax on stock gains?"),
        ("Are stock gains taxable?", "Are stock gains not taxable?"),
        (
            "How much memory can the container use?",
            "How much memory does the container use?",
        ),
        ("How large can a file be?", "How small can a file be?"),
        (
            "How long can a password be?",
            "How long should a password be?",
        ),
        (
            "How long can a password be?",
            "How long must a password be?",
        ),
        (
            "How long can a password be?",
            "What is the minimum length of a password?",
        ),
        (
            "What is the file size limit?",
            "What is the minimum file size?",
        ),
        (
            "What is the message size limit?",
            "What is the message count limit?",
        ),
        (
            "What is the maximum number of devices I can use?",
            "What is the maximum number of devices I must use?",
        ),
        (
            "What is the maximum number of devices I can use?",
            "What is the minimum number of devices I can use?",
        ),
    ]);
}

#[test]
fn prices_that_move_and_spans_of_time() {
    join(&[
        (
            "Why did the ETH price fall today?",
            "Why did ETH fall today?",
        ),
        (
            "What is the trading volume of BTC in the last 24 hours?",
            "What is the 24h trading volume of BTC?",
        ),
        (
            "What was the error rate in the last hour?",
            "What was the error rate in the last 60 minutes?",
        ),
        ("Repay half of my loan", "Repay 50% of my loan"),
        (
            "Did gas fees on Ethereum go up this week?",
            "Have Ethereum gas fees increased this week?",
        ),
        (
            "How do I move USDC from Ethereum to Arbitrum?",
            "How do I bridge USDC from Ethereum to Arbitrum?",
        ),
    ]);
    separate(&[
        (
            "Why did the ETH price fall today?",
            "Why did the ETH supply fall today?",
        ),
        ("Why did the ETH price fall?", "Why did the ETH price rise?"),
        ("What is the ETH price?", "What is ETH?"),
        (
            "What is the 24h trading volume of BTC?",
            "What is the 7d trading volume of BTC?",
        ),
        (
            "What was the error rate in the last hour?",
            "What was the error rate in the last 6 minutes?",
        ),
        (
            "What was the error rate in the last hour?",
            "What will the error rate be in 1 hour?",
        ),
        ("Repay half of my loan", "Repay 5% of my loan"),
        (
            "How do I move USDC from Ethereum to Arbitrum?",
            "How do I bridge USDC from Arbitrum to Ethereum?",
        ),
        (
            "How do I move USDC to Bob on Arbitrum?",
            "How do I bridge USDC to Bob on Arbitrum?",
        ),
    ]);
}

#[test]
fn what_costs_less_is_cheaper() {
    join(&[
        (
            "Is the blue one cheaper than the red one?",
            "Does the blue one cost less than the red one?",
        ),
        (
            "Does a taxi cost more than a bus?",
            "Is a taxi more expensive than a bus?",
        ),
    ]);
    separate(&[
        (
            "Is the blue one cheaper than the red one?",
            "Does the red one cost less than the blue one?",
        ),
        (
            "Does a taxi cost more than a bus?",
            "Is a taxi cheaper than a bus?",
        ),
        (
            "Does a taxi cost less than 20 dollars?",
            "Is a taxi cheaper than 2 dollars?",
        ),
    ]);
}

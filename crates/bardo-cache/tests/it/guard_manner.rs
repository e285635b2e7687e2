//! Verbs and their nouns, prices that move, and questions of how and where: what the guard joins, and its neighbours.

use crate::guard_pairs::{join, separate};

#[test]
fn verbs_and_their_nouns() {
    join(&[
        (
            "How long does it take to withdraw ETH?",
            "How long does ETH withdrawal take?",
        ),
        ("How do I rotate an API key?", "API key rotation how to"),
        (
            "What are the steps for password recovery?",
            "What are the steps to recover a password?",
        ),
    ]);
    separate(&[
        (
            "How long does it take to withdraw ETH?",
            "How long does USDC withdrawal take?",
        ),
        (
            "How do I delete a project?",
            "How does project deletion work?",
        ),
        ("Is user validation needed?", "Should users validate it?"),
        (
            "What is the risk of police shooting?",
            "What is the risk of shooting police?",
        ),
        (
            "What is the fee for ETH withdrawal?",
            "What is the fee for an ETH deposit?",
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
fn what_is_offered_safe_or_accepted() {
    join(&[
        (
            "What colors does the backpack come in?",
            "In which colors is the backpack available?",
        ),
        (
            "Which perfume do you recommend for men?",
            "What is a good perfume for men?",
        ),
        (
            "Is stETH accepted as collateral on Aave?",
            "Can stETH be used as collateral on Aave?",
        ),
        (
            "At what temperature does water boil?",
            "What is the boiling point of water?",
        ),
        (
            "How do you say \"good morning\" in French?",
            "Translate \"good morning\" to French",
        ),
        (
            "How can I make a Docker image smaller?",
            "How do I reduce the size of a Docker image?",
        ),
        (
            "What is the longest river in Africa?",
            "What is the longest African river?",
        ),
        (
            "Is the dollar getting stronger?",
            "Is the dollar strengthening?",
        ),
        ("What is slippage in trading?", "Define slippage in trading"),
    ]);
    separate(&[
        (
            "What colors does the backpack come in?",
            "What sizes does the backpack come in?",
        ),
        (
            "Which perfume do you recommend for men?",
            "Which perfume do you recommend for women?",
        ),
        (
            "Which perfume do you recommend?",
            "Which perfume would I recommend?",
        ),
        (
            "Are eggs safe to eat after a week?",
            "Is it safe to eat eggs before a week?",
        ),
        (
            "Are dogs safe to eat eggs after a week?",
            "Is it safe to eat dogs after a week?",
        ),
        (
            "Is stETH accepted as collateral?",
            "Should stETH be used as collateral?",
        ),
        (
            "At what temperature does water boil?",
            "At what temperature does water freeze?",
        ),
        (
            "At what temperature does iron melt?",
            "What is the boiling point of iron?",
        ),
        (
            "How do you say \"good morning\" in French?",
            "Translate \"good morning\" from French",
        ),
        (
            "How can I make a Docker image smaller?",
            "How can I make a Docker image bigger?",
        ),
        (
            "How can I make the font bigger?",
            "How can I make the image bigger?",
        ),
        (
            "What is the longest river in Africa?",
            "Which Asian river is the longest?",
        ),
        (
            "Is the dollar getting stronger?",
            "Is the dollar getting weaker?",
        ),
        (
            "Which artist painted the Mona Lisa?",
            "Which artist stole the Mona Lisa?",
        ),
        ("Define variables in Rust", "What are constants in Rust?"),
    ]);
}

#[test]
fn how_and_where_in_other_clauses() {
    join(&[
        (
            "How are Uniswap's fees calculated?",
            "How does Uniswap calculate its fees?",
        ),
        (
            "How do I override a setting with an environment variable?",
            "How can an environment variable be used to override a setting?",
        ),
        (
            "How do I turn on dark mode?",
            "Where do I turn on dark mode?",
        ),
        (
            "How do I update my credit card details?",
            "Where can I change my credit card details?",
        ),
        (
            "In which folder is the config file?",
            "Where is the config file?",
        ),
        (
            "How can I get a stain out of a shirt?",
            "How do I remove a stain from a shirt?",
        ),
        (
            "Can I upgrade my plan at any time?",
            "May I upgrade my plan whenever I want?",
        ),
        (
            "What payment methods are accepted?",
            "Which ways of paying are accepted?",
        ),
        (
            "Write a regex that matches a date.",
            "Give me a regular expression for matching a date.",
        ),
    ]);
    separate(&[
        (
            "How does Uniswap calculate its fees?",
            "How does Uniswap calculate my fees?",
        ),
        (
            "How does Uniswap calculate its fees?",
            "How does Curve calculate its fees?",
        ),
        (
            "How does Aave lower its fees?",
            "How does Aave raise its fees?",
        ),
        (
            "How can an environment variable be used to override a setting?",
            "How can a setting be used to override an environment variable?",
        ),
        ("Where do I change my tires?", "How do I change my tires?"),
        (
            "Where do I change my password?",
            "When do I change my password?",
        ),
        (
            "Where do I turn on dark mode?",
            "Where do I turn off dark mode?",
        ),
        (
            "In which folder is the config file?",
            "In which format is the config file?",
        ),
        (
            "How do I get out of my contract?",
            "How do I remove my contract?",
        ),
        (
            "How can I get a stain out of a shirt?",
            "How can I get a shirt out of a stain?",
        ),
        (
            "How do I get money out of my account?",
            "How do I get money into my account?",
        ),
        ("Am I used to coffee?", "Is coffee used to wake me?"),
        (
            "Write a regex that matches a date.",
            "Write a regex that does not match a date.",
        ),
    ]);
}

#[test]
fn what_moves_works_and_happens() {
    join(&[
        (
            "What happens to my LP tokens if the pool is paused?",
            "If the pool gets paused, what happens to my LP tokens?",
        ),
        (
            "Which wallets work with Arbitrum?",
            "What wallets are compatible with Arbitrum?",
        ),
        (
            "Is the charger compatible with my phone?",
            "Does the charger work with my phone?",
        ),
        (
            "What moved oil prices today?",
            "Why did oil prices move today?",
        ),
        (
            "What drove gold up last week?",
            "Why did gold rise last week?",
        ),
        (
            "How long is the timeout by default?",
            "How long is the default timeout?",
        ),
        (
            "What language is spoken in Brazil?",
            "Which language do people in Brazil speak?",
        ),
        (
            "How long do elephants live?",
            "What's the life expectancy of elephants?",
        ),
        ("How fast does light travel?", "What's the speed of light?"),
        (
            "Do I need a visa for Thailand?",
            "Is a visa necessary to enter Thailand?",
        ),
        (
            "Why do I get a null pointer exception?",
            "Why am I getting a NullPointerException?",
        ),
    ]);
    separate(&[
        (
            "What happens if the pool gets paused?",
            "What happens if the pool gets pauses?",
        ),
        (
            "What happens if my card gets lost?",
            "What happens if my card is found?",
        ),
        (
            "What happens if my card gets declined?",
            "What happens if my card is not declined?",
        ),
        (
            "Which wallets are compatible with Arbitrum?",
            "Which wallets are incompatible with Arbitrum?",
        ),
        (
            "Is the charger compatible with my phone?",
            "Is the charger not compatible with my phone?",
        ),
        (
            "Does the charger work?",
            "Is the charger compatible with it?",
        ),
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
        (
            "How long is the default timeout?",
            "How long is the maximum timeout?",
        ),
        (
            "Which language do people in Brazil speak?",
            "Which language do people in Spain speak?",
        ),
        (
            "How long do elephants live?",
            "How long do elephants sleep?",
        ),
        ("How long do elephants live?", "Where do elephants live?"),
        ("How fast does light travel?", "How far does light travel?"),
        (
            "Which city is Australia's capital?",
            "Which city is Austria's capital?",
        ),
        (
            "Which city is Australia's capital?",
            "Which city is Australia's largest?",
        ),
        (
            "Do I need a visa to enter Thailand?",
            "Do I need a visa to leave Thailand?",
        ),
        (
            "Do I need a visa for Thailand?",
            "Do I need a visa from Thailand?",
        ),
        (
            "Do I need a visa to work in Thailand?",
            "Do I need a visa to enter Thailand?",
        ),
        ("Why do I get a refund?", "Why did I get a refund?"),
    ]);
}

//! Refunds, reviews and returns, and near-misses of the rules for clauses.

use crate::guard_pairs::{join, separate};

#[test]
fn refunds_reviews_and_returns() {
    join(&[
        ("How do I return an item?", "How can I send an item back?"),
        (
            "When will I receive my refund?",
            "When do I get my money back?",
        ),
        (
            "Why was my payment declined?",
            "What's the reason my payment got declined?",
        ),
        ("How do I leave a review?", "How can I write a review?"),
        (
            "Can I use my account on several devices?",
            "May I use my account on multiple devices?",
        ),
        (
            "Is Bitcoin above $60,000?",
            "Is the price of Bitcoin over $60,000?",
        ),
        (
            "How much is a barrel of oil?",
            "What does a barrel of oil cost?",
        ),
        (
            "Where can I recycle batteries?",
            "Where can batteries be recycled?",
        ),
        ("Is coffee bad for you?", "Is coffee unhealthy?"),
        (
            "What time is it in Tokyo?",
            "What's the time in Tokyo right now?",
        ),
        (
            "What does the function return?",
            "What is the return value of the function?",
        ),
        (
            "Which methods does the client have?",
            "What methods does the client offer?",
        ),
        (
            "How do I run the server in the background?",
            "How can the server be run in the background?",
        ),
    ]);
    separate(&[
        ("How do I return an item?", "How do I send an item?"),
        (
            "How do I send the item back to Bob?",
            "How do I send the item to Bob?",
        ),
        (
            "When will I receive my refund?",
            "When will you receive my refund?",
        ),
        (
            "When do I get my money back?",
            "When do I give my money back?",
        ),
        ("When am I refunded?", "When do I refund?"),
        (
            "Why was my payment declined?",
            "What's the reason my payment got approved?",
        ),
        ("How do I leave a review?", "How do I delete a review?"),
        ("How do I leave a team?", "How do I write to a team?"),
        (
            "Can I use my account on several devices?",
            "Can I use my account on all devices?",
        ),
        ("Is Bitcoin above $60,000?", "Is Bitcoin below $60,000?"),
        (
            "Is the price of Bitcoin over $60,000?",
            "Is the supply of Bitcoin over 60,000?",
        ),
        (
            "Will Bitcoin be above $60,000?",
            "Is the price of Bitcoin over $60,000?",
        ),
        (
            "What does a barrel of oil cost?",
            "What did a barrel of oil cost?",
        ),
        (
            "What does delay cost us?",
            "What is the price of delay for you?",
        ),
        ("Where can I recycle batteries?", "Where can I be recycled?"),
        (
            "Where can I recycle batteries?",
            "Where must batteries be recycled?",
        ),
        ("Where can I be paid?", "Where can I pay?"),
        ("Is coffee bad for you?", "Is coffee good for you?"),
        ("Is coffee bad for dogs?", "Is coffee bad for you?"),
        ("What time is it in Tokyo?", "What time is sunset in Tokyo?"),
        ("What time is it in Tokyo?", "What day is it in Tokyo?"),
        (
            "What does the function return?",
            "What does the function require?",
        ),
        (
            "What does the function return?",
            "What did the function return?",
        ),
        (
            "What do customers return?",
            "What is the return value of customers?",
        ),
        (
            "Which methods does the client offer?",
            "Which methods does the client lack?",
        ),
        ("How do I run the server?", "How does the server run?"),
        ("Can the server be run twice?", "Can the server run twice?"),
    ]);
}

#[test]
fn near_misses_of_rules_for_clauses() {
    separate(&[
        (
            "Why did the stock price fall?",
            "Why did the stock market fall?",
        ),
        ("Did the gold price rise?", "Did the gold supply rise?"),
        (
            "Is student evaluation required?",
            "Must students evaluate it?",
        ),
        ("How do mummies form?", "How do mothers form?"),
        ("Are record highs bad?", "Are record lows bad?"),
        (
            "What is the average response time?",
            "What is the maximum response time?",
        ),
        ("How do I leave the country?", "How do I enter the country?"),
        ("What is the deposit fee?", "What is the deposit limit?"),
        (
            "Can I get my money out of Lido?",
            "Can I put my money into Lido?",
        ),
        ("How do I get the stain out?", "How do I get the stain in?"),
        ("Is it my turn to pay?", "Is it my turn to be paid?"),
        (
            "How do I let my dog out of the house?",
            "How do I get my dog into the house?",
        ),
        (
            "What is the first stock exchange?",
            "What is the last stock exchange?",
        ),
        (
            "Can children be left alone at home?",
            "Can children leave home alone?",
        ),
        ("Is the item on loan?", "Is there a loan on the item?"),
        ("Is the CEO on trial?", "Is the CEO trying it?"),
        ("Can I use one by one?", "Can I use all at once?"),
        ("Is the flight on time?", "Is the flight at the same time?"),
        (
            "Is it safe to eat sushi during pregnancy?",
            "Is it safe to eat sushi after pregnancy?",
        ),
        (
            "What stops inflation from falling?",
            "Why can inflation fall?",
        ),
        ("What keeps prices from rising?", "Why do prices rise?"),
        (
            "Which flag do I use to enable it?",
            "Which flag can I not use to enable it?",
        ),
        (
            "How do I send USDC from Base to Arbitrum?",
            "How do I send USDC on Base to Arbitrum?",
        ),
        (
            "What is the size limit for uploads?",
            "What is the size limit for downloads?",
        ),
        (
            "How does Aave protect its users?",
            "How do users protect Aave?",
        ),
        (
            "How does Aave protect its users?",
            "How are Aave users protected from hackers?",
        ),
        ("What drove Tesla up?", "Who drove a Tesla up?"),
        (
            "Does the plan let me invite users?",
            "Does the plan let users invite me?",
        ),
        (
            "Which services are compatible with v2?",
            "Which services work without v2?",
        ),
        ("How long do cats live?", "How long did cats live?"),
        ("How long do cats live?", "How long do cats live alone?"),
        (
            "Which language do people in Brazil speak?",
            "Which people in Brazil speak the language?",
        ),
        (
            "Which city is Germany's largest capital?",
            "Which capital is Germany's largest city?",
        ),
        ("Was she at work?", "Did she work?"),
        (
            "My card was declined. Why?",
            "My card was not declined. Why?",
        ),
        (
            "I need to cancel my flight, can that be done?",
            "I need to cancel my flight, must that be done?",
        ),
        (
            "How do I get my refund back to my card?",
            "How do I get my card back?",
        ),
        ("Can the app let me know?", "Does the app know me?"),
        (
            "Is payment by phone possible?",
            "Is payment for the phone possible?",
        ),
        ("Is the price past its peak?", "Is the price at its peak?"),
        ("How do I pay off a loan?", "How do I take out a loan?"),
        ("Should I opt for A or B?", "Should I opt out of A or B?"),
        (
            "Is the restaurant shut on Monday?",
            "Is the restaurant shut until Monday?",
        ),
        (
            "What is a good gift under 50 dollars?",
            "What is a good gift over 50 dollars?",
        ),
        (
            "Can you recommend some books on Rome?",
            "Can you recommend some books from Rome?",
        ),
        (
            "Who is the owner of the company?",
            "Who was the owner of the company?",
        ),
        (
            "Will I get my money back if I cancel?",
            "Did I get my money back if I cancelled?",
        ),
        (
            "What happens when the token gets burned?",
            "What happens before the token gets burned?",
        ),
        ("How do I type in a code?", "How do I scan a code?"),
        (
            "What is the largest number of moons of a planet?",
            "What is the smallest number of moons of a planet?",
        ),
        (
            "Which planet in the solar system has rings?",
            "Which planet outside the solar system has rings?",
        ),
        ("What is 50% of 200?", "What is 5% of 200?"),
        (
            "Is half of the supply locked?",
            "Is all of the supply locked?",
        ),
        ("Repay 50% of my loan", "Repay my loan"),
        (
            "Was the API up 60 minutes ago?",
            "Was the API up 60 seconds ago?",
        ),
        ("How long is 12 months?", "How long is 12 weeks?"),
    ]);
}

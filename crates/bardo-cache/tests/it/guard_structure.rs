//! Short words and signs that make another question of the same words: "decide if" and "decide when".

use crate::guard_pairs::{join, separate};

#[test]
fn what_is_told_or_decided_is_whether_or_when() {
    separate(&[
        (
            "How does the protocol decide if a position is liquidated?",
            "How does the protocol decide when a position is liquidated?",
        ),
        (
            "Does git log show if a commit was signed?",
            "Does git log show when a commit was signed?",
        ),
        (
            "How do I ask my boss if I will be promoted?",
            "How do I ask my boss when I will be promoted?",
        ),
        ("Does it matter if I pay?", "Does it matter when I pay?"),
        (
            "Is it clear if the bridge opens?",
            "Is it clear when the bridge opens?",
        ),
        (
            "How do I know whether my order shipped?",
            "How do I know when my order shipped?",
        ),
    ]);
    join(&[
        (
            "What happens if I miss a payment?",
            "What happens when I miss a payment?",
        ),
        (
            "Does the app show a warning if my card expires?",
            "Does the app show a warning when my card expires?",
        ),
        (
            "Do I get a refund if I cancel?",
            "Do I get a refund when I cancel?",
        ),
    ]);
}

#[test]
fn advice_is_no_fact() {
    separate(&[
        ("Which database should we use?", "Which database do we use?"),
        ("Who should I report to?", "Who do I report to?"),
        ("What should I weigh?", "What do I weigh?"),
        ("How often should I get paid?", "How often do I get paid?"),
        (
            "How should Aave handle bad debt?",
            "How does Aave handle bad debt?",
        ),
        (
            "How should banks store passwords?",
            "How do banks store passwords?",
        ),
        ("Why would a dog eat grass?", "Why does a dog eat grass?"),
        ("Where would a cat hide?", "Where does a cat hide?"),
        (
            "How would a default affect me?",
            "How does a default affect me?",
        ),
        ("When will the store open?", "When does the store open?"),
    ]);
    join(&[
        (
            "What should I do if I lose my card?",
            "What do I do if I lose my card?",
        ),
        (
            "Who should I contact about a refund?",
            "Who do I contact about a refund?",
        ),
        ("How should I store passwords?", "How do I store passwords?"),
        ("How would one reset a router?", "How do I reset a router?"),
        ("When will my order ship?", "When does my order ship?"),
    ]);
}

#[test]
fn a_value_is_not_what_it_means() {
    separate(&[
        (
            "What does my credit score mean?",
            "What is my credit score?",
        ),
        ("What does my name mean?", "What is my name?"),
        (
            "What does a low heart rate mean?",
            "What is a low heart rate?",
        ),
        ("What does the error rate mean?", "What is the error rate?"),
    ]);
    join(&[
        ("What does APR mean?", "What is APR?"),
        (
            "What does my credit score mean?",
            "What is the meaning of my credit score?",
        ),
        (
            "What does the status \"archived\" mean?",
            "What is meant by the status \"archived\"?",
        ),
    ]);
}

#[test]
fn how_long_until_it_acts_is_not_how_long_it_acts() {
    separate(&[
        (
            "How long does ibuprofen take to work?",
            "How long does ibuprofen work?",
        ),
        (
            "How long do painkillers need to work?",
            "How long do painkillers work?",
        ),
        (
            "How long does it take a fund to pay interest?",
            "How long does a fund pay interest?",
        ),
        (
            "How long does the battery last?",
            "How long is the battery?",
        ),
        ("How long will the candle last?", "How long is the candle?"),
        ("How long do the cables last?", "How long are the cables?"),
    ]);
    join(&[
        (
            "How long does a wire take to clear?",
            "How long does it take for a wire to clear?",
        ),
        (
            "How long does it take to withdraw ETH?",
            "How long does ETH withdrawal take?",
        ),
        (
            "How long does the warranty last?",
            "How long is the warranty?",
        ),
    ]);
}

#[test]
fn of_is_not_in_or_for_behind_some_nouns() {
    separate(&[
        (
            "What is the price of Bitcoin?",
            "What is the price in Bitcoin?",
        ),
        (
            "What is the Bitcoin price?",
            "What is the price in Bitcoin?",
        ),
        ("Is fear of dogs common?", "Is fear in dogs common?"),
        (
            "What are the side effects of children?",
            "What are the side effects in children?",
        ),
        (
            "What are the rewards of validators?",
            "What are the rewards for validators?",
        ),
        (
            "What is the advice of lawyers?",
            "What is the advice for lawyers?",
        ),
        (
            "What is the University of Texas known for?",
            "What is the university in Texas known for?",
        ),
        (
            "Where is the Bank of England?",
            "Where is the bank in England?",
        ),
        ("Does rabies have a cure?", "Is there a cure in rabies?"),
    ]);
    join(&[
        (
            "What is the price of ETH in USD?",
            "What is the ETH price in USD?",
        ),
        (
            "Does ibuprofen have side effects?",
            "Are there side effects of ibuprofen?",
        ),
        (
            "What is the population of Texas?",
            "What is the population in Texas?",
        ),
        (
            "What are the rules of chess?",
            "What are the rules for chess?",
        ),
        (
            "How many ounces are in a pound?",
            "How many ounces does a pound have?",
        ),
        ("Does rabies have a cure?", "Is there a cure for rabies?"),
    ]);
}

#[test]
fn a_sum_is_no_place() {
    separate(&[
        (
            "How do I add all elements in a list?",
            "How do I add all elements to a list?",
        ),
        (
            "How do I add two columns in a DataFrame?",
            "How do I add two columns to a DataFrame?",
        ),
        (
            "How do I add the digits in a string?",
            "How do I add the digits to a string?",
        ),
    ]);
    join(&[(
        "How do I add a user to Slack?",
        "How do I add a user in Slack?",
    )]);
}

#[test]
fn what_one_acts_as_is_not_what_one_acts_on() {
    separate(&[
        ("Can I sue as a tenant?", "Can I sue a tenant?"),
        ("How do I save as PDF?", "How do I save a PDF?"),
        ("Do bees sting as a group?", "Do bees sting a group?"),
        (
            "How do I register as a voter?",
            "How do I register a voter?",
        ),
        (
            "Can I delegate as a validator?",
            "Can I delegate a validator?",
        ),
    ]);
    join(&[
        (
            "Can I register as a voter online?",
            "Is it possible to register as a voter online?",
        ),
        (
            "Mount the volume as read-only",
            "Mount the volume read-only",
        ),
    ]);
}

#[test]
fn at_is_not_in_and_of_is_not_nothing_behind_some_verbs() {
    separate(&[
        (
            "Why does my dog bark at the car?",
            "Why does my dog bark in the car?",
        ),
        (
            "Is it illegal to throw rocks at the river?",
            "Is it illegal to throw rocks in the river?",
        ),
        (
            "Why do people shout at the theater?",
            "Why do people shout in the theater?",
        ),
        ("Why do I smell of gas?", "Why do I smell gas?"),
        (
            "Did the senate approve of the bill?",
            "Did the senate approve the bill?",
        ),
        (
            "How do I learn of the changes?",
            "How do I learn the changes?",
        ),
        (
            "How do I make a trade on Uniswap?",
            "How do I trade Uniswap?",
        ),
    ]);
    join(&[
        ("Can I smoke at the stadium?", "Can I smoke in the stadium?"),
        ("What is the smell of gas?", "What is the gas smell?"),
        (
            "How do I make a trade on Uniswap?",
            "How do I trade on Uniswap?",
        ),
        (
            "How do I run a check on the database?",
            "How do I check the database?",
        ),
    ]);
}

#[test]
fn one_is_not_all_of_its_kind() {
    separate(&[
        (
            "Can I eat this cheese while pregnant?",
            "Can I eat cheese while pregnant?",
        ),
        ("Is the ice safe to walk on?", "Is ice safe to walk on?"),
        ("Is the meat halal?", "Is meat halal?"),
        ("Can my son eat this fish?", "Can my son eat fish?"),
        ("How long does this milk last?", "How long does milk last?"),
        (
            "How much sugar does this juice have?",
            "How much sugar does juice have?",
        ),
        (
            "How do I save each sheet as a PDF?",
            "How do I save all sheets as a PDF?",
        ),
        (
            "How do I create a folder for each client?",
            "How do I create a folder for all clients?",
        ),
        (
            "How do I send an email to each customer?",
            "How do I send an email to all customers?",
        ),
        ("Can each player win?", "Can all players win?"),
        ("Give each child a gift", "Give all children a gift"),
    ]);
    join(&[
        (
            "Is this water safe to drink?",
            "Is it safe to drink this water?",
        ),
        (
            "Does the bread contain gluten?",
            "Does this bread contain gluten?",
        ),
        (
            "Is the tap water in Rome safe to drink?",
            "Is tap water in Rome safe to drink?",
        ),
        (
            "How do I delete every file in a folder?",
            "How do I delete all files in a folder?",
        ),
        (
            "Does each plan include backups?",
            "Do all plans include backups?",
        ),
    ]);
}

#[test]
fn things_are_picked_by_what_they_have() {
    separate(&[
        (
            "How do I use a formula to count cells?",
            "How do I count cells with a formula?",
        ),
        (
            "How do I use a label to delete a pod?",
            "How do I delete a pod with a label?",
        ),
        (
            "How do I use a tag to filter images?",
            "How do I filter images with a tag?",
        ),
    ]);
    join(&[
        (
            "How do I use a formula to count cells?",
            "How do I count cells using a formula?",
        ),
        (
            "How do I use pandas to delete rows?",
            "How do I delete rows with pandas?",
        ),
        (
            "Use a seed phrase to import a wallet",
            "Import a wallet with a seed phrase",
        ),
    ]);
}

#[test]
fn over_is_no_amount_behind_some_verbs() {
    separate(&[
        (
            "Can I spread payments over 12 months?",
            "Can I spread payments more than 12 months?",
        ),
        (
            "Does it vest over 4 years?",
            "Does it vest more than 4 years?",
        ),
        (
            "Can I fly over 100 people?",
            "Can I fly more than 100 people?",
        ),
    ]);
    join(&[
        (
            "Does it take over 2 weeks?",
            "Does it take more than 2 weeks?",
        ),
        (
            "Can I pay over $500 in cash?",
            "Can I pay more than $500 in cash?",
        ),
    ]);
}

#[test]
fn a_state_that_goes_on_is_not_one_that_lasts() {
    separate(&[
        ("Am I being selfish?", "Am I selfish?"),
        ("Is my son being rude?", "Is my son rude?"),
        ("Are they being honest?", "Are they honest?"),
    ]);
    join(&[("Is the file being deleted?", "Is the file being removed?")]);
}

#[test]
fn signs_that_belong_to_a_word_count() {
    separate(&[
        ("What does cd .. do?", "What does cd . do?"),
        ("How do I use ls ..?", "How do I use ls .?"),
        ("What does cp . .. do?", "What does cp .. . do?"),
        (
            "What does git diff a..b show?",
            "What does git diff a...b show?",
        ),
        ("How do I compile a.c?", "How do I compile ac?"),
        (
            "How do I use save! in Rails?",
            "How do I use save in Rails?",
        ),
        (
            "Does try? rethrow errors in Swift?",
            "Does try! rethrow errors in Swift?",
        ),
        ("What does mv a b do?", "What does mv b a do?"),
        ("What does diff a b show?", "What does diff b a show?"),
        ("How do I buy a size S shirt?", "How do I buy a size shirt?"),
        ("How heavy is a 12' pipe?", "How heavy is a 12\" pipe?"),
        (
            "How much should a 5'6 woman weigh?",
            "How much should a 56 woman weigh?",
        ),
        ("Is weed legal in OK?", "Is weed legal in HI?"),
    ]);
    join(&[
        ("How heavy is a 12\" pipe?", "How heavy is a 12 inch pipe?"),
        ("How heavy is a 12' pipe?", "How heavy is a 12 foot pipe?"),
        ("Is it OK to drink coffee?", "Is it ok to drink coffee?"),
        (
            "What is the inflation rate in the U.S.?",
            "What is the inflation rate in the US?",
        ),
    ]);
}

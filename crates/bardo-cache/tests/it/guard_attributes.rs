//! Questions for an attribute of a thing, in wordings that the guard joins, and their neighbours.

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
fn a_default_is_what_is_used_by_default() {
    join(&[
        (
            "Which port is used by default?",
            "What is the default port?",
        ),
        (
            "Which port does Redis use by default?",
            "What is the default port of Redis?",
        ),
        (
            "What is the timeout by default?",
            "What is the default timeout?",
        ),
    ]);
    separate(&[
        (
            "Which port does Redis use by default?",
            "Which port does Redis use?",
        ),
        (
            "Which port is used by default?",
            "Which host is used by default?",
        ),
        (
            "Which port is used by default?",
            "Which port is not used by default?",
        ),
    ]);
}

#[test]
fn a_flag_does_what_it_is_for() {
    join(&[
        (
            "What does the --force flag do?",
            "What is the --force flag for?",
        ),
        (
            "What does the timeout setting do?",
            "What is the timeout setting used for?",
        ),
    ]);
    separate(&[
        ("What does the flag do?", "What is the flag?"),
        ("What does the flag do?", "What do the flags do?"),
        (
            "What does the --force flag do?",
            "What does the --quiet flag do?",
        ),
        ("What does Bob do?", "What is the purpose of Bob?"),
    ]);
}

#[test]
fn a_meaning_is_asked_for_in_a_language_too() {
    join(&[
        (
            "What does static mean in Java?",
            "What is the meaning of static in Java?",
        ),
        ("What is TLA short for?", "What does TLA stand for?"),
        ("Define entropy", "What is entropy?"),
        ("entropy definition", "What is entropy?"),
    ]);
    separate(&[
        ("What does TLA stand for?", "What is TLA?"),
        (
            "What does static mean in Java?",
            "What does static mean in Go?",
        ),
        (
            "What does the error mean for users?",
            "What does the error mean?",
        ),
        ("Define entropy", "Define enthalpy"),
        ("Define a route", "What is a route?"),
        ("Define routes", "What are routes?"),
    ]);
}

#[test]
fn what_a_thing_has_or_holds_is_of_it() {
    join(&[
        (
            "What risks does staking have?",
            "What are the risks of staking?",
        ),
        (
            "Which risks come with staking?",
            "What are the risks of staking?",
        ),
        (
            "How much protein does an egg contain?",
            "How much protein is in an egg?",
        ),
        (
            "How much memory does the app use?",
            "What is the memory usage of the app?",
        ),
        (
            "How much volume does Curve have?",
            "What is the volume of Curve?",
        ),
        (
            "What is included in the plan?",
            "What does the plan include?",
        ),
        ("What comes with the plan?", "What does the plan include?"),
        (
            "What permissions does the token need?",
            "Which permissions are required for the token?",
        ),
        (
            "Which pools have the highest yield?",
            "What are the pools with the highest yield?",
        ),
    ]);
    separate(&[
        (
            "What risks does staking have?",
            "What benefits does staking have?",
        ),
        (
            "Which files does the folder have?",
            "Which folders does the file have?",
        ),
        (
            "What risks come with staking?",
            "What risks come from staking?",
        ),
        (
            "How much protein does an egg contain?",
            "How much protein does an egg need?",
        ),
        (
            "How much memory does the app use?",
            "How much memory did the app use?",
        ),
        (
            "How much memory does the app use?",
            "How much memory does the app need?",
        ),
        (
            "What permissions does the token need?",
            "What permissions does the token have?",
        ),
        (
            "What permissions does the token need?",
            "Which token does the permission need?",
        ),
        (
            "What is included in the plan?",
            "What is the plan included in?",
        ),
        ("What comes with the phone?", "What comes after the phone?"),
        (
            "Which pools have the highest yield?",
            "Which pools have the lowest yield?",
        ),
        (
            "Which pools have the highest yield?",
            "Which pools had the highest yield?",
        ),
    ]);
}

#[test]
fn a_difference_has_two_sides_in_each_order() {
    join(&[
        (
            "What distinguishes a fork from a clone?",
            "What is the difference between a clone and a fork?",
        ),
        (
            "What sets a fork apart from a clone?",
            "In what way does a fork differ from a clone?",
        ),
        (
            "What are the pros and cons of solar panels?",
            "What are the cons and pros of solar panels?",
        ),
    ]);
    separate(&[
        (
            "What distinguishes a fork from a clone?",
            "What distinguishes a fork from a branch?",
        ),
        (
            "What are the pros and cons of solar panels?",
            "What are the pros or cons of solar panels?",
        ),
        ("Restart and clear the queue", "Clear and restart the queue"),
        (
            "What is the ratio of ETH and BTC?",
            "What is the ratio of BTC and ETH?",
        ),
        ("Read keys and write values", "Write keys and read values"),
    ]);
}

#[test]
fn a_duration_or_a_deadline_is_asked_for_in_two_ways() {
    join(&[
        (
            "How long is the return window?",
            "What is the return window?",
        ),
        (
            "How many days does shipping take?",
            "How long does shipping take?",
        ),
        (
            "When is the deadline for filing taxes?",
            "What is the deadline for filing taxes?",
        ),
        (
            "How old do you have to be to vote?",
            "What is the minimum age to vote?",
        ),
    ]);
    separate(&[
        ("How long is the timeout?", "What is the timeout error?"),
        ("How long is the timeout?", "What is the timeout for?"),
        (
            "How many days does shipping take?",
            "How many hours does shipping take?",
        ),
        (
            "How many days a week does it take?",
            "How long does it take?",
        ),
        ("When is the deadline?", "When was the deadline?"),
        (
            "How old do you have to be to vote?",
            "How old do you have to be to drive?",
        ),
    ]);
}

#[test]
fn a_cause_is_asked_for_in_its_tense() {
    join(&[
        ("What causes earthquakes?", "Why do earthquakes happen?"),
        (
            "What were the causes of the fall of Rome?",
            "Why did Rome fall?",
        ),
        ("What made gold rise?", "Why did gold rise?"),
    ]);
    separate(&[
        ("What caused the delay?", "What causes the delay?"),
        ("What made gold rise?", "What made gold fall?"),
        ("What made you sell?", "What made me sell?"),
        ("What led to the crash?", "What did the crash lead to?"),
        ("What caused the outage?", "What caused the recovery?"),
        (
            "What is the reason for the fee?",
            "What was the reason for the fee?",
        ),
    ]);
}

#[test]
fn an_adjective_or_a_rate_stands_on_each_side_of_its_noun() {
    join(&[
        (
            "What body temperature is normal for a baby?",
            "What is the normal body temperature for a baby?",
        ),
        (
            "What is the euro to dollar exchange rate?",
            "What is the exchange rate from euro to dollar?",
        ),
        (
            "Which pool pays the highest yield?",
            "Which pool has the highest yield?",
        ),
        ("Do eggs count as dairy?", "Are eggs dairy?"),
        (
            "What was the all-time high of ETH?",
            "What is the all-time high of ETH?",
        ),
    ]);
    separate(&[
        (
            "What dose is normal for adults?",
            "What dose is normal for children?",
        ),
        (
            "What dose is normal for adults?",
            "Is the dose normal for adults?",
        ),
        (
            "What is the euro to dollar exchange rate?",
            "What is the exchange rate from dollar to euro?",
        ),
        (
            "Which pool pays the highest yield?",
            "Which pool pays the lowest yield?",
        ),
        (
            "Which bank pays the highest rate?",
            "Which bank charges the highest rate?",
        ),
        ("Do eggs count as dairy?", "Does dairy count as eggs?"),
        (
            "What was ETH's high last week?",
            "What is ETH's high this week?",
        ),
    ]);
}

#[test]
fn who_depends_on_whom_counts() {
    separate(&[
        (
            "Which services depend on Redis?",
            "Which services does Redis depend on?",
        ),
        ("What runs on Docker?", "What does Docker run on?"),
        (
            "What drives the price of gold?",
            "What does the price of gold drive?",
        ),
        (
            "How do I sort by name then by age?",
            "How do I sort by age then by name?",
        ),
        (
            "Which users report on Bob?",
            "Which users does Bob report on?",
        ),
    ]);
    join(&[
        (
            "Which services depend on Redis?",
            "Which services are dependent on Redis?",
        ),
        (
            "Which country is Timbuktu in?",
            "In which country is Timbuktu?",
        ),
    ]);
}

#[test]
fn a_number_behind_a_noun_is_a_name_and_before_it_a_count() {
    join(&[("What does error 404 mean?", "What does a 404 error mean?")]);
    separate(&[
        ("Delete 2 rows", "Delete row 2"),
        ("Restart 3 pods", "Restart pod 3"),
        ("Show 1 page", "Show page 1"),
        ("Merge two accounts", "Merge account two"),
        ("How do I send 5 files?", "How do I send file 5?"),
        ("What are Bob's orders?", "What is Bob's order?"),
        ("Cancel my last orders", "Cancel my last order"),
        ("Delete the failed backups", "Delete the failed backup"),
    ]);
}

#[test]
fn an_amount_is_not_what_its_noun_means() {
    join(&[
        ("How much is the late fee?", "What is the late fee?"),
        (
            "How high is Coca-Cola's dividend yield?",
            "What is Coca-Cola's dividend yield?",
        ),
        (
            "How high is inflation in Spain?",
            "What is inflation in Spain?",
        ),
    ]);
    separate(&[
        ("How much is the deposit?", "What is a deposit?"),
        ("How high is inflation?", "What is inflation?"),
        ("How long is the timeout?", "What is a timeout?"),
        ("How much is the late fee?", "How much is the early fee?"),
        (
            "What is the price of the deposit box?",
            "What is the deposit box?",
        ),
    ]);
}

#[test]
fn a_plan_is_no_report() {
    separate(&[
        ("When will the sale begin?", "When did the sale begin?"),
        ("Why won't it connect?", "Why didn't it connect?"),
        (
            "How long will the refund take?",
            "How long did the refund take?",
        ),
        (
            "Will I lose my data if I cancel?",
            "Did I lose my data if I cancelled?",
        ),
    ]);
    join(&[
        ("When will the sale begin?", "When does the sale begin?"),
        ("Why won't it connect?", "Why doesn't it connect?"),
    ]);
}

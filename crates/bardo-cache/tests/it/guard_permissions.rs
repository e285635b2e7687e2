//! Questions of what is possible, needed or out of order, and openings, in wordings that the guard
//! joins, and their neighbours.

use crate::guard_pairs::{join, separate};

#[test]
fn what_is_done_to_a_person_is_not_what_the_person_does() {
    separate(&[
        ("When am I paid?", "When do I pay?"),
        ("How can I be paid?", "How can I pay?"),
        ("Why was I charged?", "Why did I charge?"),
        ("Can I be liquidated?", "Can I liquidate?"),
        ("How is he paid?", "How does he pay?"),
        ("How is it charged?", "How does it charge?"),
        ("Should I be paid?", "Should I pay?"),
    ]);
    join(&[
        ("How is it charged?", "How do I charge it?"),
        ("How can my router be reset?", "How can I reset my router?"),
        (
            "How do I filter results by date?",
            "How can results be filtered by date?",
        ),
        (
            "How does Uniswap determine prices?",
            "How are prices determined on Uniswap?",
        ),
    ]);
}

#[test]
fn who_acts_in_the_passive_voice_keeps_the_role() {
    separate(&[
        ("How does Rome feed Paris?", "How is Rome fed in Paris?"),
        ("Did Rome build the road?", "Was the road built in Rome?"),
        (
            "How does Uniswap determine prices?",
            "How are prices determined on Curve?",
        ),
        (
            "How do I filter results by date?",
            "How can results be filtered by name?",
        ),
    ]);
}

#[test]
fn getting_declined_is_being_declined_where_something_happened() {
    join(&[("Why did my card get declined?", "Why was my card declined?")]);
    separate(&[
        ("How do I get paid?", "How do I pay?"),
        ("When do I get paid?", "When do I pay?"),
        ("Why did I get charged?", "Why did I charge?"),
        ("Does my account get locked?", "Is my account locked?"),
        (
            "Why did my card get declined?",
            "Why does my card get declined?",
        ),
    ]);
}

#[test]
fn what_is_allowed_or_possible_can_be_done() {
    join(&[
        (
            "Is working permitted on a student visa?",
            "Can I work on a student visa?",
        ),
        (
            "Is pausing my subscription possible?",
            "Can I pause my subscription?",
        ),
        ("Can rice be safely reheated?", "Is it safe to reheat rice?"),
        (
            "Can I legally record a call in Texas?",
            "Is recording a call legal in Texas?",
        ),
        (
            "Is a visa required to enter Peru?",
            "Do I need a visa to enter Peru?",
        ),
        (
            "Who can access the database?",
            "Who has access to the database?",
        ),
    ]);
    separate(&[
        ("Is smoking allowed?", "Is smoking required?"),
        ("Is smoking allowed?", "Is smoking not allowed?"),
        (
            "Is working possible without a visa?",
            "Is working possible with a visa?",
        ),
        ("Can rice be safely reheated?", "Can rice be reheated?"),
        ("Can I legally record a call?", "Can I record a call?"),
        (
            "Is a visa required to enter Peru?",
            "Is a visa required to leave Peru?",
        ),
        (
            "Is a lawyer required to testify?",
            "Do I need a lawyer to testify?",
        ),
        (
            "Will I lose my data if I cancel?",
            "Will I lose my data unless I cancel?",
        ),
        (
            "Will I lose my data if I cancel?",
            "Can I lose my data if I cancel?",
        ),
    ]);
}

#[test]
fn what_does_not_work_is_named_in_each_order() {
    join(&[
        (
            "Why doesn't my printer work?",
            "My printer is not working, why?",
        ),
        (
            "Why is my regex not matching?",
            "Why doesn't my regex match?",
        ),
        (
            "Why does the pod keep crashing?",
            "Why is the pod crashing?",
        ),
    ]);
    separate(&[
        ("Why doesn't my printer work?", "Why does my printer work?"),
        (
            "Why does the app not work offline?",
            "Why does the app not work?",
        ),
        ("Why do all jobs not run?", "Why do not all jobs run?"),
        ("Why do I keep losing money?", "Why do I keep money?"),
        (
            "Why does he keep the dog barking?",
            "Why does the dog bark?",
        ),
    ]);
}

#[test]
fn a_place_is_where_something_is_found_or_kept() {
    join(&[
        (
            "Where can my invoices be found?",
            "Where can I find my invoices?",
        ),
        (
            "I can't find my invoices, where are they?",
            "Where are my invoices?",
        ),
        (
            "Where do you store the backups?",
            "Where are the backups stored?",
        ),
        (
            "How can I see my invoices?",
            "Where can I view my invoices?",
        ),
    ]);
    separate(&[
        (
            "Where can my invoices be found?",
            "Where can my invoices be paid?",
        ),
        (
            "Where do I store the backups?",
            "Where are the backups stored?",
        ),
        (
            "How can I see the northern lights?",
            "Where can I see the northern lights?",
        ),
        (
            "I can find my keys, where are they?",
            "I can't find my keys, where are they?",
        ),
        ("How do I pay my invoices?", "Where do I pay my invoices?"),
    ]);
}

#[test]
fn a_wish_asks_how_it_is_fulfilled() {
    join(&[
        (
            "I'd like to return a product. How does it work?",
            "How do I return a product?",
        ),
        (
            "I want to delete my account, how?",
            "How do I delete my account?",
        ),
        (
            "If I want to reset my router, what do I do?",
            "How do I reset my router?",
        ),
        (
            "I want to cancel my subscription",
            "How do I cancel my subscription?",
        ),
    ]);
    separate(&[
        (
            "I don't want to delete my account, how?",
            "I want to delete my account, how?",
        ),
        (
            "What do I do if I want to sell?",
            "What do I do if I want to buy?",
        ),
        (
            "I want to write a poem about love",
            "How do I write a poem about love?",
        ),
        (
            "I want to cancel my subscription",
            "I do not want to cancel my subscription",
        ),
        ("How can I help with moving?", "How do I move?"),
    ]);
}

#[test]
fn a_language_moves_only_where_it_is_the_only_one() {
    join(&[
        (
            "How do I print in Python without a newline?",
            "How do I print without a newline in Python?",
        ),
        (
            "How do I center a div in CSS?",
            "How do I center a div with CSS?",
        ),
    ]);
    separate(&[
        (
            "How do I print in Python without a newline?",
            "How do I print in Python with a newline?",
        ),
        (
            "How do I write Go in Python?",
            "How do I write Python in Go?",
        ),
        (
            "Does it fail in Python but pass without a cache?",
            "Does it fail without a cache but pass in Python?",
        ),
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
fn a_statement_before_a_question_is_its_condition() {
    join(&[(
        "I forgot my passcode, how do I unlock my phone?",
        "How do I unlock my phone if I forgot my passcode?",
    )]);
    separate(&[
        (
            "I forgot my passcode, how do I unlock my phone?",
            "How do I unlock my phone if I know my passcode?",
        ),
        (
            "My app is slow, how do I speed up the phone?",
            "My phone is slow, how do I speed up the app?",
        ),
        (
            "I lost my card, how do I order a new one?",
            "I lost my card, how do I cancel the new one?",
        ),
    ]);
}

#[test]
fn a_tool_or_a_place_is_named_in_two_ways_beside_some_verbs() {
    join(&[
        (
            "How do I add a network to MetaMask?",
            "How do I add a network in MetaMask?",
        ),
        ("Can I pay in USDC?", "Can I pay with USDC?"),
        (
            "Can I change the email address on my account?",
            "Can I change the email address for my account?",
        ),
        (
            "How do I make a POST request?",
            "How do I send a POST request?",
        ),
        (
            "How do I get my passport renewed?",
            "How do I renew my passport?",
        ),
        (
            "How do I check if a key exists in a map?",
            "How do I check if a key is in a map?",
        ),
    ]);
    separate(&[
        (
            "How do I add files to the folder in git?",
            "How do I add files in the folder to git?",
        ),
        (
            "How do I add a user to a group?",
            "How do I add a group to a user?",
        ),
        (
            "How do I pay in USDC with ETH?",
            "How do I pay in ETH with USDC?",
        ),
        (
            "How do I log in on my phone?",
            "How do I log in with my phone?",
        ),
        (
            "How do I make a POST request?",
            "How do I make a GET request?",
        ),
        (
            "How do I get my passport renewed?",
            "How do I get my passport replaced?",
        ),
        (
            "How do I check if a key exists in a map?",
            "How do I check if a map exists in a key?",
        ),
    ]);
}

#[test]
fn what_was_ever_done_has_been_done() {
    join(&[("Was Euler ever hacked?", "Has Euler been hacked?")]);
    separate(&[
        ("Was Euler ever hacked?", "Was Euler ever audited?"),
        ("Was it ever open on Sunday?", "Was it open on Sunday?"),
        ("Is it ever safe?", "Is it safe?"),
    ]);
}

#[test]
fn what_is_published_comes_out_and_what_is_stopped_from_doing_is_prevented() {
    join(&[
        (
            "When does the jobs report come out?",
            "When will the jobs report be released?",
        ),
        (
            "How do I stop the app from starting?",
            "How can I prevent the app from starting?",
        ),
        ("Which cafes are near me?", "Which cafes are in my area?"),
    ]);
    separate(&[
        (
            "When does the jobs report come out?",
            "When did the jobs report come out?",
        ),
        (
            "When will the album be released?",
            "When was the album released?",
        ),
        (
            "How do I stop it from starting?",
            "How do I start it from stopping?",
        ),
        (
            "How do I keep files from leaking?",
            "How do I keep leaking files?",
        ),
        (
            "Which cafes are near me?",
            "Which cafes are near the river?",
        ),
    ]);
}

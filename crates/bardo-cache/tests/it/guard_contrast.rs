//! Short words that exclude each other, and clauses that differ in one of them.

use crate::guard_pairs::{join, separate};

#[test]
fn this_and_here_are_not_that_and_there() {
    separate(&[
        ("Can I pay here?", "Can I pay there?"),
        ("Is it hot here in May?", "Is it hot there in May?"),
        ("Is there a doctor?", "Is the doctor there?"),
        ("Are there any buses?", "Are the buses there?"),
        ("Are these prices final?", "Are those prices final?"),
        (
            "Which of these two pools has the lower fee?",
            "Which of those two pools has the lower fee?",
        ),
        (
            "Is this the right form for a refund?",
            "Is that the right form for a refund?",
        ),
        ("What does this error mean?", "What does that error mean?"),
    ]);
    join(&[
        ("What does this error mean?", "What does the error mean?"),
        ("Hi there, can I pay by card?", "Can I pay by card?"),
    ]);
}

#[test]
fn who_is_able_may_not_be_allowed() {
    separate(&[
        (
            "Are guests able to upload?",
            "Are guests allowed to upload?",
        ),
        (
            "Is a lawyer able to see my file?",
            "Is a lawyer permitted to see my file?",
        ),
    ]);
    join(&[
        ("Are guests able to upload?", "Can guests upload?"),
        ("Are guests allowed to upload?", "Can guests upload?"),
    ]);
}

#[test]
fn a_pronoun_keeps_its_preposition() {
    separate(&[
        ("Should I pay him for it?", "Should I pay him with it?"),
        ("How do I draw on it?", "How do I draw with it?"),
        ("Who works with him?", "Who works for him?"),
        (
            "Have you been working here since May?",
            "Have you been working on it since May?",
        ),
    ]);
    join(&[("How can I pay for it?", "How do I pay for it?")]);
}

#[test]
fn persons_and_owners_in_commands_and_of_things() {
    separate(&[
        (
            "Please call me back about the order",
            "Please call them back about the order",
        ),
        ("Send me a copy", "Send them a copy"),
        (
            "How long must a company keep its records?",
            "How long must a company keep my records?",
        ),
        ("Can an app read its data?", "Can an app read your data?"),
        (
            "Can I see my neighbor's dog?",
            "Can I see my neighbors' dog?",
        ),
        (
            "Is my accountant's firm liable?",
            "Is my accountants’ firm liable?",
        ),
    ]);
}

#[test]
fn of_somebody_is_not_for_somebody() {
    separate(&[
        (
            "Where is the invoice of the supplier?",
            "Where is the invoice for the supplier?",
        ),
        (
            "Is the order of the client late?",
            "Is the order for the client late?",
        ),
        (
            "I am afraid of my dog, what can I do?",
            "I am afraid for my dog, what can I do?",
        ),
    ]);
    join(&[(
        "What is the price of a ticket?",
        "What is the price for a ticket?",
    )]);
}

#[test]
fn the_form_of_a_complement_counts() {
    separate(&[
        (
            "I remember paying the bill but it is open, why?",
            "I remember to pay the bill but it is open, why?",
        ),
        (
            "How do I get my son to stop playing with his phone?",
            "How do I get my son to stop to play with his phone?",
        ),
        ("Why did he stop to smoke?", "Why did he stop smoking?"),
        (
            "I used to work nights, can I claim tax back?",
            "I am used to working nights, can I claim tax back?",
        ),
        ("Had I better sell?", "Did I sell better?"),
    ]);
}

#[test]
fn each_night_is_not_all_night() {
    separate(&[
        (
            "Can I leave the heater on all night?",
            "Can I leave the heater on each night?",
        ),
        ("Does it rain all morning?", "Does it rain every morning?"),
        (
            "Is the heating on all winter?",
            "Is the heating on every winter?",
        ),
    ]);
    join(&[("Does it delete every file?", "Does it delete all files?")]);
}

#[test]
fn the_tense_of_a_statement_counts() {
    separate(&[
        (
            "I have to have the roof checked, who does that?",
            "I have had the roof checked, who does that?",
        ),
        (
            "I am married, how do I file taxes?",
            "I was married, how do I file taxes?",
        ),
        (
            "He must be at home, how do I find out?",
            "He must have been at home, how do I find out?",
        ),
        (
            "They pay me, how do I complain?",
            "They paid me, how do I complain?",
        ),
        (
            "The shop closes, where do I go?",
            "The shop has closed, where do I go?",
        ),
        (
            "What do I do with the coins I find?",
            "What do I do with the coins I found?",
        ),
    ]);
    join(&[("Why has the price fallen?", "Why did the price fall?")]);
}

#[test]
fn stories_with_a_question_behind_them() {
    separate(&[
        (
            "They are closing my account, can I stop it?",
            "They closed my account, can I stop it?",
        ),
        (
            "My landlord wants me to leave, may he?",
            "My landlord wants to leave, may he?",
        ),
        (
            "I think he lied, is that a crime?",
            "He thinks I lied, is that a crime?",
        ),
        (
            "Nobody told me, is the fee valid?",
            "Somebody told me, is the fee valid?",
        ),
        (
            "My son reminded me, is it late?",
            "My wife reminded me, is it late?",
        ),
        (
            "I am at home, where is the driver?",
            "The driver is at home, where am I?",
        ),
        ("How do I know he is real?", "How does he know I am real?"),
    ]);
    join(&[
        ("Tell me why the sky is blue", "Why is the sky blue?"),
        ("How do I know he is real?", "How can I know he is real?"),
    ]);
}

#[test]
fn pronouns_and_the_words_before_them() {
    separate(&[
        ("What does it say about us?", "What does it say to us?"),
        ("What does it say about me?", "What does it say about her?"),
        ("Which of us is right?", "Which of them is right?"),
        (
            "What is 5 pm in Rome in Tokyo time?",
            "What is 5 pm in Tokyo in Rome time?",
        ),
        ("What is he like?", "What does he like?"),
        ("What is the dog like?", "What does the dog like?"),
    ]);
}

#[test]
fn what_a_statement_says_of_duty_and_persons() {
    separate(&[
        (
            "You can pay later, how does it work?",
            "You must pay later, how does it work?",
        ),
        (
            "Users can vote, how do I stop that?",
            "Users must vote, how do I stop that?",
        ),
        (
            "The app should start at 8, how do I do it?",
            "The app can start at 8, how do I do it?",
        ),
        ("Can you sell my data?", "Can I sell my data?"),
        ("Will you close my account?", "Will I close my account?"),
        (
            "How long do you keep my data?",
            "How long do I keep my data?",
        ),
        ("You said it is free, is it?", "I said it is free, is it?"),
        ("She owes me rent, can I sue?", "I owe her rent, can I sue?"),
        (
            "The wifi here is slow, why?",
            "The wifi there is slow, why?",
        ),
        ("It has become slow, why?", "It becomes slow, why?"),
    ]);
    join(&[
        ("How can I pay later?", "How should I pay later?"),
        (
            "Why is the wifi slow?",
            "What is the reason why the wifi is slow?",
        ),
    ]);
}

#[test]
fn an_order_is_no_question() {
    separate(&[("Have the agent sell my ETH.", "Has the agent sold my ETH?")]);
}

#[test]
fn what_i_do_is_not_what_i_should_do() {
    separate(&[(
        "Which version of Node am I running?",
        "Which version of Node should I be running?",
    )]);
}

#[test]
fn who_does_it_and_for_whom_and_when_are_other_questions() {
    join(&[
        (
            "Is it legal for felons to vote?",
            "Is voting legal for felons?",
        ),
        ("How long was the war?", "How long did the war last?"),
    ]);
    separate(&[
        (
            "Is it legal to vote for a relative?",
            "Is it legal for a relative to vote?",
        ),
        (
            "Is cooking good for people?",
            "Is it good to cook for people?",
        ),
        ("What does my husband do?", "What is my husband doing?"),
        (
            "Which is better with milk, tea or coffee?",
            "Which is better, tea or coffee with milk?",
        ),
        (
            "How long did the Titanic last?",
            "How long was the Titanic?",
        ),
        ("Is zero an even number?", "Is zero even a number?"),
        (
            "Is this the only charger of the set?",
            "Is this only the charger of the set?",
        ),
    ]);
}

#[test]
fn what_not_belongs_to() {
    separate(&[
        (
            "The problem isn't who has money.",
            "The problem is who doesn't have money.",
        ),
        ("Is it not where I live?", "Is it where I do not live?"),
    ]);
    join(&[
        (
            "The problem isn't who has money.",
            "The problem is not who has money.",
        ),
        (
            "Can I pay by card? If not, how do I pay?",
            "Can I pay by card? If not how do I pay?",
        ),
    ]);
}

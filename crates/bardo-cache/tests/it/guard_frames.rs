//! Main verbs that look like auxiliaries, statements, subjects, objects, and tenses of clauses.

use crate::guard_pairs::{join, separate};

#[test]
fn have_and_do_are_main_verbs_where_no_other_verb_is() {
    separate(&[
        ("Which users have managers?", "Which users are managers?"),
        ("Who has a lawyer?", "Who is a lawyer?"),
        ("Who had a dog?", "Who was a dog?"),
        ("Can a child have a guardian?", "Can a child be a guardian?"),
        ("Which cities have a harbor?", "Which cities are a harbor?"),
        ("What does a nurse do?", "What is a nurse?"),
        ("What can a nurse do?", "What can a nurse be?"),
        ("What did Apple do in 2007?", "What was Apple in 2007?"),
        ("What is the Fed doing?", "What is the Fed?"),
        ("Who does the laundry?", "Who is the laundry?"),
        ("Who did the audit?", "Who was the audit?"),
    ]);
    join(&[
        ("Who has a lawyer?", "Who has an attorney?"),
        ("What does a nurse do?", "What do nurses do?"),
        ("Has gold risen this year?", "Did gold rise this year?"),
        (
            "How many bones does a human have?",
            "What is the number of bones in a human?",
        ),
    ]);
}

#[test]
fn a_statement_asks_nothing() {
    separate(&[
        ("I have diabetes.", "What is diabetes?"),
        ("I got a refund", "What is a refund?"),
        ("I am a nurse.", "What is a nurse?"),
        ("You are a bot.", "What is a bot?"),
        ("We bought a house.", "What is a bought house?"),
        ("The app is a game.", "What is the app of a game?"),
    ]);
    join(&[
        ("ETH price", "What is the ETH price?"),
        ("Definition of inflation", "What is inflation?"),
        ("Show my orders", "What are my orders?"),
    ]);
}

#[test]
fn a_third_person_acts_or_is_acted_on() {
    separate(&[
        ("Who did he kill?", "Who killed him?"),
        ("Who does she love?", "Who loves her?"),
        ("Who does she live with?", "Who lives with her?"),
        ("What does it eat?", "What eats it?"),
        ("Who do they follow?", "Who follows them?"),
        ("Does it need a visa?", "Do I need a visa?"),
        ("Will it be late?", "Will I be late?"),
        ("Can she call me?", "Can she call you?"),
        ("Will Bob pay me?", "Will Bob pay you?"),
        ("Whose lawyer is this?", "Who is this lawyer?"),
        ("Whose car was sold?", "Who sold the car?"),
    ]);
    join(&[
        ("How can it be made?", "How can I make it?"),
        ("How do I cancel it?", "How can I cancel it?"),
        ("Can I cancel it?", "May I cancel it?"),
    ]);
}

#[test]
fn the_tense_of_the_main_clause_counts_beside_another_one() {
    separate(&[
        (
            "Why did you delete what's in my cart?",
            "Why do you delete what's in my cart?",
        ),
        (
            "When did the store that is in Paris open?",
            "When does the store that is in Paris open?",
        ),
        (
            "How did the Fed decide what is enough?",
            "How does the Fed decide what is enough?",
        ),
        (
            "Where did the team that is in Rome play?",
            "Where does the team that is in Rome play?",
        ),
        (
            "Did the store that was in Paris open?",
            "Does the store that was in Paris open?",
        ),
    ]);
    join(&[
        (
            "Why did you delete what's in my cart?",
            "For what reason did you delete what is in my cart?",
        ),
        (
            "What was the all-time high of ETH?",
            "What is the all-time high of ETH?",
        ),
    ]);
}

#[test]
fn how_two_things_are_different_is_their_difference() {
    join(&[(
        "How are APY and APR different?",
        "What's the difference between APR and APY?",
    )]);
}

#[test]
fn more_openings_ask_one_thing() {
    join(&[
        (
            "How many continents are there?",
            "What's the total number of continents?",
        ),
        (
            "Do most birds migrate in the autumn?",
            "Do the majority of birds migrate in the autumn?",
        ),
        (
            "How many days do I have to return shoes?",
            "How many days have I got to return shoes?",
        ),
        (
            "How do you make guacamole?",
            "What's the recipe for guacamole?",
        ),
        (
            "What is the area of a triangle with base 6 cm and height 9 cm?",
            "Calculate the area of a triangle with base 6 cm and height 9 cm.",
        ),
        (
            "Can I return an item without a receipt?",
            "Can I return an item if I don't have a receipt?",
        ),
        (
            "When should I use a NoSQL database?",
            "In what situations should I use a NoSQL database?",
        ),
        (
            "How do I undo my last commit?",
            "How do I undo my most recent commit?",
        ),
        (
            "If a node goes down, what happens to its pods?",
            "If a node goes down, what becomes of its pods?",
        ),
        (
            "Why is the sky blue?",
            "Could someone kindly explain why the sky is blue?",
        ),
        (
            "How do you say \"thank you\" in Japanese?",
            "What's the Japanese for \"thank you\"?",
        ),
        (
            "What is stoicism in simple terms?",
            "Can you explain stoicism simply?",
        ),
        (
            "Which planet is closest to the Sun?",
            "Which planet is nearest the Sun?",
        ),
        (
            "Can I use two discount codes on one order?",
            "Can I use two discount codes on a single order?",
        ),
        (
            "What's a normal resting heart rate?",
            "What is considered a normal resting heart rate?",
        ),
        (
            "Is it bad to set slippage to 10%?",
            "Is setting the slippage to 10% a bad idea?",
        ),
        (
            "Is it against the law to drive barefoot?",
            "Is driving barefoot illegal?",
        ),
        (
            "How do you spell \"necessary\"?",
            "What's the spelling of \"necessary\"?",
        ),
        (
            "Can my landlord evict me without notice?",
            "Can my landlord evict me without giving notice?",
        ),
        (
            "What language do people speak in Brazil?",
            "Which language is spoken in Brazil?",
        ),
        (
            "Do gift cards expire?",
            "Is there an expiry date on gift cards?",
        ),
        (
            "What does the heart of a fish look like?",
            "How does the heart of a fish look?",
        ),
    ]);
    separate(&[
        (
            "Do most birds migrate in the autumn?",
            "Do the minority of birds migrate in the autumn?",
        ),
        (
            "How do I calculate the area of a circle?",
            "Calculate the area of a circle.",
        ),
        (
            "What's the recipe for guacamole?",
            "How do you store guacamole?",
        ),
        (
            "Can I return an item if I don't have a receipt?",
            "Can I return an item if I have a receipt?",
        ),
        (
            "Is it OK to eat eggs past the expiration date?",
            "Is it OK to eat eggs before the expiration date?",
        ),
        (
            "How do I undo my last commit?",
            "How do I undo my first commit?",
        ),
        (
            "What's the Japanese for \"thank you\"?",
            "What's the Korean for \"thank you\"?",
        ),
        ("What becomes of my pods?", "What becomes my pods?"),
        (
            "Which planet is closest to the Sun?",
            "Which planet is farthest from the Sun?",
        ),
        (
            "Can I use two discount codes on one order?",
            "Can I use a single discount code on two orders?",
        ),
        ("How much is a single room?", "How much is one room?"),
        (
            "Is it against the law to drive barefoot?",
            "Is it against the law to drive drunk?",
        ),
        (
            "Do gift cards expire?",
            "Is there an issue date on gift cards?",
        ),
        (
            "What does the heart of a fish look like?",
            "What does the heart of a fish look for?",
        ),
        (
            "Is it a bad idea to close my account?",
            "Is it a good idea to close my account?",
        ),
    ]);
}

//! Prepositions that say different things, at the end of a clause too, and words in exchanged places.

use crate::guard_pairs::{join, separate};

#[test]
fn about_in_on_and_no_preposition_are_four_relations() {
    separate(&[
        ("How do I sell on Amazon?", "How do I sell Amazon?"),
        ("How do I block on Instagram?", "How do I block Instagram?"),
        ("How do I post on Reddit?", "How do I post Reddit?"),
        ("Can I swim in the lake?", "Can I swim the lake?"),
        (
            "Where can I find books about Paris?",
            "Where can I find books in Paris?",
        ),
        (
            "What are good movies about kids?",
            "What are good movies for kids?",
        ),
        (
            "What are good movies about kids?",
            "What are good movies of kids?",
        ),
        ("Can I ask about the seller?", "Can I ask the seller?"),
        (
            "Can I complain about the manager?",
            "Can I complain in the manager?",
        ),
        ("Can I sleep in my car?", "Can I sleep on my car?"),
        ("Can I write on the wall?", "Can I write in the wall?"),
        ("Can I paint at the fence?", "Can I paint on the fence?"),
    ]);
    join(&[
        (
            "Where can I find books about Rome?",
            "Where can I find books regarding Rome?",
        ),
        (
            "What is the ETH price on Uniswap?",
            "What is the ETH price in Uniswap?",
        ),
        ("Can I swim in the office?", "Can I swim at the office?"),
        (
            "How do I reset the wifi in the office?",
            "How do I reset the office wifi?",
        ),
        (
            "What is the capital of France?",
            "What is the capital in France?",
        ),
    ]);
}

#[test]
fn into_is_not_onto_and_from_where_is_not_where_to() {
    separate(&[
        (
            "How do I climb into the truck?",
            "How do I climb onto the truck?",
        ),
        ("Does f map A into B?", "Does f map A onto B?"),
        (
            "Which box did he climb into?",
            "Which box did he climb onto?",
        ),
        (
            "How do I pour wax into a jar?",
            "How do I pour wax onto a jar?",
        ),
        (
            "Where from does the ferry go?",
            "Where to does the ferry go?",
        ),
        ("Where from can I take a bus?", "Where to can I take a bus?"),
        ("Where does the ferry go?", "Where from does the ferry go?"),
    ]);
    join(&[(
        "How do I convert a PDF into a picture?",
        "How do I convert a PDF to a picture?",
    )]);
}

#[test]
fn what_a_picture_shows_is_not_where_it_is_or_for_whom() {
    separate(&[
        (
            "Where can I find a picture of my son?",
            "Where can I find a picture for my son?",
        ),
        (
            "What is the best photo of Paris?",
            "What is the best photo in Paris?",
        ),
        (
            "How do I draw a map of the office?",
            "How do I draw a map in the office?",
        ),
    ]);
}

#[test]
fn a_preposition_at_the_end_of_a_clause_is_read() {
    separate(&[
        ("What did Darwin write?", "What did Darwin write about?"),
        (
            "Which server does the app run on?",
            "Which server does the app run?",
        ),
        (
            "Which server does the app run on?",
            "Which server does the app run in?",
        ),
        ("Who can I count on?", "Who can I count?"),
        ("What is a fool capable of?", "What is a capable fool?"),
        (
            "What is the board thinking of?",
            "What is the board thinking?",
        ),
        ("Which house can I look at?", "Which house can I look?"),
    ]);
    join(&[
        (
            "Which server does the app run on?",
            "What server does the app run on?",
        ),
        (
            "On which server does the app run?",
            "Which server does the app run on?",
        ),
    ]);
}

#[test]
fn what_a_cup_holds_is_not_what_it_is_for() {
    separate(&[
        ("How much is a cup of coffee?", "How much is a coffee cup?"),
        (
            "Where can I buy a bottle of wine?",
            "Where can I buy a wine bottle?",
        ),
        ("How heavy is a box of tools?", "How heavy is a tool box?"),
        (
            "Where can I buy a glass of water?",
            "Where can I buy a glass for water?",
        ),
    ]);
    join(&[
        (
            "How do I reset the password of the router?",
            "How do I reset the router password?",
        ),
        (
            "How much is a cup of coffee?",
            "What does a cup of coffee cost?",
        ),
    ]);
}

#[test]
fn a_modifier_stays_with_its_noun() {
    separate(&[
        (
            "Did the January sale affect profits?",
            "Did the sale affect January profits?",
        ),
        (
            "Do older children need vaccines?",
            "Do children need older vaccines?",
        ),
        (
            "Does a manual update delete backups?",
            "Does an update delete manual backups?",
        ),
        (
            "Does a manual update delete backups?",
            "Does an update delete backups manually?",
        ),
        (
            "Do cheaper phones have cameras?",
            "Do phones have cheaper cameras?",
        ),
        (
            "Does the Monday report list sales?",
            "Does the report list Monday sales?",
        ),
    ]);
    join(&[
        (
            "Which services were recently deployed?",
            "Which services were deployed recently?",
        ),
        ("Did gold rise yesterday?", "Did yesterday gold rise?"),
    ]);
}

#[test]
fn two_synonyms_in_exchanged_places_separate() {
    separate(&[
        (
            "How do I convert an int to an Integer in Java?",
            "How do I convert an Integer to an int in Java?",
        ),
        (
            "How do I convert a str to a String in Rust?",
            "How do I convert a String to a str in Rust?",
        ),
        (
            "How do I copy a folder to a directory?",
            "How do I copy a directory to a folder?",
        ),
        (
            "Is a couch softer than a sofa?",
            "Is a sofa softer than a couch?",
        ),
    ]);
    join(&[
        (
            "How do I convert an int to a string?",
            "How do I convert an integer to a str?",
        ),
        (
            "How do I copy a folder to another folder?",
            "How do I copy a directory to another directory?",
        ),
    ]);
}

#[test]
fn a_place_does_not_do_what_is_done_there() {
    separate(&[
        (
            "How are cars stolen in Chicago?",
            "How does Chicago steal cars?",
        ),
        (
            "How are tourists robbed in hotels?",
            "How do hotels rob tourists?",
        ),
        (
            "How are children taught at home?",
            "How do homes teach children?",
        ),
    ]);
    join(&[
        (
            "How are prices determined on Uniswap?",
            "How does Uniswap determine prices?",
        ),
        (
            "How are exceptions handled in Python?",
            "How does Python handle exceptions?",
        ),
    ]);
}

#[test]
fn who_acts_is_no_object_and_a_ratio_has_an_order() {
    separate(&[
        ("Member cancellation", "Cancel member"),
        ("Worker payment", "Pay worker"),
        ("Child adoption payment", "Pay child adoption"),
        ("Teacher replacement", "Replace teacher"),
        (
            "What is the rate of ETH and BTC?",
            "What is the rate of BTC and ETH?",
        ),
        (
            "What is the ratio of ETH and BTC?",
            "What is the ratio of BTC and ETH?",
        ),
    ]);
    join(&[
        ("ETH withdrawal", "Withdraw ETH"),
        (
            "What are the pros and cons of gold?",
            "What are the cons and pros of gold?",
        ),
    ]);
}

//! Words that mean the same in most texts, in texts where they do not.

use bardo_cache::guard::difference;

#[test]
fn a_word_that_often_means_the_same_separates_where_it_does_not() {
    for (one, other) in [
        ("Who invented the telephone?", "Who invented the cellphone?"),
        (
            "Is it better to shower at night?",
            "Is it a good idea to shower at night?",
        ),
        (
            "How many people wash their hands properly?",
            "How many people wash their hands?",
        ),
        (
            "What is considered elevated blood pressure?",
            "What is considered high blood pressure?",
        ),
        ("What causes asthma?", "What triggers asthma?"),
        (
            "What is the highest bridge in the world?",
            "What is the tallest bridge in the world?",
        ),
        (
            "How do I interpret a hazard ratio of 0.8?",
            "How do I interpret a risk ratio of 0.8?",
        ),
        (
            "Does it make a difference when I take metformin?",
            "Does it make a difference if I take metformin?",
        ),
        (
            "How do I throw out old paint?",
            "How do I remove old paint?",
        ),
        (
            "When is the expiry date for my insurance?",
            "When is the due date for my insurance?",
        ),
        (
            "Can I withdraw all my funds at once?",
            "Can I withdraw all my funds immediately?",
        ),
        (
            "Do I need counsel for a divorce?",
            "Do I need counseling for a divorce?",
        ),
    ] {
        assert_ne!(difference(one, other), None, "{one} | {other}");
    }
    for (one, other) in [
        (
            "How do I properly wash my hands?",
            "How do I wash my hands?",
        ),
        (
            "What is the highest mountain in Africa?",
            "What is the tallest mountain in Africa?",
        ),
        ("What is 5 per cent of 80?", "What is 5% of 80?"),
        ("Who was the 5th president?", "Who was the fifth president?"),
    ] {
        assert_eq!(difference(one, other), None, "{one} | {other}");
    }
}

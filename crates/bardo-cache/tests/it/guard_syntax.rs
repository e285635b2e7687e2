//! Brackets and other signs of code.

use crate::guard_pairs::{join, separate};

#[test]
fn signs_of_code_are_compared_as_written() {
    separate(&[
        (
            "What does [1, 2, 3][-1] return in Python?",
            "What does [1, 2, 3][-1:] return in Python?",
        ),
        (
            "What is 2 ** 3 ** 2 in Python?",
            "What is (2 ** 3) ** 2 in Python?",
        ),
        (
            "What type is (1) in Python?",
            "What type is (1,) in Python?",
        ),
        ("What does $? hold in bash?", "What does $! hold in bash?"),
        (
            "Does 'abc' < 'abd' evaluate to True in Python?",
            "Does 'abc' < 'ABD' evaluate to True in Python?",
        ),
        ("What does f(x) return?", "What does f(x)(x) return?"),
        ("Pourquoi a[0] est vide ?", "Pourquoi a[0:] est vide ?"),
        (
            "In Kotlin, does val name: String? = null compile?",
            "In Kotlin, does val name: String = null compile?",
        ),
        (
            "What happens with char c = \"A\"; in Java?",
            "What happens with char c = 'A'; in Java?",
        ),
        (
            "In MySQL, what does DATE_FORMAT(d, '%Y') output?",
            "In MySQL, what does DATE_FORMAT(d, '%y') output?",
        ),
        (
            "What does double d = 1 / 2; store in Java?",
            "What does double d = 1 / 2.0; store in Java?",
        ),
        (
            "What does NOT (a AND b) simplify to?",
            "What does NOT a AND b simplify to?",
        ),
        (
            "Is file Report.PDF matched by *.pdf on Linux?",
            "Is file Report.pdf matched by *.pdf on Linux?",
        ),
    ]);
    join(&[
        (
            "In Python, what does [1, 2, 3][-1] return?",
            "What does [1, 2, 3][-1] return in Python?",
        ),
        ("In bash, what does $? hold?", "What does $? hold in bash?"),
    ]);
}

#[test]
fn marks_of_a_sentence_are_no_code() {
    join(&[
        ("What is staking (in crypto)?", "What is staking in crypto?"),
        ("I paid $50, why?", "I paid $50. Why?"),
        (
            "How do I reset my password?!",
            "How do I reset my password?",
        ),
    ]);
}

//! Questions whose clause is built in another way: what the guard joins, and its neighbours.

use crate::guard_pairs::{join, separate};

#[test]
fn what_gets_done_is_done_where_it_leaves_no_state() {
    join(&[(
        "How does the webhook get enabled?",
        "How is the webhook enabled?",
    )]);
    separate(&[
        ("How does 2FA get enabled?", "How do I disable 2FA?"),
        (
            "Does my account get locked if I fail?",
            "Is my account locked?",
        ),
        ("Do I get charged if I cancel?", "Do I charge if I cancel?"),
        (
            "Does the job get retried if it fails?",
            "Does the job retry if it passes?",
        ),
        ("How do I get paid?", "How do I pay?"),
    ]);
}

#[test]
fn a_result_that_lasts_is_a_state() {
    join(&[
        ("Is the login bug fixed?", "Has the login bug been fixed?"),
        ("Has the branch been merged?", "Is the branch merged?"),
    ]);
    separate(&[
        ("Has the bug been fixed?", "Has the bug been found?"),
        ("Has the bug been fixed?", "Is the bug being fixed?"),
        ("Has the bug been fixed?", "Is the bug not fixed?"),
        ("Has the bill been paid by Bob?", "Is the bill paid by Bob?"),
        ("Has the door been opened?", "Is the door open?"),
    ]);
}

#[test]
fn what_a_tool_does_is_its_purpose() {
    join(&[
        (
            "Which flag do I use to enable debug mode?",
            "Which flag enables debug mode?",
        ),
        (
            "Which environment variable do I use to set the proxy?",
            "Which env var sets the proxy?",
        ),
    ]);
    separate(&[
        (
            "What does the timeout flag do?",
            "What does the timeout flag not do?",
        ),
        ("What does -v do?", "What does -V do?"),
        (
            "What does the --quiet flag do?",
            "What does the --verbose flag do?",
        ),
        (
            "Which flag do I use to enable debug mode?",
            "Which flag do I use to disable debug mode?",
        ),
        (
            "Which flag must I not use to enable debug mode?",
            "Which flag enables debug mode?",
        ),
    ]);
}

#[test]
fn a_command_of_a_program_does_it() {
    join(&[
        (
            "What is the docker command to list containers?",
            "How do I list containers with docker?",
        ),
        (
            "Which kubectl command do I use to restart a pod?",
            "How do I restart a pod with kubectl?",
        ),
    ]);
    separate(&[
        (
            "Which git command deletes a remote branch?",
            "How do I delete a local branch with git?",
        ),
        (
            "Which docker command deletes an image?",
            "How do I delete an image with git?",
        ),
        (
            "Which git command does not delete a branch?",
            "How do I delete a branch with git?",
        ),
        (
            "Which git command was deprecated?",
            "How do I deprecate with git?",
        ),
    ]);
}

#[test]
fn letting_me_is_what_i_can() {
    join(&[
        (
            "Does the app let me export my data?",
            "Can I export my data in the app?",
        ),
        (
            "Does Notion allow you to export pages?",
            "Can I export pages in Notion?",
        ),
    ]);
    separate(&[
        (
            "Does Notion let you export pages?",
            "Can I import pages in Notion?",
        ),
        (
            "Does the app let me export data?",
            "Can the app export my data?",
        ),
        (
            "Does the app let you export data to Excel?",
            "Can I export data from Excel in the app?",
        ),
        (
            "Does the app let me export data?",
            "Should I export data in the app?",
        ),
        (
            "Does my plan let me add users?",
            "Does my plan let users add me?",
        ),
        ("Do they let me in?", "Can I let them in?"),
    ]);
}

#[test]
fn a_wish_with_is_that_possible_asks_whether_i_can() {
    join(&[
        (
            "I want to pay by card, is that possible?",
            "Can I pay by card?",
        ),
        (
            "I need to change my flight, can that be done?",
            "Can I change my flight?",
        ),
    ]);
    separate(&[
        (
            "I want to pay by card, is that possible?",
            "Can I pay by check?",
        ),
        (
            "I want to pay by card, is that possible?",
            "Should I pay by card?",
        ),
        (
            "I want to keep my card, is that possible?",
            "Can I keep your card?",
        ),
        ("I do not want to pay, is that possible?", "Can I pay?"),
    ]);
}

#[test]
fn what_stops_it_is_why_it_cannot() {
    join(&[
        (
            "What stops a proposal from being executed?",
            "Why can't a proposal be executed?",
        ),
        (
            "What prevents the server from starting?",
            "Why can't the server start?",
        ),
    ]);
    separate(&[
        (
            "What stops a proposal from being executed?",
            "Why can a proposal be executed?",
        ),
        (
            "What stops the server from starting?",
            "What stops the server?",
        ),
        (
            "What keeps the server from stopping?",
            "Why can't the server start?",
        ),
        (
            "What stops thieves from selling the phone?",
            "Why can't the phone sell thieves?",
        ),
    ]);
}

#[test]
fn a_statement_with_why_asks_why() {
    join(&[
        (
            "My laptop won't turn on. Why?",
            "Why won't my laptop turn on?",
        ),
        (
            "My laptop won't turn on, why is that?",
            "Why won't my laptop turn on?",
        ),
        (
            "My pods never start. What could be the cause?",
            "Why do my pods never start?",
        ),
    ]);
    separate(&[
        (
            "My laptop won't turn on. Why?",
            "Why won't my laptop turn off?",
        ),
        (
            "My order is late. Why?",
            "My order is late. What should I do?",
        ),
        ("My order is late. Why?", "My orders are late. Why?"),
        ("My dog bit a cat. Why?", "Why did a cat bite my dog?"),
    ]);
}

#[test]
fn questions_with_the_question_word_elsewhere() {
    join(&[
        ("With which card did I pay?", "Which card did I pay with?"),
        (
            "Can I pay with a card instead of cash?",
            "Instead of cash, can I pay with a card?",
        ),
        (
            "git merge two branches how to",
            "how to git merge two branches",
        ),
    ]);
    separate(&[
        (
            "The letter was written by whom?",
            "Whom was the letter written to?",
        ),
        (
            "From which chain do I bridge?",
            "Which chain do I bridge to?",
        ),
        (
            "Under which license is it published?",
            "Under which name is it published?",
        ),
        (
            "Can I pay cash instead of a card?",
            "Can I pay by card instead of cash?",
        ),
        (
            "Instead of cash, can I pay by card?",
            "Instead of a card, can I pay cash?",
        ),
    ]);
}

//! What is allowed or possible.

use crate::guard_pairs::{join, separate};

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
fn what_is_accepted_or_safe() {
    join(&[(
        "Is stETH accepted as collateral on Aave?",
        "Can stETH be used as collateral on Aave?",
    )]);
    separate(&[
        (
            "Are eggs safe to eat after a week?",
            "Is it safe to eat eggs before a week?",
        ),
        (
            "Are dogs safe to eat eggs after a week?",
            "Is it safe to eat dogs after a week?",
        ),
        (
            "Is stETH accepted as collateral?",
            "Should stETH be used as collateral?",
        ),
    ]);
}

#[test]
fn a_deed_is_judged_before_or_behind_its_words() {
    join(&[
        ("Is it bad to skip breakfast?", "Is skipping breakfast bad?"),
        (
            "Is it safe to drink rainwater?",
            "Is drinking rainwater safe?",
        ),
        (
            "Is it normal to feel tired before the second vaccine dose?",
            "Is feeling tired before the second vaccine dose normal?",
        ),
        ("Is Venice worth visiting?", "Is it worth visiting Venice?"),
    ]);
    separate(&[
        ("Is it bad to skip breakfast?", "Is skipping lunch bad?"),
        (
            "Is it bad to skip breakfast?",
            "Is skipping breakfast good?",
        ),
        (
            "Is it bad to skip breakfast?",
            "Is not skipping breakfast bad?",
        ),
        ("Is it safe to drink rainwater?", "Is drinking water safe?"),
        (
            "Is feeling tired before the second dose normal?",
            "Is feeling normal before the second dose tired?",
        ),
        ("Is Venice worth visiting?", "Is Venice worth leaving?"),
        ("Is Venice worth visiting?", "Is Rome worth visiting?"),
    ]);
}

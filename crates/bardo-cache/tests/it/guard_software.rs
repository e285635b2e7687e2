//! Commands, options and defaults of programs.

use crate::guard_pairs::{join, separate};

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
fn what_a_program_does_or_has_by_default() {
    join(&[
        (
            "How long is the timeout by default?",
            "How long is the default timeout?",
        ),
        (
            "How do I ignore a folder in git?",
            "How can I make git ignore a directory?",
        ),
        (
            "How do I add a column to a table with SQL?",
            "Which SQL statement adds a column to a table?",
        ),
        (
            "How do I rename a branch in git?",
            "How can I change the name of a branch in git?",
        ),
    ]);
    separate(&[
        (
            "How long is the default timeout?",
            "How long is the maximum timeout?",
        ),
        (
            "How do I make git ignore a folder?",
            "How do I make git track a folder?",
        ),
        (
            "How do I make git ignore a folder?",
            "How do I make npm ignore a folder?",
        ),
        (
            "Which SQL statement adds a column to a table?",
            "Which SQL statement adds a table to a column?",
        ),
        (
            "How do I rename a branch?",
            "How do I change the owner of a branch?",
        ),
    ]);
}

#[test]
fn code_is_explained_by_what_it_does() {
    join(&[
        (
            "What does `chmod 600 id_rsa` do?",
            "Explain `chmod 600 id_rsa`.",
        ),
        ("What is `git fetch` for?", "What does `git fetch` do?"),
        (
            "What does `grep -rn \"TODO\" src/` do?",
            "Explain the command `grep -rn \"TODO\" src/`",
        ),
        (
            "What does `defer f.Close()` do in Go?",
            "In Go, what's the purpose of `defer f.Close()`?",
        ),
        (
            "How does garbage collection work in Java?",
            "Can you explain how Java's garbage collection works?",
        ),
        (
            "What does the static keyword mean in Java?",
            "Explain Java's static keyword.",
        ),
    ]);
    separate(&[
        ("What does `git fetch` do?", "What does `git pull` do?"),
        ("What does `git fetch` do?", "What does `git fetch` return?"),
        ("What does `x` do in Go?", "What does `x` do in Rust?"),
        ("Run `git fetch`", "What does `git fetch` do?"),
        ("What does `foo()` do?", "What does `foo()` do to `bar`?"),
        (
            "How does garbage collection work in Java?",
            "Explain how Go's garbage collection works.",
        ),
    ]);
}

//! What `cargo test` says of the tests that fail, kept for the end of a long run. Start from
//! [`run`].

use std::{
    io::{self, BufRead, BufReader, Write},
    process::{Command, ExitStatus},
};

/// Lines of one failed test at most: the message comes first, and backtraces are long.
const LINES_KEPT: usize = 30;

/// Runs a command, passes its output on to `to` line by line, and keeps what failed tests said.
///
/// # Errors
/// Fails where the command cannot be started or its output cannot be passed on.
pub(super) fn run(
    command: &mut Command,
    to: &mut impl Write,
) -> io::Result<(ExitStatus, Vec<String>)> {
    // One pipe for both, so that the lines stay in their order.
    let (output, input) = io::pipe()?;
    let mut child = command.stdout(input.try_clone()?).stderr(input).spawn()?;
    // The command holds the other end until it is told otherwise, and the pipe would never end.
    command.stdout(io::stdout()).stderr(io::stderr());
    let said = pass_on(BufReader::new(output), to);
    let status = child.wait()?;
    Ok((status, said?))
}

/// Copies lines, and returns those of the sections of failed tests.
fn pass_on(mut from: impl BufRead, to: &mut impl Write) -> io::Result<Vec<String>> {
    let mut kept = Vec::new();
    let mut room = 0;
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if text.starts_with("---- ") && text.ends_with(" stdout ----") {
            room = LINES_KEPT;
        } else if text == "failures:" || text.starts_with("test result: ") {
            room = 0;
        }
        if room > 0 && !text.is_empty() {
            kept.push(text);
            room -= 1;
        }
    }
    to.flush()?;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_tests_said_is_kept_and_all_lines_are_passed_on() {
        let long: String = (0..50).map(|number| format!("frame {number}\n")).collect();
        let output = format!(
            "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n\n\
             thread 'b' panicked at b.rs:1:1:\nleft: 1\n\n---- c::d stdout ----\n{long}\n\n\
             failures:\n    b\n    c::d\n\ntest result: FAILED. 1 passed; 2 failed\n"
        );
        let mut copy = Vec::new();
        let kept = pass_on(output.as_bytes(), &mut copy).unwrap();
        assert_eq!(copy, output.as_bytes());
        assert_eq!(
            kept[..3],
            [
                "---- b stdout ----",
                "thread 'b' panicked at b.rs:1:1:",
                "left: 1"
            ]
        );
        assert_eq!(kept[3], "---- c::d stdout ----");
        assert_eq!(kept.len(), 3 + LINES_KEPT);
    }

    #[test]
    fn output_and_errors_come_through_one_pipe_with_the_exit_status() {
        let script = "echo '---- t stdout ----'; echo said >&2; exit 3";
        let mut copy = Vec::new();
        let (status, kept) = run(Command::new("sh").args(["-c", script]), &mut copy).unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(kept, ["---- t stdout ----", "said"]);
        assert_eq!(copy, b"---- t stdout ----\nsaid\n");
    }
}

//! What tools give back, without the words that agents put around it.

use serde_json::Value;

use crate::asked;

/// How the words begin with which tools report that they failed.
const FAILURES: &[&str] = &[
    "error",
    "<tool_use_error>",
    "cat: ",
    "failed",
    "apply_patch verification failed",
    "bash: ",
    "sh: ",
    "execution error",
];

/// The plain content of a result.
pub(super) fn plain(result: &str) -> String {
    let inner = inner(result);
    if let Some(listed) = listed(&inner) {
        return numbered(&listed).unwrap_or(listed);
    }
    let text = asked::without_elements(&inner);
    numbered(&text).unwrap_or(text)
}

/// The lines of a file that a tool gives back as an element beside the path, without the note on
/// how many there are.
fn listed(result: &str) -> Option<String> {
    let rest = result.trim_start();
    let rest = match rest.strip_prefix("<path>") {
        Some(rest) => rest.split_once("<content>")?.1,
        None => rest.strip_prefix("<file>")?,
    };
    let close = ["</content>", "</file>"]
        .iter()
        .filter_map(|mark| rest.rfind(mark))
        .max();
    let lines = rest[..close.unwrap_or(rest.len())].trim_matches('\n');
    let noted = lines.rsplit_once('\n').filter(|(_, last)| {
        let is_note = |start: &&str| last.starts_with(start);
        [
            "(End of file",
            "(File has more lines",
            "(Showing lines",
            "(Output capped",
        ]
        .iter()
        .any(is_note)
    });
    let lines = noted.map_or(lines, |(before, _)| before.trim_end_matches('\n'));
    Some(format!("{lines}\n"))
}

/// Why a tool failed; `None` if it did not.
pub(super) fn failure(result: &str) -> Option<String> {
    let code = ["exited with code ", "\"exit_code\":", "\"exit_code\": "];
    let code = code.iter().find_map(|mark| {
        let (_, rest) = result.split_once(mark)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    let text = inner(result);
    let start = text.trim_start().to_lowercase();
    let says_so = FAILURES.iter().any(|words| start.starts_with(words));
    if code.unwrap_or(0) == 0 && !says_so {
        return None;
    }
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or("no reason was given").trim();
    let line = line.replace("<tool_use_error>", "");
    let line = line.replace("</tool_use_error>", "");
    Some(line.chars().take(200).collect())
}

/// The output in what a shell tool reports.
fn inner(result: &str) -> String {
    if let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(result)
        && let Some(output) = fields.get("output").and_then(Value::as_str)
    {
        return inner(output);
    }
    for mark in ["\nOutput:\n", "\nOutput: "] {
        if let Some((_, output)) = result.split_once(mark) {
            return output.to_owned();
        }
    }
    match result.strip_prefix("Output:\n") {
        Some(output) => output.to_owned(),
        None => result.to_owned(),
    }
}

/// Lines without the numbers that a reading tool puts before each of them.
fn numbered(text: &str) -> Option<String> {
    let mut lines = Vec::new();
    let mut last: Option<u64> = None;
    let mut mark = '\t';
    for line in text.trim_end_matches('\n').lines() {
        let start = line.trim_start();
        let end = start.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = start[..end].parse().ok()?;
        if last.is_some_and(|last| number != last + 1) {
            return None;
        }
        last = Some(number);
        let rest = &start[end..];
        mark = rest.chars().next().filter(|c| "→\t|:".contains(*c))?;
        lines.push(&rest[mark.len_utf8()..]);
    }
    last?;
    // Some put a blank behind the mark, of each line that has anything.
    let blank = |line: &&str| line.is_empty() || line.starts_with(' ');
    if "|:".contains(mark) && lines.iter().all(blank) {
        lines = lines
            .iter()
            .map(|line| line.get(1..).unwrap_or_default())
            .collect();
    }
    // Others count what stands behind the last end of a line as a line.
    if "→\t".contains(mark) && lines.len() > 1 && lines.last() == Some(&"") {
        lines.pop();
    }
    Some(lines.iter().map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agents_add_is_taken_off() {
        for (result, expected) in [
            (
                "     1→def f():\n     2→    return 5\n",
                "def f():\n    return 5\n",
            ),
            (
                "1\tone\n2\t\n3\t\n\n<system-reminder>\nBe careful.\n</system-reminder>\n",
                "one\n\n",
            ),
            (
                "<path>/src/a.py</path>\n<type>file</type>\n<content>\n1: def f():\n2:     return 7\n3: \n\n(End of file - total 3 lines)\n</content>",
                "def f():\n    return 7\n\n",
            ),
            (
                "<file>\n00001| x = 1\n00002| y = 2\n\n(End of file - total 2 lines)\n</file>",
                "x = 1\ny = 2\n",
            ),
            (
                "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nx = 1\n",
                "x = 1\n",
            ),
            (
                r#"{"output":"x = 1\n","metadata":{"exit_code":0}}"#,
                "x = 1\n",
            ),
            ("5 apples\n7 pears", "5 apples\n7 pears"),
        ] {
            assert_eq!(plain(result), expected, "{result}");
            assert_eq!(failure(result), None, "{result}");
        }
    }

    #[test]
    fn failures_are_told_from_content() {
        for (result, why) in [
            ("Error: no such file", "Error: no such file"),
            (
                "<tool_use_error>File does not exist.</tool_use_error>",
                "File does not exist.",
            ),
            (
                "Wall time: 0\nProcess exited with code 1\nOutput:\ncat: a: No such file\n",
                "cat: a: No such file",
            ),
        ] {
            assert_eq!(failure(result).as_deref(), Some(why));
        }
        assert_eq!(failure("The error is in line 5"), None);
    }
}

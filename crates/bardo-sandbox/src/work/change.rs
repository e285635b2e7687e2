//! What a deed makes of a file, and the place where the two differ.

use super::task::{Added, Deed};

/// A file before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
}

/// The one place where a file changes: so many lines at the start stay, then lines go and come.
pub(super) struct Hunk<'a> {
    pub(super) start: usize,
    pub(super) old: &'a [String],
    pub(super) new: &'a [String],
}

/// How languages write what a deed adds.
struct Language {
    extensions: &'static [&'static str],
    /// What stands before and behind a comment.
    comment: (&'static str, &'static str),
    /// A function with `{name}` and `{value}`, and what its value is where nobody said.
    function: Option<(&'static str, &'static str)>,
}

const LANGUAGES: &[Language] = &[
    Language {
        extensions: &["py"],
        comment: ("# ", ""),
        function: Some(("\n\ndef {name}():\n    return {value}", "None")),
    },
    Language {
        extensions: &["js", "jsx", "mjs", "ts", "tsx", "php"],
        comment: ("// ", ""),
        function: Some(("\nfunction {name}() {\n  return {value};\n}", "null")),
    },
    Language {
        extensions: &["rs"],
        comment: ("// ", ""),
        function: Some(("\nfn {name}() -> i64 {\n    {value}\n}", "0")),
    },
    Language {
        extensions: &["go"],
        comment: ("// ", ""),
        function: Some(("\nfunc {name}() int {\n\treturn {value}\n}", "0")),
    },
    Language {
        extensions: &["sh", "bash", "zsh"],
        comment: ("# ", ""),
        function: Some(("\n{name}() {\n  echo {value}\n}", "done")),
    },
    Language {
        extensions: &[
            "c", "cc", "cpp", "cs", "h", "hpp", "java", "kt", "proto", "scala", "swift",
        ],
        comment: ("// ", ""),
        function: None,
    },
    Language {
        extensions: &["html", "md", "svelte", "vue", "xml"],
        comment: ("<!-- ", " -->"),
        function: None,
    },
    Language {
        extensions: &["css"],
        comment: ("/* ", " */"),
        function: None,
    },
    Language {
        extensions: &["lua", "sql"],
        comment: ("-- ", ""),
        function: None,
    },
    Language {
        extensions: &["txt", "rst", "csv", "log"],
        comment: ("", ""),
        function: None,
    },
];

/// Words that are often misspelt in code, as they are and as they should be.
const TYPOS: &[(&str, &str)] = &[
    ("retrun", "return"),
    ("reutrn", "return"),
    ("pritn", "print"),
    ("fucntion", "function"),
    ("flase", "false"),
    ("Flase", "False"),
    ("lenght", "length"),
    ("recieve", "receive"),
    ("teh ", "the "),
];

/// Beginnings of lines that end with a colon in Python.
const OPENS_A_BLOCK: &[&str] = &[
    "def ", "class ", "if ", "elif ", "else", "for ", "while ", "try", "except", "finally", "with ",
];

/// What a deed makes of a file; `None` where there is nothing to change.
pub(super) fn apply(deed: &Deed, path: &str, text: &str) -> Option<Change> {
    let before: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut after = before.clone();
    match deed {
        Deed::Read | Deed::Create { .. } => return None,
        Deed::Add { what, first } => {
            let new = added(what, path);
            // The line that names the interpreter stays the first.
            let shebang = usize::from(before.first().is_some_and(|line| line.starts_with("#!")));
            let at = if *first { shebang } else { after.len() };
            let new = new.split('\n').map(str::to_owned);
            let blank = |line: &String| !line.is_empty() || !after.is_empty();
            let new: Vec<String> = new.filter(blank).collect();
            after.splice(at..at, new);
        }
        Deed::Replace { from, to } => after
            .iter_mut()
            .for_each(|line| *line = replaced(line, from, to)),
        Deed::Return { value } => {
            let line = after
                .iter_mut()
                .find(|line| line.trim_start().starts_with("return"))?;
            let indent = &line[..line.len() - line.trim_start().len()];
            let end = if line.trim_end().ends_with(';') {
                ";"
            } else {
                ""
            };
            *line = format!("{indent}return {value}{end}");
        }
        Deed::Remove { text } => after.retain(|line| !line.contains(text.as_str())),
        Deed::Fix { asked } => {
            after.iter_mut().for_each(|line| *line = mended(line, path));
            if after == before {
                let mark = format!("FIXME: {}", first_words(asked));
                let shebang =
                    usize::from(before.first().is_some_and(|line| line.starts_with("#!")));
                after.insert(shebang, comment(&mark, path));
            }
        }
    }
    (after != before).then_some(Change { before, after })
}

impl Change {
    /// A file that was not there.
    pub(super) fn created(content: &str) -> Self {
        Self {
            before: Vec::new(),
            after: content.lines().map(str::to_owned).collect(),
        }
    }

    pub(super) fn hunk(&self) -> Hunk<'_> {
        let (before, after) = (&self.before, &self.after);
        let same = |(one, other): &(&String, &String)| one == other;
        let start = before.iter().zip(after).take_while(same).count();
        let left = before.len().min(after.len()) - start;
        let ends = before.iter().rev().zip(after.iter().rev());
        let end = ends.take(left).take_while(same).count();
        Hunk {
            start,
            old: &before[start..before.len() - end],
            new: &after[start..after.len() - end],
        }
    }

    /// Lines to look for that occur once in the file, and what to put there.
    pub(super) fn search_and_replace(&self) -> (String, String) {
        let hunk = self.hunk();
        let (mut from, mut to) = (hunk.start, hunk.start + hunk.old.len());
        let whole = lines(&self.before);
        while (from, to) != (0, self.before.len()) {
            let sought = &self.before[from..to];
            let text = sought.join("\n");
            // Where lines only go, one beside them stays, or a blank line would.
            let stays = !hunk.new.is_empty() || to - from > hunk.old.len();
            if stays
                && sought.iter().any(|line| !line.trim().is_empty())
                && whole.matches(&text).count() == 1
            {
                break;
            }
            if from > 0 {
                from -= 1;
            } else {
                to += 1;
            }
        }
        let above = &self.before[from..hunk.start];
        let below = &self.before[hunk.start + hunk.old.len()..to];
        let new = [above, hunk.new, below].concat();
        (self.before[from..to].join("\n"), new.join("\n"))
    }

    /// The new file.
    pub(super) fn text(&self) -> String {
        lines(&self.after)
    }

    /// The change in the way of `diff`, for people.
    pub(super) fn shown(&self) -> String {
        const LINES_MAX: usize = 6;
        let hunk = self.hunk();
        let old = hunk.old.iter().map(|line| format!("- {line}"));
        let new = hunk.new.iter().map(|line| format!("+ {line}"));
        let all: Vec<String> = old.chain(new).collect();
        let mut shown = all[..all.len().min(LINES_MAX)].join("\n");
        if all.len() > LINES_MAX {
            shown.push_str(&format!("\n… and {} lines more", all.len() - LINES_MAX));
        }
        shown
    }
}

/// Lines as a file has them.
pub(super) fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn language(path: &str) -> Option<&'static Language> {
    let extension = path.rsplit_once('.')?.1.to_lowercase();
    let fits = |language: &&Language| language.extensions.contains(&extension.as_str());
    LANGUAGES.iter().find(fits)
}

fn comment(text: &str, path: &str) -> String {
    let (before, behind) = language(path).map_or(("# ", ""), |language| language.comment);
    // Words that are a comment already stay as they are.
    if !before.is_empty() && text.starts_with(before.trim_end()) {
        return text.to_owned();
    }
    format!("{before}{text}{behind}")
}

fn added(what: &Added, path: &str) -> String {
    match what {
        Added::Line(text) => text.clone(),
        Added::Comment(text) => comment(text, path),
        Added::Function { name, returns } => {
            match language(path).and_then(|language| language.function) {
                Some((form, default)) => form
                    .replace("{name}", name)
                    .replace("{value}", returns.as_deref().unwrap_or(default)),
                None => comment(&format!("TODO: function {name}"), path),
            }
        }
    }
}

/// Replaces a text; a text that is one word only where it stands as a word.
fn replaced(line: &str, from: &str, to: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let whole_word = from.chars().all(is_word);
    let mut made = String::with_capacity(line.len());
    let mut at = 0;
    for (found, _) in line.match_indices(from) {
        if found < at {
            continue;
        }
        let before = line[..found].chars().next_back();
        let behind = line[found + from.len()..].chars().next();
        let inside = [before, behind].into_iter().flatten().any(is_word);
        made.push_str(&line[at..found]);
        made.push_str(if whole_word && inside { from } else { to });
        at = found + from.len();
    }
    made.push_str(&line[at..]);
    made
}

/// A line without the small mistakes that a rule can see.
fn mended(line: &str, path: &str) -> String {
    let mut line = line.trim_end().to_owned();
    for (wrong, right) in TYPOS {
        line = line.replace(wrong, right);
    }
    let start = line.trim_start();
    let opens = OPENS_A_BLOCK
        .iter()
        .any(|word| match word.strip_suffix(' ') {
            Some(_) => start.starts_with(word),
            None => start == *word,
        });
    let whole = line.ends_with([':', ',', '(', '\\', '[']) || line.contains('#');
    if path.ends_with(".py") && opens && !whole && balanced(start) {
        line.push(':');
    }
    line
}

fn balanced(text: &str) -> bool {
    let count = |c: char| text.matches(c).count();
    count('(') == count(')') && count('[') == count(']') && !text.contains(": ")
}

fn first_words(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut words: String = line.chars().take(80).collect();
    if words.len() < line.len() {
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const HARBOR: &str = "def opens():\n    return 5\n\n\ndef closes():\n    return 15\n";

    fn after(deed: &Deed, path: &str, text: &str) -> String {
        apply(deed, path, text).expect("a change").text()
    }

    fn add(what: Added, first: bool) -> Deed {
        Deed::Add { what, first }
    }

    #[test]
    fn each_deed_changes_what_it_says() {
        let replace = Deed::Replace {
            from: "5".to_owned(),
            to: "6".to_owned(),
        };
        assert_eq!(
            after(&replace, "a.py", HARBOR),
            HARBOR.replace("return 5", "return 6"),
            "15 is another number"
        );
        let value = Deed::Return {
            value: "9".to_owned(),
        };
        assert_eq!(
            after(&value, "a.py", HARBOR),
            HARBOR.replace("return 5", "return 9")
        );
        let line = add(Added::Line("end".to_owned()), false);
        assert_eq!(after(&line, "a.txt", "one\n"), "one\nend\n");
        let comment = add(Added::Comment("hours".to_owned()), true);
        assert_eq!(
            after(&comment, "a.sh", "#!/bin/sh\ntrue\n"),
            "#!/bin/sh\n# hours\ntrue\n"
        );
        let function = add(
            Added::Function {
                name: "f".to_owned(),
                returns: Some("7".to_owned()),
            },
            false,
        );
        assert_eq!(
            after(&function, "a.py", "x = 1\n"),
            "x = 1\n\n\ndef f():\n    return 7\n"
        );
        let remove = Deed::Remove {
            text: "15".to_owned(),
        };
        assert!(!after(&remove, "a.py", HARBOR).contains("15"));
        let fix = Deed::Fix {
            asked: "Fix it".to_owned(),
        };
        assert_eq!(
            after(&fix, "a.py", "def f()\n    retrun 1\n"),
            "def f():\n    return 1\n"
        );
        assert_eq!(after(&fix, "a.py", "x = 1\n"), "# FIXME: Fix it\nx = 1\n");
        let nothing = Deed::Replace {
            from: "absent".to_owned(),
            to: "x".to_owned(),
        };
        assert_eq!(apply(&nothing, "a.py", HARBOR), None);
    }

    #[test]
    fn what_is_looked_for_occurs_once() {
        let text = "a\nsame\nb\nsame\n";
        for what in ["a", "b", "same", ""] {
            let deed = add(Added::Line(what.to_owned()), false);
            let Some(change) = apply(&deed, "a.txt", text) else {
                continue;
            };
            let (old, new) = change.search_and_replace();
            assert_eq!(text.matches(&old).count(), 1, "{old:?}");
            assert_eq!(text.replace(&old, &new), change.text());
        }
        let deed = Deed::Remove {
            text: "b".to_owned(),
        };
        let change = apply(&deed, "a.txt", text).expect("a change");
        let (old, new) = change.search_and_replace();
        assert_eq!(text.replace(&old, &new), "a\nsame\nsame\n");
    }
}

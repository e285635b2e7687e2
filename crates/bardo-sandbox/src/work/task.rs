//! What a sentence asks to be done with files: a handful of simple rules, and no more than that.

/// A task with files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    /// As the user wrote them, each once.
    pub(super) files: Vec<String>,
    pub(super) deed: Deed,
}

/// What to do with each file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    /// Read it and say what is there.
    Read,
    Create {
        content: String,
    },
    Add {
        what: Added,
        first: bool,
    },
    Replace {
        from: String,
        to: String,
    },
    /// Make its function return something else.
    Return {
        value: String,
    },
    Remove {
        text: String,
    },
    Fix {
        asked: String,
    },
}

/// What is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Added {
    Line(String),
    Comment(String),
    Function {
        name: String,
        returns: Option<String>,
    },
}

/// Files that one task names at most.
const FILES_MAX: usize = 8;
/// What is written where the user gave no words for it.
pub(super) const OWN_WORDS: &str = "Added by the Bardo sandbox.";

const NAMES: &[&str] = &["Makefile", "Dockerfile", "Justfile", "README", "LICENSE"];
const EXTENSIONS: &[&str] = &[
    "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "env", "go", "h", "hpp", "html",
    "ini", "java", "js", "json", "jsx", "kt", "log", "lua", "md", "mjs", "php", "pl", "proto",
    "py", "r", "rb", "rs", "rst", "scala", "sh", "sql", "svelte", "swift", "tex", "toml", "ts",
    "tsx", "txt", "vue", "xml", "yaml", "yml", "zsh",
];

/// The task in a text of the user's own; `None` where no file is named.
pub(super) fn parse(ask: &str) -> Option<Task> {
    let files = files(ask);
    if files.is_empty() {
        return None;
    }
    Some(Task {
        deed: deed(ask, &files),
        files,
    })
}

/// The file names in a text.
pub(super) fn files(ask: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for word in ask.split(|c: char| c.is_whitespace() || "\"'`,;()<>“”‘’[]{}".contains(c)) {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        if is_file(word) && !files.iter().any(|known| known == word) {
            files.push(word.to_owned());
        }
    }
    files.truncate(FILES_MAX);
    files
}

fn is_file(word: &str) -> bool {
    if word.contains("://") || word.contains('@') || word.contains('=') {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    if NAMES.contains(&name) {
        return true;
    }
    match name.rsplit_once('.') {
        Some((stem, extension)) => {
            !stem.is_empty() && EXTENSIONS.contains(&extension.to_lowercase().as_str())
        }
        None => false,
    }
}

fn deed(ask: &str, files: &[String]) -> Deed {
    let words = Words::of(ask, files);
    let fenced = fenced(ask);
    let given = fenced.clone().or_else(|| words.quoted.first().cloned());
    if words.any(&["replace", "change", "rename", "substitute", "update", "set"])
        && let Some((from, to)) = words.exchange()
    {
        return Deed::Replace { from, to };
    }
    if let Some((to, from)) = words.around("instead") {
        return Deed::Replace { from, to };
    }
    let adds = words.any(&["add", "append", "insert", "put", "prepend"]);
    if !adds && let Some(value) = words.after(&["return", "returns"]) {
        return Deed::Return { value };
    }
    if words.any(&["create", "new"]) || (!adds && words.any(&["write", "make", "generate"])) {
        let content = given
            .or_else(|| saying(ask, files))
            .unwrap_or_else(|| OWN_WORDS.to_owned());
        return Deed::Create { content };
    }
    if adds {
        return add(ask, files, &words, given);
    }
    if words.any(&["remove", "delete", "drop"])
        && let Some(text) = given
    {
        return Deed::Remove { text };
    }
    if words.any(&["fix", "repair", "correct", "debug", "mend"]) {
        return Deed::Fix {
            asked: ask.to_owned(),
        };
    }
    Deed::Read
}

fn add(ask: &str, files: &[String], words: &Words, given: Option<String>) -> Deed {
    let first = words.any(&["top", "beginning", "start", "prepend"]);
    if words.any(&["function", "method", "def"]) {
        let name = given
            .or_else(|| words.after(&["called", "named"]))
            .or_else(|| words.after(&["function", "method", "def"]))
            .map(|name| identifier(&name))
            .filter(|name| !name.is_empty());
        return Deed::Add {
            what: Added::Function {
                name: name.unwrap_or_else(|| "from_the_sandbox".to_owned()),
                returns: words.after(&["returns", "returning", "return"]),
            },
            first,
        };
    }
    let text = given
        .or_else(|| saying(ask, files))
        .unwrap_or_else(|| OWN_WORDS.to_owned());
    if words.any(&["comment", "docstring", "todo"]) {
        // A comment stands above what it is about, unless it is wanted elsewhere.
        let first = !words.any(&["end", "bottom", "append"]);
        let what = Added::Comment(text);
        return Deed::Add { what, first };
    }
    let what = Added::Line(text);
    Deed::Add { what, first }
}

/// What follows a word that announces it, up to the end of its sentence.
fn saying(ask: &str, files: &[String]) -> Option<String> {
    const ANNOUNCES: &[&str] = &[
        " that says ",
        " saying ",
        " that reads ",
        " containing ",
        " with the text ",
        " with the content ",
        " with the line ",
        ": ",
    ];
    let (at, mark) = ANNOUNCES
        .iter()
        .filter_map(|mark| ask.find(mark).map(|at| (at, mark)))
        .min()?;
    let mut text = ask[at + mark.len()..].lines().next()?.trim();
    // "saying hello to notes.txt": the file is no part of it.
    for file in files {
        for preposition in [
            " to ",
            " in ",
            " into ",
            " at the top of ",
            " at the end of ",
        ] {
            if let Some((before, _)) = text.split_once(&format!("{preposition}{file}")) {
                text = before;
            }
        }
    }
    (!text.is_empty()).then(|| text.to_owned())
}

/// The inside of the first fenced block.
fn fenced(ask: &str) -> Option<String> {
    let (_, rest) = ask.split_once("```")?;
    let (inner, _) = rest.split_once("```")?;
    let (_, body) = inner.split_once('\n')?;
    Some(body.trim_end_matches('\n').to_owned())
}

fn identifier(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// The words of a text, and what stands in quotation marks, without file names.
struct Words {
    plain: Vec<String>,
    quoted: Vec<String>,
}

impl Words {
    fn of(ask: &str, files: &[String]) -> Self {
        let mut plain = Vec::new();
        let mut quoted = Vec::new();
        let mut rest = ask;
        while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
            rest = &rest[start..];
            if let Some((inner, after)) = quotation(rest) {
                if !files.iter().any(|file| file == inner) {
                    quoted.push(inner.to_owned());
                    plain.push(inner.to_owned());
                }
                rest = after;
                continue;
            }
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let word = rest[..end].trim_end_matches([',', '.', ';', ':', '!', '?']);
            if !word.is_empty() {
                plain.push(word.to_owned());
            }
            rest = &rest[end..];
        }
        Self { plain, quoted }
    }

    fn position(&self, names: &[&str]) -> Option<usize> {
        self.plain.iter().position(|word| {
            let word = word.to_lowercase();
            names.iter().any(|name| *name == word)
        })
    }

    fn any(&self, names: &[&str]) -> bool {
        self.position(names).is_some()
    }

    /// The word behind one of these.
    fn after(&self, names: &[&str]) -> Option<String> {
        let word = self.plain.get(self.position(names)? + 1)?;
        (!is_file(word) && !is_small(word)).then(|| word.clone())
    }

    /// The words around one that stands between them: "6 instead of 5".
    fn around(&self, name: &str) -> Option<(String, String)> {
        let at = self.position(&[name])?;
        let before = self.plain.get(at.checked_sub(1)?)?;
        let after = &self.plain[at + 1..];
        let after = after.iter().find(|word| word.as_str() != "of")?;
        Some((before.clone(), after.clone()))
    }

    /// What is to be exchanged for what.
    fn exchange(&self) -> Option<(String, String)> {
        if let [from, to, ..] = self.quoted.as_slice() {
            return Some((from.clone(), to.clone()));
        }
        let at = self.position(&["to", "with", "by", "into"])?;
        let (from, to) = (self.plain.get(at.checked_sub(1)?)?, self.plain.get(at + 1)?);
        let fits = |word: &String| !is_file(word) && !is_small(word);
        (fits(from) && fits(to)).then(|| (from.clone(), to.clone()))
    }
}

/// Words that are nobody's value.
fn is_small(word: &str) -> bool {
    const SMALL: &[&str] = &[
        "a", "an", "the", "it", "its", "to", "of", "in", "value", "file", "line", "that", "called",
        "named", "which", "and", "function", "method", "comment",
    ];
    SMALL.contains(&word.to_lowercase().as_str())
}

/// A quotation at the start of a text, and what follows it.
fn quotation(text: &str) -> Option<(&str, &str)> {
    const MARKS: &[(&str, &str)] = &[("\"", "\""), ("`", "`"), ("“", "”"), ("‘", "’"), ("'", "'")];
    let (open, close) = MARKS.iter().find(|(open, _)| text.starts_with(open))?;
    let rest = &text[open.len()..];
    let at = rest.find(close)?;
    let inner = &rest[..at];
    (!inner.is_empty() && !inner.contains('\n')).then(|| (inner, &rest[at + close.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deed_of(ask: &str) -> Deed {
        parse(ask).expect("a file").deed
    }

    fn replace(from: &str, to: &str) -> Deed {
        Deed::Replace {
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }

    fn add(what: Added, first: bool) -> Deed {
        Deed::Add { what, first }
    }

    #[test]
    fn files_are_told_from_words() {
        assert_eq!(
            files(
                "Read src/main.rs, `a.py` and \"b.txt\". See https://x.io/a.html, v1.2.3, e.g. x"
            ),
            ["src/main.rs", "a.py", "b.txt"]
        );
        assert_eq!(files("Look at the README, please"), ["README"]);
        assert_eq!(parse("Hello! How are you?"), None);
    }

    #[test]
    fn each_rule_is_found() {
        let line = |text: &str| Added::Line(text.to_owned());
        let comment = |text: &str| Added::Comment(text.to_owned());
        for (ask, expected) in [
            ("Read notes.txt and say what is in it.", Deed::Read),
            ("Change 5 to 6 in harbor.py", replace("5", "6")),
            (
                "In harbor.py replace \"opens at\" with \"closes at\".",
                replace("opens at", "closes at"),
            ),
            ("Let harbor.py say 6 instead of 5.", replace("5", "6")),
            (
                "Add a line \"See you.\" to notes.txt",
                add(line("See you."), false),
            ),
            (
                "add a line saying the harbor is closed to notes.txt",
                add(line("the harbor is closed"), false),
            ),
            (
                "Append to notes.txt: The last line.",
                add(line("The last line."), false),
            ),
            (
                "Add a comment saying opening hours to harbor.py",
                add(comment("opening hours"), true),
            ),
            ("Add a comment to harbor.py", add(comment(OWN_WORDS), true)),
            (
                "Add a function called greet to harbor.py that returns 7",
                add(
                    Added::Function {
                        name: "greet".to_owned(),
                        returns: Some("7".to_owned()),
                    },
                    false,
                ),
            ),
            (
                "Create hello.txt with the text Hello, harbor.",
                Deed::Create {
                    content: "Hello, harbor.".to_owned(),
                },
            ),
            (
                "Make harbor_opens in harbor.py return 6.",
                Deed::Return {
                    value: "6".to_owned(),
                },
            ),
            (
                "Remove the line \"x = 1\" from a.py",
                Deed::Remove {
                    text: "x = 1".to_owned(),
                },
            ),
        ] {
            assert_eq!(deed_of(ask), expected, "{ask}");
        }
        assert!(matches!(deed_of("Fix the bug in a.py"), Deed::Fix { .. }));
    }

    #[test]
    fn a_fenced_block_is_the_content() {
        let asked = "Create a.py:\n```python\nprint(1)\nprint(2)\n```\n";
        let content = "print(1)\nprint(2)".to_owned();
        assert_eq!(deed_of(asked), Deed::Create { content });
    }
}

//! Files and edits in plain text, for programs that give a model no tools: files come as listings
//! in messages, and edits go back in the form that the instructions name.

use super::change::Change;
use crate::asked::Edits;
use crate::script::Said;

/// What announces the listing of files that may be edited.
const ANNOUNCED: &str = "*added these files to the chat*";

/// A file as a message lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) path: String,
    pub(super) text: String,
    open: String,
    close: String,
}

/// The files of the newest listing.
pub(super) fn files(said: &[Said]) -> Vec<Listed> {
    let newest = said.iter().rev().find_map(|said| match said {
        Said::User(text) => text.split_once(ANNOUNCED).map(|(_, rest)| rest),
        Said::Assistant => None,
    });
    newest.map(listing).unwrap_or_default()
}

fn listing(text: &str) -> Vec<Listed> {
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    let mut before = "";
    while let Some(line) = lines.next() {
        let Some(close) = closing(line).filter(|_| is_path(before)) else {
            before = line;
            continue;
        };
        let mut text = String::new();
        for line in lines.by_ref().take_while(|line| *line != close) {
            text.push_str(line);
            text.push('\n');
        }
        found.push(Listed {
            path: before.trim().to_owned(),
            text,
            open: line.to_owned(),
            close,
        });
        before = "";
    }
    found
}

fn is_path(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.contains(' ')
}

/// The line that closes what this line opens.
fn closing(line: &str) -> Option<String> {
    let ticks = line.chars().take_while(|c| *c == '`').count();
    if ticks >= 3 {
        return Some("`".repeat(ticks));
    }
    let name = line.strip_prefix('<')?.strip_suffix('>')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic());
    is_name.then(|| format!("</{name}>"))
}

/// An edit in the form that was asked for. Without a listing the file is new.
pub(super) fn edit(path: &str, listed: Option<&Listed>, change: &Change, edits: Edits) -> String {
    let (open, close) = listed.map_or(("```", "```"), |listed| (&listed.open, &listed.close));
    match edits {
        Edits::WholeFile => format!("{path}\n{open}\n{}{close}\n", change.text()),
        Edits::SearchReplace => {
            let (old, new) = change.search_and_replace();
            let old = if old.is_empty() { old } else { old + "\n" };
            format!(
                "{path}\n{open}\n<<<<<<< SEARCH\n{old}=======\n{new}\n>>>>>>> REPLACE\n{close}\n"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_gives_its_files_as_they_are() {
        let said = [Said::User(
            "I have *added these files to the chat* so you can go ahead and edit them.\n\n\
             *Trust this message as the true contents of these files!*\n\n\
             a.py\n```\nx = 1\n\ny = 2\n```\n\nsrc/b.md\n````\n```\ncode\n```\n````\n"
                .to_owned(),
        )];
        let found: Vec<(String, String)> = files(&said)
            .into_iter()
            .map(|listed| (listed.path, listed.text))
            .collect();
        let expected = [
            ("a.py", "x = 1\n\ny = 2\n"),
            ("src/b.md", "```\ncode\n```\n"),
        ];
        assert_eq!(
            found,
            expected.map(|(path, text)| (path.to_owned(), text.to_owned()))
        );
    }
}

//! The tools of a request, by what they can do with files.
//!
//! Agents name their tools differently; what a tool takes says more than its name.

use serde_json::{Map, Value, json};

use super::change::Change;
use crate::schema;
use crate::script::{Input, Tool, Used};

const PATH: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "target_file",
    "filename",
];
const OLD: &[&str] = &["old_string", "old_str", "old_text", "oldString"];
const NEW: &[&str] = &["new_string", "new_str", "new_text", "newString"];
const CONTENT: &[&str] = &["content", "contents", "file_text", "text"];
const COMMAND: &[&str] = &["cmd", "command"];
const PATCH: &[&str] = &["input", "patch", "patchText"];
/// Lines around a change in a patch.
const CONTEXT: usize = 3;
/// What ends a file that a shell is given.
const END: &str = "END_OF_FILE";

/// A call to be made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) input: Input,
    /// By these the call is known again in the history: they stand in its arguments.
    marks: [String; 2],
}

/// What the tools of a request can do.
#[derive(Default)]
pub(super) struct Kit<'a> {
    read: Option<Hand<'a>>,
    edit: Option<Hand<'a>>,
    write: Option<Hand<'a>>,
    patch: Option<Hand<'a>>,
    shell: Option<Hand<'a>>,
    /// A tool that takes a program, which can run commands.
    script: Option<&'a Tool>,
}

/// A tool and the names of what it takes.
struct Hand<'a> {
    tool: &'a Tool,
    takes: Vec<&'static str>,
}

impl Step {
    /// Whether an earlier call was this one. Agents may add members to their own calls, so that
    /// only what matters is compared.
    pub(super) fn was(&self, used: &Used) -> bool {
        if used.name != self.name {
            return false;
        }
        let mut told = String::new();
        match &used.input {
            Input::Json(value) => flatten(value, &mut told),
            Input::Text(text) | Input::Raw(text) => told.push_str(text),
        }
        self.marks.iter().all(|mark| told.contains(mark.as_str()))
    }
}

fn flatten(value: &Value, told: &mut String) {
    match value {
        Value::String(text) => {
            told.push_str(text);
            told.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| flatten(item, told)),
        Value::Object(fields) => fields.values().for_each(|field| flatten(field, told)),
        _ => {}
    }
}

impl<'a> Kit<'a> {
    pub(super) fn of(tools: &'a [Tool]) -> Self {
        let mut kit = Self::default();
        for tool in tools {
            kit.add(tool);
        }
        kit
    }

    fn add(&mut self, tool: &'a Tool) {
        let name = tool.name.to_lowercase();
        let named = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if tool.custom {
            match name.as_str() {
                "apply_patch" => {
                    self.patch.get_or_insert(Hand {
                        tool,
                        takes: Vec::new(),
                    });
                }
                "exec" => {
                    self.script.get_or_insert(tool);
                }
                _ => {}
            }
            return;
        }
        let hand = |wanted: &[&[&'static str]]| Hand::of(tool, wanted);
        if let Some(hand) = hand(&[PATH, OLD, NEW]) {
            self.edit.get_or_insert(hand);
        } else if let Some(hand) = hand(&[PATH, CONTENT]).filter(|_| named(&["write", "create"])) {
            self.write.get_or_insert(hand);
        } else if let Some(hand) =
            hand(&[PATH]).filter(|_| named(&["read", "view", "open"]) && !named(&["image"]))
        {
            self.read.get_or_insert(hand);
        } else if let Some(hand) = hand(&[PATCH]).filter(|_| name == "apply_patch") {
            self.patch.get_or_insert(hand);
        } else if let Some(hand) =
            hand(&[COMMAND]).filter(|_| named(&["exec", "shell", "bash", "command", "terminal"]))
        {
            self.shell.get_or_insert(hand);
        }
    }

    /// Whether files can be read at all.
    pub(super) fn reads(&self) -> bool {
        self.read.is_some() || self.shell.is_some() || self.script.is_some()
    }

    /// Whether files can be changed too.
    pub(super) fn edits(&self) -> bool {
        let by_tool = self.edit.is_some() || self.patch.is_some() || self.write.is_some();
        self.reads() && (by_tool || self.shell.is_some() || self.script.is_some())
    }

    pub(super) fn read(&self, path: &str) -> Option<Step> {
        if let Some(hand) = &self.read {
            return Some(hand.step(&[path], [path, ""]));
        }
        let command = format!("cat -- {}", quoted(path));
        self.command(&command, [&command, ""])
    }

    /// Puts a change into a file that was read.
    pub(super) fn change(&self, path: &str, change: &Change) -> Option<Step> {
        if let Some(hand) = self.edit.as_ref().filter(|_| !change.before.is_empty()) {
            let (old, new) = change.search_and_replace();
            return Some(hand.step(&[path, &old, &new], [path, ""]));
        }
        if let Some(hand) = self.patch.as_ref().filter(|_| !change.before.is_empty()) {
            let patch = update(path, change);
            return Some(hand.step(&[&patch], [&format!("*** Update File: {path}"), ""]));
        }
        if let Some(hand) = &self.write {
            return Some(hand.step(&[path, &change.text()], [path, ""]));
        }
        self.command(&written(path, change, ""), ["cat > ", &quoted(path)])
    }

    /// Makes a file that must not be there yet.
    pub(super) fn create(&self, path: &str, change: &Change) -> Option<Step> {
        if let Some(hand) = &self.write {
            return Some(hand.step(&[path, &change.text()], [path, ""]));
        }
        // A shell refuses to overwrite where it is told to; a patch would not.
        let command = written(path, change, "set -C; ");
        let step = self.command(&command, ["set -C; cat > ", &quoted(path)]);
        step.or_else(|| {
            let hand = self.patch.as_ref()?;
            let lines: String = change
                .after
                .iter()
                .map(|line| format!("+{line}\n"))
                .collect();
            let head = format!("*** Add File: {path}");
            let patch = format!("*** Begin Patch\n{head}\n{lines}*** End Patch\n");
            Some(hand.step(&[&patch], [&head, ""]))
        })
    }

    fn command(&self, command: &str, marks: [&str; 2]) -> Option<Step> {
        if let Some(hand) = &self.shell {
            return Some(hand.step(&[command], marks));
        }
        let tool = self.script?;
        let source = format!(
            "const r = await tools.exec_command({{cmd: {}}}); text(r.output);",
            json!(command)
        );
        Some(Step {
            name: tool.name.clone(),
            input: Input::Text(source),
            marks: marks.map(str::to_owned),
        })
    }
}

impl<'a> Hand<'a> {
    fn of(tool: &'a Tool, wanted: &[&[&'static str]]) -> Option<Self> {
        let properties = tool.schema.as_ref()?.get("properties")?.as_object()?;
        let takes = wanted.iter().map(|names| {
            let found = names.iter().find(|name| properties.contains_key(**name));
            found.copied()
        });
        Some(Self {
            tool,
            takes: takes.collect::<Option<Vec<_>>>()?,
        })
    }

    fn step(&self, values: &[&str], marks: [&str; 2]) -> Step {
        let input = match values {
            [text] if self.tool.custom => Input::Text((*text).to_owned()),
            values => Input::Json(self.arguments(values)),
        };
        Step {
            name: self.tool.name.clone(),
            input,
            marks: marks.map(str::to_owned),
        }
    }

    /// What else the tool requires gets the smallest value that fits.
    fn arguments(&self, values: &[&str]) -> Value {
        let schema = self.tool.schema.clone().unwrap_or_default();
        let least = schema::minimal(&schema);
        let mut fields = match least {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        for (name, value) in self.takes.iter().zip(values) {
            let is_list = schema["properties"][name]["type"] == "array";
            let value = if is_list {
                json!(["bash", "-lc", value])
            } else {
                json!(value)
            };
            fields.insert((*name).to_owned(), value);
        }
        Value::Object(fields)
    }
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// A command that writes the whole file.
fn written(path: &str, change: &Change, before: &str) -> String {
    let text = change.text();
    let mut end = END.to_owned();
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    format!("{before}cat > {} <<'{end}'\n{text}{end}", quoted(path))
}

/// A patch in the form that Codex describes.
fn update(path: &str, change: &Change) -> String {
    let hunk = change.hunk();
    let above = &change.before[hunk.start.saturating_sub(CONTEXT)..hunk.start];
    let below = &change.before[hunk.start + hunk.old.len()..];
    let below = &below[..below.len().min(CONTEXT)];
    let parts = [(" ", above), ("-", hunk.old), ("+", hunk.new), (" ", below)];
    let lines: String = parts
        .iter()
        .flat_map(|(mark, lines)| lines.iter().map(move |line| format!("{mark}{line}\n")))
        .collect();
    format!("*** Begin Patch\n*** Update File: {path}\n@@\n{lines}*** End Patch\n")
}

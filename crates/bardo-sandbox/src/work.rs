//! Work on files: what the prompt names is read, changed by a simple rule, and reported.
//!
//! With tools this is a small machine whose whole state is the conversation: what has not been read
//! is read, what has been read is changed once, and then comes a report. Each step is taken once,
//! so that no agent is kept busy for ever.

mod change;
mod kit;
mod listed;
mod output;
mod task;

use crate::script::{Choice, Facts, Input, Used};
use change::Change;
use kit::{Kit, Step};
use task::{Deed, Task};

/// What is said and called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Act {
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Input)>,
}

impl Act {
    fn says(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            calls: Vec::new(),
        }
    }

    fn calls(text: String, steps: Vec<Step>) -> Self {
        let calls = steps.into_iter().map(|step| (step.name, step.input));
        Self {
            text,
            calls: calls.collect(),
        }
    }
}

/// How far a task has come with one file.
enum Stage {
    /// This call is next.
    Next(Step),
    /// A call has no answer yet.
    Open,
    /// Nothing more is done, and this is said.
    Over(String),
}

/// Works on what the user asked for at this place of the conversation; `None` where it is no work
/// or no tool fits.
pub(crate) fn act(facts: &Facts, at: usize, ask: &str) -> Option<Act> {
    if facts.choice == Choice::None {
        return None;
    }
    let since: Vec<&Used> = facts.used.iter().filter(|used| used.at > at).collect();
    let kit = Kit::of(&facts.tools);
    let task = task::parse(ask);
    if let Some(task) = task.as_ref().filter(|_| kit.reads()) {
        return Some(with_tools(task, &kit, &since, facts));
    }
    if facts.tools.is_empty() && facts.harness.edits.is_some() {
        return in_text(task, ask, facts);
    }
    by_name(facts, ask, &since)
}

/// Whether the tools of a request are those of an agent that edits files.
pub(crate) fn is_agent(facts: &Facts) -> bool {
    Kit::of(&facts.tools).edits() || facts.harness.edits.is_some()
}

fn with_tools(task: &Task, kit: &Kit<'_>, since: &[&Used], facts: &Facts) -> Act {
    let mut steps = Vec::new();
    let mut open = false;
    let mut said = Vec::new();
    for file in &task.files {
        match stage(task, file, kit, since, facts) {
            Stage::Next(step) => steps.push(step),
            Stage::Open => open = true,
            Stage::Over(text) => said.push(text),
        }
    }
    if steps.is_empty() || open {
        return Act::says(said.join("\n\n"));
    }
    if facts.one_call {
        steps.truncate(1);
    }
    let begun = !since.is_empty();
    let files = named(&task.files);
    let text = match (&task.deed, begun) {
        (Deed::Create { .. }, _) => format!("I make {files}."),
        (_, false) => format!("I read {files} first."),
        (_, true) => format!("I have read it; now I change {files}."),
    };
    Act::calls(text, steps)
}

/// What comes next with one file.
fn stage(task: &Task, file: &str, kit: &Kit<'_>, since: &[&Used], facts: &Facts) -> Stage {
    let path = path_of(file, facts);
    let made = |step: &Step| since.iter().find(|used| step.was(used)).copied();
    if let Deed::Create { content } = &task.deed {
        let change = Change::created(content);
        let Some(step) = kit.create(&path, &change) else {
            return Stage::Over(format!("No tool here makes files, so {file} is not there."));
        };
        return match made(&step).map(answer) {
            None => Stage::Next(step),
            Some(None) => Stage::Open,
            Some(Some(Err(why))) => Stage::Over(format!("I could not make {file}: {why}")),
            Some(Some(Ok(_))) => {
                Stage::Over(format!("Done: {file} is there now.\n\n{}", change.shown()))
            }
        };
    }
    let Some(read) = kit.read(&path) else {
        return Stage::Over(format!("No tool here reads {file}."));
    };
    let text = match made(&read).map(answer) {
        None => return Stage::Next(read),
        Some(None) => return Stage::Open,
        Some(Some(Err(why))) => return Stage::Over(format!("I could not read {file}: {why}")),
        Some(Some(Ok(text))) => text,
    };
    if task.deed == Deed::Read {
        return Stage::Over(described(file, &text));
    }
    let Some(change) = change::apply(&task.deed, file, &text) else {
        return Stage::Over(nothing_to_do(&task.deed, file));
    };
    let Some(step) = kit.change(&path, &change).filter(|_| kit.edits()) else {
        return Stage::Over(format!(
            "I read {file}, but no tool here changes it. I would write:\n\n{}",
            change.shown()
        ));
    };
    match made(&step).map(answer) {
        None => Stage::Next(step),
        Some(None) => Stage::Open,
        Some(Some(Err(why))) => Stage::Over(format!("I could not change {file}: {why}")),
        Some(Some(Ok(_))) => Stage::Over(format!(
            "Done: I read {file} and changed it.\n\n{}",
            change.shown()
        )),
    }
}

/// What a tool answered: its content, or why it failed; `None` if it has not.
fn answer(used: &Used) -> Option<Result<String, String>> {
    let result = used.result.as_ref()?;
    let failure =
        output::failure(result).or_else(|| used.failed.then(|| result.chars().take(200).collect()));
    Some(match failure {
        Some(why) => Err(why),
        None => Ok(output::plain(result)),
    })
}

/// Where a file is, as tools want it: agents ask for whole paths.
fn path_of(file: &str, facts: &Facts) -> String {
    match &facts.harness.folder {
        Some(folder) if !file.starts_with(['/', '~']) => {
            let file = file.strip_prefix("./").unwrap_or(file);
            format!("{}/{file}", folder.trim_end_matches('/'))
        }
        _ => file.to_owned(),
    }
}

fn described(file: &str, text: &str) -> String {
    let lines = text.lines().count();
    let first = text.lines().find(|line| !line.trim().is_empty());
    let Some(first) = first else {
        return format!("I read {file}: it is empty.");
    };
    let first: String = first.trim().chars().take(120).collect();
    let words = text.split_whitespace().count();
    format!(
        "I read {file}: {}, {}. It begins:\n\n    {first}",
        counted(lines, "line"),
        counted(words, "word")
    )
}

fn nothing_to_do(deed: &Deed, file: &str) -> String {
    match deed {
        Deed::Replace { from, .. } => {
            format!("I read {file} and found no “{from}” there, so I changed nothing.")
        }
        Deed::Remove { text } => {
            format!("I read {file} and found no “{text}” there, so I changed nothing.")
        }
        Deed::Return { .. } => {
            format!(
                "I read {file} and found nothing to change: no line there returns another value."
            )
        }
        _ => format!("I read {file} and found nothing to change."),
    }
}

/// Edits in the text of the answer, for programs without tools.
fn in_text(task: Option<Task>, ask: &str, facts: &Facts) -> Option<Act> {
    let edits = facts.harness.edits?;
    let listed = listed::files(&facts.said);
    let task = match (task, listed.as_slice()) {
        (Some(task), _) => task,
        // There is only one that can be meant.
        (None, [only]) => task::parse(&format!("{ask} {}", only.path))?,
        (None, _) => return None,
    };
    let mut said = Vec::new();
    let mut blocks = Vec::new();
    for file in &task.files {
        let ends = |path: &str| path == file || path.ends_with(&format!("/{file}"));
        let known = listed.iter().find(|listed| ends(&listed.path));
        let change = match (&task.deed, known) {
            (Deed::Create { content }, None) => Change::created(content),
            (Deed::Create { .. }, Some(_)) => {
                said.push(format!("{file} is there already, so I left it as it is."));
                continue;
            }
            (_, None) => {
                said.push(format!("I have not seen {file}: add it to the chat first."));
                continue;
            }
            (Deed::Read, Some(listed)) => {
                said.push(described(file, &listed.text));
                continue;
            }
            (deed, Some(listed)) => match change::apply(deed, file, &listed.text) {
                Some(change) => change,
                None => {
                    said.push(nothing_to_do(deed, file));
                    continue;
                }
            },
        };
        let path = known.map_or(file.as_str(), |listed| &listed.path);
        blocks.push(listed::edit(path, known, &change, edits));
    }
    if !blocks.is_empty() {
        said.insert(0, format!("I change {}.", named(&task.files)));
    }
    said.extend(blocks);
    Some(Act::says(said.join("\n\n")))
}

/// Calls a tool that the user names, and reports what it gave back.
fn by_name(facts: &Facts, ask: &str, since: &[&Used]) -> Option<Act> {
    let words: Vec<&str> = ask
        .split(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)))
        .map(|word| word.trim_matches('.'))
        .collect();
    // A plain word may be meant as one.
    let telling = |name: &str| name.contains(['_', '-']) || ask.contains(&format!("`{name}`"));
    let tool = facts
        .tools
        .iter()
        .find(|tool| telling(&tool.name) && words.contains(&tool.name.as_str()))?;
    match since.iter().rev().find(|used| used.name == tool.name) {
        None => Some(Act {
            text: format!("I call {}.", tool.name),
            calls: vec![(tool.name.clone(), tool.least_input())],
        }),
        Some(used) => {
            let result = used.result.as_deref().unwrap_or("nothing yet");
            let shown: String = result.trim().chars().take(200).collect();
            Some(Act::says(format!("{} gave back: {shown}", tool.name)))
        }
    }
}

/// Names in a row.
fn named(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests;

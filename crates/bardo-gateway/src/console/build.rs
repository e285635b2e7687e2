//! Trying prompts, and connecting tools.

use bardo_console::pages::{ConnectPage, ConnectTool, PlaygroundPage, Snippet};
use bardo_console::parts::FormChoice;
use bardo_console::render;
use bardo_router::Subsystems;

use super::session::SessionAccess;
use super::visit::{PageResult, Shown, Visit};
use crate::operator::KeySpec;

/// The page of the documentation from which the settings of tools come. Its blocks are tested with
/// the real tools.
const CLIENTS: &str = include_str!("../../../../docs/clients.md");
/// The address in the documentation.
const DOCUMENTED: &str = "http://127.0.0.1:8402";
/// Tools on the page, in its order.
const TOOLS: [&str; 10] = [
    "Claude Code",
    "Codex",
    "Aider",
    "Cursor",
    "Continue",
    "OpenCode",
    "Vercel AI SDK",
    "LangChain",
    "OpenAI SDK",
    "Anthropic SDK",
];
/// Number of models to choose from.
const MODELS_MAX: usize = 400;

/// The address for clients, with a name of this machine in place of all its addresses.
pub(super) fn base(visit: &Visit<'_>) -> String {
    let listen = visit.ops.console.listen;
    match listen.ip().is_unspecified() {
        true => format!("http://127.0.0.1:{}", listen.port()),
        false => format!("http://{listen}"),
    }
}

/// The key of the sandbox, which draws on play money, for sessions that may spend it.
fn sandbox_key(visit: &Visit<'_>) -> String {
    match visit.session.access {
        SessionAccess::Change => visit.ops.console.sandbox_key.expose().to_owned(),
        SessionAccess::Read => String::new(),
    }
}

/// Shows the playground.
pub(super) fn playground(visit: &Visit<'_>) -> Shown {
    let snapshot = visit.ops.edge.engine.snapshot();
    let models = snapshot.roster().shown().filter(|model| !model.embeddings);
    let rows = Subsystems::embedded().rows();
    let mut subsystems = vec![FormChoice {
        value: String::new(),
        label: "none".to_owned(),
        chosen: true,
    }];
    subsystems.extend(FormChoice::list(rows.map(|row| row.name.as_str()), ""));
    let shell = visit.shell("Playground", "playground");
    Shown::Html(render(&PlaygroundPage {
        shell: &shell,
        base: base(visit),
        models: models
            .map(|model| model.id.clone())
            .take(MODELS_MAX)
            .collect(),
        model: visit.query.get("model").unwrap_or("bardo/auto").to_owned(),
        other: visit.query.text("other"),
        subsystems,
        key: sandbox_key(visit),
    }))
}

/// Shows the settings of tools, with a key that was made for them if there is one.
pub(super) fn connect(visit: &Visit<'_>) -> Shown {
    let key = sandbox_key(visit);
    connected(visit, &key, &visit.query.text("key"), "")
}

/// Creates a key, and shows the settings of tools with it.
pub(super) async fn create(visit: &Visit<'_>) -> PageResult {
    let spec = KeySpec {
        name: visit.form.text("name"),
        deposit: super::keys::amount(visit, "deposit_usd")?,
        ..KeySpec::default()
    };
    let made = visit.ops.operator.create_key(spec).await?;
    let text = |name: &str| made[name].as_str().unwrap_or_default();
    let warning = match made["deposit_error"].as_str() {
        Some(error) => format!("The deposit was not booked: {error}"),
        None => crate::unbilled::of_key(&made, &visit.ops.unbilled()).unwrap_or_default(),
    };
    Ok(connected(visit, text("key"), text("id"), &warning))
}

fn connected(visit: &Visit<'_>, key: &str, key_id: &str, warning: &str) -> Shown {
    let base = base(visit);
    let shell = visit.shell("Connect", "connect");
    let tools = TOOLS.iter().filter_map(|name| tool(name, &base));
    Shown::Html(render(&ConnectPage {
        shell: &shell,
        tools: tools.collect(),
        base,
        key: key.to_owned(),
        key_id: key_id.to_owned(),
        warning: warning.to_owned(),
    }))
}

/// The first texts to copy in the section of a tool, each with the sentence before it.
fn tool(name: &str, base: &str) -> Option<ConnectTool> {
    const STEPS_MAX: usize = 8;
    let heading = format!("\n## {name}\n");
    let (_, rest) = CLIENTS.split_once(&heading)?;
    let section = rest.split("\n## ").next().unwrap_or_default();
    let id = name.to_lowercase().replace(' ', "-");
    let mut steps = Vec::new();
    let mut block: Option<String> = None;
    for line in section.lines() {
        let fence = line.strip_prefix("```");
        match (&mut block, fence) {
            (None, Some(_)) => block = Some(String::new()),
            (Some(text), Some(_)) => {
                let text = text.trim_end().replace(DOCUMENTED, base);
                let text = text.replace("$BARDO_KEY", "bardo_sk_…");
                steps.push(snippet(&id, steps.len(), String::new(), text));
                block = None;
            }
            (Some(text), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) if line.trim().is_empty() => {}
            (None, None) => {
                let sentence = plain(line).replace(DOCUMENTED, base);
                steps.push(snippet(&id, steps.len(), sentence, String::new()));
            }
        }
        if steps.len() >= STEPS_MAX {
            break;
        }
    }
    // Sentences after the last text to copy are for readers of the documentation.
    let last = steps.iter().rposition(|step| !step.text.is_empty());
    if let Some(last) = last {
        steps.truncate(last + 1);
    }
    Some(ConnectTool {
        name: name.to_owned(),
        id,
        steps,
    })
}

fn snippet(id: &str, index: usize, label: String, text: String) -> Snippet {
    Snippet {
        id: format!("{id}-{index}"),
        label,
        text,
    }
}

/// A line of Markdown without marks and without the addresses of its links.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        let (before, after) = rest.split_at(at);
        let opened = before.rfind('[').unwrap_or(0);
        out.push_str(&before[..opened]);
        out.push_str(before.get(opened + 1..).unwrap_or_default());
        rest = after.find(')').map_or("", |end| &after[end + 1..]);
    }
    out.push_str(rest);
    out.replace("**", "").replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_text_with_the_address_of_this_gateway() {
        for name in TOOLS {
            let tool = tool(name, "http://gateway.example:1").expect(name);
            let all: String = tool
                .steps
                .iter()
                .map(|step| format!("{}{}\n", step.label, step.text))
                .collect();
            assert!(!all.contains(DOCUMENTED), "{name}: {all}");
            if name != "Cursor" {
                assert!(all.contains("gateway.example:1"), "{name}: {all}");
            }
            assert!(!all.contains("```") && !all.contains("]("), "{name}: {all}");
        }
    }

    #[test]
    fn links_and_marks_of_markdown_leave_their_words() {
        assert_eq!(
            plain("**Hints.** `a` sends [a hint](hints.md#x), see [b](c)."),
            "Hints. a sends a hint, see b."
        );
        assert_eq!(plain("no link"), "no link");
    }
}

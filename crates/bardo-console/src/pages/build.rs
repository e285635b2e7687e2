use askama::Template;

use crate::Shell;
use crate::parts::FormChoice;

/// A place to try prompts.
#[derive(Clone, Template)]
#[template(path = "pages/playground.html")]
pub struct PlaygroundPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Address for clients, for the code to copy.
    pub base: String,
    /// Models to choose from.
    pub models: Vec<String>,
    /// The model of the first column.
    pub model: String,
    /// The model of the second column; empty: there is none.
    pub other: String,
    /// Subsystems to choose from.
    pub subsystems: Vec<FormChoice>,
    /// Key of the sandbox; empty elsewhere.
    pub key: String,
}

/// A piece of text to copy.
#[derive(Debug, Clone)]
pub struct Snippet {
    /// Id of its element.
    pub id: String,
    /// The file that it belongs into, or its language.
    pub label: String,
    /// The text to copy; empty for a sentence.
    pub text: String,
}

/// How a tool is connected.
#[derive(Debug, Clone)]
pub struct ConnectTool {
    /// The name of the tool.
    pub name: String,
    /// Id of its element.
    pub id: String,
    /// Sentences and texts in their order; a sentence has no text to copy.
    pub steps: Vec<Snippet>,
}

/// Ready-made settings for tools.
#[derive(Clone, Template)]
#[template(path = "pages/connect.html")]
pub struct ConnectPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Address for clients.
    pub base: String,
    /// Text of the key that is filled in; empty: a placeholder is.
    pub key: String,
    /// Id of the key whose first request is awaited; empty: none.
    pub key_id: String,
    /// What was not done about the key; empty: nothing.
    pub warning: String,
    /// The tools in their order.
    pub tools: Vec<ConnectTool>,
}

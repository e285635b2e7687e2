//! The shape of the answer: by the provider, by a tool, or by words.

use bardo_types::chat::{OutputFormat, Part, Tool, ToolChoice};
use bardo_types::model::{Dialect, Service, ToolFormat};
use bardo_types::profile::ResponseSchema;

use super::ProfileApplication;
use crate::schema::{SchemaCheck, SchemaMode};

/// Start of the instruction for a schema.
const RESPOND_ONLY: &str = "Respond ONLY with valid JSON matching this schema:";

/// Description of the tool whose arguments are the answer.
const ANSWERS: &str = "Gives the answer. Call it exactly once, with the whole answer.";

impl ProfileApplication<'_> {
    pub(super) fn shape(&mut self, schema: Option<&ResponseSchema>) {
        let Some(schema) = schema else { return };
        let mode = match &self.request.output {
            _ if self.is_answer_tool(schema) => SchemaMode::Tool,
            OutputFormat::JsonSchema { schema: set, .. } if *set == schema.schema => {
                SchemaMode::Native
            }
            OutputFormat::JsonObject if self.is_told(schema) => SchemaMode::Prompt,
            // The caller has a shape of its own.
            OutputFormat::JsonObject | OutputFormat::JsonSchema { .. } => return,
            OutputFormat::Text if self.takes_schema(schema) => {
                self.request.output = OutputFormat::JsonSchema {
                    name: Some(schema.name.clone()),
                    description: None,
                    schema: schema.schema.clone(),
                    strict: schema.strict.then_some(true),
                };
                SchemaMode::Native
            }
            OutputFormat::Text if self.takes_answer_tool() => self.add_answer_tool(schema),
            OutputFormat::Text if self.signed => {
                let why = "a change before signed thinking would invalidate it";
                return self.record("response_schema", &schema.name, "free text", why);
            }
            OutputFormat::Text => self.tell_schema(schema),
        };
        self.applied.schema = Some(SchemaCheck {
            schema: schema.clone(),
            mode,
        });
    }

    fn takes_schema(&self, schema: &ResponseSchema) -> bool {
        let cites = |part: &Part| match part {
            Part::Document(document) => document.citations,
            Part::SearchResult(result) => result.citations,
            _ => false,
        };
        let caps = self.caps;
        let venice = self.model.service == Service::Venice;
        let alone = !venice || (schema.strict && self.request.parallel_tool_calls != Some(true));
        let uncited = self.model.dialect != Dialect::Anthropic || !self.request.any_part(cites);
        let only = self.members.schema_only.as_ref();
        let held = only.is_none_or(|only| self.model.name.starts_with(only));
        caps.structured_output
            && self.members.schema
            && held
            && (caps.schema_while_thinking || !self.thinks)
            && (caps.schema_with_tools || self.request.tools.is_empty())
            && alone
            && uncited
    }

    fn takes_answer_tool(&self) -> bool {
        self.caps.tool_format == ToolFormat::Native
            && self.caps.forced_tool_choice
            && !self.thinks
            && self.request.tools.is_empty()
            && self.request.tool_choice.is_none()
            && !self.signed
    }

    fn is_answer_tool(&self, schema: &ResponseSchema) -> bool {
        matches!(
            self.request.tools.as_slice(),
            [Tool::Function { name, schema: Some(set), .. }]
                if *name == schema.name && *set == schema.schema
        )
    }

    fn add_answer_tool(&mut self, schema: &ResponseSchema) -> SchemaMode {
        self.request.tools.push(Tool::Function {
            name: schema.name.clone(),
            description: Some(ANSWERS.to_owned()),
            schema: Some(schema.schema.clone()),
            strict: None,
            cache: None,
            extra: Vec::new(),
        });
        self.request.tool_choice = Some(ToolChoice::Named(schema.name.clone()));
        self.applied.touched_conversation = true;
        let why = "the model does not accept a schema for its answer here";
        self.record("response_schema", &schema.name, "a tool", why);
        SchemaMode::Tool
    }

    fn is_told(&self, schema: &ResponseSchema) -> bool {
        let words = words_for(schema);
        let told = self.request.leading_system();
        told.iter().any(|message| message.text() == words)
    }

    fn tell_schema(&mut self, schema: &ResponseSchema) -> SchemaMode {
        self.words.push(words_for(schema));
        if self.members.json_object && self.caps.structured_output {
            self.request.output = OutputFormat::JsonObject;
        }
        let why = "the model does not accept a schema for its answer here";
        self.record("response_schema", &schema.name, "prompt-guided JSON", why);
        SchemaMode::Prompt
    }
}

/// A schema in words.
fn words_for(schema: &ResponseSchema) -> String {
    let value: Option<serde_json::Value> = schema.schema.read().ok();
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    let pretty = pretty.unwrap_or_else(|| schema.schema.as_str().to_owned());
    format!("{RESPOND_ONLY}\n{pretty}")
}

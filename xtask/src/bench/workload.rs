//! The requests: three sizes of work, in both dialects, plain and streamed.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{canned, subject::Subject};
use crate::load::{
    connection::Client,
    drive::next_number,
    request::{Expect, NONCE, Template},
};

/// The shape of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// A sentence in, a sentence out.
    Chat,
    /// A sentence in, 50 chunks out.
    Stream,
    /// A request of a coding agent late in its session: 30 tools, 40 turns, 118 kB.
    Agent,
    /// The request of [`Self::Agent`], streamed.
    AgentStream,
}

/// Which dialect comes in and which goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route {
    OpenAi,
    Anthropic,
    OpenAiToAnthropic,
    AnthropicToOpenAi,
}

/// One line of the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Case {
    pub(super) shape: Shape,
    pub(super) route: Route,
}

/// The wish of a request towards the cache of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CacheUse {
    /// The request says nothing of caches.
    Silent,
    /// That its answer may be stored; each request is another one.
    Misses,
    /// That its answer may be stored; all requests are the same.
    Hits,
}

impl Shape {
    const ALL: [Self; 4] = [Self::Chat, Self::Stream, Self::Agent, Self::AgentStream];

    fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Stream => "50-chunk stream",
            Self::Agent => "118 kB agent",
            Self::AgentStream => "118 kB agent, stream",
        }
    }

    fn streams(self) -> bool {
        matches!(self, Self::Stream | Self::AgentStream)
    }

    fn is_agent(self) -> bool {
        matches!(self, Self::Agent | Self::AgentStream)
    }

    /// Requests of one full round, a fraction of a second of work: many short
    /// rounds see through a machine that is busy with other things by turns.
    pub(super) fn requests(self) -> u64 {
        match self {
            Self::Chat => 3000,
            Self::Stream => 300,
            Self::Agent => 1000,
            Self::AgentStream => 250,
        }
    }
}

impl Route {
    const ALL: [Self; 4] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::OpenAiToAnthropic,
        Self::AnthropicToOpenAi,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::OpenAiToAnthropic => "openai to anthropic",
            Self::AnthropicToOpenAi => "anthropic to openai",
        }
    }

    pub(super) fn translates(self) -> bool {
        matches!(self, Self::OpenAiToAnthropic | Self::AnthropicToOpenAi)
    }

    fn speaks_openai(self) -> bool {
        matches!(self, Self::OpenAi | Self::OpenAiToAnthropic)
    }

    fn path(self) -> &'static str {
        if self.speaks_openai() {
            "/v1/chat/completions"
        } else {
            "/v1/messages"
        }
    }

    fn model(self) -> &'static str {
        match self {
            Self::OpenAi | Self::AnthropicToOpenAi => canned::OPENAI_MODEL,
            Self::Anthropic | Self::OpenAiToAnthropic => canned::ANTHROPIC_MODEL,
        }
    }

    /// The route with the same request and no translation.
    fn untranslated(self) -> Self {
        if self.speaks_openai() {
            Self::OpenAi
        } else {
            Self::Anthropic
        }
    }
}

impl Case {
    pub(super) const CHAT: Self = Self {
        shape: Shape::Chat,
        route: Route::OpenAi,
    };

    pub(super) const AGENT: Self = Self {
        shape: Shape::Agent,
        route: Route::OpenAi,
    };

    pub(super) const AGENT_ANTHROPIC: Self = Self {
        shape: Shape::Agent,
        route: Route::Anthropic,
    };

    /// The body, as every round sends it but for its number.
    pub(super) fn sample(self) -> Value {
        self.body()
    }

    pub(super) fn all() -> Vec<Self> {
        let of = |route| Shape::ALL.map(|shape| Self { shape, route });
        Route::ALL.into_iter().flat_map(of).collect()
    }

    pub(super) fn name(self) -> String {
        format!("{}, {}", self.shape.name(), self.route.name())
    }

    /// The request as `subject` takes it, with this to say to the cache of answers.
    pub(super) fn template_using(self, subject: &Subject, cache: CacheUse) -> Template {
        if cache == CacheUse::Silent {
            return self.template(subject);
        }
        let mut body = self.body();
        body["bardo"] = json!({ "cache": "default" });
        if cache == CacheUse::Hits {
            // Without its number every request is the same.
            let text = body.to_string().replace(NONCE, "always the same");
            body = serde_json::from_str(&text).unwrap_or(body);
        }
        self.template_with(subject, &body)
    }

    /// The request as `subject` takes it: one that cannot translate is asked
    /// for a model that speaks the caller's dialect.
    pub(super) fn template(self, subject: &Subject) -> Template {
        let route = if subject.translates {
            self.route
        } else {
            self.route.untranslated()
        };
        self.template_with(subject, &Self { route, ..self }.body())
    }

    fn template_with(self, subject: &Subject, body: &Value) -> Template {
        let mut headers = vec![("accept", "application/json"), ("user-agent", "bench/1")];
        let bearer = format!("Bearer {}", subject.key);
        if self.route.speaks_openai() {
            headers.push(("authorization", &bearer));
        } else {
            headers.push(("x-api-key", &subject.key));
            headers.push(("anthropic-version", "2023-06-01"));
        }
        let headers: Vec<_> = headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let body = body.to_string();
        let authority = subject.address.to_string();
        Template::new(
            &authority,
            self.route.path(),
            &headers,
            Some(body.as_bytes()),
        )
    }

    /// Sends the request once, reads the answer as a client would, and says
    /// what later answers have to look like.
    pub(super) async fn preflight(self, subject: &Subject) -> Result<Expect> {
        let mut client = Client::new(subject.address);
        let mut template = self.template(subject);
        let (status, body) = client.exchange(template.stamped(next_number())).await?;
        Expect::success().check(status, body)?;
        let said = self.text(body).context("read the answer")?;
        let wanted = if self.shape.streams() {
            (0..canned::STREAM_CHUNKS)
                .map(canned::stream_text)
                .collect()
        } else {
            canned::TEXT.to_owned()
        };
        if said != wanted {
            bail!("the answer's text is not the provider's: `{said}`");
        }
        let ending = match (self.shape.streams(), self.route.speaks_openai()) {
            (true, true) => "data: [DONE]\n\n",
            (true, false) => "message_stop",
            (false, _) => "}",
        };
        Ok(Expect::like(body, ending))
    }

    fn text(self, body: &[u8]) -> Result<String> {
        let body = std::str::from_utf8(body)?;
        let read = |json: &str, pointers: [&str; 2]| -> Result<String> {
            let value: Value = serde_json::from_str(json)?;
            let pointer = pointers[usize::from(!self.route.speaks_openai())];
            let text = value.pointer(pointer).and_then(Value::as_str);
            Ok(text.unwrap_or_default().to_owned())
        };
        if !self.shape.streams() {
            return read(body, ["/choices/0/message/content", "/content/0/text"]);
        }
        body.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter(|data| *data != "[DONE]")
            .map(|data| read(data, ["/choices/0/delta/content", "/delta/text"]))
            .collect()
    }

    fn body(self) -> Value {
        let mut body = match (self.shape.is_agent(), self.route.speaks_openai()) {
            (false, true) => json!({
                "messages": [
                    {"role": "system", "content": "You are a terse assistant for a treasury."},
                    {"role": "user", "content": question()},
                ],
                "max_completion_tokens": 256,
            }),
            (false, false) => json!({
                "system": "You are a terse assistant for a treasury.",
                "messages": [{"role": "user", "content": question()}],
                "max_tokens": 256,
            }),
            (true, true) => agent::openai(),
            (true, false) => agent::anthropic(),
        };
        body["model"] = json!(self.route.model());
        if self.shape.streams() {
            body["stream"] = json!(true);
        }
        body
    }
}

/// A streamed request whose answer goes on until the caller leaves.
pub(super) fn slow_stream(subject: &Subject) -> Template {
    let case = Case {
        shape: Shape::Stream,
        route: Route::OpenAi,
    };
    let mut body = case.body();
    body["messages"][1]["content"] = json!(format!("{} {}", canned::SLOW, question()));
    case.template_with(subject, &body)
}

fn question() -> String {
    format!("What does the vault hold, and is anything due? ({NONCE})")
}

mod agent {
    //! A long conversation with tools, the same in both dialects.

    use serde_json::{Value, json};

    use super::question;

    const TOOLS: usize = 30;
    const TURNS: usize = 40;
    const SYSTEM_BYTES: usize = 6_000;
    const RESULT_BYTES: usize = 1_440;
    const DESCRIPTION_BYTES: usize = 520;

    pub(super) fn openai() -> Value {
        let mut messages = vec![
            json!({"role": "system", "content": prose(SYSTEM_BYTES)}),
            json!({"role": "user", "content": "Find out why the nightly job fails and fix it."}),
        ];
        for turn in 0..TURNS {
            messages.push(json!({"role": "assistant", "content": remark(turn), "tool_calls": [{
                "id": call_id(turn), "type": "function",
                "function": {"name": tool_name(turn % TOOLS), "arguments": input(turn).to_string()},
            }]}));
            messages.push(json!({
                "role": "tool", "tool_call_id": call_id(turn), "content": prose(RESULT_BYTES),
            }));
        }
        messages.push(json!({"role": "user", "content": question()}));
        let tools: Vec<Value> = (0..TOOLS)
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool_name(tool), "description": prose(DESCRIPTION_BYTES),
                    "parameters": schema(),
                }})
            })
            .collect();
        json!({"messages": messages, "tools": tools, "max_completion_tokens": 4096})
    }

    pub(super) fn anthropic() -> Value {
        let mut messages = vec![
            json!({"role": "user", "content": "Find out why the nightly job fails and fix it."}),
        ];
        for turn in 0..TURNS {
            messages.push(json!({"role": "assistant", "content": [
                {"type": "text", "text": remark(turn)},
                {"type": "tool_use", "id": call_id(turn), "name": tool_name(turn % TOOLS), "input": input(turn)},
            ]}));
            let mut content = vec![json!({
                "type": "tool_result", "tool_use_id": call_id(turn), "content": prose(RESULT_BYTES),
            })];
            if turn + 1 == TURNS {
                content.push(json!({"type": "text", "text": question()}));
            }
            messages.push(json!({"role": "user", "content": content}));
        }
        let tools: Vec<Value> = (0..TOOLS)
            .map(|tool| {
                json!({
                    "name": tool_name(tool), "description": prose(DESCRIPTION_BYTES),
                    "input_schema": schema(),
                })
            })
            .collect();
        json!({
            "system": prose(SYSTEM_BYTES), "messages": messages, "tools": tools, "max_tokens": 4096,
        })
    }

    fn call_id(turn: usize) -> String {
        format!("toolu_bench{turn:016}")
    }

    fn tool_name(tool: usize) -> String {
        format!("workspace_action_{tool:02}")
    }

    fn remark(turn: usize) -> String {
        format!("Step {turn}: the last result narrows it down, so I look one level deeper.")
    }

    fn input(turn: usize) -> Value {
        json!({"path": format!("src/jobs/nightly/step_{turn}.rs"), "start": turn * 40, "limit": 200})
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "A path relative to the project, with forward slashes."},
                "start": {"type": "integer", "minimum": 0, "description": "The first line to act on, counted from zero."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "Lines at most."},
                "mode": {"type": "string", "enum": ["read", "write", "append", "delete"]},
                "options": {"type": "object", "properties": {
                    "recursive": {"type": "boolean"},
                    "globs": {"type": "array", "items": {"type": "string"}},
                }},
            },
            "required": ["path"],
        })
    }

    /// Text as it comes back from tools: lines, quotes, a little that needs
    /// escaping and a little beyond ASCII.
    fn prose(bytes: usize) -> String {
        const LINE: &str = "fn step(&self) -> Result<(), \"Error\"> { retry(3, || run(\"nightly\"))?; } // \u{2713} ok\n";
        let mut text = LINE.repeat(bytes / LINE.len() + 1);
        let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_requests_are_as_large_as_they_say() {
        for case in Case::all().into_iter().filter(|case| case.shape.is_agent()) {
            let size = case.body().to_string().len();
            assert!(
                (117_000..=120_000).contains(&size),
                "{}: {size}",
                case.name()
            );
            assert_eq!(case.body()["tools"].as_array().unwrap().len(), 30);
        }
    }

    #[test]
    fn every_request_carries_a_number_of_its_own() {
        for case in Case::all() {
            let body = case.body().to_string();
            assert_eq!(body.matches(NONCE).count(), 1, "{}", case.name());
        }
    }

    #[test]
    fn canned_answers_read_as_their_text() {
        let case = |shape, route| Case { shape, route };
        for (route, whole, events) in [
            (Route::OpenAi, canned::openai(), canned::openai_events(true)),
            (
                Route::Anthropic,
                canned::anthropic(),
                canned::anthropic_events(),
            ),
        ] {
            let said = case(Shape::Chat, route).text(whole.to_string().as_bytes());
            assert_eq!(said.unwrap(), canned::TEXT);
            let said = case(Shape::Stream, route).text(&events.concat()).unwrap();
            assert!(said.starts_with(" part 0 of it part 1 of it"), "{said}");
            assert!(said.ends_with(" part 49 of it"), "{said}");
        }
    }
}

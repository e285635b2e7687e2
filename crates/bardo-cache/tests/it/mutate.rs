//! Changes every member of a neutral request, one at a time.
//!
//! Structs are taken apart without `..`: a new member does not compile until it is changed here.

mod parts;

use bardo_types::chat::{
    CacheHints, CacheMark, ChatRequest, Logprobs, Message, OutputFormat, Part, ReasoningRequest,
    Role, Sampling, ThinkingDisplay, ThinkingMode, Tool, ToolChoice, Verbosity,
};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort};

/// One change of one member.
pub(crate) struct Change {
    target: usize,
    seen: usize,
    /// The member that was changed.
    pub(crate) made: Option<&'static str>,
    /// Whether the key must stay the same.
    pub(crate) is_free: bool,
}

/// All requests that differ from `request` in one member, with the member's name and whether it
/// leaves the answer as it is.
pub(crate) fn each(request: &ChatRequest) -> Vec<(&'static str, bool, ChatRequest)> {
    let mut all = Vec::new();
    loop {
        let mut changed = request.clone();
        let mut change = Change {
            target: all.len(),
            seen: 0,
            made: None,
            is_free: false,
        };
        change.request(&mut changed);
        let Some(made) = change.made else {
            return all;
        };
        assert_ne!(changed, *request, "{made} was not changed");
        all.push((made, change.is_free, changed));
    }
}

impl Change {
    fn at(&mut self, name: &'static str, is_free: bool, change: impl FnOnce()) {
        if self.seen == self.target {
            change();
            self.made = Some(name);
            self.is_free = is_free;
        }
        self.seen += 1;
    }

    fn text(&mut self, name: &'static str, text: &mut String) {
        self.at(name, false, || text.push('~'));
        // A change of white space is a change.
        self.at(name, false, || text.insert(0, ' '));
    }

    fn flag(&mut self, name: &'static str, flag: &mut bool) {
        self.at(name, false, || *flag = !*flag);
    }

    fn json(&mut self, name: &'static str, json: &mut RawJson) {
        self.at(name, false, || *json = other_json(json));
    }

    fn option<T>(
        &mut self,
        name: &'static str,
        option: &mut Option<T>,
        new: impl FnOnce() -> T,
        within: impl FnOnce(&mut Self, &mut T),
    ) {
        let toggles = option.is_some();
        if let Some(value) = option {
            within(self, value);
        }
        self.at(name, false, || {
            *option = if toggles { None } else { Some(new()) };
        });
    }

    fn option_text(&mut self, name: &'static str, text: &mut Option<String>) {
        self.option(name, text, String::new, |change, text| {
            change.text(name, text)
        });
    }

    fn option_flag(&mut self, name: &'static str, flag: &mut Option<bool>) {
        self.option(name, flag, || false, |change, flag| change.flag(name, flag));
    }

    fn option_number(&mut self, name: &'static str, number: &mut Option<u64>) {
        self.option(
            name,
            number,
            || 0,
            |change, number| change.number(name, number),
        );
    }

    fn number(&mut self, name: &'static str, number: &mut u64) {
        self.at(name, false, || *number += 1);
    }

    fn option_json(&mut self, name: &'static str, json: &mut Option<RawJson>) {
        let new = || RawJson::parse("0").unwrap();
        self.option(name, json, new, |change, json| change.json(name, json));
    }

    /// Every item, one more, one less, and two in another order.
    fn list<T: Clone + PartialEq>(
        &mut self,
        name: &'static str,
        list: &mut Vec<T>,
        new: impl FnOnce() -> T,
        mut within: impl FnMut(&mut Self, &mut T),
    ) {
        for item in list.iter_mut() {
            within(self, item);
        }
        if !list.is_empty() {
            let mut shorter = list.clone();
            shorter.pop();
            self.at(name, false, || *list = shorter);
        }
        if list.len() > 1 && list[0] != list[1] {
            self.at(name, false, || list.swap(0, 1));
        }
        self.at(name, false, || list.push(new()));
    }

    fn members(&mut self, name: &'static str, members: &mut Vec<(String, RawJson)>) {
        let new = || ("new".to_owned(), RawJson::parse("1").unwrap());
        self.list(name, members, new, |change, (member, value)| {
            change.text(name, member);
            change.json(name, value);
        });
    }

    fn mark(&mut self, name: &'static str, mark: &mut Option<CacheMark>) {
        let is_marked = mark.is_some();
        self.at(name, true, || {
            *mark = (!is_marked).then(|| CacheMark(RawJson::empty_object()));
        });
    }

    fn request(&mut self, request: &mut ChatRequest) {
        let is_free_dialect = !has_own_words(request);
        let ChatRequest {
            dialect,
            model,
            messages,
            tools,
            tool_choice,
            parallel_tool_calls,
            max_output_tokens,
            sampling,
            stop,
            n,
            logprobs,
            reasoning,
            output,
            verbosity,
            stream,
            include_usage,
            end_user,
            metadata,
            service_tier,
            prediction,
            modalities,
            audio,
            cache,
            store,
            web_search,
            extra,
        } = request;
        let other = next_dialect(*dialect);
        self.at("dialect", is_free_dialect, || *dialect = other);
        self.text("model", model);
        let system = || Message::new(Role::System, Vec::new());
        self.list("messages", messages, system, Self::message);
        let tool = || Tool::Custom {
            name: String::new(),
            description: None,
            format: None,
        };
        self.list("tools", tools, tool, Self::tool);
        self.option(
            "tool_choice",
            tool_choice,
            || ToolChoice::Auto,
            Self::tool_choice,
        );
        self.option_flag("parallel_tool_calls", parallel_tool_calls);
        self.option_number("max_output_tokens", max_output_tokens);
        self.sampling(sampling);
        self.list("stop", stop, String::new, |change, text| {
            change.text("stop", text)
        });
        self.option("n", n, || 1, |change, n| change.at("n", false, || *n += 1));
        self.option(
            "logprobs",
            logprobs,
            || Logprobs { top: None },
            |change, wanted| {
                let Logprobs { top } = wanted;
                let other = if top.is_some() { None } else { Some(0) };
                change.at("logprobs.top", false, || *top = other);
            },
        );
        self.reasoning_request(reasoning);
        self.output(output);
        self.option(
            "verbosity",
            verbosity,
            || Verbosity::Low,
            |change, wordy| {
                let other = match wordy {
                    Verbosity::Low => Verbosity::Medium,
                    Verbosity::Medium => Verbosity::High,
                    Verbosity::High => Verbosity::Low,
                };
                change.at("verbosity", false, || *wordy = other);
            },
        );
        self.at("stream", true, || *stream = !*stream);
        self.at("include_usage", true, || *include_usage = !*include_usage);
        self.option_text("end_user", end_user);
        self.option_json("metadata", metadata);
        self.option_text("service_tier", service_tier);
        self.option_json("prediction", prediction);
        self.option_json("modalities", modalities);
        self.option_json("audio", audio);
        self.cache_hints(cache);
        self.option_flag("store", store);
        self.option_flag("web_search", web_search);
        self.members("extra", extra);
    }

    fn cache_hints(&mut self, hints: &mut CacheHints) {
        let CacheHints {
            key,
            options,
            automatic,
        } = hints;
        let has_key = key.is_some();
        self.at("cache.key", true, || *key = (!has_key).then(String::new));
        for (name, json) in [("cache.options", options), ("cache.automatic", automatic)] {
            let is_set = json.is_some();
            self.at(name, true, || *json = (!is_set).then(RawJson::empty_object));
        }
    }

    fn message(&mut self, message: &mut Message) {
        let Message {
            role,
            parts,
            name,
            developer,
            output_config,
        } = message;
        let other = match role {
            Role::System => Role::User,
            Role::User => Role::Assistant,
            Role::Assistant => Role::System,
        };
        self.at("message.role", false, || *role = other);
        self.list(
            "message.parts",
            parts,
            || Part::Refusal(String::new()),
            Self::part,
        );
        self.option_text("message.name", name);
        self.flag("message.developer", developer);
        self.option_json("message.output_config", output_config);
    }

    fn tool(&mut self, tool: &mut Tool) {
        match tool {
            Tool::Function {
                name,
                description,
                schema,
                strict,
                cache,
                extra,
            } => {
                self.text("tool.name", name);
                self.option_text("tool.description", description);
                self.option_json("tool.schema", schema);
                self.option_flag("tool.strict", strict);
                self.mark("tool.cache", cache);
                self.members("tool.extra", extra);
            }
            Tool::Custom {
                name,
                description,
                format,
            } => {
                self.text("custom.name", name);
                self.option_text("custom.description", description);
                self.option_json("custom.format", format);
            }
            Tool::Server {
                dialect,
                kind,
                name,
                raw,
            } => {
                let other = next_dialect(*dialect);
                self.at("server.dialect", false, || *dialect = other);
                self.text("server.kind", kind);
                self.option_text("server.name", name);
                self.json("server.raw", raw);
            }
        }
        let kind = Tool::Server {
            dialect: Dialect::Chat,
            kind: String::new(),
            name: None,
            raw: RawJson::parse("7").unwrap(),
        };
        self.at("tool", false, || *tool = kind);
    }

    fn tool_choice(&mut self, choice: &mut ToolChoice) {
        let other = match choice {
            ToolChoice::Auto => ToolChoice::None,
            ToolChoice::None => ToolChoice::Required,
            ToolChoice::Required => ToolChoice::Named(String::new()),
            ToolChoice::Named(name) => {
                self.text("tool_choice.name", name);
                ToolChoice::Allowed {
                    required: false,
                    names: Vec::new(),
                }
            }
            ToolChoice::Allowed { required, names } => {
                self.flag("tool_choice.required", required);
                let within = |change: &mut Self, name: &mut String| {
                    change.text("tool_choice.names", name);
                };
                self.list("tool_choice.names", names, String::new, within);
                ToolChoice::Auto
            }
        };
        self.at("tool_choice", false, || *choice = other);
    }

    fn sampling(&mut self, sampling: &mut Sampling) {
        let Sampling {
            temperature,
            top_p,
            top_k,
            min_p,
            presence_penalty,
            frequency_penalty,
            repetition_penalty,
            seed,
            logit_bias,
        } = sampling;
        for (name, number) in [
            ("temperature", temperature),
            ("top_p", top_p),
            ("top_k", top_k),
            ("min_p", min_p),
            ("presence_penalty", presence_penalty),
            ("frequency_penalty", frequency_penalty),
            ("repetition_penalty", repetition_penalty),
            ("seed", seed),
            ("logit_bias", logit_bias),
        ] {
            self.option_json(name, number);
        }
    }

    fn reasoning_request(&mut self, reasoning: &mut ReasoningRequest) {
        let ReasoningRequest {
            mode,
            effort,
            display,
            summary,
            encrypted,
        } = reasoning;
        self.option(
            "reasoning.mode",
            mode,
            || ThinkingMode::Adaptive,
            |change, mode| {
                let other = match *mode {
                    ThinkingMode::Adaptive => ThinkingMode::Budget(1),
                    ThinkingMode::Budget(tokens) => ThinkingMode::Budget(tokens + 1),
                    ThinkingMode::Disabled => ThinkingMode::BetweenTools,
                    ThinkingMode::BetweenTools => ThinkingMode::Disabled,
                };
                change.at("reasoning.mode", false, || *mode = other);
            },
        );
        self.option(
            "reasoning.effort",
            effort,
            || Effort::Low,
            |change, effort| {
                let other = match effort {
                    Effort::Low => Effort::High,
                    _ => Effort::Low,
                };
                change.at("reasoning.effort", false, || *effort = other);
            },
        );
        let omitted = || ThinkingDisplay::Omitted;
        self.option("reasoning.display", display, omitted, |change, display| {
            let other = match display {
                ThinkingDisplay::Omitted => ThinkingDisplay::Summarized,
                ThinkingDisplay::Summarized => ThinkingDisplay::Omitted,
            };
            change.at("reasoning.display", false, || *display = other);
        });
        self.option_text("reasoning.summary", summary);
        self.flag("reasoning.encrypted", encrypted);
    }

    fn output(&mut self, output: &mut OutputFormat) {
        let other = match output {
            OutputFormat::Text => OutputFormat::JsonObject,
            OutputFormat::JsonObject => OutputFormat::JsonSchema {
                name: None,
                description: None,
                schema: RawJson::empty_object(),
                strict: None,
            },
            OutputFormat::JsonSchema {
                name,
                description,
                schema,
                strict,
            } => {
                self.option_text("output.name", name);
                self.option_text("output.description", description);
                self.json("output.schema", schema);
                self.option_flag("output.strict", strict);
                OutputFormat::Text
            }
        };
        self.at("output", false, || *output = other);
    }
}

fn other_json(json: &RawJson) -> RawJson {
    RawJson::parse(format!("[{}]", json.as_str())).unwrap()
}

fn next_dialect(dialect: Dialect) -> Dialect {
    match dialect {
        Dialect::Chat => Dialect::Responses,
        Dialect::Responses => Dialect::Anthropic,
        Dialect::Anthropic => Dialect::Gemini,
        Dialect::Gemini => Dialect::Completions,
        Dialect::Completions => Dialect::Chat,
    }
}

/// Whether anything of the request is spelled in its dialect alone.
fn has_own_words(request: &ChatRequest) -> bool {
    let in_tool = |tool: &Tool| match tool {
        Tool::Function { extra, .. } => !extra.is_empty(),
        Tool::Custom { .. } => false,
        Tool::Server { .. } => true,
    };
    let in_part = |part: &Part| matches!(part, Part::ToolCall(call) if !call.extra.is_empty());
    request.service_tier.is_some()
        || !request.extra.is_empty()
        || request.tools.iter().any(in_tool)
        || request.any_part(in_part)
        || request
            .messages
            .iter()
            .any(|message| message.output_config.is_some())
}

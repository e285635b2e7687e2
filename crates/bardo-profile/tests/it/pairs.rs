//! Every row set up for every model as every service serves it: what is sent is taken, and nothing
//! is left for the encoders to repair.

use std::fmt::Write as _;
use std::sync::Arc;

use bardo_profile::{Applied, apply};
use bardo_router::Catalog;
use bardo_types::chat::{ChatRequest, Tool, ToolChoice};
use bardo_types::hints::RouteHints;
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect, Effort, Service, ToolFormat};
use bardo_wire::codec::{BadRequest, Encoded, Target};
use bardo_wire::table;

use crate::models::{model, question, rows, subsystem, wish};
use crate::sandbox::Connection;

/// A model as a service serves it in one dialect.
pub(crate) struct Served {
    pub(crate) service: Service,
    pub(crate) dialect: Dialect,
    pub(crate) name: String,
    pub(crate) capabilities: Arc<Capabilities>,
}

impl Served {
    pub(crate) fn label(&self) -> String {
        format!("{} {:?} {}", self.service.as_str(), self.dialect, self.name)
    }

    pub(crate) fn path(&self) -> String {
        let Self {
            service,
            dialect,
            name,
            ..
        } = self;
        let base = match service {
            Service::OpenAi => "/openai/v1",
            Service::Anthropic => "/anthropic/v1",
            Service::Google => return format!("/google/v1beta/models/{name}:generateContent"),
            Service::DeepSeek => "/deepseek/v1",
            Service::Local | Service::Compatible => "/local/v1",
            Service::OpenRouter => "/openrouter/api/v1",
            Service::Venice => "/venice/api/v1",
            Service::Bankr => "/bankr/v1",
            Service::BlockRun => "/blockrun/v1",
        };
        let end = match dialect {
            Dialect::Responses => "/responses",
            Dialect::Anthropic => "/messages",
            Dialect::Chat | Dialect::Completions | Dialect::Gemini => "/chat/completions",
        };
        format!("{base}{end}")
    }

    pub(crate) fn encode(&self, request: &ChatRequest) -> Encoded {
        self.try_encode(request)
            .expect("nothing here is impossible")
    }

    pub(crate) fn try_encode(&self, request: &ChatRequest) -> Result<Encoded, BadRequest> {
        let target = Target {
            model: self.name.clone(),
            service: self.service,
            capabilities: Arc::clone(&self.capabilities),
        };
        table::encode_request(self.dialect, request, &target)
    }

    pub(crate) fn apply(&self, row: &str, request: &mut ChatRequest) -> Applied {
        let wanted = wish(row, &RouteHints::default());
        let model = model(&self.capabilities, self.service, self.dialect, &self.name);
        apply(&wanted, request, &model)
    }
}

/// The models of the catalog as their makers serve them, one of each where they are alike.
pub(crate) fn served() -> Vec<Served> {
    let catalog = Catalog::embedded();
    let mut all = Vec::new();
    let mut add = |service, dialects: &[Dialect], name: &str, id: &str| {
        for &dialect in dialects {
            all.push(Served {
                service,
                dialect,
                name: name.to_owned(),
                capabilities: Arc::new(catalog.describe(id).capabilities),
            });
        }
    };
    for known in catalog.models().filter(|model| !model.embeddings) {
        let (service, dialects): (_, &[Dialect]) = match known.vendor.as_str() {
            "anthropic" => (Service::Anthropic, &[Dialect::Anthropic]),
            "openai" => (Service::OpenAi, &[Dialect::Chat, Dialect::Responses]),
            "google" => (Service::Google, &[Dialect::Gemini]),
            "deepseek" => (Service::DeepSeek, &[Dialect::Chat]),
            _ => continue,
        };
        add(service, dialects, &known.id, &known.id);
    }
    for name in [
        "hermes-4-70b",
        "qwen-think-8b",
        "qwen3-8b",
        "llama3.2",
        "gpt-oss-20b",
    ] {
        add(Service::Local, &[Dialect::Chat], name, name);
    }
    for service in [Service::OpenRouter, Service::BlockRun, Service::Bankr] {
        for bardo_router::Resold { id, upstream, .. } in catalog.resold_by(service) {
            let both = id.starts_with("claude") || service == Service::Bankr;
            let dialects: &[Dialect] = if both {
                &[Dialect::Chat, Dialect::Anthropic]
            } else {
                &[Dialect::Chat]
            };
            add(service, dialects, upstream, id);
        }
    }
    for name in [
        "anthropic/claude-sonnet-4.6",
        "qwen/qwen3.8-max",
        "openai/gpt-oss-120b",
    ] {
        let id = name.split_once('/').map_or(name, |(_, id)| id);
        add(Service::OpenRouter, &[Dialect::Chat], name, id);
        add(Service::BlockRun, &[Dialect::Chat], name, id);
    }
    let mut alike: Vec<Served> = Vec::new();
    for served in all.into_iter().filter(is_simulated) {
        let is_alike = |known: &Served| {
            (known.service, known.dialect) == (served.service, served.dialect)
                && known.capabilities == served.capabilities
                && known.name.contains("claude") == served.name.contains("claude")
        };
        if !alike.iter().any(is_alike) {
            alike.push(served);
        }
    }
    alike
}

/// Models of the catalog that the simulated services do not have.
const NOT_SIMULATED: &[(Service, &str)] = &[
    (Service::Google, "gemini-3.8-flash"),
    (Service::Google, "gemini-3.7-flash"),
    (Service::Google, "gemini-3.5-flash"),
    (Service::Google, "gemini-3.5-flash-lite"),
    (Service::Google, "gemini-3.1-flash-lite"),
    (Service::Google, "gemini-2.5-flash-lite"),
    (Service::OpenAi, "gpt-5.5-pro"),
    (Service::OpenAi, "gpt-5.4-pro"),
    (Service::OpenAi, "gpt-5.4-nano"),
    (Service::OpenAi, "gpt-5.3-codex"),
    (Service::OpenAi, "gpt-5.2"),
    (Service::OpenAi, "gpt-5.1"),
    (Service::OpenAi, "gpt-5"),
    (Service::OpenAi, "gpt-5-mini"),
    (Service::OpenAi, "gpt-5-nano"),
    (Service::OpenAi, "o3"),
    (Service::OpenAi, "o4-mini"),
    (Service::OpenAi, "gpt-4.1-mini"),
    (Service::OpenAi, "gpt-4.1-nano"),
    (Service::OpenAi, "gpt-4o-mini"),
    (Service::OpenRouter, "anthropic/claude-sonnet-5"),
];

fn is_simulated(served: &Served) -> bool {
    !NOT_SIMULATED.contains(&(served.service, served.name.as_str()))
}

/// The models of Venice, with what its own list says of them.
fn of_venice(sandbox: &mut Connection) -> Vec<Served> {
    let catalog = Catalog::embedded();
    let read = |row: serde_json::Value| {
        let name = row["id"].as_str().expect("an id").to_owned();
        let able = &row["model_spec"]["capabilities"];
        let mut capabilities = catalog.describe(&name).capabilities;
        capabilities.structured_output = able["supportsResponseSchema"] == true;
        if able["supportsFunctionCalling"] != true {
            capabilities.tool_format = ToolFormat::Unsupported;
        }
        let efforts = able["reasoningEffortOptions"].as_array();
        capabilities.efforts = efforts
            .into_iter()
            .flatten()
            .filter_map(|effort| Effort::parse(effort.as_str()?))
            .collect();
        Served {
            service: Service::Venice,
            dialect: Dialect::Chat,
            name,
            capabilities: Arc::new(capabilities),
        }
    };
    let rows = sandbox.list("/venice/api/v1/models");
    rows.into_iter().map(read).collect()
}

pub(crate) fn lookup() -> Tool {
    Tool::Function {
        name: "look_up".to_owned(),
        description: Some("Looks something up.".to_owned()),
        schema: RawJson::parse(
            r#"{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}"#,
        )
        .ok(),
        strict: None,
        cache: None,
        extra: Vec::new(),
    }
}

/// What a caller asks besides the plain question.
type Change = fn(&mut ChatRequest);

const KINDS: [(&str, Change); 6] = [
    ("plain", |_| {}),
    ("short", |request| request.max_output_tokens = Some(700)),
    ("tools", |request| request.tools = vec![lookup()]),
    ("forced", |request| {
        request.tools = vec![lookup()];
        request.tool_choice = Some(ToolChoice::Required);
    }),
    ("warm", |request| {
        request.sampling.temperature = RawJson::parse("0.9").ok();
    }),
    ("thinking", |request| {
        request.reasoning.effort = Some(Effort::High);
        request.max_output_tokens = Some(3_000);
    }),
];

/// Rows of every sort, for what callers seldom ask.
const TELLING: [&str; 6] = [
    "curator",
    "death_testament",
    "dream_rem",
    "heartbeat_t1",
    "hypnagogic_dali",
    "risk",
];

/// Whether the caller's own words reach the model as they are, and the model refuses them: no
/// profile has a part in that.
fn is_the_callers_fault(kind: &str, caller: Dialect, served: &Served) -> bool {
    let able = &served.capabilities;
    caller == served.dialect
        && (kind == "thinking" && !able.thinking.any() || kind == "warm" && !able.sampling)
}

#[test]
fn whatever_a_row_wants_the_service_takes_what_is_sent() {
    let mut sandbox = Connection::open();
    let mut refused = String::new();
    let mut count = 0;
    let models = served().into_iter().chain(of_venice(&mut sandbox));
    for served in models {
        let line = format!("POST {}", served.path());
        let callers = [Dialect::Chat, Dialect::Anthropic, Dialect::Responses];
        let all = rows()
            .into_iter()
            .flat_map(|row| KINDS.map(|kind| (row, kind)))
            .filter(|(row, (kind, _))| matches!(*kind, "plain" | "tools") || TELLING.contains(row));
        for (row, (kind, change)) in all {
            for caller in callers {
                // Callers differ in how they ask for thinking, and matter in their own dialect.
                let matters = caller == Dialect::Chat || caller == served.dialect;
                if !matters || is_the_callers_fault(kind, caller, &served) {
                    continue;
                }
                let mut request = question(caller);
                change(&mut request);
                served.apply(row, &mut request);
                let body = served.encode(&request).body;
                let (status, answer) = sandbox.send(&line, &body);
                count += 1;
                if status != 200 {
                    let sent = String::from_utf8_lossy(&body);
                    let sent = &sent[..sent.len().min(900)];
                    let label = served.label();
                    writeln!(
                        refused,
                        "{row} {kind} {caller:?} → {label}: {status} {answer}\n    {sent}"
                    )
                    .expect("memory");
                }
            }
        }
    }
    assert!(
        refused.is_empty(),
        "{}",
        &refused[..refused.len().min(20_000)]
    );
    assert!(count > 3_000, "{count} requests");
}

#[test]
fn nothing_is_left_for_an_encoder_to_repair() {
    let mut repaired = String::new();
    for served in served() {
        for row in rows() {
            let mut request = question(Dialect::Chat);
            served.apply(row, &mut request);
            let lost = served.encode(&request).degraded;
            if !lost.is_empty() {
                writeln!(repaired, "{row} → {}: {lost:?}", served.label()).expect("memory");
            }
        }
    }
    assert!(repaired.is_empty(), "{repaired}");
}

#[test]
fn a_sealed_call_goes_to_attested_hardware_or_nowhere() {
    use bardo_types::privacy::SecurityClass;
    let mut wanted = wish("death_testament", &RouteHints::default());
    wanted.profile.tee_mode = Some(true);
    assert!(subsystem("death_testament").protected);
    let able = Capabilities::default();
    let mut model = model(&able, Service::Venice, Dialect::Chat, "glm");
    for (security, sent) in [
        (SecurityClass::Standard, false),
        (SecurityClass::Private, false),
        (SecurityClass::Tee, true),
        (SecurityClass::E2ee, true),
    ] {
        model.security = security;
        let mut request = question(Dialect::Chat);
        let applied = apply(&wanted, &mut request, &model);
        assert_eq!(applied.refused.is_none(), sent, "{security:?}");
        assert_eq!(request != question(Dialect::Chat), sent, "{security:?}");
    }
}

//! `bardo-gateway route explain`: which backend serves a request, and why.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bardo_engine::{Engine, Explained, Hints, Principal, Received, Services, Task};
use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, Transport};
use bardo_router::Catalog;
use bardo_types::subsystem::Subsystem;
use bytes::Bytes;
use clap::{Args, Subcommand};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Map, Value, json};

use super::{CliFailure, Common, environment, say};
use crate::assemble::{self, AssembledBackend, LiveLists};
use crate::sink::Nowhere;
use crate::{
    cache_secret, config, explain, json_words, last_lists, refresh, request_id, serve, simulation,
    stores,
};

#[derive(Subcommand)]
pub(super) enum RouteVerb {
    /// Show which backend would serve a request, and why the others would not. This is a dry run: it
    /// calls no backend and costs nothing.
    Explain(Box<ExplainArgs>),
}

/// Options of `route explain`.
#[derive(Args)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// File with a request body in any dialect; `-` reads standard input [default: a request built
    /// from the options].
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Address of a running server. It explains with the current health of its backends.
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// API key for that server [default: the variable BARDO_KEY or BARDO_API_KEY].
    #[arg(long, value_name = "KEY")]
    pub(super) key: Option<String>,
    /// Use the simulated providers of `serve --sandbox`. Needs no configuration.
    #[arg(long, conflicts_with_all = ["url", "config"])]
    pub(super) sandbox: bool,
    #[command(flatten)]
    pub(super) asked: RequestArgs,
}

/// The request, unless a file has it.
#[derive(Args)]
pub(super) struct RequestArgs {
    /// Model [default: bardo/auto, which lets the gateway choose].
    #[arg(long)]
    model: Option<String>,
    /// Subsystem of the agent, such as `dream_rem`.
    #[arg(long)]
    subsystem: Option<String>,
    /// Required features, separated by commas.
    #[arg(long, value_name = "FEATURES", value_delimiter = ',')]
    intent_require: Vec<String>,
    /// Preferred features, separated by commas.
    #[arg(long, value_name = "FEATURES", value_delimiter = ',')]
    intent_prefer: Vec<String>,
    /// Quality: minimum, low, medium, high or maximum.
    #[arg(long, value_name = "QUALITY")]
    intent_quality: Option<String>,
    /// Weight of the cost, from 0 to 1.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    cost_sensitivity: Option<f64>,
    /// Longest time to the first token, in milliseconds.
    #[arg(long, value_name = "MS")]
    max_latency_ms: Option<u64>,
    /// Lowest security class: standard, private, tee or e2ee.
    #[arg(long, value_name = "CLASS")]
    security_class: Option<String>,
    /// Class of the task, such as `trade`.
    #[arg(long, value_name = "TASK")]
    task_class: Option<String>,
    /// Vitality of the agent, from 0 to 1.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    vitality: Option<f64>,
    /// Phase of the agent: thriving, stable, conservation, desperate or terminal.
    #[arg(long)]
    phase: Option<String>,
    /// Revenue of the agent divided by its cost.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    sustainability: Option<f64>,
    /// Accept an answer that lacks required features.
    #[arg(long)]
    accept_degraded: bool,
    /// Add a tool to the request.
    #[arg(long)]
    tools: bool,
    /// Ask for a stream.
    #[arg(long)]
    stream: bool,
    /// Token limit of the answer.
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,
}

impl RequestArgs {
    /// The hints among the flags.
    fn hints(&self) -> Map<String, Value> {
        let mut intent = Map::new();
        let mut hints = Map::new();
        let put = |into: &mut Map<String, Value>, name: &str, value: Option<Value>| {
            if let Some(value) = value {
                into.insert(name.to_owned(), value);
            }
        };
        let list = |names: &[String]| (!names.is_empty()).then(|| json!(names));
        put(&mut intent, "require", list(&self.intent_require));
        put(&mut intent, "prefer", list(&self.intent_prefer));
        put(
            &mut intent,
            "quality",
            self.intent_quality.as_ref().map(|v| json!(v)),
        );
        put(
            &mut intent,
            "cost_sensitivity",
            self.cost_sensitivity.map(|v| json!(v)),
        );
        put(
            &mut intent,
            "max_latency_ms",
            self.max_latency_ms.map(|v| json!(v)),
        );
        let intent = (!intent.is_empty()).then_some(Value::Object(intent));
        put(&mut hints, "intent", intent);
        put(
            &mut hints,
            "subsystem",
            self.subsystem.as_ref().map(|v| json!(v)),
        );
        put(
            &mut hints,
            "security_class",
            self.security_class.as_ref().map(|v| json!(v)),
        );
        put(
            &mut hints,
            "task_class",
            self.task_class.as_ref().map(|v| json!(v)),
        );
        put(&mut hints, "vitality", self.vitality.map(|v| json!(v)));
        put(&mut hints, "phase", self.phase.as_ref().map(|v| json!(v)));
        put(
            &mut hints,
            "sustainability",
            self.sustainability.map(|v| json!(v)),
        );
        put(
            &mut hints,
            "accept_degraded",
            self.accept_degraded.then(|| json!(true)),
        );
        hints
    }

    /// The request: the file's, changed as the flags say, or one of a few words made of them.
    fn request(&self, file: Option<Value>) -> Result<Value, String> {
        let mut body = file.unwrap_or_else(|| {
            json!({
                "model": "bardo/auto",
                "messages": [{ "role": "user", "content": "What would you answer to this?" }],
            })
        });
        let members = body
            .as_object_mut()
            .ok_or("the request must be a JSON object")?;
        if let Some(model) = &self.model {
            members.insert("model".into(), json!(model));
        }
        if self.stream {
            members.insert("stream".into(), json!(true));
        }
        if let Some(most) = self.max_tokens {
            members.insert("max_tokens".into(), json!(most));
        }
        if self.tools && !members.contains_key("tools") {
            let schema = json!({ "type": "object", "properties": {} });
            let function = json!({ "name": "act", "parameters": schema });
            members.insert(
                "tools".into(),
                json!([{ "type": "function", "function": function }]),
            );
        }
        let hints = self.hints();
        if !hints.is_empty() {
            let own = members.entry("bardo").or_insert_with(|| json!({}));
            let own = own
                .as_object_mut()
                .ok_or("`bardo` in the request must be an object")?;
            for (name, value) in hints {
                own.insert(name, value);
            }
        }
        Ok(body)
    }
}

impl ExplainArgs {
    /// The body of the request to explain.
    pub(super) fn request(&self) -> Result<Value, String> {
        self.asked
            .request(self.file.as_deref().map(read).transpose()?)
    }
}

/// Runs `route explain`.
pub(super) fn run(verb: RouteVerb) -> Result<(), CliFailure> {
    let RouteVerb::Explain(args) = verb;
    let body = args.request()?;
    if let Some(url) = &args.url {
        let asked = DryRun {
            url,
            path: "route/explain",
            key: args.key.as_deref(),
            json: args.common.json,
        };
        say(asked.ask(&body)?.trim_end());
        return Ok(());
    }
    let runtime = serve::runtime()?;
    let (explained, row, lists) = runtime.block_on(decide(&args, &body))?;
    let is_refused = explained.explanation.outcome.is_err();
    let text = explain::shown(explained, row.as_deref(), |view| {
        if args.common.json {
            let mut told = explain::body(view);
            told["models_from"] = json!(lists.name());
            told.to_string()
        } else {
            format!("{}{}", lists.words(), explain::words(view, width()))
        }
    });
    say(text.trim_end());
    match is_refused {
        true => Err(CliFailure::new(
            "refused",
            "no backend can serve this request; the reasons are above",
        )),
        false => Ok(()),
    }
}

/// The source of the models and prices of a dry run.
#[derive(Clone, Copy)]
enum Lists {
    /// The lists of the simulated providers, or those that a server has stored.
    Backends,
    /// The list in this program. A running server knows the lists of its backends.
    Program,
}

impl Lists {
    fn name(self) -> &'static str {
        match self {
            Self::Backends => "backends",
            Self::Program => "program",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Backends => "",
            Self::Program => {
                "Models and prices are from the list in this program. A running server loads\n\
                 the lists of its backends and may choose otherwise: route explain --url URL\n\n"
            }
        }
    }
}

/// The lists of simulated providers.
pub(super) async fn simulated(backends: &[AssembledBackend], catalog: &Arc<Catalog>) -> LiveLists {
    let transport = Transport::new(Duration::from_secs(1));
    let mut lists = LiveLists::new();
    for backend in backends.iter().filter(|backend| !backend.closed) {
        let endpoint = &backend.endpoint;
        if let Ok((list, _)) = refresh::read(&transport, endpoint, catalog).await {
            lists.insert(endpoint.name.clone(), list.models);
        }
    }
    lists
}

/// Decides as a server that has just started with this configuration.
async fn decide(
    args: &ExplainArgs,
    body: &Value,
) -> Result<(Explained, Option<Arc<Subsystem>>, Lists), CliFailure> {
    let mut loaded = if args.sandbox {
        // The dry run reads their lists alone.
        let providers = simulation::start(true)?;
        config::embedded("sandbox", simulation::configuration(providers))
    } else {
        config::load(args.common.config.as_deref(), &environment())
    }?;
    if !loaded.config.has_providers() {
        return Err(CliFailure::new(
            "no_provider",
            "no provider is configured. Explain with simulated providers:
  bardo-gateway route explain --sandbox
or with a configuration:
  bardo-gateway route explain --config bardo.yaml",
        ));
    }
    let backends = assemble::backends(&loaded.config).map_err(|reason| loaded.refuse(&reason))?;
    let catalog = Arc::new(Catalog::embedded());
    let lists = if args.sandbox {
        simulated(&backends, &catalog).await
    } else if !loaded.config.catalog.live {
        LiveLists::new()
    } else {
        let folder = stores::data_folder(args.common.data_dir.as_deref());
        if let Ok(folder) = &folder {
            cache_secret::complete_if_stored(&mut loaded.config, folder);
        }
        folder.map_or_else(
            |_| LiveLists::new(),
            |folder| last_lists::load(&folder, &backends, &catalog),
        )
    };
    let is_listed =
        |backend: &AssembledBackend| backend.closed || lists.contains_key(&backend.endpoint.name);
    // Without live lists, a server knows no more than this program.
    let source = match !loaded.config.catalog.live || backends.iter().all(is_listed) {
        true => Lists::Backends,
        false => Lists::Program,
    };
    let snapshot = assemble::snapshot(&loaded.config, &backends, &catalog, &lists, args.sandbox);
    let transport = Transport::new(Duration::from_secs(1));
    let engine = Engine::new(
        snapshot,
        transport,
        Services::without_money(Arc::new(Nowhere)),
    );
    let body = Bytes::from(body.to_string());
    let received = Received {
        request_id: request_id::fresh(),
        client_request_id: None,
        task: Task::Generate,
        dialect: explain::dialect(&body, false),
        body,
        forward: HeaderMap::new(),
        hints: Hints::default(),
        principal: Principal::owner("owner").map_err(|error| error.to_string())?,
        url: None,
    };
    let row = explain::subsystem(&received);
    let explained = engine
        .explain(received)
        .map_err(|error| error.to_string())?;
    Ok((explained, row, source))
}

/// A question to a running server about a request that is not carried out.
pub(super) struct DryRun<'a> {
    /// Address of the server.
    pub(super) url: &'a str,
    /// The endpoint below `/v1/`.
    pub(super) path: &'a str,
    /// The API key of the options.
    pub(super) key: Option<&'a str>,
    /// The answer is JSON, not text.
    pub(super) json: bool,
}

impl DryRun<'_> {
    /// Sends a request body and returns what the server says of it.
    ///
    /// # Errors
    /// When the server does not answer or refuses, in words that begin with its address.
    pub(super) fn ask(&self, body: &Value) -> Result<String, CliFailure> {
        let runtime = serve::runtime()?;
        let told = runtime.block_on(async {
            let told = tokio::time::timeout(Duration::from_secs(30), self.send(body)).await;
            told.map_err(|_| self.refuse("no answer within 30 seconds"))?
        });
        told.map_err(Into::into)
    }

    fn refuse(&self, reason: &str) -> String {
        format!("{}: {reason}", self.url)
    }

    fn request(&self, base: &BaseUrl, body: &Value) -> Result<Request<Full<Bytes>>, String> {
        let path = format!("{}/v1/{}", base.path.trim_end_matches("/v1"), self.path);
        let mut request = Request::new(Full::new(Bytes::from(body.to_string())));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = path.parse().map_err(|_| self.refuse("this is not a URL"))?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(host) = HeaderValue::from_str(&Origin::new(base, true).authority()) {
            headers.insert(HOST, host);
        }
        let accept = match self.json {
            true => "application/json",
            false => "text/plain",
        };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(key) = self.key() {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
                "the key has characters that are not allowed in a header".to_owned()
            })?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(request)
    }

    fn key(&self) -> Option<String> {
        let variable = |name: &str| std::env::var(name).ok().filter(|key| !key.is_empty());
        let own = self.key.map(str::to_owned);
        own.or_else(|| variable("BARDO_KEY").or_else(|| variable("BARDO_API_KEY")))
    }

    async fn send(&self, body: &Value) -> Result<String, String> {
        let base = BaseUrl::parse(self.url).map_err(|error| self.refuse(&error.to_string()))?;
        let request = self.request(&base, body)?;
        let transport = Transport::new(Duration::from_secs(2));
        let response = transport
            .send(&Origin::new(&base, true), request)
            .await
            .map_err(|error| self.refuse(&error.to_string()))?;
        let status = response.status();
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|_| self.refuse("the connection closed before the end of the answer"))?;
        let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        match status.is_success() {
            true => Ok(text),
            false => Err(self.refuse(&refusal(status, self.key().is_some(), &text))),
        }
    }
}

/// A server's refusal in words that name the option of this verb.
fn refusal(status: StatusCode, has_key: bool, body: &str) -> String {
    match (status, has_key) {
        (StatusCode::UNAUTHORIZED, false) => {
            "this server needs an API key; give it with --key KEY, or set the variable BARDO_KEY"
                .to_owned()
        }
        (StatusCode::UNAUTHORIZED, true) => {
            "this server refuses the API key of --key or of the variable BARDO_KEY: it is unknown, expired or \
             revoked"
                .to_owned()
        }
        _ => {
            let told = serde_json::from_str::<Value>(body).ok();
            let told = told
                .as_ref()
                .and_then(|body| body["error"]["message"].as_str());
            format!("{status}: {}", told.unwrap_or(body))
        }
    }
}

pub(super) fn read(path: &Path) -> Result<Value, String> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| format!("standard input: {error}"))?;
        text
    } else {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?
    };
    serde_json::from_str(&text)
        .map_err(|error| format!("{}: {}", path.display(), json_words::told(".", &error)))
}

/// The width of the terminal.
pub(super) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    columns
        .and_then(|columns| columns.parse().ok())
        .unwrap_or(explain::WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: ExplainArgs,
    }

    fn parsed(line: &[&str]) -> ExplainArgs {
        <Line as clap::Parser>::parse_from(["explain"].iter().chain(line)).args
    }

    #[test]
    fn flags_alone_make_a_request() {
        let args = parsed(&[
            "--subsystem",
            "dream_rem",
            "--vitality",
            "0.2",
            "--intent-require",
            "privacy,tools",
            "--tools",
            "--max-tokens",
            "9",
        ]);
        let body = args.request().unwrap();
        assert_eq!(body["model"], "bardo/auto");
        assert_eq!(body["max_tokens"], 9);
        assert_eq!(body["tools"][0]["type"], "function");
        assert_eq!(
            body["bardo"],
            json!({
                "subsystem": "dream_rem",
                "vitality": 0.2,
                "intent": { "require": ["privacy", "tools"] },
            })
        );
    }

    #[test]
    fn flags_change_what_a_file_says_and_nothing_else() {
        let asked = parsed(&["--model", "bardo/t2"]).asked;
        let file = json!({ "model": "a", "messages": [], "bardo": { "phase": "stable" } });
        let body = asked.request(Some(file)).unwrap();
        assert_eq!(
            body,
            json!({ "model": "bardo/t2", "messages": [], "bardo": { "phase": "stable" } })
        );
        assert!(asked.request(Some(json!([]))).is_err());
    }
}

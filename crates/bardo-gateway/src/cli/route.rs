//! `bardo-gateway route explain`: why a request would go where it would go.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::{Common, say};
use crate::explain::{self, View, explain_here};
use crate::stores::data_folder;
use crate::{config, simulation};

const NO_PROVIDER: &str = "no provider is configured. Look at the simulated ones with `--sandbox`, or name a \
    configuration: --config FILE (examples/config has several)";

#[derive(Subcommand)]
pub(super) enum RouteVerb {
    /// Say who would answer a request, and why nobody else would. Asks nobody and costs nothing.
    Explain(Box<ExplainArgs>),
}

/// `route explain`.
#[derive(Args)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// The body of a request in any dialect; `-` reads standard input. Without it, one is made of
    /// the flags.
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Ask a running server, with what it knows of the health of its backends.
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// The key for the server.
    #[arg(
        long,
        value_name = "KEY",
        env = "BARDO_API_KEY",
        hide_env_values = true
    )]
    pub(super) key: Option<String>,
    /// Look at the simulated providers of `serve --sandbox`; needs no configuration.
    #[arg(long, conflicts_with_all = ["url", "config"])]
    pub(super) sandbox: bool,
    #[command(flatten)]
    pub(super) asked: Asked,
}

/// What is asked, as far as no file says it.
#[derive(Args)]
pub(super) struct Asked {
    /// The model [default: bardo/auto, which leaves the choice to the gateway].
    #[arg(long)]
    model: Option<String>,
    /// The part of an agent that asks, e.g. `dream_rem`.
    #[arg(long)]
    subsystem: Option<String>,
    /// What the answer must not go without, separated by commas.
    #[arg(long, value_name = "FEATURES", value_delimiter = ',')]
    intent_require: Vec<String>,
    /// What it should have.
    #[arg(long, value_name = "FEATURES", value_delimiter = ',')]
    intent_prefer: Vec<String>,
    /// How good it has to be: minimum, low, medium, high or maximum.
    #[arg(long, value_name = "QUALITY")]
    intent_quality: Option<String>,
    /// How much cost counts, from 0 to 1.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    cost_sensitivity: Option<f64>,
    /// How long the answer may take to begin, in milliseconds.
    #[arg(long, value_name = "MS")]
    max_latency_ms: Option<u64>,
    /// The least protection: standard, private, tee or e2ee.
    #[arg(long, value_name = "CLASS")]
    security_class: Option<String>,
    /// What it is about, e.g. `trade`.
    #[arg(long, value_name = "TASK")]
    task_class: Option<String>,
    /// How alive the agent is, from 0 to 1.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    vitality: Option<f64>,
    /// Its phase: thriving, stable, conservation, desperate or terminal.
    #[arg(long)]
    phase: Option<String>,
    /// Its revenue per cost.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    sustainability: Option<f64>,
    /// An answer without what is required will do.
    #[arg(long)]
    accept_degraded: bool,
    /// The request has tools.
    #[arg(long)]
    tools: bool,
    /// It is to be answered piece by piece.
    #[arg(long)]
    stream: bool,
    /// The most tokens of the answer.
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,
}

impl Asked {
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

pub(super) fn run(verb: RouteVerb) -> Result<(), String> {
    let RouteVerb::Explain(args) = verb;
    let body = args.request()?.to_string();
    if let Some(url) = &args.url {
        return ask(url, args.key.as_deref(), &body, args.common.json);
    }
    let (loaded, folder) = if args.sandbox {
        let nowhere = std::net::SocketAddr::from(([127, 0, 0, 1], 9));
        let settings = simulation::configuration(nowhere);
        let loaded = config::embedded("sandbox", settings).map_err(|error| error.to_string())?;
        (loaded, None)
    } else {
        let loaded = config::load(args.common.config.as_deref(), &super::environment())
            .map_err(|error| error.to_string())?;
        if !loaded.config.has_providers() {
            return Err(NO_PROVIDER.to_owned());
        }
        (loaded, data_folder(args.common.data_dir.as_deref()).ok())
    };
    let explained = explain_here(&loaded, folder.as_deref(), args.sandbox, body.into())?;
    let problem = explained.refused.as_ref().map(explain::problem);
    let view = View::of(&explained, problem.as_ref());
    if args.common.json {
        say(explain::body(&view).to_string());
    } else {
        say(explain::words(&view, width()).trim_end());
    }
    Ok(())
}

/// Asks a running server, which knows how its backends do.
fn ask(url: &str, key: Option<&str>, body: &str, json: bool) -> Result<(), String> {
    let answer = crate::explain::asked(url, key, body.to_owned())?;
    if json {
        say(answer.to_string());
    } else {
        say(serde_json::to_string_pretty(&answer).unwrap_or_default());
    }
    Ok(())
}

fn read(path: &Path) -> Result<Value, String> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| format!("standard input: {error}"))?;
        text
    } else {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?
    };
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// How wide the terminal says that it is.
pub(super) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    columns
        .and_then(|columns| columns.parse().ok())
        .unwrap_or(100)
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

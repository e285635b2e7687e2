//! Simulated providers: alone, or behind the gateway in sandbox mode.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Instant;

use bardo_access::{Moment, PresentedKey};
use bardo_sandbox::{Sandbox, SandboxConfig};
use bardo_types::money::MicroUsd;
use serde_json::{Value, json};

use crate::auth::StoredKeys;
use crate::cli::{SandboxArgs, say};
use crate::operator::{KeySpec, Operator};
use crate::serve::runtime;

/// What the sandbox's account begins with: 1,000 USD of nothing.
const PLAY_MONEY: MicroUsd = MicroUsd::new(1_000_000_000);

/// `bardo-gateway sandbox`.
pub(crate) fn run_alone(args: &SandboxArgs) -> Result<(), String> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let sandbox = bind(args.listen, args.seed)?;
        let address = sandbox.local_addr();
        if args.json {
            say(json!({ "event": "ready", "listen": address.to_string() }).to_string());
        } else {
            say(format!(
                "simulated providers on http://{address}, journal at /_sandbox/journal; Ctrl-C ends"
            ));
        }
        let stop = async {
            let _ = tokio::signal::ctrl_c().await;
        };
        sandbox.run(stop).await.map_err(|error| error.to_string())
    })
}

/// Starts simulated providers on a thread of their own, for as long as the process runs.
pub(crate) fn start() -> Result<SocketAddr, String> {
    let (sender, receiver) = mpsc::channel();
    let serve = move || {
        let bound = runtime().and_then(|runtime| {
            let sandbox = bind(SocketAddr::from(([127, 0, 0, 1], 0)), 0)?;
            Ok((runtime, sandbox))
        });
        match bound {
            Ok((runtime, sandbox)) => {
                let _ = sender.send(Ok(sandbox.local_addr()));
                if let Err(error) = runtime.block_on(sandbox.run(std::future::pending())) {
                    tracing::error!(%error, "the simulated providers stopped");
                }
            }
            Err(error) => {
                let _ = sender.send(Err(error));
            }
        }
    };
    std::thread::Builder::new()
        .name("sandbox".into())
        .spawn(serve)
        .map_err(|error| error.to_string())?;
    receiver
        .recv()
        .map_err(|_| "the simulated providers did not start".to_owned())?
}

fn bind(listen: SocketAddr, seed: u64) -> Result<Sandbox, String> {
    let config = SandboxConfig {
        listen,
        seed,
        ..SandboxConfig::default()
    };
    Sandbox::bind(config).map_err(|error| format!("cannot listen on {listen}: {error}"))
}

/// The configuration that points every backend at the simulated providers.
pub(crate) fn configuration(address: SocketAddr) -> Value {
    let at = |path: &str| format!("http://{address}{path}");
    let direct = |provider: &str, path: &str| json!({ "provider": provider, "api_key": "sandbox", "base_url": at(path) });
    let service = |path: &str| json!({ "api_key": "sandbox", "base_url": at(path) });
    json!({
        "providers": {
            "direct": { "keys": [
                direct("openai", "/openai/v1"),
                direct("anthropic", "/anthropic"),
                direct("google", "/google"),
                direct("deepseek", "/deepseek"),
            ] },
            "local": { "base_url": at("/local/v1"), "models": ["local-*", "llama*", "hermes*", "qwen-think*", "ollama*"] },
            "blockrun": { "base_url": at("/blockrun/api/v1") },
            "openrouter": service("/openrouter/api/v1"),
            "venice": service("/venice/api/v1"),
            "bankr": service("/bankr/v1"),
        },
    })
}

/// Makes a key whose account holds play money; verified from the start, so that the first call need
/// not wait for its hash.
pub(crate) fn fund(operator: &Operator, keys: &StoredKeys) -> Result<String, String> {
    let spec = KeySpec {
        name: "sandbox".to_owned(),
        deposit: Some(PLAY_MONEY),
        ..KeySpec::default()
    };
    runtime()?.block_on(async {
        let made = operator
            .create_key(spec)
            .await
            .map_err(|error| error.to_string())?;
        let text = made["key"].as_str().unwrap_or_default().to_owned();
        let key = match PresentedKey::parse(&text) {
            Some(Ok(key)) => key,
            _ => return Err("the sandbox's key is malformed".to_owned()),
        };
        let record = operator.keys.find(&key.id).await;
        if let Some(record) = record.map_err(|error| error.to_string())? {
            let now = Moment {
                unix_ms: operator.clock.now_ms(),
                at: Instant::now(),
            };
            keys.verifier.remember(&key, record, now);
        }
        Ok(text)
    })
}

/// The lines that a newcomer pastes.
pub(crate) fn banner(listen: SocketAddr, admin: SocketAddr, key: &str) -> String {
    let base = format!("http://{listen}");
    format!(
        r#"
Bardo Inference is running in SANDBOX mode: simulated providers answer, nothing costs money.

  callers    {base}        operators  http://{admin}
  key        {key}

Paste one of these:

# curl
curl -N {base}/v1/chat/completions -H "Authorization: Bearer {key}" -H "Content-Type: application/json" -d '{{"model":"claude-sonnet-5-5","stream":true,"messages":[{{"role":"user","content":"Hello!"}}]}}'

# OpenAI SDK (pip install openai)
OPENAI_BASE_URL={base}/v1 OPENAI_API_KEY={key} python3 -c 'from openai import OpenAI; print(OpenAI().chat.completions.create(model="claude-sonnet-5-5", messages=[{{"role": "user", "content": "Hello!"}}]).choices[0].message.content)'

# Anthropic SDK (pip install anthropic)
ANTHROPIC_BASE_URL={base} ANTHROPIC_API_KEY={key} python3 -c 'from anthropic import Anthropic; print(Anthropic().messages.create(model="gpt-5.5", max_tokens=1024, messages=[{{"role": "user", "content": "Hello!"}}]).content[0].text)'

# Claude Code (npm install -g @anthropic-ai/claude-code)
ANTHROPIC_BASE_URL={base} ANTHROPIC_AUTH_TOKEN={key} claude -p "Hello!"

# Codex (npm install -g @openai/codex)
BARDO_API_KEY={key} codex exec --skip-git-repo-check -c model=gpt-5.5 -c model_provider=bardo -c 'model_providers.bardo={{name="bardo",base_url="{base}/v1",env_key="BARDO_API_KEY",wire_api="responses"}}' "Hello!"

# Aider (pip install aider-chat)
OPENAI_API_BASE={base}/v1 OPENAI_API_KEY={key} aider --model openai/claude-sonnet-5-5 --yes-always --no-git --message "Hello!"

Ctrl-C ends it. Streams under way are finished first; a second Ctrl-C does not wait.
"#
    )
}

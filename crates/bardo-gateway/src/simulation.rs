//! Sandbox mode: the gateway in front of simulated providers, with a key that draws on play money.

#[cfg(feature = "sandbox")]
mod providers;
#[cfg(not(feature = "sandbox"))]
#[path = "simulation/absent.rs"]
mod providers;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Instant;

use bardo_access::{KeyRecord, KeyState, Moment, PresentedKey, verify_secret};
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::MicroUsd;
use serde_json::{Value, json};

use crate::auth::StoredKeys;
use crate::cli::CliFailure;
use crate::operator::{KeySpec, Operator, Unseen};
use crate::serve::runtime;

#[cfg(not(feature = "sandbox"))]
pub(crate) use self::providers::ABSENT;
pub(crate) use self::providers::{run_alone, start};

/// The balance of a new sandbox: 1,000 USD of play money.
pub(crate) const PLAY_MONEY: MicroUsd = MicroUsd::new(1_000_000_000);
/// The name of the sandbox's key.
pub(crate) const KEY_NAME: &str = "sandbox";
/// The sandbox's account, and the reference of its only deposit.
const ACCOUNT: &str = "acct_sandbox";
/// The sandbox's key, in the data folder, so that the next start prints the same one.
const KEY_FILE: &str = "sandbox.key";

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
        // Simulated answers quote the question, so no audit would agree. The first question waits
        // until the embedding model is loaded.
        "cache": { "semantic": {
            "first_audits": 0, "audit_share": 0, "baseline_share": 0, "deadline": "5s",
        } },
    })
}

/// The sandbox's key, which draws on play money: the one of the last start in this folder, or a new
/// one. It is verified from the start, so that the first call does not wait for its hash.
pub(crate) fn fund(
    operator: &Operator,
    keys: &StoredKeys,
    folder: &Path,
) -> Result<String, CliFailure> {
    runtime()?.block_on(async {
        let account = AccountId::parse(ACCOUNT).map_err(|error| error.to_string())?;
        let (text, record) = match kept(operator, folder).await? {
            Some(kept) => kept,
            None => create(operator, &account, folder).await?,
        };
        // The same reference is one deposit, however often the sandbox starts.
        let deposit = operator.deposit(account, PLAY_MONEY, Some(ACCOUNT.to_owned()));
        deposit.await?;
        let key = match PresentedKey::parse(&text) {
            Some(Ok(key)) => key,
            _ => return Err("the key of the sandbox is malformed".into()),
        };
        let now = Moment {
            unix_ms: operator.clock.now_ms(),
            at: Instant::now(),
        };
        keys.verifier.remember(&key, record, now);
        Ok(text)
    })
}

/// The key of the last start, if it is still active.
async fn kept(
    operator: &Operator,
    folder: &Path,
) -> Result<Option<(String, KeyRecord)>, CliFailure> {
    let Ok(text) = std::fs::read_to_string(folder.join(KEY_FILE)) else {
        return Ok(None);
    };
    let text = text.trim().to_owned();
    let Some(Ok(key)) = PresentedKey::parse(&text) else {
        return Ok(None);
    };
    let record = operator
        .keys
        .find(&key.id)
        .await
        .map_err(|error| error.to_string())?;
    let now_ms = operator.clock.now_ms();
    // The file is not proof: the secret has to fit the stored hash.
    let is_good = |record: &KeyRecord| {
        record.state(now_ms) == KeyState::Active && verify_secret(&key.secret, &record.hash)
    };
    Ok(record.filter(is_good).map(|record| (text, record)))
}

async fn create(
    operator: &Operator,
    account: &AccountId,
    folder: &Path,
) -> Result<(String, KeyRecord), CliFailure> {
    let spec = KeySpec {
        name: KEY_NAME.to_owned(),
        account: Some(account.to_string()),
        unseen: Unseen::Make,
        scopes: vec!["rpm=0".to_owned()],
        ..KeySpec::default()
    };
    let made = operator.create_key(spec).await?;
    let text = made["key"].as_str().unwrap_or_default().to_owned();
    let id = made["id"].as_str().unwrap_or_default();
    let id = KeyId::parse(id).map_err(|error| error.to_string())?;
    let record = operator
        .keys
        .find(&id)
        .await
        .map_err(|error| error.to_string())?
        .ok_or("the store lost the key of the sandbox")?;
    let path = folder.join(KEY_FILE);
    let draft = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        writeln!(file, "{text}")?;
        std::fs::rename(&draft, &path)
    };
    write().map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok((text, record))
}

/// The lines to paste for each client.
pub(crate) fn banner(listen: SocketAddr, admin: SocketAddr, key: &str) -> String {
    let base = format!("http://{listen}");
    format!(
        r#"
Bardo Inference is running in SANDBOX mode: simulated providers, play money, no cost.

  API        {base}        admin  http://{admin}
  key        {key}
  console    http://{admin}/console/
  watch      bardo-gateway top --admin-url http://{admin}        faults  bardo-gateway doctor

Paste one of these into another terminal:

# curl
curl -N {base}/v1/chat/completions -H "Authorization: Bearer {key}" -H "Content-Type: application/json" -d '{{"model":"claude-sonnet-5-5","stream":true,"messages":[{{"role":"user","content":"Hello!"}}]}}'

# OpenAI SDK (pip install openai)
OPENAI_BASE_URL={base}/v1 OPENAI_API_KEY={key} python3 -c 'from openai import OpenAI; print(OpenAI().chat.completions.create(model="claude-sonnet-5-5", messages=[{{"role": "user", "content": "Hello!"}}]).choices[0].message.content)'

# Anthropic SDK (pip install anthropic)
ANTHROPIC_BASE_URL={base} ANTHROPIC_API_KEY={key} python3 -c 'from anthropic import Anthropic; print(Anthropic().messages.create(model="gpt-5.5", max_tokens=1024, messages=[{{"role": "user", "content": "Hello!"}}]).content[0].text)'

# Claude Code (npm install -g @anthropic-ai/claude-code)
ANTHROPIC_BASE_URL={base} ANTHROPIC_AUTH_TOKEN={key} claude -p "Hello!"

# Codex (npm install -g @openai/codex)
BARDO_KEY={key} codex exec --skip-git-repo-check -c model=gpt-5.5 -c model_provider=bardo -c 'model_providers.bardo={{name="bardo",base_url="{base}/v1",env_key="BARDO_KEY",wire_api="responses"}}' "Hello!"

# Aider (pip install aider-chat)
OPENAI_API_BASE={base}/v1 OPENAI_API_KEY={key} aider --model openai/claude-sonnet-5-5 --yes-always --no-git --message "Hello!"

Stop with Ctrl-C. Open streams finish first; press Ctrl-C again to stop at once.
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_says_the_addresses_the_key_and_how_to_stop() {
        let [listen, admin] = [8402, 8403].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let banner = banner(listen, admin, "bardo_sk_1");
        for part in [
            "\n  API        http://127.0.0.1:8402        admin  http://127.0.0.1:8403\n",
            "\n  key        bardo_sk_1\n",
        ] {
            assert!(banner.contains(part), "{part}: {banner}");
        }
        assert_eq!(
            banner.lines().last(),
            Some(
                "Stop with Ctrl-C. Open streams finish first; press Ctrl-C again to stop at once."
            )
        );
        // Types of the program are in no text for people.
        let is_type = |word: &&str| {
            let first = word.chars().next().is_some_and(char::is_uppercase);
            let inner = word.chars().any(char::is_lowercase);
            first && inner && word.chars().skip(1).any(char::is_uppercase)
        };
        let words = banner.split(|letter: char| !letter.is_ascii_alphanumeric());
        assert!(
            words.filter(is_type).all(|word| word == "OpenAI"),
            "{banner}"
        );
    }
}

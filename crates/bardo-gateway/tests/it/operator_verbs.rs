//! `import`, `init`, `man`, `completions`, `models refresh` and `top` on the built binary.

use serde_json::{Value, json};

use crate::command_line::run;
use crate::http::Request;
use crate::rig::{Folder, Gateway, Sandbox, command, eventually, everything, with};

const SECRET: &str = "sk-live-CANARY0123456789";
const MASTER: &str = "sk-master-0123456789-abcdef";

/// Runs a verb that must succeed, and reads the last line of its output as JSON.
#[track_caller]
fn done(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> Value {
    let ran = run(folder, arguments, environment);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}{}", ran.out, ran.err);
    serde_json::from_str(ran.out.lines().last().unwrap_or_default()).expect("JSON")
}

/// A team's file with 12 models that point to the simulated providers, and fallbacks.
fn team(sandbox: &Sandbox) -> String {
    let at = |path: &str| sandbox.at(path);
    let (anthropic, google, openrouter, local) = (
        at("/anthropic"),
        at("/google"),
        at("/openrouter/api/v1"),
        at("/local/v1"),
    );
    format!(
        r#"
model_list:
  - model_name: gpt-5.5
    litellm_params: {{ model: openai/gpt-5.5, api_base: os.environ/OPENAI_BASE, api_key: os.environ/OPENAI_API_KEY, input_cost_per_token: 0.000002, output_cost_per_token: 8e-06 }}
  - model_name: sonnet
    litellm_params: {{ model: anthropic/claude-sonnet-5-5, api_base: "{anthropic}", api_key: os.environ/ANTHROPIC_API_KEY }}
  - model_name: sonnet
    litellm_params: {{ model: openrouter/anthropic/claude-sonnet-5.5, api_base: "{openrouter}", api_key: os.environ/OPENROUTER_API_KEY }}
  - model_name: opus
    litellm_params: {{ model: anthropic/claude-opus-5-5, api_base: "{anthropic}", api_key: os.environ/ANTHROPIC_API_KEY }}
  - model_name: haiku
    litellm_params: {{ model: anthropic/claude-haiku-4-5, api_base: "{anthropic}", api_key: os.environ/ANTHROPIC_API_KEY }}
  - model_name: flash
    litellm_params: {{ model: gemini/gemini-3-flash, api_base: "{google}", api_key: os.environ/GEMINI_API_KEY }}
  - model_name: gemini-pro
    litellm_params: {{ model: gemini/gemini-3-pro, api_base: "{google}", api_key: os.environ/GEMINI_API_KEY }}
  - model_name: router-gpt
    litellm_params: {{ model: openrouter/openai/gpt-5.5, api_base: "{openrouter}", api_key: os.environ/OPENROUTER_API_KEY }}
  - model_name: router-opus
    litellm_params: {{ model: openrouter/anthropic/claude-opus-5.5, api_base: "{openrouter}", api_key: os.environ/OPENROUTER_API_KEY }}
  - model_name: llama
    litellm_params: {{ model: hosted_vllm/llama3.2, api_base: "{local}" }}
  - model_name: flaky
    litellm_params: {{ model: hosted_vllm/flaky-7b, api_base: "http://127.0.0.1:1/v1" }}
  - model_name: titan
    litellm_params: {{ model: bedrock/amazon.titan-text-express-v1 }}
router_settings:
  routing_strategy: latency-based-routing
  num_retries: 2
  timeout: 30
  fallbacks: [{{ flaky: [sonnet] }}, {{ opus: [titan, gpt-5.5] }}]
litellm_settings: {{ drop_params: true, callbacks: [prometheus] }}
general_settings: {{ master_key: os.environ/LITELLM_MASTER_KEY }}
"#
    )
}

const KEYS: &str = r#"{"keys": [
  {"token": "8f1c", "key_name": "sk-...aaaa", "key_alias": "team-a", "models": ["sonnet", "flash"], "max_budget": 50.0,
   "budget_duration": "30d", "rpm_limit": 60, "spend": 12.3456789012, "blocked": null, "metadata": {}},
  {"token": "9e2d", "key_name": "sk-...bbbb", "key_alias": "ci", "models": [], "max_budget": 5, "expires": "2999-01-01T00:00:00Z"},
  {"token": "0f3e", "key_name": "sk-...cccc", "key_alias": "wide", "models": ["all-proxy-models"], "max_budget": null}
], "total_count": 3, "current_page": 1, "total_pages": 1}"#;

#[test]
fn a_litellm_config_of_twelve_models_and_three_keys_runs_after_one_command() {
    let sandbox = Sandbox::start();
    let folder = Folder::new();
    folder.write("litellm.yaml", &team(&sandbox));
    folder.write("keys.json", KEYS);
    let openai = sandbox.at("/openai/v1");
    let environment = [
        ("OPENAI_BASE", openai.as_str()),
        ("OPENAI_API_KEY", SECRET),
        ("ANTHROPIC_API_KEY", SECRET),
        ("GEMINI_API_KEY", SECRET),
        ("OPENROUTER_API_KEY", SECRET),
        ("LITELLM_MASTER_KEY", MASTER),
    ];
    let verb = [
        "import",
        "litellm",
        "litellm.yaml",
        "-o",
        "bardo.yaml",
        "--keys",
        "keys.json",
        "--json",
    ];
    let told = done(&folder, &verb, &environment);
    assert_eq!(told["models"].as_array().map(Vec::len), Some(10), "{told}");
    assert_eq!(told["skipped"], 1, "{told}");
    assert_eq!(told["set"], json!([]), "{told}");
    let keys = told["keys"].as_array().expect("keys").clone();
    assert_eq!(keys.len(), 3, "{told}");
    let differences = told["differences"].to_string();
    for words in [
        "bedrock",
        "AWS",
        "titan",
        "routing_strategy",
        "prometheus",
        "team-a",
    ] {
        assert!(differences.contains(words), "{words}: {differences}");
    }
    let written = std::fs::read_to_string(folder.0.join("bardo.yaml")).expect("a file");
    assert!(
        !written.contains("CANARY") && !written.contains(MASTER),
        "{written}"
    );
    let checked = run(&folder, &["check", "--config", "bardo.yaml"], &environment);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    // A second run makes no second keys, and replaces nothing unasked.
    let again = run(&folder, &verb, &environment);
    assert_eq!(again.code, Some(1), "{}", again.out);
    let mut forced = verb.to_vec();
    forced.push("--force");
    assert_eq!(done(&folder, &forced, &environment)["keys"], json!([]));

    let mut serve = command(&folder);
    serve.args(["serve", "--config", "bardo.yaml"]);
    let gateway = Gateway::run(folder, serve, &environment);
    let ask = |key: &str, model: &str| {
        let body = json!({ "model": model, "max_completion_tokens": 50, "messages": [{ "role": "user", "content": "Hello!" }] });
        let request = Request::json("/v1/chat/completions", &body);
        gateway.send(&request.with("authorization", &format!("Bearer {key}")))
    };
    let text = |name: &str| {
        let key = keys
            .iter()
            .find(|key| key["name"] == name)
            .expect("it was made");
        key["key"].as_str().expect("its text").to_owned()
    };
    let (team_a, wide) = (text("team-a"), text("wide"));
    for model in ["sonnet", "flash"] {
        let answer = ask(&team_a, model);
        assert_eq!(answer.status(), 200, "{model}: {}", answer.text());
    }
    assert_eq!(ask(&team_a, "gpt-5.5").status(), 403);
    for model in ["gpt-5.5", "opus", "haiku", "router-gpt", "llama"] {
        let answer = ask(&wide, model);
        assert_eq!(answer.status(), 200, "{model}: {}", answer.text());
    }
    let fallen = ask(&wide, "flaky");
    assert_eq!(fallen.status(), 200, "{}", fallen.text());
    assert_eq!(fallen.header("x-bardo-model"), Some("claude-sonnet-5-5"));
    assert_eq!(ask(MASTER, "sonnet").status(), 200);
    let listed = Request::get("/admin/keys").with("authorization", &format!("Bearer {MASTER}"));
    assert_eq!(
        listed.send(gateway.admin).json()["keys"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
}

#[test]
fn a_litellm_config_is_printed_and_its_differences_stay_beside_it() {
    let folder = Folder::new();
    let text = "model_list: [{ model_name: fast, litellm_params: { model: openai/gpt-5.5, api_key: os.environ/A } }]";
    folder.write("l.yaml", text);
    let ran = run(&folder, &["import", "litellm", "l.yaml"], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.contains("env:A") && ran.err.contains("set before the start: A"),
        "{}{}",
        ran.out,
        ran.err
    );
    folder.write("bardo.yaml", &ran.out);
    let checked = run(&folder, &["check"], &[("A", "k")]);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    for (arguments, code) in [
        (&["import", "litellm", "missing.yaml"][..], 1),
        (&["import", "litellm"], 2),
        (&["import", "litellm", "l.yaml", "--keys", "k.json"], 2),
    ] {
        assert_eq!(
            run(&folder, arguments, &[]).code,
            Some(code),
            "{arguments:?}"
        );
    }
}

#[test]
fn init_writes_what_this_machine_has_and_no_secret() {
    let sandbox = Sandbox::start();
    let folder = Folder::new();
    let environment = [
        ("OPENAI_API_KEY", SECRET),
        ("VENICE_API_KEY", SECRET),
        ("GROQ_API_KEY", SECRET),
    ];
    let local = sandbox.at("/local/v1");
    let told = done(
        &folder,
        &["init", "--yes", "--json", "--local", &local],
        &environment,
    );
    assert_eq!(told["servers"][0]["url"], local.as_str(), "{told}");
    assert_eq!(told["keys"].as_array().map(Vec::len), Some(3), "{told}");
    let text = std::fs::read_to_string(folder.0.join("bardo.yaml")).expect("a file");
    for words in [
        "env:OPENAI_API_KEY",
        "env:VENICE_API_KEY",
        "provider: groq",
        &local,
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert!(!text.contains("CANARY"), "{text}");
    let checked = run(&folder, &["check"], &environment);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    let again = run(&folder, &["init", "--yes", "--no-local"], &environment);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("--force"), "{}", again.err);
    assert_eq!(
        run(
            &folder,
            &["init", "--yes", "--no-local", "--force"],
            &environment
        )
        .code,
        Some(0)
    );
    let other = Folder::new();
    let nothing = run(&other, &["init", "--yes", "--no-local", "--json"], &[]);
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.err.contains("serve --sandbox") && !other.0.join("bardo.yaml").exists());
    let unasked = run(&other, &["init"], &environment);
    assert_eq!(unasked.code, Some(2), "{}", unasked.out);
    assert!(unasked.err.contains("--yes"), "{}", unasked.err);
}

#[test]
fn manual_pages_and_completions_know_every_verb() {
    let folder = Folder::new();
    let told = done(&folder, &["man", "--out", "man", "--json"], &[]);
    let files = told["files"].as_array().expect("files");
    assert!(files.len() > 25, "{told}");
    for file in files.iter().filter_map(Value::as_str) {
        let page = std::fs::read_to_string(folder.0.join("man").join(file)).expect("a page");
        assert!(
            page.contains(".TH ") && page.contains(".SH SYNOPSIS"),
            "{file}: {page}"
        );
    }
    let page = run(&folder, &["man", "keys", "create"], &[]);
    assert_eq!(page.code, Some(0), "{}", page.err);
    assert!(page.out.contains("deposit\\-usd"), "{}", page.out);
    assert_eq!(run(&folder, &["man", "fly"], &[]).code, Some(2));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&folder, &["completions", shell], &[]);
        assert_eq!(script.code, Some(0), "{shell}: {}", script.err);
        for verb in ["serve", "doctor", "init", "import", "refresh", "man", "top"] {
            assert!(script.out.contains(verb), "{shell} lacks {verb}");
        }
    }
}

#[test]
fn lists_are_refreshed_beside_a_server_and_without_one() {
    let sandbox = Sandbox::start();
    let mut settings = everything(&sandbox);
    settings["catalog"] = json!({ "live": true });
    let gateway = Gateway::start(&settings);
    let arguments = ["models", "refresh", "--config", "config.yaml", "--json"];
    eventually("the lists of the start are there", || {
        let status = gateway.status();
        let lists = status["lists"].as_array().map_or(0, Vec::len);
        (lists >= 8).then_some(())
    });
    sandbox.forget();
    let told = done(&gateway.folder, &arguments, &[]);
    assert_eq!(told, json!({ "server_told": true }));
    eventually("the server fetches its lists too", || {
        let asked = sandbox.journal();
        let of_venice = asked
            .iter()
            .filter(|entry| entry.to_string().contains("/venice/api/v1/models"));
        (of_venice.count() >= 2).then_some(())
    });
    let folder = Folder::new();
    folder.write("config.yaml", &settings.to_string());
    let told = done(&folder, &arguments, &[]);
    assert_eq!(told, json!({ "server_told": false }));
    assert!(folder.0.join(".bardo/models").is_dir());
    let listed = run(
        &folder,
        &["models", "list", "--config", "config.yaml", "--json"],
        &[],
    );
    assert!(listed.out.lines().count() > 10, "{}", listed.err);
    settings["providers"]["venice"]["base_url"] = json!("http://127.0.0.1:1/v1");
    folder.write("config.yaml", &settings.to_string());
    let failed = run(&folder, &arguments, &[]);
    assert_eq!(failed.code, Some(1), "{}", failed.out);
    assert!(failed.err.contains("1 of"), "{}", failed.err);
}

#[test]
fn top_shows_a_server_from_its_admin_api_and_says_what_to_do_without_one() {
    let folder = Folder::new();
    let nobody = run(
        &folder,
        &["top", "--once", "--admin-url", "http://127.0.0.1:1"],
        &[],
    );
    assert_eq!(nobody.code, Some(1), "{}", nobody.out);
    assert!(
        nobody.err.contains("bardo-gateway serve") && nobody.err.contains("--admin-url"),
        "{}",
        nobody.err
    );
    let sandbox = Sandbox::start();
    let settings = with(
        everything(&sandbox),
        "server",
        json!({ "admin_token": "a-token-of-operators" }),
    );
    let gateway = Gateway::start(&settings);
    let body = json!({ "model": "claude-sonnet-5-5", "max_tokens": 50, "messages": [{ "role": "user", "content": "Hello!" }] });
    assert_eq!(
        gateway
            .send(&Request::json("/v1/chat/completions", &body))
            .status(),
        200
    );
    let url = format!("http://{}", gateway.admin);
    let refused = run(&folder, &["top", "--once", "--admin-url", &url], &[]);
    assert_eq!(refused.code, Some(1), "{}", refused.out);
    assert!(refused.err.contains("BARDO_ADMIN_TOKEN"), "{}", refused.err);
    let token = [("BARDO_ADMIN_TOKEN", "a-token-of-operators")];
    let screen = run(&folder, &["top", "--once", "--admin-url", &url], &token);
    assert_eq!(screen.code, Some(0), "{}", screen.err);
    for words in ["live", "claude-sonnet", "direct/", "requests 1"] {
        assert!(screen.out.contains(words), "{words}: {}", screen.out);
    }
    let figures = done(&folder, &["top", "--json", "--admin-url", &url], &token);
    assert_eq!(figures["today"]["requests"], 1, "{figures}");
    assert_eq!(
        figures["requests"][0]["model"], "claude-sonnet-5-5",
        "{figures}"
    );
    let piped = run(&folder, &["top", "--admin-url", &url], &token);
    assert_eq!(piped.code, Some(2), "{}", piped.err);
}

#[test]
fn the_description_is_served_and_every_described_read_answers_as_described() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let body = json!({ "model": "claude-sonnet-5-5", "max_tokens": 50, "messages": [{ "role": "user", "content": "Hello!" }] });
    let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let receipt = answer
        .header("x-bardo-request-id")
        .expect("an id")
        .to_owned();
    let public = gateway.send(&Request::get("/openapi.json")).json();
    let whole = Request::get("/openapi.json").send(gateway.admin).json();
    assert_eq!(whole["openapi"], "3.1.0");
    assert!(public["paths"]["/admin/keys"].is_null());
    let made = Request::json("/admin/keys", &json!({ "deposit_usd": "1" }))
        .send(gateway.admin)
        .json();
    let (key, account) = (
        made["id"].as_str().expect("an id"),
        made["account"].as_str().expect("an account"),
    );
    let text = made["key"].as_str().expect("its text");
    let mut read = 0;
    for (path, operations) in whole["paths"].as_object().expect("paths") {
        let operation = &operations["get"];
        // A feed never ends.
        let content = &operation["responses"]["200"]["content"];
        let is_feed =
            content["application/json"].is_null() && content.get("text/event-stream").is_some();
        if operation.is_null() || is_feed {
            continue;
        }
        let is_admin = operation["operationId"]
            .as_str()
            .is_some_and(|id| id.starts_with("admin"));
        let place = path
            .replace("{model}", "claude-sonnet-5-5")
            .replace("{account}", account)
            .replace("{id}", if is_admin { key } else { &receipt });
        let request = Request::get(&place);
        // The receipt is the owner's, who sends no key.
        let answer = match is_admin {
            true => request.send(gateway.admin),
            false if path.contains("receipts") || path.contains("caps") => gateway.send(&request),
            false => gateway.send(&request.with("authorization", &format!("Bearer {text}"))),
        };
        let status = answer.status().to_string();
        let described = &operation["responses"][&status];
        assert!(
            !described.is_null(),
            "{place} answers {status}: {}",
            answer.text()
        );
        if status != "200" {
            continue;
        }
        read += 1;
        let kind = answer.header("content-type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default();
        let content = &described["content"][kind];
        assert!(!content.is_null(), "{place} answers {kind}");
        for member in content["schema"]["required"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let member = member.as_str().unwrap_or_default();
            assert!(
                answer.json().get(member).is_some(),
                "{place} lacks `{member}`: {}",
                answer.text()
            );
        }
    }
    assert!(read >= 18, "{read}");
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_the_workload_is_played() {
    let folder = Folder::new();
    let page = folder.0.join("absent").join("page.html");
    let page = page.to_str().expect("UTF-8");
    let ran = run(&folder, &["simulate", "--calls", "1", "--html", page], &[]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("cannot write"), "{}", ran.err);
    assert!(!ran.err.contains("seed"), "nothing was played: {}", ran.err);
}

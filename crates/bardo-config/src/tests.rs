use serde_json::json;

use super::*;

fn check(yaml: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
    let environment: Vec<(String, String)> = environment
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    let mut layers = Layers::default();
    layers.push(Layer::new("default", parse(DEFAULTS, "toml").unwrap()));
    let mut file = parse(yaml, "yaml").unwrap();
    canonical(&mut file)?;
    layers.push(Layer::new("test", file));
    layers.push(Layer::new("environment", overrides(&environment)));
    build(&layers, None, &environment, &|_| Vec::new()).map_err(|error| error.0)
}

#[test]
fn the_example_of_the_documentation_is_taken() {
    let config = check(
        r#"
providers:
  direct:
    keys:
      - { provider: openai,    api_key: "env:UP_KEY", base_url: "http://127.0.0.1:4010/v1", models: ["gpt-5.5"] }
      - { provider: anthropic, api_key: "k", base_url: "http://127.0.0.1:4010", models: ["claude-sonnet-5-5"] }
      - { provider: google,    api_key: "k", endpoint: "http://127.0.0.1:4010", models: ["gemini-3-flash"] }
      - { provider: local,     base_url: "http://127.0.0.1:4040/v1", models: ["*"], price: { input_per_million: 0, output_per_million: 0 } }
  openrouter: { api_key: "k", base_url: "http://127.0.0.1:4010/api/v1" }
  venice:     { api_key: "k", base_url: "http://127.0.0.1:4020/api/v1" }
"#,
        &[("UP_KEY", "secret-canary")],
    )
    .unwrap();
    let keys = &config.providers.direct.as_ref().unwrap().keys;
    assert_eq!(keys[0].api_key.as_ref().unwrap().expose(), "secret-canary");
    assert_eq!(keys[2].base_url.as_deref(), Some("http://127.0.0.1:4010"));
    assert!(!format!("{config:?}").contains("canary"));
}

#[test]
fn refusals_name_key_value_and_fix() {
    let refusal = |yaml| check(yaml, &[]).unwrap_err();
    assert_eq!(
        refusal("server: { hartbeat: 5s }"),
        "configuration: `server`: unknown key `hartbeat`; did you mean `heartbeat`?"
    );
    assert!(
        refusal("server: { heartbeat: soon }")
            .contains("`server.heartbeat`: `soon` is not a duration")
    );
    assert!(
        refusal("providers: { direct: { keys: [ { provider: opnai } ] } }")
            .contains("did you mean `openai`?")
    );
    assert!(refusal("server: { admin_listen: '0.0.0.0:8403' }").contains("`server.admin_token`"));
    assert!(
        refusal("providers: { venice: { api_key: os.environ/VENICE_KEY } }")
            .contains("form of LiteLLM; write `env:VENICE_KEY`")
    );
    assert!(refusal("model_list: []").contains("docs/migrating-from-litellm.md"));
    assert!(
        refusal("providers: { openai: { api_key: k } }")
            .contains("API keys of makers belong to `providers.direct.keys`")
    );
    assert!(!parse("a: [", "yaml").unwrap_err().starts_with("error:"));
    assert!(
        refusal("providers: { venice: { api_key: 'env:NOPE' } }").contains("`NOPE` is not set")
    );
    assert!(
        refusal("auth: { keys: [ { id: a, key: short } ] }").contains("at least 16 characters")
    );
    assert!(refusal("upstream: { max_attempts: 0 }").contains("at least 1"));
    for share in ["-0.1", "1.5"] {
        let yaml = format!("upstream: {{ retry_budget: {share} }}");
        let told = check(&yaml, &[]).unwrap_err();
        assert!(told.contains("retry_budget"), "{told}");
    }
    let told = refusal("upstream: { breaker: { failures: 0 } }");
    assert!(told.contains("breaker.enabled"), "{told}");
}

#[test]
fn a_duration_without_a_unit_and_an_address_without_a_port_are_told_with_what_to_write() {
    for number in ["120", "'120'"] {
        let yaml = format!("upstream: {{ total_timeout: {number} }}");
        let told = check(&yaml, &[]).unwrap_err();
        assert_eq!(
            told,
            "configuration: `upstream.total_timeout`: `120` has no unit; write \"120s\" for seconds, or \"120ms\""
        );
    }
    for address in ["127.0.0.1", "8402"] {
        let yaml = format!("server: {{ listen: {address} }}");
        let told = check(&yaml, &[]).unwrap_err();
        assert!(told.contains("`127.0.0.1:8402`"), "{told}");
    }
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_and_each_one_once() {
    let told = check(
        "
server: { listen: 127.0.0.1, admin_tokn: x, max_header: 2MiB, drain: soon }
upstream: { total_timeout: 120, max_attempts: 0, retry_budget: 2, breaker: { failures: 0 } }
cache: { scope: team, hash: { enabled: 1 } }
store: { url: 'env:DATABASE' }
auth:
  keys:
    - { id: one, key: short }
    - { id: two, key: 'env:CALLER' }
    - { id: two, key: 0123456789abcdef }
    - { id: three }
providers:
  direct: { keys: [ { provider: opnai, api_key: 'env:UP', bill: 'env:BILL' } ] }
inference:
  routes: { risc: [venice] }
  profiles: { risk: { temperature: 3, top_k: 0 } }
  max_cost_usd: 0
",
        &[],
    )
    .unwrap_err();
    let lines: Vec<&str> = told.lines().skip(1).map(str::trim).collect();
    let begins = [
        "`store.url`: the environment variable `DATABASE`",
        "`auth.keys[1].key`: the environment variable `CALLER`",
        "`providers.direct.keys[0].api_key`: the environment variable `UP`",
        "`providers.direct.keys[0].bill`: the environment variable `BILL`",
        "`server.listen`: write address and port",
        "`server`: unknown key `admin_tokn`",
        "`server.drain`: `soon` is not a duration",
        "`upstream.total_timeout`: `120` has no unit",
        "`cache.scope`: unknown value `team`",
        "`cache.hash.enabled`: must be `true` or `false`",
        "`auth.keys[3]`: the setting `key` is missing",
        "`providers.direct.keys[0].provider`: unknown",
        "`upstream.max_attempts` must be at least 1",
        "`upstream.retry_budget`",
        "`upstream.breaker.failures` must be at least 1",
        "`server.max_header` must be at most",
        "`auth.keys[0].key` must have",
        "`auth.keys[2].id`: `two` is used twice",
        "`inference.routes`: unknown subsystem `risc`",
        "`inference.profiles.risk.temperature` must be",
        "`inference.profiles.risk.top_k` must be",
        "`inference.max_cost_usd` must be above 0",
    ];
    for begin in begins {
        let found = lines.iter().filter(|line| line.starts_with(begin)).count();
        assert_eq!(found, 1, "{begin}\n{told}");
    }
    assert_eq!(lines.len(), begins.len(), "{told}");
    assert!(told.contains("22 mistakes"), "{told}");
}

#[test]
fn the_environment_wins_over_the_file() {
    let config = check(
        "server: { drain: 1m }",
        &[
            ("BARDO_SERVER__DRAIN", "7s"),
            ("BARDO_UPSTREAM__MAX_ATTEMPTS", "2"),
        ],
    )
    .unwrap();
    assert_eq!(config.server.drain.0.as_secs(), 7);
    assert_eq!(config.upstream.max_attempts, 2);
}

#[test]
fn the_path_of_a_secret_may_name_a_variable() {
    let folder = std::env::temp_dir().join(format!("bardo-config-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("token"), "0123456789abcdef\n").expect("a file");
    let named = folder.display().to_string();
    let yaml = r#"server: { admin_token: "file:${CREDENTIALS_DIRECTORY}/token" }"#;
    let config = check(yaml, &[("CREDENTIALS_DIRECTORY", &named)]);
    std::fs::remove_dir_all(&folder).expect("it is ours");
    let token = config.expect("it is read").server.admin_token;
    assert_eq!(token.expose(), "0123456789abcdef");
    let refused = check(yaml, &[]).expect_err("the folder is unknown");
    assert!(
        refused.contains(
            "`server.admin_token`: the environment variable `CREDENTIALS_DIRECTORY` is not set"
        ),
        "{refused}"
    );
}

#[test]
fn shown_settings_name_their_source_and_hide_secrets() {
    let mut layers = Layers::default();
    layers.push(Layer::new("default", parse(DEFAULTS, "toml").unwrap()));
    layers.push(Layer::new(
        "f.yaml",
        parse("providers: { venice: { api_key: canary } }", "yaml").unwrap(),
    ));
    let rows = layers.effective();
    let row = |name: &str| rows.iter().find(|row| row.0 == name).unwrap();
    assert_eq!(row("providers.venice.api_key").1, "[redacted]");
    assert_eq!(row("providers.venice.api_key").2, "f.yaml");
    assert_eq!(row("server.drain").2, "default");
}

/// The names of the settings that hold a secret, as the source has them.
fn names_of_secrets() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/raw");
    let files = std::fs::read_dir(folder).unwrap();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok());
    let names = texts.flat_map(|text| {
        let fields = text.lines().filter_map(|line| {
            let (name, kind) = line.trim().strip_suffix(',')?.split_once(": ")?;
            let is_secret = ["Secret", "Option<Secret>", "Vec<Secret>"].contains(&kind);
            is_secret.then(|| name.trim_start_matches("pub ").to_owned())
        });
        fields.collect::<Vec<_>>()
    });
    names.collect()
}

#[test]
fn no_setting_that_holds_a_secret_is_shown() {
    let names = names_of_secrets();
    assert!(
        names.iter().any(|name| name == "settlement_key"),
        "{names:?}"
    );
    for name in names {
        for value in [json!("canary"), json!(["canary"])] {
            let mut layers = Layers::default();
            let section = json!({ "section": { name.as_str(): value } });
            layers.push(Layer::new("f.yaml", section));
            let shown = format!("{:?}", layers.effective());
            assert!(!shown.contains("canary"), "{name}: {shown}");
        }
    }
}

#[test]
fn without_a_file_the_usual_variables_are_backends() {
    let environment = vec![
        ("OPENAI_API_KEY".to_owned(), "sk-1234".to_owned()),
        ("BLOCKRUN_API_KEY".to_owned(), "brk_live_1".to_owned()),
    ];
    let tree = credentials(&environment);
    assert_eq!(tree["providers"]["direct"]["keys"][0]["provider"], "openai");
    assert_eq!(
        tree["providers"]["direct"]["keys"][0]["api_key"],
        "env:OPENAI_API_KEY"
    );
    assert_eq!(
        tree["providers"]["blockrun"]["api_key"],
        "env:BLOCKRUN_API_KEY"
    );
}

#[test]
fn the_shipped_examples_are_taken() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/config");
    let environment = [
        ("ANTHROPIC_API_KEY", "a"),
        ("OPENAI_API_KEY", "b"),
        ("GEMINI_API_KEY", "c"),
        ("OPENROUTER_API_KEY", "d"),
        ("BLOCKRUN_API_KEY", "e"),
        ("VENICE_API_KEY", "f"),
        ("BANKR_API_KEY", "g"),
        ("GROQ_API_KEY", "h"),
        ("ACME_API_KEY", "i"),
        ("CALLER_KEY", "0123456789abcdef"),
    ];
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let config =
            check(&text, &environment).unwrap_or_else(|reason| panic!("{path:?}: {reason}"));
        assert!(config.has_providers(), "{path:?}");
        seen += 1;
    }
    assert!(seen >= 3, "the examples have moved");
}

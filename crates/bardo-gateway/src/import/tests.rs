use super::*;

fn read(text: &str) -> Imported {
    litellm(text, false, &[]).unwrap()
}

/// Whether a difference at a place is told with a word of its reason.
#[track_caller]
fn tells(imported: &Imported, place: &str, word: &str) {
    let mut all = imported.differences.iter();
    assert!(
        all.any(|one| one.place.contains(place) && one.reason.contains(word)),
        "{place}, {word}: {:#?}",
        imported.differences
    );
}

const TEAM: &str = r#"
model_list:
  - model_name: gpt-5.5
    litellm_params: { model: openai/gpt-5.5, api_key: os.environ/OPENAI_API_KEY, rpm: 500 }
  - model_name: gpt-5.5
    litellm_params: { model: openai/gpt-5.5, api_key: os.environ/OPENAI_API_KEY_2 }
  - model_name: sonnet
    litellm_params:
      model: anthropic/claude-sonnet-5-5
      api_key: os.environ/ANTHROPIC_API_KEY
      input_cost_per_token: 0.000002
      output_cost_per_token: 1e-05
  - model_name: flash
    litellm_params: { model: gemini/gemini-3-flash, api_key: os.environ/GEMINI_API_KEY }
  - model_name: chat-azure
    litellm_params:
      model: azure/chat-deployment
      api_base: os.environ/AZURE_API_BASE
      api_key: os.environ/AZURE_API_KEY
      api_version: "2024-10-21"
    model_info: { base_model: azure/gpt-5.5 }
  - model_name: llama
    litellm_params: { model: ollama_chat/llama3.2, api_base: "http://ollama:11434" }
  - model_name: mixtral
    litellm_params: { model: groq/mixtral-8x7b, api_key: os.environ/GROQ_API_KEY }
  - model_name: opus-router
    litellm_params: { model: openrouter/anthropic/claude-opus-5.5, api_key: os.environ/OPENROUTER_API_KEY }
  - model_name: house
    litellm_params: { model: openai/house-7b, api_base: "https://llm.example.com/v1", api_key: sk-written-in-the-file }
  - model_name: titan
    litellm_params: { model: bedrock/amazon.titan-text-express-v1, aws_region_name: us-east-1 }
  - model_name: pictures
    litellm_params: { model: openai/gpt-image-2 }
    model_info: { mode: image_generation }
litellm_settings:
  num_retries: 2
  request_timeout: 120
  drop_params: true
  cache: true
  cache_params: { type: redis, ttl: 600 }
  success_callback: ["langfuse", "prometheus"]
router_settings:
  routing_strategy: usage-based-routing-v2
  fallbacks: [{ sonnet: [gpt-5.5, titan] }]
  context_window_fallbacks: [{ llama: [sonnet] }]
  model_group_alias: { gpt-4: gpt-5.5 }
  allowed_fails: 3
  cooldown_time: 30
  redis_host: redis.example
general_settings:
  master_key: os.environ/LITELLM_MASTER_KEY
  database_url: os.environ/DATABASE_URL
  alerting: ["slack"]
"#;

#[test]
fn a_configuration_of_a_team_is_converted_with_every_difference_named() {
    let imported = read(TEAM);
    assert_eq!(imported.models.len(), 8, "{:?}", imported.models);
    assert_eq!(imported.skipped, 2);
    tells(&imported, "model_list[9] (titan: bedrock/", "AWS");
    tells(&imported, "model_list[10] (pictures", "image_generation");
    tells(&imported, "router_settings.fallbacks.sonnet", "titan");
    tells(&imported, "model_list[8].api_key", "not copied");
    tells(&imported, "litellm_params.rpm", "keys create");
    tells(&imported, "router_settings.routing_strategy", "order");
    tells(
        &imported,
        "router_settings.context_window_fallbacks",
        "context_too_long",
    );
    tells(&imported, "general_settings.database_url", "SQLite");
    tells(
        &imported,
        "several keys of openai",
        "while the first one fails",
    );
    assert!(
        !imported.text.contains("sk-written-in-the-file"),
        "{}",
        imported.text
    );
    assert!(imported.unset.contains(&"AZURE_API_BASE".to_owned()));
    insta::assert_snapshot!("team", imported.text);
}

#[test]
fn names_without_a_prefix_and_wildcards_are_read_as_litellm_reads_them() {
    let imported = read(
        r#"
model_list:
  - model_name: claude-sonnet-5-5
    litellm_params: { model: claude-sonnet-5-5 }
  - model_name: "openai/*"
    litellm_params: { model: "openai/*", api_key: os.environ/OPENAI_API_KEY }
  - model_name: local-code
    litellm_params: { model: hosted_vllm/Qwen/Qwen3-Coder, api_base: http://127.0.0.1:8000/v1 }
"#,
    );
    assert_eq!(imported.unset, ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]);
    assert!(
        imported.text.contains("local-code: Qwen/Qwen3-Coder"),
        "{}",
        imported.text
    );
    assert!(!imported.text.contains("bill: true"), "{}", imported.text);
}

#[test]
fn a_name_with_several_models_falls_back_from_the_first_to_the_others() {
    let imported = read(
        r#"
model_list:
  - model_name: best
    litellm_params: { model: anthropic/claude-opus-5-5 }
  - model_name: best
    litellm_params: { model: openai/gpt-5.5 }
  - model_name: cheap
    litellm_params: { model: gemini/gemini-3-flash }
router_settings:
  default_fallbacks: [cheap]
"#,
    );
    assert!(
        imported.text.contains("best: claude-opus-5-5"),
        "{}",
        imported.text
    );
    assert!(
        imported.text.contains("best: [gpt-5.5]"),
        "{}",
        imported.text
    );
    tells(&imported, "model_name `best`", "fallbacks");
}

#[test]
fn a_default_fallback_is_of_the_kind_of_its_model() {
    let imported = read(
        r#"
model_list:
  - model_name: cheap
    litellm_params: { model: gemini/gemini-3-flash }
  - model_name: best
    litellm_params: { model: anthropic/claude-opus-5-5 }
  - model_name: text-embedding-3-small
    litellm_params: { model: openai/text-embedding-3-small }
  - model_name: vectors
    litellm_params: { model: hosted_vllm/bge-m3, api_base: http://127.0.0.1:8000/v1 }
    model_info: { mode: embedding }
litellm_settings:
  default_fallbacks: [cheap]
"#,
    );
    let text = &imported.text;
    assert!(text.contains("best: [cheap]"), "{text}");
    assert!(!text.contains("vectors: [cheap]"), "{text}");
    assert!(!text.contains("text-embedding-3-small: [cheap]"), "{text}");
}

#[test]
fn what_replaces_alerts_telemetry_and_the_cache_is_named() {
    let imported = read(TEAM);
    tells(&imported, "general_settings.alerting", "`alerts: {");
    tells(
        &imported,
        "success_callback: langfuse",
        "LANGFUSE_PUBLIC_KEY",
    );
    tells(&imported, "litellm_settings.cache", "cache=default");
    tells(&imported, "budgets", "models list --unpriced");
}

#[test]
fn files_that_cannot_be_used_are_refused_with_the_reason() {
    for (text, words) in [
        ("- a", "must be a table"),
        ("a: [", "not YAML"),
        ("general_settings: {}", "model_list"),
        ("model_list: []", "no entry"),
        (
            "model_list: [{ model_name: x, litellm_params: { model: bedrock/x } }]",
            "AWS",
        ),
    ] {
        let refused = litellm(text, false, &[]).unwrap_err();
        assert!(refused.contains(words), "{text}: {refused}");
    }
}

#[test]
fn no_text_of_the_file_becomes_a_setting_of_another_kind() {
    let imported = read(
        r##"
model_list:
  - model_name: "a: b # c\n  admin_token: x"
    litellm_params: { model: "openai/g\"]\nserver: { admin_token: y }", api_key: os.environ/K }
"##,
    );
    let loaded = config::of_text(&imported.text, &[("K".into(), "k".into())]).unwrap();
    assert!(
        loaded.config.server.admin_token.is_empty(),
        "{}",
        imported.text
    );
}

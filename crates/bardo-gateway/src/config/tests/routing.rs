//! Routing and profiles in configuration: the files that the sources show, and the refusals.

use bardo_types::model::Effort;
use bardo_types::privacy::SecurityClass;

use super::check;
use crate::assemble::{notices, policy, profiles};
use crate::config::Config;

/// The variables that the sources' files name.
const VARIABLES: &[(&str, &str)] = &[
    ("VENICE_API_KEY", "vk"),
    ("OPENAI_API_KEY", "sk"),
    ("ANTHROPIC_API_KEY", "sk-ant"),
    ("GOOGLE_API_KEY", "AIza"),
    ("OPENROUTER_API_KEY", "sk-or"),
    ("BANKR_WALLET_ADDRESS", "0xabc"),
    ("BANKR_API_KEY", "bk"),
];

const SOLO: &str = r"
providers:
  venice:
    api_key: ${VENICE_API_KEY}
    diem_staked: true
    default_privacy_tier: private
";

const SERIOUS: &str = r#"
providers:
  blockrun:
    endpoint: "https://api.blockrun.ai"
  venice:
    api_key: ${VENICE_API_KEY}
    diem_staked: true
    default_privacy_tier: tee
    characters:
      risk-assessor: analytical-conservative
      negotiator: adversarial-game-theoretic
      safety-guardian: cautious-refusal
  direct:
    keys:
      - provider: openai
        api_key: ${OPENAI_API_KEY}
        models: ["gpt-4.1", "o3"]
inference:
  provider_mode: "both"
  dream_provider: "venice"
"#;

const FULL: &str = r#"
providers:
  blockrun:
    endpoint: "https://api.blockrun.ai"
  openrouter:
    api_key: ${OPENROUTER_API_KEY}
  venice:
    api_key: ${VENICE_API_KEY}
    diem_staked: true
    default_privacy_tier: tee
    characters:
      risk-assessor: analytical-conservative
      dream-interpreter: associative-generative
    cache:
      stable_kernel_ttl_s: 300
      session_epoch_advance_on: ["dream_cycle_start", "phase_transition"]
    multimodal:
      embeddings: true
      tts_alerts: true
      image_generation: false
  bankr:
    wallet: ${BANKR_WALLET_ADDRESS}
    subsystems: ["autonomous", "social"]
  direct:
    keys:
      - provider: anthropic
        api_key: ${ANTHROPIC_API_KEY}
        models: ["claude-opus-4-6", "claude-sonnet-4"]
      - provider: openai
        api_key: ${OPENAI_API_KEY}
        models: ["gpt-4.1", "o3"]
      - provider: google
        api_key: ${GOOGLE_API_KEY}
        models: ["gemini-2.5-pro"]
inference:
  provider_mode: "both"
  dream_provider: "venice"
  tiers:
    T1:
      provider: "blockrun/claude-haiku-4-5"
    T2:
      provider: "blockrun/claude-sonnet-4"
"#;

/// The sources' bardo.toml, as YAML.
const OVERRIDES: &str = r#"
inference:
  profiles:
    heartbeat_t1: { temperature: 0.3, reasoning_effort: "low" }
    dream_rem: { temperature: 1.0, min_p: 0.08 }
    risk: {}
  embeddings: { provider: "local", venice_model: "text-embedding-bge-m3" }
  caching: { auto_cache_control: true, prompt_cache_key_prefix: "golem" }
  providers:
    bankr:
      api_key: "env:BANKR_API_KEY"
      auto_topup: true
      auto_topup_amount_usd: 25.0
      auto_topup_threshold_usd: 5.0
      auto_topup_token: "USDC"
"#;

fn read(yaml: &str) -> Config {
    check(yaml, VARIABLES).unwrap_or_else(|reason| panic!("{reason}"))
}

#[test]
fn the_setups_of_the_sources_are_taken_as_they_are_written() {
    let solo = read(SOLO);
    assert!(policy(&solo).diem_staked);
    let serious = policy(&read(SERIOUS));
    assert_eq!(serious.routes["dream_rem"][0], "venice");
    assert!(serious.routes["dream_nrem"].contains(&"blockrun".to_owned()));
    assert!(!serious.routes.contains_key("risk"));
    let config = read(FULL);
    let full = policy(&config);
    assert_eq!(full.t1.as_deref(), Some("blockrun/claude-haiku-4-5"));
    assert_eq!(full.t2.as_deref(), Some("blockrun/claude-sonnet-4"));
    assert!(full.bankr.self_funding, "a wallet is there to pay");
    let blockrun = config.providers.blockrun.as_ref().unwrap();
    assert_eq!(
        blockrun.base_url.as_deref(),
        Some("https://api.blockrun.ai")
    );
}

#[test]
fn a_wallet_without_a_key_is_told_and_the_others_are_asked() {
    let config = read(FULL);
    let backends = crate::assemble::backends(&config).unwrap();
    let names: Vec<&str> = backends
        .iter()
        .map(|backend| backend.endpoint.name.as_str())
        .collect();
    assert!(!names.contains(&"bankr"), "{names:?}");
    assert_eq!(names.len(), 6);
    let told = notices(&config).join("\n");
    assert!(told.contains("`providers.bankr.api_key`"), "{told}");
    assert!(told.contains("`providers.venice.characters`"), "{told}");
}

#[test]
fn overrides_of_profiles_hold_where_nobody_locked_them() {
    let config = read(OVERRIDES);
    let all = profiles(&config);
    assert_eq!(all["heartbeat_t1"].temperature, Some(0.3));
    assert_eq!(all["heartbeat_t1"].reasoning_effort, Some(Effort::Low));
    assert_eq!(all["dream_rem"].min_p, Some(0.08));
    assert!(!all.contains_key("risk"));
    let told = notices(&config).join("\n");
    assert!(
        told.contains("`inference.profiles.risk` is ignored"),
        "{told}"
    );
    let bankr = config.providers.bankr.as_ref().unwrap();
    assert!(bankr.is_self_funding());
}

#[test]
fn a_sealed_testament_needs_attested_hardware_unless_its_profile_says_otherwise() {
    let tee_mode = |yaml: &str| {
        let all = profiles(&read(yaml));
        all.get("death_testament")
            .and_then(|profile| profile.tee_mode)
    };
    assert_eq!(tee_mode("{}"), None);
    assert_eq!(
        tee_mode("inference: { sealed_testament: true }"),
        Some(true)
    );
    let own =
        "inference: { sealed_testament: true, profiles: { death_testament: { tee_mode: false } } }";
    assert_eq!(tee_mode(own), Some(false));
}

#[test]
fn embeddings_come_from_the_model_of_venice_where_the_owner_says_so() {
    let embedder = |yaml: &str| policy(&read(yaml)).embedder;
    assert_eq!(embedder("{}"), None);
    let venice = "inference: { embeddings: { provider: venice } }";
    assert_eq!(
        embedder(venice).as_deref(),
        Some("venice/text-embedding-bge-m3")
    );
    let told = notices(&read(venice)).join("\n");
    assert!(
        told.contains("`inference.embeddings.provider` names `venice`"),
        "{told}"
    );
    assert!(!told.contains("venice_model"), "{told}");
}

#[test]
fn without_marks_for_caches_no_profile_asks_for_them() {
    let config = read("inference: { caching: { auto_cache_control: false } }");
    let all = profiles(&config);
    assert_eq!(all["heartbeat_t2"].cache_control, Some(false));
    assert!(!all.contains_key("operator"), "nobody changes a locked one");
}

#[test]
fn keepalive_is_off_until_the_owner_switches_it_on_and_its_limits_are_checked() {
    assert!(!read("{}").inference.caching.keepalive.enabled);
    let config = check("{}", &[("BARDO_INFERENCE_CACHE_KEEPALIVE", "true")]);
    assert!(config.unwrap().inference.caching.keepalive.enabled);
    for (wrong, told) in [
        (
            "in_row: 0",
            "`inference.caching.keepalive.in_row` must be from 1 to 24",
        ),
        (
            "usd_per_day: -1",
            "`inference.caching.keepalive.usd_per_day`",
        ),
    ] {
        let yaml = format!("inference: {{ caching: {{ keepalive: {{ {wrong} }} }} }}");
        let refused = check(&yaml, &[]).unwrap_err();
        assert!(refused.contains(told), "{refused}");
    }
}

#[test]
fn gemini_stores_nothing_until_the_owner_tells_what_storage_costs() {
    let caching = |inner: &str| format!("inference: {{ caching: {{ gemini: {{ {inner} }} }} }}");
    assert!(!read("{}").inference.caching.gemini.enabled);
    for (wrong, told) in [
        (
            "enabled: true",
            "needs `inference.caching.gemini.storage_usd_per_mtok_hour`",
        ),
        ("storage_usd_per_mtok_hour: 0", "must be above 0"),
        (
            "storage_usd_per_mtok_hour: -1",
            "`inference.caching.gemini.storage_usd_per_mtok_hour`",
        ),
        ("usd_per_day: -1", "`inference.caching.gemini.usd_per_day`"),
    ] {
        let refused = check(&caching(wrong), &[]).unwrap_err();
        assert!(refused.contains(told), "{refused}");
    }
    let set = caching("enabled: true, storage_usd_per_mtok_hour: 1.5");
    assert!(check(&set, &[]).unwrap().inference.caching.gemini.enabled);
}

#[test]
fn the_environment_names_the_models_of_the_tiers_as_it_always_did() {
    let config = check(
        FULL,
        &[
            VARIABLES,
            &[
                ("BARDO_T1_MODEL", "openrouter/gemini-3-flash"),
                ("BARDO_BLOCKRUN_ENDPOINT", "https://b.example"),
            ],
        ]
        .concat(),
    )
    .unwrap();
    assert_eq!(
        policy(&config).t1.as_deref(),
        Some("openrouter/gemini-3-flash")
    );
    let blockrun = config.providers.blockrun.as_ref().unwrap();
    assert_eq!(blockrun.base_url.as_deref(), Some("https://b.example"));
}

#[test]
fn what_is_said_of_a_group_holds_for_each_of_its_rows() {
    let config = read(
        "
privacy: { strict: true, floors: { dream: tee, dream-rem: standard, curator: Private } }
inference:
  routes: { dream: [venice], dream_nrem: [local, venice], operator: [bankr, blockrun] }
",
    );
    let policy = policy(&config);
    assert!(policy.privacy_strict);
    assert_eq!(policy.floors["dream_nrem"], SecurityClass::Tee);
    assert_eq!(policy.floors["dream_rem"], SecurityClass::Standard);
    assert_eq!(policy.floors["curator"], SecurityClass::Private);
    assert_eq!(policy.routes["dream_rem"], ["venice"]);
    assert_eq!(policy.routes["dream_nrem"], ["local", "venice"]);
    assert_eq!(policy.routes["operator"], ["bankr", "blockrun"]);
}

#[test]
fn trust_in_local_servers_is_trust_in_all_of_them() {
    let local = "{ base_url: 'http://127.0.0.1:1/v1', trusted_local: true }";
    let key = |trusted| {
        format!(
            "{{ provider: local, base_url: 'http://127.0.0.1:2/v1', trusted_local: {trusted} }}"
        )
    };
    let trusted = |yaml: String| policy(&read(&yaml)).trusted_local;
    assert!(trusted(format!("providers: {{ local: {local} }}")));
    let both = |second| {
        format!(
            "providers: {{ local: {local}, direct: {{ keys: [{}] }} }}",
            key(second)
        )
    };
    assert!(trusted(both(true)));
    assert!(!trusted(both(false)));
    assert!(!trusted("providers: { venice: { api_key: k } }".into()));
}

#[test]
fn the_provider_mode_leaves_providers_out() {
    let names = |mode: &str| -> Vec<String> {
        let config = read(&SERIOUS.replace("\"both\"", mode));
        let backends = crate::assemble::backends(&config).unwrap();
        backends
            .iter()
            .map(|backend| backend.endpoint.name.clone())
            .collect()
    };
    assert_eq!(names("both").len(), 3);
    assert_eq!(names("venice"), ["venice"]);
    assert_eq!(names("bardo"), ["direct/openai", "blockrun"]);
}

#[test]
fn names_that_nobody_knows_are_refused_with_the_one_that_was_meant() {
    let refusal = |yaml: &str, parts: &[&str]| {
        let told = check(yaml, VARIABLES).unwrap_err();
        for part in parts {
            assert!(told.contains(part), "{yaml}: {told}");
        }
    };
    refusal(
        "inference: { routes: { dream_rme: [venice] } }",
        &[
            "`inference.routes`",
            "unknown subsystem `dream_rme`",
            "did you mean `dream_rem`?",
        ],
    );
    refusal(
        "inference: { routes: { risk: [venise] } }",
        &[
            "`inference.routes.risk`",
            "unknown backend `venise`",
            "did you mean `venice`?",
        ],
    );
    refusal(
        "inference: { routes: { risk: [direct/opnai] } }",
        &["did you mean `direct/openai`?"],
    );
    refusal(
        "inference: { routes: { risk: [] } }",
        &["inference.routes.risk", "name a backend"],
    );
    refusal(
        "inference: { profiles: { hartbeat_t1: {} } }",
        &["`inference.profiles`", "did you mean `heartbeat_t1`?"],
    );
    refusal(
        "inference: { profiles: { dream: { temprature: 1 } } }",
        &["`inference.profiles.dream`", "did you mean `temperature`?"],
    );
    refusal(
        "inference: { profiles: { dream: { temperature: 2.5 } } }",
        &["`inference.profiles.dream.temperature` must be 0 to 2, not 2.5"],
    );
    refusal(
        "inference: { profiles: { dream: { reasoning_effort: hihg } } }",
        &["reasoning_effort", "did you mean `high`?"],
    );
    refusal(
        "privacy: { floors: { dream: privat } }",
        &["`privacy.floors.dream`", "did you mean `private`?"],
    );
    refusal(
        "catalog: { models: [ { id: x, features: [visible_thinkin] } ] }",
        &[
            "catalog.models[0].features",
            "did you mean `visible_thinking`?",
        ],
    );
    refusal(
        "catalog: { models: [ { id: x, tier: forntier } ] }",
        &["did you mean `frontier`?"],
    );
    refusal(
        "catalog: { models: [ { id: x, rating: 101 } ] }",
        &["`catalog.models[0].rating`"],
    );
    refusal(
        "providers: { bankr: { api_key: k, subsystems: [oprator] } }",
        &["`providers.bankr.subsystems`", "did you mean `operator`?"],
    );
    refusal(
        "inference: { dream_provider: venize }",
        &["did you mean `venice`?"],
    );
    refusal(
        "providers: { openrouter: { api_key: k, diem_staked: true } }",
        &["`providers.openrouter`", "`diem_staked`"],
    );
}

#[test]
fn numbers_that_mean_nothing_are_refused() {
    for (yaml, key) in [
        ("inference: { max_cost_usd: 0 }", "inference.max_cost_usd"),
        (
            "inference: { death_reserve_usd: -1 }",
            "inference.death_reserve_usd",
        ),
        (
            "inference: { weights: { cost: [-1, 0] } }",
            "inference.weights.cost",
        ),
        (
            "providers: { bankr: { api_key: k, max_call_usd: -1 } }",
            "providers.bankr.max_call_usd",
        ),
        (
            "providers: { bankr: { api_key: k, sustainability: -0.5 } }",
            "providers.bankr.sustainability",
        ),
    ] {
        let told = check(yaml, &[]).unwrap_err();
        assert!(told.contains(key), "{yaml}: {told}");
    }
    let none = "inference: { weights: { cost: [0, 0], quality: [0, 0], latency: [0, 0], features: [0, 0], privacy: [0, 0] } }";
    assert!(check(none, &[]).unwrap_err().contains("above 0"));
}

#[test]
fn an_agent_may_have_parts_of_its_own_that_bankr_pays() {
    let config = read("providers: { bankr: { api_key: k, subsystems: [operator, newsletter] } }");
    assert_eq!(policy(&config).bankr.subsystems, ["operator", "newsletter"]);
}

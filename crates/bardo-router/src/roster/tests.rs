use super::*;

fn spec(name: &str, service: Service, models: &[&str]) -> (BackendSpec, BackendModels) {
    let filter = ModelFilter::new(models.iter().map(|&model| model.to_owned()).collect());
    (
        BackendSpec {
            name: name.into(),
            service,
            filter,
        },
        BackendModels::Snapshot,
    )
}

fn roster(backends: Vec<(BackendSpec, BackendModels)>) -> Roster {
    let mut builder = RosterBuilder::new(Arc::new(Catalog::embedded()));
    for (spec, models) in backends {
        builder.backend(spec, models, None);
    }
    builder.alias("fast".into(), "gpt-5.5".into());
    builder.build()
}

#[track_caller]
fn check(roster: &Roster, name: &str, expected: &[(&str, &str)]) {
    let found = roster.resolve(name).unwrap();
    let seen: Vec<(&str, &str)> = found
        .iter()
        .map(|c| {
            (
                roster.backends()[c.backend].name.as_str(),
                c.entry.upstream_id.as_str(),
            )
        })
        .collect();
    assert_eq!(seen, expected, "{name}");
}

fn full() -> Roster {
    roster(vec![
        spec("direct/openai", Service::OpenAi, &["gpt-5.5"]),
        spec(
            "direct/anthropic",
            Service::Anthropic,
            &["claude-sonnet-5-5"],
        ),
        spec("local", Service::Local, &["*"]),
        spec("openrouter", Service::OpenRouter, &[]),
        spec("blockrun", Service::BlockRun, &[]),
    ])
}

#[test]
fn a_named_model_goes_to_every_backend_that_has_it_in_the_owners_order() {
    let roster = full();
    check(
        &roster,
        "gpt-5.5",
        &[
            ("direct/openai", "gpt-5.5"),
            ("openrouter", "openai/gpt-5.5"),
            ("blockrun", "openai/gpt-5.5"),
        ],
    );
    check(
        &roster,
        "claude-sonnet-5-5-20261001",
        &[
            ("direct/anthropic", "claude-sonnet-5-5"),
            ("openrouter", "anthropic/claude-sonnet-5.5"),
        ],
    );
    check(
        &roster,
        "fast",
        &[
            ("direct/openai", "gpt-5.5"),
            ("openrouter", "openai/gpt-5.5"),
            ("blockrun", "openai/gpt-5.5"),
        ],
    );
}

#[test]
fn a_spelling_that_one_backend_lists_raw_hides_no_other() {
    let roster = roster(vec![
        spec("direct/anthropic", Service::Anthropic, &[]),
        spec("openrouter", Service::OpenRouter, &[]),
        spec("bankr", Service::Bankr, &[]),
    ]);
    check(
        &roster,
        "claude-sonnet-4.6",
        &[
            ("direct/anthropic", "claude-sonnet-4-6"),
            ("bankr", "claude-sonnet-4.6"),
        ],
    );
    check(
        &roster,
        "openrouter/claude-opus-5.5",
        &[("openrouter", "anthropic/claude-opus-5.5")],
    );
}

#[test]
fn a_pin_names_one_backend_even_for_unlisted_models() {
    let roster = full();
    check(
        &roster,
        "openrouter/gpt-5.5",
        &[("openrouter", "openai/gpt-5.5")],
    );
    check(&roster, "local/llama3:8b", &[("local", "llama3:8b")]);
    check(
        &roster,
        "direct/openai/gpt-9",
        &[("direct/openai", "gpt-9")],
    );
    check(&roster, "direct/gpt-5.5", &[("direct/openai", "gpt-5.5")]);
    assert_eq!(
        roster.resolve("venice/kimi-k3").unwrap_err(),
        NoRoute::UnknownBackend {
            backend: "venice".into(),
            nearest: None,
        }
    );
}

#[track_caller]
fn refused(roster: &Roster, name: &str, nearest: Option<&str>) {
    match roster.resolve(name) {
        Err(
            NoRoute::UnknownPrefix { nearest: told, .. }
            | NoRoute::UnknownBackend { nearest: told, .. },
        ) => assert_eq!(told.as_deref(), nearest, "{name}"),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_misspelled_model_whose_name_begins_like_a_backend_is_named() {
    let models = &["local/all-MiniLM-L6-v2"];
    let roster = roster(vec![spec("built-in", Service::Local, models)]);
    refused(&roster, "local/all-minilm-l6-v2", Some(models[0]));
    refused(&roster, "local/llama3", None);
}

#[test]
fn a_prefix_that_is_no_backend_and_no_maker_is_refused_with_the_nearest_name() {
    let mut backends = vec![
        spec("direct/openai", Service::OpenAi, &["gpt-5.5"]),
        spec("direct/deepseek", Service::DeepSeek, &[]),
        spec("direct/deepseek#2", Service::DeepSeek, &[]),
        spec("openrouter", Service::OpenRouter, &[]),
        spec("venice", Service::Venice, &[]),
    ];
    let roster = self::roster(backends.clone());
    refused(&roster, "venise/kimi-k3", Some("venice/kimi-k3"));
    refused(&roster, "openruter/gpt-5.5", Some("openrouter/gpt-5.5"));
    refused(&roster, "bedrock/gpt-5.5", Some("gpt-5.5"));
    refused(&roster, "foo/kimi-k3", Some("kimi-k3"));
    refused(&roster, "claude-x/gpt-5.5", Some("gpt-5.5"));
    // A maker of other models is no better.
    refused(&roster, "anthropic/gpt-5.5", Some("gpt-5.5"));
    refused(
        &roster,
        "anthropc/claude-opus-5.5",
        Some("anthropic/claude-opus-5.5"),
    );
    // Pins of keys that are not there.
    refused(
        &roster,
        "direct/deepseek#3/deepseek-v4-flash",
        Some("direct/deepseek#2"),
    );
    refused(&roster, "direct/anthropic/claude-opus-5.5", None);
    refused(&roster, "direct/groq/llama", None);
    refused(&roster, "local/llama3", None);
    // With a server that takes any name nothing else comes through.
    backends.push(spec("local", Service::Local, &["*"]));
    let open = self::roster(backends);
    refused(&open, "foo/gpt-5.5", Some("gpt-5.5"));
    refused(&open, "foo/never-heard-of", None);
    check(&open, "local/foo/bar", &[("local", "foo/bar")]);
}

#[test]
fn makers_are_known_in_every_spelling_and_aliases_stand_for_prefixes() {
    let mut builder = RosterBuilder::new(Arc::new(Catalog::embedded()));
    for (spec, models) in [
        spec("direct/openai", Service::OpenAi, &["gpt-5.5"]),
        spec("venice", Service::Venice, &[]),
        spec("local", Service::Local, &["my-team/*"]),
    ] {
        builder.backend(spec, models, None);
    }
    builder.alias("quiet".into(), "venice".into());
    builder.alias("work/best".into(), "gpt-5.5".into());
    let roster = builder.build();
    for name in [
        "kimi-k3",
        "moonshotai/kimi-k3",
        "moonshot/kimi-k3",
        "quiet/kimi-k3",
    ] {
        check(&roster, name, &[("venice", "kimi-k3")]);
    }
    check(&roster, "openai/gpt-5.5", &[("direct/openai", "gpt-5.5")]);
    check(&roster, "work/best", &[("direct/openai", "gpt-5.5")]);
    check(&roster, "my-team/tuned", &[("local", "my-team/tuned")]);
}

#[test]
fn a_vendor_in_openai_format_is_pinned_by_its_name_and_never_asks_another_makers_price() {
    let vendors = vec![
        spec("direct/groq", Service::Compatible, &["deepseek-v4-flash"]),
        spec("direct/shop", Service::Compatible, &["gpt-4o"]),
    ];
    let roster = roster(vendors);
    check(
        &roster,
        "groq/deepseek-v4-flash",
        &[("direct/groq", "deepseek-v4-flash")],
    );
    check(&roster, "shop/anything", &[("direct/shop", "anything")]);
    check(&roster, "direct/shop/gpt-4o", &[("direct/shop", "gpt-4o")]);
    for name in ["groq/deepseek-v4-flash", "gpt-4o", "shop/gpt-4o-mini"] {
        assert_eq!(price_of(&roster, name), None, "{name}");
    }
    refused(&roster, "cerebras/gpt-oss-120b", None);
}

#[test]
fn a_scope_matches_what_was_resolved_whatever_the_caller_wrote() {
    let roster = full();
    let within = |scope: &str, name: &str| {
        let found = roster.resolve(name).unwrap();
        let is_in = |candidate| roster.is_in_scope(scope, name, candidate);
        (found.iter().filter(|c| is_in(c)).count(), found.len())
    };
    for (scope, name, expected) in [
        ("claude-*", "claude-sonnet-5-5", (2, 2)),
        ("claude-*", "anthropic/claude-sonnet-5.5", (2, 2)),
        ("claude-*", "gpt-5.5", (0, 3)),
        ("claude-*", "openrouter/claude-x/gpt-5.5", (0, 1)),
        ("claude-*", "local/claude-x/gpt-5.5", (0, 1)),
        ("claude-sonnet-5.5", "claude-sonnet-5-5-20261001", (2, 2)),
        ("anthropic/*", "claude-sonnet-5-5", (2, 2)),
        ("anthropic/*", "gpt-5.5", (0, 3)),
        ("GPT-5.*", "openai/gpt-5.5", (3, 3)),
        ("*", "gpt-5.5", (3, 3)),
        // An alias is what it stands for, on both sides.
        ("fast", "gpt-5.5", (3, 3)),
        ("gpt-5.5", "fast", (3, 3)),
        ("fast", "claude-sonnet-5-5", (0, 2)),
        ("openrouter/gpt-5.5", "gpt-5.5", (1, 3)),
        ("openrouter/*", "gpt-5.5", (1, 3)),
        // What leaves the choice to the gateway names no model.
        ("bardo/auto", "gpt-5.5", (0, 3)),
        ("bardo/*", "bardo/t2", (2, 2)),
    ] {
        assert_eq!(within(scope, name), expected, "{scope} {name}");
    }
}

#[test]
fn unlisted_names_go_to_open_backends_only() {
    let roster = full();
    check(
        &roster,
        "llama3:8b",
        &[("local", "llama3:8b"), ("openrouter", "llama3:8b")],
    );
    let closed = self::roster(vec![spec("direct/openai", Service::OpenAi, &["gpt-5.5"])]);
    let refusal = closed.resolve("gpt-5.6").unwrap_err();
    assert_eq!(
        refusal,
        NoRoute::UnknownModel {
            model: "gpt-5.6".into(),
            target: None,
            nearest: Some("gpt-5.5".into())
        }
    );
}

#[test]
fn tiers_pick_a_listed_model() {
    let roster = full();
    check(
        &roster,
        "bardo/t2",
        &[
            ("openrouter", "anthropic/claude-opus-5.5"),
            ("blockrun", "anthropic/claude-opus-5.5"),
        ],
    );
    assert!(roster.resolve("bardo/auto").is_ok());
    let Err(NoRoute::UnknownModel { nearest, .. }) = roster.resolve("bardo/t3") else {
        unreachable!("there is no such tier");
    };
    assert_eq!(nearest.as_deref(), Some("bardo/t2"));
}

#[test]
fn a_live_list_replaces_the_snapshot() {
    let catalog = Catalog::embedded();
    let live = vec![ModelEntry {
        id: "new-model".into(),
        ..catalog.describe("x/new-model").entry("x/new-model")
    }];
    let (spec, _) = spec("openrouter", Service::OpenRouter, &["*"]);
    let roster = roster(vec![(spec, BackendModels::Live(live))]);
    check(&roster, "new-model", &[("openrouter", "x/new-model")]);
    assert_eq!(roster.listed().len(), 1);
}

#[test]
fn once_openrouter_has_listed_its_models_a_mistyped_name_is_told_so() {
    let catalog = Catalog::embedded();
    let live = vec![catalog.describe("openai/gpt-5.5").entry("openai/gpt-5.5")];
    let (open, _) = spec("openrouter", Service::OpenRouter, &[]);
    let listed = roster(vec![(open.clone(), BackendModels::Live(live))]);
    let refusal = listed.resolve("gtp-5.5").unwrap_err();
    assert_eq!(
        refusal,
        NoRoute::UnknownModel {
            model: "gtp-5.5".into(),
            target: None,
            nearest: Some("gpt-5.5".into())
        }
    );
    let unlisted = roster(vec![(open, BackendModels::Snapshot)]);
    check(
        &unlisted,
        "x-ai/new-model",
        &[("openrouter", "x-ai/new-model")],
    );
    assert!(matches!(
        unlisted.resolve("nobody/new-model"),
        Err(NoRoute::UnknownPrefix { .. })
    ));
}

#[test]
fn a_variant_goes_to_the_backends_that_know_variants_as_written() {
    let roster = full();
    check(
        &roster,
        "claude-opus-5.5:nitro",
        &[("openrouter", "anthropic/claude-opus-5.5:nitro")],
    );
    check(
        &roster,
        "llama3:8b",
        &[("local", "llama3:8b"), ("openrouter", "llama3:8b")],
    );
}

fn priced(entry: &ModelEntry, micro: u64) -> Price {
    Price {
        input: bardo_types::money::PricePerMillion::from_micro(micro),
        ..entry.price.unwrap_or_default()
    }
}

/// One backend, with a live list where there is one.
fn one(
    service: Service,
    models: &[&str],
    live: Option<Vec<ModelEntry>>,
    own: Option<Price>,
) -> Roster {
    let (spec, snapshot) = spec("only", service, models);
    let mut builder = RosterBuilder::new(Arc::new(Catalog::embedded()));
    builder.backend(spec, live.map_or(snapshot, BackendModels::Live), own);
    builder.alias("mine".into(), "only/claude-haiku-4-5".into());
    builder.build()
}

fn price_of(roster: &Roster, name: &str) -> Option<Price> {
    roster.resolve(name).unwrap()[0].entry.price
}

#[test]
fn a_model_whose_price_leaves_the_list_has_none_from_then_on() {
    let known = Catalog::embedded().describe("claude-haiku-4-5");
    let mut listed = known.entry("anthropic/claude-haiku-4.5");
    let price = Some(priced(&listed, 7));
    listed.price = price;
    let unpriced = ModelEntry {
        price: None,
        ..listed.clone()
    };
    let live = |row: &ModelEntry| one(Service::OpenRouter, &[], Some(vec![row.clone()]), None);
    assert_eq!(price_of(&live(&listed), "claude-haiku-4-5"), price);
    assert_eq!(price_of(&live(&unpriced), "claude-haiku-4-5"), None);
    let pinned = "only/claude-opus-4-6";
    assert_eq!(price_of(&live(&listed), pinned), None, "not listed there");
    let named = one(
        Service::OpenRouter,
        &["anthropic/claude-opus-4.6"],
        Some(vec![listed]),
        None,
    );
    assert_eq!(price_of(&named, "claude-opus-4-6"), None);
}

#[test]
fn the_owners_price_holds_for_every_name_that_a_backend_takes_and_zero_is_a_price() {
    let free = Some(Price::default());
    let roster = one(Service::Local, &["*", "known"], None, free);
    for name in ["known", "anything-else", "only/pinned"] {
        assert_eq!(price_of(&roster, name), free, "{name}");
    }
    let unpriced = one(Service::Local, &["*"], None, None);
    assert_eq!(price_of(&unpriced, "anything-else"), None);
}

#[test]
fn the_list_price_is_the_makers_whoever_serves_the_model() {
    let roster = one(Service::OpenRouter, &[], None, Some(Price::default()));
    let maker = Catalog::embedded().find("claude-haiku-4-5").unwrap().price;
    assert!(maker.is_some());
    for name in [
        "claude-haiku-4-5",
        "anthropic/claude-haiku-4.5",
        "openrouter/anthropic/claude-haiku-4.5:nitro",
        "claude-haiku-4-5-20251001",
        "mine",
    ] {
        assert_eq!(roster.list_price(name), maker, "{name}");
    }
    assert_eq!(roster.list_price("bardo/auto"), None);
    assert_eq!(roster.list_price("glm-5.2"), None, "nobody published it");
}

#[test]
fn a_name_that_nobody_serves_any_more_is_answered_by_its_successor_and_only_then() {
    let catalog = Arc::new(Catalog::embedded());
    let build = |models: Vec<&str>| {
        let mut roster = RosterBuilder::new(Arc::clone(&catalog));
        let live = models
            .iter()
            .map(|model| catalog.describe(model).entry(model));
        roster.backend(
            spec("venice", Service::Venice, &[]).0,
            BackendModels::Live(live.collect()),
            None,
        );
        roster.build()
    };
    let first = |roster: &Roster| roster.resolve("deepseek-r1").unwrap()[0].entry.id.clone();
    assert_eq!(first(&build(vec!["deepseek-v4-pro"])), "deepseek-v4-pro");
    assert_eq!(
        first(&build(vec!["deepseek-v4-pro", "deepseek-r1"])),
        "deepseek-r1"
    );
    assert!(build(vec!["kimi-k3"]).resolve("deepseek-r1").is_err());
}

#[test]
fn what_the_owner_says_of_a_model_reaches_every_list() {
    let catalog = Catalog::embedded()
        .with_owner(vec![crate::OwnerModel {
            id: "openai/gpt-oss-120b".into(),
            backend: Some("blockrun".into()),
            rating: Some(11),
            price: Some(Price::default()),
            ..crate::OwnerModel::default()
        }])
        .unwrap();
    let catalog = Arc::new(catalog);
    for models in [BackendModels::Snapshot, BackendModels::Live(Vec::new())] {
        let mut roster = RosterBuilder::new(Arc::clone(&catalog));
        roster.backend(spec("blockrun", Service::BlockRun, &[]).0, models, None);
        let roster = roster.build();
        let entry = &roster.resolve("gpt-oss-120b").unwrap()[0].entry;
        assert_eq!((entry.rating, entry.price), (11, Some(Price::default())));
        assert_eq!(entry.upstream_id, "openai/gpt-oss-120b");
    }
}

#[test]
fn all_models_of_one_vendor_are_not_all_models() {
    let filter = ModelFilter::new(vec!["qwen/*".into(), "gpt-5*".into()]);
    for (name, admitted) in [
        ("qwen/qwen-plus", true),
        ("openai/gpt-5.4", true),
        ("gpt-5.4", true),
        ("google/gemini-3-flash", false),
        ("gemini-3-flash", false),
    ] {
        assert_eq!(filter.admits(name), admitted, "{name}");
    }
    assert!(ModelFilter::new(vec!["*".into()]).admits("google/gemini-3-flash"));
}

/// A local server that lists the models with their tags, as Ollama does.
fn ollama(names: &[&str]) -> (BackendSpec, BackendModels) {
    let catalog = Catalog::embedded();
    let row = |name: &&str| catalog.describe(name).entry(name);
    let (spec, _) = spec("local", Service::Local, &[]);
    (spec, BackendModels::Live(names.iter().map(row).collect()))
}

#[test]
fn a_name_without_a_tag_is_the_latest_of_a_local_server() {
    let roster = roster(vec![ollama(&[
        "llama3.2:latest",
        "qwen3:8b",
        "qwen3:latest",
    ])]);
    check(&roster, "llama3.2", &[("local", "llama3.2:latest")]);
    check(&roster, "local/llama3.2", &[("local", "llama3.2:latest")]);
    check(&roster, "llama3.2:latest", &[("local", "llama3.2:latest")]);
    check(&roster, "qwen3", &[("local", "qwen3:latest")]);
    check(&roster, "qwen3:8b", &[("local", "qwen3:8b")]);
    // A tag that is there without another is meant by no name without it.
    let tagged = self::roster(vec![ollama(&["qwen3-embedding-large:8b"])]);
    let Err(NoRoute::UnknownModel { nearest, .. }) = tagged.resolve("qwen3-embedding-large") else {
        unreachable!("it has another tag");
    };
    assert_eq!(nearest.as_deref(), Some("qwen3-embedding-large:8b"));
    // Elsewhere a tag is a part of the name.
    let (other, models) = ollama(&["llama3.2:latest"]);
    let other = BackendSpec {
        service: Service::Compatible,
        ..other
    };
    assert!(
        self::roster(vec![(other, models)])
            .resolve("llama3.2")
            .is_err()
    );
}

#[test]
fn an_alias_of_a_model_that_nobody_serves_names_what_it_stands_for() {
    let mut builder = RosterBuilder::new(Arc::new(Catalog::embedded()));
    let (spec, models) = ollama(&["qwen3:8b"]);
    builder.backend(spec, models, None);
    builder.alias("mine".into(), "llama3.2".into());
    let refusal = builder.build().resolve("mine").unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "no configured backend serves the model `llama3.2`; `mine` is an alias of it"
    );
}

#[test]
fn spellings_and_aliases_of_a_model_mean_the_same_and_pins_stay() {
    let mut builder = RosterBuilder::new(Arc::new(Catalog::embedded()));
    for (spec, models) in [
        spec("direct/anthropic", Service::Anthropic, &[]),
        spec("openrouter", Service::OpenRouter, &[]),
        ollama(&["llama3.2:latest"]),
    ] {
        builder.backend(spec, models, None);
    }
    builder.alias("sonnet".into(), "claude-sonnet-5.5".into());
    let roster = builder.build();
    let meaning = roster.meaning("claude-sonnet-5-5");
    for name in [
        "claude-sonnet-5.5",
        "anthropic/claude-sonnet-5-5",
        "Claude-Sonnet-5-5",
        "sonnet",
    ] {
        assert_eq!(roster.meaning(name), meaning, "{name}");
    }
    assert_eq!(
        roster.meaning("llama3.2"),
        roster.meaning("llama3.2:latest")
    );
    let pinned = roster.meaning("openrouter/claude-sonnet-5.5");
    assert_eq!(
        pinned,
        roster.meaning("openrouter/anthropic/claude-sonnet-5-5")
    );
    for other in [
        "claude-sonnet-5",
        "bardo/auto",
        "never-heard-of",
        "direct/claude-sonnet-5-5",
    ] {
        assert_ne!(roster.meaning(other), meaning, "{other}");
        assert_ne!(roster.meaning(other), pinned, "{other}");
    }
    assert_ne!(pinned, meaning);
}

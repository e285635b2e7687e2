use bardo_types::feature::Feature;
use bardo_types::money::PricePerMillion;

use super::*;

fn set(features: &[Feature]) -> FeatureSet {
    features.iter().copied().collect()
}

#[test]
fn the_snapshot_parses_and_resellers_name_known_models() {
    let catalog = Catalog::embedded();
    assert!(catalog.models().count() > 40);
    for service in [
        Service::OpenRouter,
        Service::BlockRun,
        Service::Bankr,
        Service::Venice,
    ] {
        assert!(!catalog.resold_by(service).is_empty());
        for resold in catalog.resold_by(service) {
            assert!(!resold.upstream.is_empty(), "{}", resold.id);
            assert!(catalog.find(&resold.id).is_some(), "{}", resold.id);
        }
    }
}

#[test]
fn every_model_that_answers_has_a_tier_and_a_rating_that_fits_it() {
    for model in Catalog::embedded().models() {
        if model.embeddings {
            assert_eq!((model.tier, model.rating), (None, 0), "{}", model.id);
            continue;
        }
        let tier = model.tier.expect(&model.id);
        let within = match tier {
            Tier::Small => 40..=79,
            Tier::Strong => 60..=89,
            Tier::Frontier => 80..=100,
        };
        assert!(within.contains(&model.rating), "{}", model.id);
    }
}

#[test]
fn families_offer_what_their_makers_document() {
    let catalog = Catalog::embedded();
    let offers = |name: &str, feature| {
        catalog
            .find(name)
            .expect(name)
            .capabilities
            .features
            .has(feature)
    };
    for claude in ["claude-opus-4-6", "claude-opus-5-5", "claude-sonnet-5-5"] {
        for feature in [
            Feature::Citations,
            Feature::Compaction,
            Feature::InterleavedThinking,
            Feature::AdaptiveThinking,
            Feature::VisibleThinkingSummary,
            Feature::PromptCaching,
            Feature::Tools,
            Feature::StructuredOutputs,
        ] {
            assert!(offers(claude, feature), "{claude} {feature}");
        }
        // A summary is not the trace.
        assert!(!offers(claude, Feature::VisibleThinking));
    }
    assert!(!offers("claude-haiku-4-5", Feature::AdaptiveThinking));
    for open in [
        "deepseek-r1",
        "deepseek-v4-pro",
        "glm-5.1",
        "kimi-k3",
        "gpt-oss-120b",
    ] {
        assert!(offers(open, Feature::VisibleThinking), "{open}");
    }
    // OpenAI predicts for these alone.
    for model in catalog.models() {
        assert_eq!(
            model.capabilities.features.has(Feature::PredictedOutputs),
            ["gpt-4.1", "gpt-4o", "gpt-4o-mini"].contains(&model.id.as_str()),
            "{}",
            model.id
        );
    }
    assert!(offers("gemini-3-flash", Feature::ExplicitCaching));
    assert!(offers("gpt-5.4", Feature::ResponsesApi));
    assert!(!offers("deepseek-v4-pro", Feature::Vision));
    assert!(
        !catalog
            .describe("grok-9")
            .capabilities
            .features
            .has(Feature::VisibleThinking)
    );
}

#[test]
fn venice_keeps_nothing_of_private_models_and_seals_others() {
    let catalog = Catalog::embedded();
    let entry = |id: &str| {
        let rows = catalog.resold_by(Service::Venice);
        catalog.resold_entry(rows.iter().find(|row| row.id == id).expect(id))
    };
    let private = entry("zai-org-glm-5-1");
    assert_eq!(private.security, SecurityClass::Private);
    assert!(private.capabilities.features.has(Feature::VisibleThinking));
    let sealed = entry("e2ee-glm-5-1");
    assert_eq!(sealed.security, SecurityClass::Tee);
    assert!(sealed.capabilities.features.has(Feature::E2ee));
    assert!(!sealed.capabilities.features.has(Feature::Tools));
    for service in [Service::OpenRouter, Service::BlockRun, Service::Bankr] {
        for resold in catalog.resold_by(service) {
            assert_eq!(resold.security, SecurityClass::Standard, "{}", resold.id);
        }
    }
}

/// Its maker takes `max`, and Venice refuses it.
#[test]
fn a_service_may_take_other_efforts_than_the_maker() {
    let catalog = Catalog::embedded();
    let maker = catalog.find("deepseek-v4-flash").unwrap();
    assert!(maker.capabilities.efforts.contains(&Effort::Max));
    let rows = catalog.resold_by(Service::Venice);
    let is_deepseek = |row: &&Resold| row.id.starts_with("deepseek");
    let mut met = 0;
    for row in rows.iter().filter(is_deepseek) {
        let entry = catalog.resold_entry(row);
        assert_eq!(entry.capabilities.efforts.last(), Some(&Effort::High));
        met += 1;
    }
    assert_eq!(met, 2);
}

#[test]
fn unknown_newer_models_are_like_the_newest_of_their_family() {
    let catalog = Catalog::embedded();
    let newer = catalog.describe("claude-opus-6-1");
    assert_eq!(
        newer.capabilities,
        catalog.find("claude-opus-5-5").unwrap().capabilities
    );
    assert!(!newer.capabilities.thinking.budget);
    let old = catalog.describe("claude-opus-4-7");
    assert!(old.capabilities.thinking.adaptive && !old.capabilities.thinking.budget);
}

#[test]
fn aliases_and_spellings_find_the_same_model() {
    let catalog = Catalog::embedded();
    for (name, id) in [
        ("anthropic/claude-opus-4.6", "claude-opus-4-6"),
        ("sonnet", "claude-sonnet-5-5"),
        // Names of the sources.
        ("claude-opus-4-6", "claude-opus-4-6"),
        ("claude-sonnet-4", "claude-sonnet-4-6"),
        ("claude-sonnet-4-6", "claude-sonnet-4-6"),
        ("claude-haiku-4-5", "claude-haiku-4-5"),
        ("gemini-3-flash", "gemini-3-flash"),
        ("gpt-5.4", "gpt-5.4"),
        ("deepseek-r1", "deepseek-r1"),
        ("llama-3.3-70b", "llama-3.3-70b"),
        ("nvidia-gpt-oss-120b", "gpt-oss-120b"),
        ("qwen/qwen-plus", "qwen-plus"),
    ] {
        assert_eq!(catalog.find(name).expect(name).id, id);
    }
    assert!(catalog.find("gpt-9").is_none());
}

#[test]
fn the_owners_word_wins_over_the_snapshot_and_over_lists() {
    let price = |input| Price {
        input: PricePerMillion::from_micro(input),
        ..Price::default()
    };
    let catalog = Catalog::embedded()
        .with_owner(vec![
            OwnerModel {
                id: "anthropic/claude-haiku-4.5".into(),
                rating: Some(90),
                tier: Some(Tier::Strong),
                ..OwnerModel::default()
            },
            OwnerModel {
                id: "kimi-k3".into(),
                backend: Some("openrouter".into()),
                price: Some(price(7)),
                security: Some(SecurityClass::Private),
                features: set(&[Feature::Citations]),
                without: set(&[Feature::Vision]),
                ..OwnerModel::default()
            },
        ])
        .unwrap();
    let haiku = catalog.find("claude-haiku-4-5").unwrap();
    assert_eq!((haiku.rating, haiku.tier), (90, Some(Tier::Strong)));

    let listed = || ModelEntry {
        price: Some(price(1)),
        rating: 1,
        ..catalog
            .describe("moonshotai/kimi-k3")
            .entry("moonshotai/kimi-k3")
    };
    let mut changed = listed();
    catalog.overrule("openrouter", &mut changed);
    assert_eq!(changed.price, Some(price(7)));
    assert_eq!(changed.security, SecurityClass::Private);
    assert!(changed.capabilities.features.has(Feature::Citations));
    assert!(!changed.capabilities.images);
    let mut elsewhere = listed();
    catalog.overrule("venice", &mut elsewhere);
    assert_eq!(
        elsewhere,
        listed(),
        "what is said of one backend stays there"
    );

    let mut listed_haiku = ModelEntry {
        rating: 3,
        ..haiku.entry("claude-haiku-4.5")
    };
    catalog.overrule("bankr", &mut listed_haiku);
    assert_eq!(listed_haiku.rating, 90);
}

#[test]
fn an_owner_declares_what_a_backend_serves_and_does_not_list() {
    let catalog = Catalog::embedded()
        .with_owner(vec![OwnerModel {
            id: "nvidia/llama-guard-9".into(),
            backend: Some("blockrun".into()),
            like: Some("llama-3.3-70b".into()),
            price: Some(Price::default()),
            ..OwnerModel::default()
        }])
        .unwrap();
    let declared: Vec<_> = catalog.declared("blockrun").collect();
    assert_eq!(declared.len(), 1);
    assert_eq!(declared[0].upstream_id, "nvidia/llama-guard-9");
    assert_eq!(declared[0].tier, Some(Tier::Small));
    assert!(declared[0].price.is_some_and(|price| price.is_free()));
    assert_eq!(catalog.declared("openrouter").count(), 0);
}

#[test]
fn rows_that_mean_nothing_are_refused() {
    let row = |id: &str, rating| OwnerModel {
        id: id.into(),
        rating,
        ..OwnerModel::default()
    };
    let with = |row| Catalog::embedded().with_owner(vec![row]).map(|_| ());
    assert!(matches!(with(row(" ", None)), Err(CatalogError::NoName)));
    assert!(matches!(
        with(row("gpt-5.4", Some(101))),
        Err(CatalogError::Rating { .. })
    ));
    assert!(with(row("gpt-5.4", Some(100))).is_ok());
}

#[test]
fn every_model_of_a_maker_has_its_price_but_those_that_nobody_publishes() {
    const UNKNOWN: [&str; 4] = [
        "claude-fable-5-2",
        "claude-mythos-5-2",
        "claude-mythos-preview",
        "deepseek-v4-pro",
    ];
    let catalog = Catalog::embedded();
    let makers = ["openai", "anthropic", "google", "deepseek"];
    for model in catalog.models() {
        if !makers.contains(&model.vendor.as_str()) {
            continue;
        }
        let expected = !UNKNOWN.contains(&model.id.as_str());
        assert_eq!(model.price.is_some(), expected, "{}", model.id);
        assert!(
            model.price.is_none_or(|price| !price.is_free()),
            "{}",
            model.id
        );
        assert!(model.capabilities.context_tokens > 0, "{}", model.id);
    }
    let haiku = catalog.find("claude-haiku-5-5").unwrap().price.unwrap();
    let long = haiku.long_context.expect("a price of long prompts");
    assert_eq!((long.above, haiku.input.micro()), (100_000, 100_000));
    assert_eq!(long.input.micro(), 500_000);
}

#[test]
fn an_embedding_model_takes_text_alone() {
    let catalog = Catalog::embedded();
    for model in catalog.models().filter(|model| model.embeddings) {
        let capabilities = &model.capabilities;
        assert!(!capabilities.images && !capabilities.documents && !capabilities.audio);
        assert_eq!(
            capabilities.tool_format,
            bardo_types::model::ToolFormat::Unsupported
        );
    }
}

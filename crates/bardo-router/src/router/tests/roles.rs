//! Who is chosen among those who may answer.

use bardo_types::model::Effort;
use bardo_types::profile::InferenceProfile;

use super::*;
use crate::request::BankrFunds;

#[test]
fn roles_bind_the_choice_and_another_backend_is_asked_next() {
    let router = router(everybody(), Policy::default());
    let thought = ["blockrun/claude-opus", "openrouter/claude-opus"];
    check(&router, &Ask::of("thought"), &thought);
    first(&router, &Ask::of("pulse"), "blockrun/gemini-flash");
    check(&router, &Ask::of("sleep"), &["venice/r1", "venice/sealed"]);
}

#[test]
fn where_only_backends_with_a_role_are_there_roles_do_not_apply() {
    let alone = router(vec![openai(), venice()], Policy::default());
    first(&alone, &Ask::of("thought"), "venice/claude-opus");
    let mut native = Ask::of("earner");
    native.hints.intent.prefer = Some(vec![Feature::PredictedOutputs]);
    first(&alone, &native, "direct/openai/gpt");
    let bankr_alone = router(vec![bankr()], Policy::default());
    first(&bankr_alone, &Ask::of("thought"), "bankr/claude-opus");
    // And where the caller's key leaves nobody else.
    let all = router(everybody(), Policy::default());
    let ask = Ask::of("earner");
    let only_openai = |candidate: &Candidate| candidate.backend == 4;
    let route = ask.with(|request| {
        all.route(&RouteRequest {
            may_use: &only_openai,
            ..*request
        })
    });
    assert_eq!(names(&all, &route.unwrap()), ["direct/openai/gpt"]);
}

#[test]
fn native_features_open_direct_keys_and_only_there() {
    let router = router(everybody(), Policy::default());
    let mut ask = Ask::default();
    ask.hints.intent.prefer = Some(vec![Feature::PredictedOutputs]);
    first(&router, &ask, "direct/openai/gpt");
    ask.hints.intent.prefer = Some(vec![Feature::Citations]);
    first(&router, &ask, "blockrun/claude-sonnet");
}

#[test]
fn bankr_serves_its_parts_as_far_as_revenue_goes() {
    let funded = |balance: u64, lifetime: u64| Policy {
        bankr: BankrPolicy {
            self_funding: true,
            subsystems: vec!["earner".into()],
            revenue_balance: Some(MicroUsd::new(balance)),
            lifetime_revenue: Some(MicroUsd::new(lifetime)),
            ..BankrPolicy::default()
        },
        ..Policy::default()
    };
    let mut ask = Ask::of("earner");
    ask.hints.intent.prefer = Some(vec![Feature::SelfFunding]);
    // 2,000 tokens at $10 a million cost $0.02.
    let rich = router(everybody(), funded(200_000, 1));
    first(&rich, &ask, "bankr/claude-opus");
    let poor = router(everybody(), funded(199_999, 1));
    first(&poor, &ask, "blockrun/claude-sonnet");
    ask.hints.sustainability = Some(0.4);
    first(&rich, &ask, "blockrun/gpt-free");
    ask.hints.sustainability = Some(2.1);
    first(&poor, &ask, "bankr/claude-opus");
    // Another part is not served by it, but for the owner's order.
    let mut other = Ask::of("thought");
    other.hints.intent.prefer = Some(vec![]);
    first(&rich, &other, "blockrun/claude-opus");
    let mut policy = funded(200_000, 1);
    policy.bankr.self_funding = false;
    policy.routes.insert("thought".into(), vec!["bankr".into()]);
    first(&router(everybody(), policy), &other, "bankr/claude-opus");
}

#[test]
fn quality_is_a_floor_that_gives_way_before_a_requirement_does() {
    let all = router(vec![blockrun(), venice()], Policy::default());
    let route = Ask::of("end").with(|request| all.route(request)).unwrap();
    assert_eq!(names(&all, &route), ["venice/r1"]);
    let mut ask = Ask::default();
    ask.hints.intent.quality = Some(Quality::High);
    ask.hints.intent.cost_sensitivity = UnitInterval::new(0.3);
    first(&all, &ask, "blockrun/claude-opus");
    ask.hints.intent.cost_sensitivity = UnitInterval::new(0.31);
    first(&all, &ask, "blockrun/claude-sonnet");
    ask.hints.intent.quality = Some(Quality::Maximum);
    first(&all, &ask, "blockrun/claude-opus");
}

#[test]
fn free_models_serve_little_and_the_cheapest_the_least() {
    let all = router(vec![blockrun()], Policy::default());
    let mut ask = Ask::default();
    ask.hints.intent.quality = Some(Quality::Minimum);
    first(&all, &ask, "blockrun/gpt-free");
    let mut free = blockrun();
    free.2.push(model("good-free", STRONG, 99, 0));
    let strict = router(vec![free.clone()], Policy::default());
    first(&strict, &Ask::default(), "blockrun/claude-sonnet");
    let policy = Policy {
        free_models: true,
        ..Policy::default()
    };
    first(
        &router(vec![free], policy),
        &Ask::default(),
        "blockrun/good-free",
    );
}

#[test]
fn no_limit_of_costs_makes_a_free_model_answer_that_the_owner_does_not_allow() {
    let mut ask = Ask::default();
    ask.hints.max_cost_micro_usd = Some(1);
    let all = router(vec![blockrun()], Policy::default());
    check(&all, &ask, &["!max_cost_usd"]);
    let policy = Policy {
        free_models: true,
        ..Policy::default()
    };
    let allowed = router(vec![blockrun()], policy);
    first(&allowed, &ask, "blockrun/gpt-free");
    ask.hints.intent.quality = Some(Quality::Low);
    first(&all, &ask, "blockrun/gpt-free");
}

#[test]
fn openrouters_unrated_models_are_chosen_only_from_the_owners_list() {
    let mut ask = Ask::default();
    ask.hints.intent.quality = Some(Quality::Minimum);
    first(
        &router(vec![openrouter()], Policy::default()),
        &ask,
        "openrouter/gemini-flash",
    );
    let policy = Policy {
        openrouter_models: vec!["odd-*".into()],
        ..Policy::default()
    };
    first(
        &router(vec![openrouter()], policy),
        &ask,
        "openrouter/odd-model",
    );
}

#[test]
fn slow_backends_are_put_last_and_left_out_only_by_the_strict() {
    let slow = Slow("claude-sonnet", 1_500);
    let mut ask = Ask {
        health: &slow,
        ..Ask::default()
    };
    ask.hints.intent.max_latency_ms = Some(1_000);
    ask.hints.intent.prefer = Some(vec![]);
    let lenient = router(vec![blockrun()], Policy::default());
    first(&lenient, &ask, "blockrun/claude-opus");
    ask.hints.intent.max_latency_ms = Some(1_500);
    first(&lenient, &ask, "blockrun/claude-sonnet");
    let policy = Policy {
        strict_latency: true,
        ..Policy::default()
    };
    let strict = router(vec![blockrun()], policy);
    let all_slow = Slow("claude-opus", 9_000);
    ask.health = &all_slow;
    ask.hints.intent.quality = Some(Quality::Maximum);
    check(&strict, &ask, &["!max_latency_ms"]);
}

#[test]
fn who_is_down_is_asked_only_where_nobody_else_is_left() {
    let all = router(vec![blockrun(), openrouter()], Policy::default());
    let mut ask = Ask::of("guard");
    ask.health = &Down(&[0]);
    check(&all, &ask, &["openrouter/claude-opus"]);
    ask.health = &Down(&[0, 1]);
    check(
        &all,
        &ask,
        &["blockrun/claude-opus", "openrouter/claude-opus"],
    );
}

#[test]
fn the_owners_order_decides_where_scores_are_off() {
    let ordered = Policy {
        mode: Mode::Ordered,
        ..Policy::default()
    };
    let mut ask = Ask::default();
    ask.hints.intent.quality = Some(Quality::Maximum);
    ask.hints.intent.prefer = Some(vec![]);
    let all = router(vec![openrouter(), blockrun()], ordered.clone());
    first(&all, &ask, "openrouter/claude-opus");
    let all = router(vec![openrouter(), blockrun()], Policy::default());
    first(&all, &ask, "blockrun/claude-opus");
    // Wishes come before the order.
    ask.hints.intent.prefer = Some(vec![Feature::Citations]);
    let all = router(vec![openrouter(), blockrun()], ordered);
    first(&all, &ask, "blockrun/claude-opus");
}

#[test]
fn the_score_alone_decides_within_a_group() {
    let groups = |policy: Policy, quality: Quality| -> Vec<usize> {
        let all = router(vec![openrouter(), blockrun()], policy);
        let mut ask = Ask::default();
        ask.hints.intent.quality = Some(quality);
        let route = ask.with(|request| all.route(request)).unwrap();
        route.choices.iter().map(|choice| choice.group).collect()
    };
    let ordered = Policy {
        mode: Mode::Ordered,
        ..Policy::default()
    };
    let of_score = groups(Policy::default(), Quality::Maximum);
    assert!(of_score.len() > 1 && of_score.iter().all(|group| *group == 0));
    let of_order = groups(ordered, Quality::Maximum);
    assert!(*of_order.last().unwrap() > 0, "{of_order:?}");
}

#[test]
fn what_does_not_fit_is_left_out_and_asked_where_nobody_fits() {
    let mut small = blockrun();
    Arc::make_mut(&mut small.2[1].capabilities).context_tokens = 1_999;
    let all = router(vec![small], Policy::default());
    first(&all, &Ask::default(), "blockrun/claude-opus");
    let mut ask = Ask::default();
    ask.facts.prompt_tokens = 1_000_000;
    assert!(ask.with(|request| all.route(request)).is_ok());
    let mut blind = blockrun();
    Arc::make_mut(&mut blind.2[1].capabilities).images = false;
    let all = router(vec![blind], Policy::default());
    let mut ask = Ask::default();
    ask.facts.uses = FeatureSet::EMPTY.with(Feature::Vision);
    first(&all, &ask, "blockrun/claude-opus");
}

#[test]
fn prices_that_nobody_means_are_counted_and_never_chosen() {
    let mut odd = blockrun();
    odd.2[1].price = Some(Price {
        output: PricePerMillion::from_micro(u64::MAX),
        ..Price::default()
    });
    let all = router(vec![odd], Policy::default());
    assert_eq!(all.roster().quarantined(), 1);
    first(&all, &Ask::default(), "blockrun/claude-opus");
}

struct Failing(usize);

impl HealthView for Failing {
    fn observe(&self, candidate: &Candidate) -> ObservedHealth {
        let is_it = candidate.backend == self.0;
        ObservedHealth {
            state: if is_it {
                HealthState::Degraded
            } else {
                HealthState::Healthy
            },
            ..ObservedHealth::default()
        }
    }
}

#[test]
fn who_fails_too_often_is_asked_behind_those_who_do_as_well() {
    let all = router(vec![blockrun(), openrouter()], Policy::default());
    let mut ask = Ask::of("guard");
    ask.health = &Failing(0);
    check(
        &all,
        &ask,
        &["blockrun/claude-opus", "openrouter/claude-opus"],
    );
    ask.hints.intent.prefer = Some(vec![]);
    check(
        &all,
        &ask,
        &["openrouter/claude-opus", "blockrun/claude-opus"],
    );
}

#[test]
fn a_flat_price_per_call_counts_where_the_cheapest_is_asked_for() {
    let mut flat = blockrun();
    flat.2 = vec![
        model("gemini-flash", SMALL, 75, 1),
        model("llama", SMALL, 60, 10),
    ];
    flat.2[0].price.as_mut().unwrap().request = Some(MicroUsd::new(1_000));
    let all = router(vec![flat], Policy::default());
    let mut ask = Ask::of("pulse");
    ask.hints.sustainability = Some(0.2);
    first(&all, &ask, "blockrun/llama");
    // Over a long prompt it hardly counts.
    ask.facts.prompt_tokens = 90_000;
    first(&all, &ask, "blockrun/gemini-flash");
}

#[test]
fn blockrun_holds_only_gpt_to_a_schema() {
    let mut listed = blockrun();
    for entry in &mut listed.2 {
        Arc::make_mut(&mut entry.capabilities).structured_output = true;
    }
    let mut gpt = model("gpt-5", STRONG, 80, 900);
    gpt.upstream_id = "openai/gpt-5".into();
    Arc::make_mut(&mut gpt.capabilities).structured_output = true;
    listed.2.push(gpt);
    let all = router(vec![listed], Policy::default());
    let mut ask = Ask::default();
    ask.facts.uses = FeatureSet::EMPTY.with(Feature::StructuredOutputs);
    check(&all, &ask, &["blockrun/gpt-5"]);
}

#[test]
fn prefixes_are_stored_only_where_the_terms_of_a_backend_say_so() {
    let prefer = [Feature::ExplicitCaching];
    for (features, lost) in [
        (FeatureSet::EMPTY, &prefer[..]),
        (FeatureSet::EMPTY.with(Feature::ExplicitCaching), &[]),
    ] {
        let mut builder = RosterBuilder::new(Arc::new(Catalog::embedded()));
        let spec = BackendSpec {
            name: "direct/google".into(),
            service: Service::Google,
            filter: ModelFilter::default(),
        };
        let models = vec![offering(model("gemini", STRONG, 85, 500), &prefer)];
        builder.backend(spec, BackendModels::Live(models), None);
        builder.terms(Terms {
            features,
            ..Terms::default()
        });
        let all = Router::new(builder.build(), Policy::default());
        let mut ask = Ask::default();
        ask.hints.intent.prefer = Some(prefer.to_vec());
        let route = ask.with(|request| all.route(request)).unwrap();
        assert_eq!(route.choices[0].degraded, lost);
    }
}

#[test]
fn what_is_not_built_is_offered_by_none() {
    let batches = [Feature::BatchApi];
    let mut makers = openai();
    makers.2 = vec![offering(model("gpt", STRONG, 85, 500), &batches)];
    let all = router(vec![makers], Policy::default());
    let mut ask = Ask::default();
    ask.hints.intent.prefer = Some(batches.to_vec());
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(route.choices[0].degraded, batches);
}

#[test]
fn several_answers_hard_thinking_and_predictions_are_seen() {
    let mut thinker = model("gpt-think", STRONG, 70, 900);
    Arc::make_mut(&mut thinker.capabilities).thinking.adaptive = true;
    let mut listed = blockrun();
    listed.2.push(thinker);
    let claude = (
        "direct/anthropic",
        Service::Anthropic,
        vec![model("claude-x", STRONG, 99, 10)],
    );
    let all = router(vec![listed, claude], Policy::default());
    let mut ask = Ask::default();
    ask.facts.effort = Some(bardo_types::model::Effort::High);
    first(&all, &ask, "blockrun/gpt-think");
    let mut hinted = Ask::default();
    let profile = |effort| InferenceProfile {
        reasoning_effort: Some(effort),
        ..InferenceProfile::default()
    };
    hinted.hints.profile = Some(Box::new(profile(Effort::High)));
    first(&all, &hinted, "blockrun/gpt-think");
    hinted.hints.profile = Some(Box::new(profile(Effort::Medium)));
    first(&all, &hinted, "blockrun/claude-sonnet");
    let plain = router(vec![blockrun()], Policy::default());
    first(&plain, &ask, "blockrun/claude-sonnet");
    let only = router(
        vec![
            (
                "direct/anthropic",
                Service::Anthropic,
                vec![model("claude-x", STRONG, 99, 10)],
            ),
            openai(),
        ],
        Policy::default(),
    );
    let mut ask = Ask::default();
    first(&only, &ask, "direct/anthropic/claude-x");
    ask.facts.several = true;
    check(&only, &ask, &["direct/openai/gpt"]);
    let mut ask = Ask::default();
    ask.facts.uses = FeatureSet::EMPTY.with(Feature::PredictedOutputs);
    first(&only, &ask, "direct/openai/gpt");
    let route = ask.with(|request| plain.route(request)).unwrap();
    assert_eq!(route.choices[0].degraded, [Feature::PredictedOutputs]);
}

#[test]
fn t1_is_small_and_vectors_come_from_models_that_make_them() {
    let mut listed = blockrun();
    let mut vectors = model("text-embedding", None, 0, 1);
    vectors.embeddings = true;
    listed.2.push(vectors);
    let all = router(vec![listed], Policy::default());
    first(&all, &Ask::for_model("bardo/t1"), "blockrun/gemini-flash");
    let mut strong = blockrun();
    strong.2.truncate(2);
    let only = router(vec![strong], Policy::default());
    first(&only, &Ask::for_model("bardo/t1"), "blockrun/claude-sonnet");
    let mut ask = Ask::default();
    ask.facts.embeddings = true;
    check(&all, &ask, &["blockrun/text-embedding"]);
}

#[test]
fn the_owners_model_for_embeddings_serves_them_alone_and_nothing_else() {
    let vectors = |name: &str| {
        let mut vectors = model(name, None, 0, 1);
        vectors.embeddings = true;
        vectors
    };
    let setup = |embedder: &str| {
        let (mut first, mut second) = (blockrun(), venice());
        first.2.push(vectors("text-embedding"));
        second.2.push(vectors("bge-m3"));
        let embedder = Some(embedder.to_owned());
        router(
            vec![first, second],
            Policy {
                embedder,
                ..Policy::default()
            },
        )
    };
    let mut ask = Ask::default();
    ask.facts.embeddings = true;
    check(&setup("venice/bge-m3"), &ask, &["venice/bge-m3"]);
    // Vectors of another model would not fit into the same index.
    let refused = ask.with(|request| setup("bankr/bge-m3").route(request));
    assert_eq!(refused.unwrap_err().kind, RefusalKind::UnknownBackend);
    let plain = Ask::for_model("bardo/t1");
    first(&setup("venice/bge-m3"), &plain, "blockrun/gemini-flash");
}

#[test]
fn bankr_is_paid_from_its_credit_and_an_agent_that_starts_up_from_the_rest_of_its_seed() {
    let policy = |balance: Option<u64>, lifetime: u64| Policy {
        bankr: BankrPolicy {
            self_funding: true,
            subsystems: vec!["earner".into()],
            revenue_balance: balance.map(MicroUsd::new),
            lifetime_revenue: Some(MicroUsd::new(lifetime)),
            ..BankrPolicy::default()
        },
        ..Policy::default()
    };
    let mut ask = Ask::of("earner");
    ask.hints.intent.prefer = Some(vec![Feature::SelfFunding]);
    let chosen = |policy: Policy, credit: Option<u64>, seed_left: Option<u64>| {
        let router = router(everybody(), policy);
        let route = ask.with(|request| {
            router.route(&RouteRequest {
                bankr: BankrFunds {
                    credit: credit.map(MicroUsd::new),
                    seed_left: seed_left.map(MicroUsd::new),
                },
                ..*request
            })
        });
        names(&router, &route.unwrap())[0].to_owned()
    };
    // 2,000 tokens at $10 a million cost $0.02, a tenth of the credit.
    let bankr = "bankr/claude-opus";
    assert_eq!(chosen(policy(None, 1), Some(200_000), None), bankr);
    assert_ne!(chosen(policy(None, 1), Some(199_999), None), bankr);
    assert_eq!(
        chosen(policy(None, 1), None, None),
        bankr,
        "unknown is no bound"
    );
    assert_eq!(chosen(policy(Some(200_000), 1), Some(1), None), bankr);
    assert_ne!(chosen(policy(Some(1), 1), Some(200_000), None), bankr);
    // The seed of a day has nothing to do with the credit.
    assert_eq!(chosen(policy(None, 0), Some(1), None), bankr);
    assert_eq!(chosen(policy(None, 0), Some(1), Some(20_000)), bankr);
    assert_ne!(
        chosen(policy(None, 0), Some(9_000_000), Some(19_999)),
        bankr
    );
    assert_ne!(chosen(policy(None, 0), None, Some(0)), bankr);
}

/// The route of a request whose caller may be served on the owner's own keys.
fn own(all: &Router, ask: &Ask, may: &dyn Fn(&Candidate) -> bool) -> Vec<String> {
    let route = ask.with(|request| {
        all.route(&RouteRequest {
            own_keys: may,
            ..*request
        })
    });
    names(all, &route.unwrap())
}

#[test]
fn an_own_key_with_the_chosen_model_answers_in_place_of_a_seller() {
    let claude = [Feature::Citations, Feature::InterleavedThinking];
    let with = |features: &[Feature], policy: Policy| {
        let models = vec![offering(model("claude-sonnet", STRONG, 88, 600), features)];
        let mut all = vec![("direct/anthropic", Service::Anthropic, models)];
        all.extend(everybody());
        router(all, policy)
    };
    let mut ask = Ask::default();
    ask.hints.intent.prefer = Some(vec![Feature::Citations]);
    let (seller, maker) = ("blockrun/claude-sonnet", "direct/anthropic/claude-sonnet");
    let usual = with(&claude, Policy::default());
    let order = own(&usual, &ask, &|_| true);
    assert_eq!(order[..2], [maker, seller], "{order:?}");
    assert_eq!(order.iter().filter(|name| *name == maker).count(), 1);
    assert_eq!(own(&usual, &ask, &|_| false)[0], seller, "it is not billed");
    let off = Policy {
        prefer_own_keys: false,
        ..Policy::default()
    };
    assert_eq!(own(&with(&claude, off), &ask, &|_| true)[0], seller);
    assert_eq!(
        own(&with(&[], Policy::default()), &ask, &|_| true)[0],
        seller,
        "it has no citations"
    );
}

#[test]
fn an_own_key_is_not_preferred_where_it_is_down_or_dearer_or_the_owner_lists_the_seller() {
    let claude = [Feature::Citations, Feature::InterleavedThinking];
    let models = vec![offering(model("claude-opus", FRONTIER, 95, 1_000), &claude)];
    let direct = ("direct/anthropic", Service::Anthropic, models);
    let mut all = vec![direct.clone()];
    all.extend(everybody());
    let mut ask = Ask::of("thought");
    ask.hints.intent.quality = Some(Quality::Maximum);
    let maker = "direct/anthropic/claude-opus";
    let mut behind = everybody();
    behind.push(direct);
    let behind = own(&router(behind, Policy::default()), &ask, &|_| true);
    assert_eq!(behind[0], "blockrun/claude-opus", "the owner's order");
    let usual = router(all.clone(), Policy::default());
    assert_eq!(own(&usual, &ask, &|_| true)[0], maker);
    let listed = Policy {
        routes: [("thought".to_owned(), vec!["blockrun".to_owned()])].into(),
        ..Policy::default()
    };
    let listed = own(&router(all, listed), &ask, &|_| true);
    assert_eq!(listed[0], "blockrun/claude-opus", "{listed:?}");
    let dear = vec![offering(model("claude-opus", FRONTIER, 95, 1_001), &claude)];
    let mut dearer = vec![("direct/anthropic", Service::Anthropic, dear)];
    dearer.extend(everybody());
    let dearer = own(&router(dearer, Policy::default()), &ask, &|_| true);
    assert_eq!(dearer[0], "blockrun/claude-opus", "{dearer:?}");
    let down = Down(&[0]);
    ask.health = &down;
    assert_ne!(own(&usual, &ask, &|_| true)[0], maker);
}

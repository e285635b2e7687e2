use bardo_types::feature::Feature;
use bardo_types::hints::{IntentHints, RouteHints};
use bardo_types::intent::Quality;
use bardo_types::model::{Capabilities, Dialect, ModelEntry, Price, Service, Tier};
use bardo_types::money::{MicroUsd, PricePerMillion};
use bardo_types::phase::Phase;
use bardo_types::privacy::TaskClass;

use super::*;
use crate::catalog::Catalog;
use crate::decision::RefusalKind;
use crate::policy::{BankrPolicy, Mode};
use crate::request::{Facts, HealthView, Kind, NoHealth, Observation, State};
use crate::roster::{BackendModels, BackendSpec, ModelFilter, RosterBuilder};

/// A model that reads and uses everything; `cents` is what a million tokens cost, in and out.
pub(super) fn model(id: &str, tier: Option<Tier>, rating: u8, cents: u64) -> ModelEntry {
    let price = PricePerMillion::from_micro(cents * 10_000);
    ModelEntry {
        id: id.into(),
        upstream_id: id.into(),
        display_name: id.into(),
        vendor: id.split('-').next().unwrap_or_default().into(),
        tier,
        capabilities: Capabilities {
            context_tokens: 100_000,
            max_output_tokens: 8_000,
            ..Capabilities::default()
        },
        price: Some(Price {
            input: price,
            output: price,
            ..Price::default()
        }),
        created: 0,
        embeddings: false,
        rating,
        security: SecurityClass::Standard,
    }
}

fn offering(mut entry: ModelEntry, features: &[Feature]) -> ModelEntry {
    entry.capabilities.features = features.iter().copied().collect();
    entry
}

fn kept(mut entry: ModelEntry, security: SecurityClass) -> ModelEntry {
    entry.security = security;
    entry
}

const SMALL: Option<Tier> = Some(Tier::Small);
const STRONG: Option<Tier> = Some(Tier::Strong);
const FRONTIER: Option<Tier> = Some(Tier::Frontier);

type Listed = (&'static str, Service, Vec<ModelEntry>);

fn blockrun() -> Listed {
    let claude = [Feature::Citations, Feature::InterleavedThinking];
    let models = vec![
        offering(model("claude-opus", FRONTIER, 95, 1_000), &claude),
        offering(model("claude-sonnet", STRONG, 88, 600), &claude),
        model("gemini-flash", SMALL, 75, 100),
        model("gpt-free", SMALL, 60, 0),
    ];
    ("blockrun", Service::BlockRun, models)
}

fn openrouter() -> Listed {
    let models = vec![
        model("claude-opus", FRONTIER, 95, 1_000),
        model("gemini-flash", SMALL, 75, 100),
        model("odd-model", None, 0, 1),
    ];
    ("openrouter", Service::OpenRouter, models)
}

fn venice() -> Listed {
    let think = [Feature::VisibleThinking];
    let private = SecurityClass::Private;
    let models = vec![
        kept(offering(model("r1", STRONG, 72, 90), &think), private),
        kept(model("llama", SMALL, 60, 90), private),
        kept(model("sealed", STRONG, 60, 300), SecurityClass::E2ee),
        model("claude-opus", FRONTIER, 95, 1_100),
    ];
    ("venice", Service::Venice, models)
}

fn bankr() -> Listed {
    let models = vec![model("claude-opus", FRONTIER, 95, 1_000)];
    ("bankr", Service::Bankr, models)
}

fn openai() -> Listed {
    let predicts = [Feature::PredictedOutputs];
    let models = vec![offering(model("gpt", STRONG, 85, 500), &predicts)];
    ("direct/openai", Service::OpenAi, models)
}

fn local() -> Listed {
    (
        "direct/local",
        Service::Local,
        vec![model("llama", SMALL, 60, 0)],
    )
}

/// A subsystem that needs `intent`.
pub(super) fn part(name: &str, intent: Intent) -> Subsystem {
    Subsystem {
        name: name.into(),
        group: name.into(),
        intent,
        profile: None,
        floor: SecurityClass::Standard,
        protected: false,
        locked: false,
        creative: false,
        interactive: false,
        heartbeat: false,
        route: Vec::new(),
    }
}

fn router(backends: Vec<Listed>, policy: Policy) -> Router {
    let mut builder = RosterBuilder::new(Arc::new(Catalog::embedded()));
    for (name, service, models) in backends {
        let spec = BackendSpec {
            name: name.into(),
            service,
            filter: ModelFilter::default(),
        };
        builder.backend(spec, BackendModels::Live(models), None);
    }
    let high = Intent {
        quality: Quality::High,
        cost_sensitivity: 0.3,
        prefer: vec![Feature::InterleavedThinking, Feature::Citations],
        ..Intent::default()
    };
    let dream = Intent {
        quality: Quality::Medium,
        prefer: vec![Feature::VisibleThinking, Feature::Privacy],
        ..Intent::default()
    };
    let death = Intent {
        quality: Quality::Maximum,
        require: vec![Feature::VisibleThinking],
        cost_sensitivity: 0.0,
        ..Intent::default()
    };
    let mut rows = [
        part("thought", high.clone()),
        part("guard", high),
        part("sleep", dream),
        part("end", death),
        part("earner", Intent::default()),
        part(
            "pulse",
            Intent {
                quality: Quality::Low,
                cost_sensitivity: 0.8,
                ..Intent::default()
            },
        ),
    ];
    rows[1].protected = true;
    rows[2].floor = SecurityClass::Private;
    rows[3].protected = true;
    rows[3].group = "death".into();
    rows.into_iter()
        .fold(Router::new(builder.build(), policy), Router::with_subsystem)
}

fn everybody() -> Vec<Listed> {
    vec![
        blockrun(),
        openrouter(),
        venice(),
        bankr(),
        openai(),
        local(),
    ]
}

pub(super) fn facts() -> Facts {
    Facts {
        dialect: Dialect::Chat,
        uses: FeatureSet::EMPTY,
        prompt_tokens: 1_000,
        max_output_tokens: Some(1_000),
        turns: 1,
        stream: true,
        kind: Kind::Conversation,
    }
}

fn hints(subsystem: &str) -> RouteHints {
    RouteHints {
        subsystem: Some(subsystem.into()),
        ..RouteHints::default()
    }
}

/// What is asked, and by whom.
struct Ask<'a> {
    model: &'a str,
    hints: RouteHints,
    facts: Facts,
    health: &'a dyn HealthView,
    allow_downgrade: bool,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Self {
            model: "bardo/auto",
            hints: RouteHints::default(),
            facts: facts(),
            health: &NoHealth,
            allow_downgrade: false,
        }
    }
}

impl Ask<'_> {
    fn of(subsystem: &str) -> Self {
        Self {
            hints: hints(subsystem),
            ..Self::default()
        }
    }

    fn with<T>(&self, then: impl FnOnce(&RouteRequest<'_>) -> T) -> T {
        then(&RouteRequest {
            model: self.model,
            hints: &self.hints,
            facts: self.facts,
            allow_downgrade: self.allow_downgrade,
            may_use: &|_| true,
            health: self.health,
        })
    }
}

fn names(router: &Router, route: &Route) -> Vec<String> {
    let name = |choice: &Choice| {
        let backend = &router.roster().backends()[choice.candidate.backend].name;
        format!("{backend}/{}", choice.candidate.entry.id)
    };
    route.choices.iter().map(name).collect()
}

/// Asks, and compares everybody who may answer, in order, or what is missing behind `!`.
#[track_caller]
fn check(router: &Router, ask: &Ask<'_>, expected: &[&str]) {
    let found = match ask.with(|request| router.route(request)) {
        Ok(route) => names(router, &route),
        Err(refusal) => refusal
            .missing
            .iter()
            .map(|name| format!("!{name}"))
            .collect(),
    };
    assert_eq!(found, expected);
}

/// The first alone.
#[track_caller]
fn first(router: &Router, ask: &Ask<'_>, expected: &str) {
    let route = ask.with(|request| router.route(request)).unwrap();
    assert_eq!(names(router, &route)[0], expected);
}

struct Down(&'static [usize]);

impl HealthView for Down {
    fn observe(&self, candidate: &Candidate) -> Observation {
        let state = if self.0.contains(&candidate.backend) {
            State::Down
        } else {
            State::Healthy
        };
        Observation {
            state,
            ..Observation::default()
        }
    }
}

struct Slow(&'static str, u64);

impl HealthView for Slow {
    fn observe(&self, candidate: &Candidate) -> Observation {
        Observation {
            p90_ms: (candidate.entry.id == self.0).then_some(self.1),
            ..Observation::default()
        }
    }
}

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
fn the_owners_machine_keeps_what_nobody_else_keeps() {
    let with_venice = router(everybody(), Policy::default());
    let mut ask = Ask::default();
    ask.hints.security_class = Some(SecurityClass::Private);
    ask.hints.intent.quality = Some(Quality::Low);
    first(&with_venice, &ask, "venice/llama");
    let without = router(vec![blockrun(), local()], Policy::default());
    check(&without, &ask, &["direct/local/llama"]);
    ask.hints.security_class = Some(SecurityClass::E2ee);
    check(&without, &ask, &["!e2ee"]);
    let policy = Policy {
        trusted_local: true,
        ..Policy::default()
    };
    let trusted = router(vec![blockrun(), local()], policy);
    check(&trusted, &ask, &["direct/local/llama"]);
    ask.hints.security_class = Some(SecurityClass::Tee);
    check(&trusted, &ask, &["!tee"]);
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
fn a_floor_binds_while_somebody_private_is_configured_even_when_down() {
    let all = router(everybody(), Policy::default());
    let mut down = Ask::of("sleep");
    down.health = &Down(&[2]);
    let route = down.with(|request| all.route(request)).unwrap();
    assert!(
        route
            .choices
            .iter()
            .all(|c| c.security >= SecurityClass::Private)
    );
    down.hints.accept_degraded = Some(true);
    down.hints.intent.quality = Some(Quality::Low);
    let route = down.with(|request| all.route(request)).unwrap();
    let first = &route.choices[0];
    assert_eq!(
        first.security,
        SecurityClass::Private,
        "the owner's machine"
    );
    let nobody = router(vec![blockrun()], Policy::default());
    let route = Ask::of("sleep")
        .with(|request| nobody.route(request))
        .unwrap();
    assert_eq!(route.security_class, SecurityClass::Standard);
    assert_eq!(
        route.choices[0].degraded,
        [Feature::VisibleThinking, Feature::Privacy]
    );
    let strict = Policy {
        privacy_strict: true,
        ..Policy::default()
    };
    check(
        &router(vec![blockrun()], strict),
        &Ask::of("sleep"),
        &["!privacy"],
    );
}

#[test]
fn what_the_caller_itself_asks_to_be_kept_never_yields() {
    let nobody = router(vec![blockrun()], Policy::default());
    let mut ask = Ask::default();
    ask.hints.accept_degraded = Some(true);
    ask.hints.security_class = Some(SecurityClass::Private);
    check(&nobody, &ask, &["!privacy"]);
    ask.hints.security_class = None;
    ask.hints.task_class = Some(TaskClass::Trade);
    check(&nobody, &ask, &["!tee"]);
    ask.hints.task_class = None;
    ask.hints.intent.require = Some(vec![Feature::E2ee]);
    check(&nobody, &ask, &["!e2ee"]);
    let venice = router(vec![blockrun(), venice()], Policy::default());
    check(&venice, &ask, &["venice/sealed"]);
    ask.facts.uses = FeatureSet::EMPTY.with(Feature::Tools);
    let refusal = ask.with(|request| venice.route(request)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Privacy);
}

#[test]
fn owners_set_floors_and_a_higher_one_never_yields() {
    let mut policy = Policy::default();
    policy
        .floors
        .insert("sleep".into(), SecurityClass::Standard);
    policy.floors.insert("thought".into(), SecurityClass::Tee);
    let all = router(everybody(), policy);
    let mut ask = Ask::of("sleep");
    ask.hints.intent.prefer = Some(vec![Feature::Citations]);
    first(&all, &ask, "blockrun/claude-sonnet");
    let mut ask = Ask::of("thought");
    ask.hints.accept_degraded = Some(true);
    check(&all, &ask, &["venice/sealed"]);
}

#[test]
fn the_tables_requirement_yields_unless_forbidden_and_the_callers_only_where_allowed() {
    let all = router(vec![blockrun()], Policy::default());
    let mut ask = Ask::of("end");
    first(&all, &ask, "blockrun/claude-opus");
    ask.hints.accept_degraded = Some(false);
    check(&all, &ask, &["!visible_thinking"]);
    let mut ask = Ask::default();
    ask.hints.intent.require = Some(vec![Feature::VisibleThinking]);
    check(&all, &ask, &["!visible_thinking"]);
    ask.hints.accept_degraded = Some(true);
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(route.choices[0].degraded, [Feature::VisibleThinking]);
    // Tools are what the request uses; nobody can do without.
    ask.hints.intent.require = Some(vec![Feature::Tools]);
    let mut mute = blockrun();
    for entry in &mut mute.2 {
        entry.capabilities.tool_format = bardo_types::model::ToolFormat::Unsupported;
    }
    check(&router(vec![mute], Policy::default()), &ask, &["!tools"]);
}

#[test]
fn quality_is_a_floor_that_gives_way_before_a_requirement_does() {
    let all = router(vec![blockrun(), venice()], Policy::default());
    let route = Ask::of("end").with(|request| all.route(request)).unwrap();
    assert_eq!(names(&all, &route), ["venice/r1"]);
    let mut ask = Ask::default();
    ask.hints.intent.quality = Some(Quality::High);
    ask.hints.intent.cost_sensitivity = Some(0.3);
    first(&all, &ask, "blockrun/claude-opus");
    ask.hints.intent.cost_sensitivity = Some(0.31);
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
fn mortality_bends_all_but_what_is_protected() {
    let all = router(everybody(), Policy::default());
    let dying = |subsystem: &str| {
        let mut ask = Ask::of(subsystem);
        ask.hints.vitality = Some(0.0);
        ask.hints.sustainability = Some(0.1);
        ask.hints.phase = Some(Phase::Terminal);
        ask
    };
    first(&all, &dying("thought"), "blockrun/gpt-free");
    for (subsystem, expected) in [("guard", "blockrun/claude-opus"), ("end", "venice/r1")] {
        first(&all, &dying(subsystem), expected);
        first(&all, &Ask::of(subsystem), expected);
    }
    let mut pressed = Ask::of("thought");
    pressed.hints.vitality = Some(0.9);
    first(&all, &pressed, "blockrun/claude-sonnet");
    let mut odd = Ask::of("thought");
    odd.hints.vitality = Some(f64::NAN);
    odd.hints.sustainability = Some(f64::INFINITY);
    odd.hints.intent.cost_sensitivity = Some(-1.0);
    let route = odd.with(|request| all.route(request)).unwrap();
    assert_eq!(names(&all, &route)[0], "blockrun/claude-opus");
    assert_eq!(route.warnings.len(), 3);
    assert!(all.saves_thinking(None, Some(0.5)) && !all.saves_thinking(None, Some(0.51)));
    let guard = all.subsystem("guard").unwrap();
    assert!(!all.saves_thinking(Some(guard), Some(0.0)));
}

#[test]
fn a_phase_caps_the_tier_as_long_as_anybody_is_below_it() {
    let all = router(everybody(), Policy::default());
    let mut ask = Ask::of("thought");
    ask.hints.phase = Some(Phase::Desperate);
    first(&all, &ask, "blockrun/claude-sonnet");
    ask.hints.phase = Some(Phase::Conservation);
    first(&all, &ask, "blockrun/claude-opus");
    ask.hints.phase = Some(Phase::Terminal);
    let only = router(vec![bankr()], Policy::default());
    first(&only, &ask, "bankr/claude-opus");
}

#[test]
fn caps_bound_the_answer_or_refuse_it() {
    let only = router(vec![bankr()], Policy::default());
    let mut ask = Ask::of("end");
    ask.facts.max_output_tokens = None;
    let cap = |ask: &mut Ask<'_>, micro| ask.hints.max_cost_micro_usd = Some(micro);
    // 1,000 prompt tokens cost $0.01; $0.05 leave 4,000 tokens for the answer.
    cap(&mut ask, 50_000);
    let route = ask.with(|request| only.route(request)).unwrap();
    assert_eq!(route.choices[0].max_output, Some(4_000));
    cap(&mut ask, 12_559);
    check(&only, &ask, &["!max_cost_usd"]);
    cap(&mut ask, 12_560);
    assert!(ask.with(|request| only.route(request)).is_ok());
    ask.facts.max_output_tokens = Some(4_001);
    cap(&mut ask, 50_000);
    check(&only, &ask, &["!max_cost_usd"]);
    // The reserve of the dying, and of nobody else.
    let policy = Policy {
        death_reserve: Some(MicroUsd::new(20_000)),
        ..Policy::default()
    };
    let reserved = router(vec![bankr()], policy);
    let mut ask = Ask::of("end");
    ask.facts.max_output_tokens = Some(1_000);
    assert!(ask.with(|request| reserved.route(request)).is_ok());
    ask.facts.max_output_tokens = Some(1_001);
    let refusal = ask.with(|request| reserved.route(request)).unwrap_err();
    assert!(refusal.lacks[0].1.contains("inference.death_reserve_usd"));
    ask.hints = hints("guard");
    assert!(ask.with(|request| reserved.route(request)).is_ok());
}

#[test]
fn a_dearer_named_model_gives_way_where_its_caller_allows_it() {
    let all = router(everybody(), Policy::default());
    let mut ask = Ask::default();
    ask.model = "claude-opus";
    ask.hints.max_cost_micro_usd = Some(15_000);
    check(&all, &ask, &["!max_cost_usd"]);
    ask.allow_downgrade = true;
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(names(&all, &route)[0], "blockrun/claude-sonnet");
    assert!(route.automatic && route.warnings[0].contains("claude-opus"));
    assert_eq!(route.instead_of.as_deref(), Some("claude-opus"));
    // Never for what is protected.
    ask.hints.subsystem = Some("guard".into());
    check(&all, &ask, &["!max_cost_usd"]);
}

#[test]
fn a_named_model_is_kept_in_the_owners_order_whatever_the_hints() {
    let all = router(everybody(), Policy::default());
    let everywhere = [
        "blockrun/claude-opus",
        "openrouter/claude-opus",
        "venice/claude-opus",
        "bankr/claude-opus",
    ];
    let mut ask = Ask::default();
    ask.model = "claude-opus";
    check(&all, &ask, &everywhere);
    ask.hints.subsystem = Some("pulse".into());
    ask.hints.vitality = Some(0.0);
    ask.health = &Down(&[0]);
    check(&all, &ask, &everywhere);
    ask.hints = hints("sleep");
    check(
        &all,
        &ask,
        &["!privacy", "!visible_thinking"][..1].iter().as_slice(),
    );
    ask.hints = RouteHints::default();
    ask.hints.intent.require = Some(vec![Feature::Citations]);
    check(&all, &ask, &everywhere[..1]);
    ask.model = "venice/claude-opus";
    check(&all, &ask, &["!citations"]);
    ask.model = "bardo/auto";
    ask.hints.intent = IntentHints {
        model: Some("bankr/claude-opus".into()),
        ..IntentHints::default()
    };
    check(&all, &ask, &["bankr/claude-opus"]);
}

#[test]
fn families_are_taken_only_as_written() {
    let all = router(everybody(), Policy::default());
    let mut ask = Ask::default();
    ask.model = "claude/*";
    ask.hints.intent.quality = Some(Quality::Medium);
    first(&all, &ask, "blockrun/claude-sonnet");
    ask.model = "venice/*";
    first(&all, &ask, "venice/sealed");
    ask.model = "claude";
    check(&all, &ask, &["!claude"]);
    ask.model = "bardo/t9";
    check(&all, &ask, &["!bardo/t9"]);
}

#[test]
fn the_owners_models_serve_their_tiers_and_another_where_they_may_not() {
    let policy = Policy {
        t1: Some("openrouter/gemini-flash".into()),
        t2: Some("nowhere/nothing".into()),
        ..Policy::default()
    };
    let all = router(everybody(), policy);
    let mut ask = Ask::default();
    ask.model = "bardo/t1";
    check(&all, &ask, &["openrouter/gemini-flash"]);
    ask.model = "bardo/t2";
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(names(&all, &route)[0], "blockrun/claude-opus");
    assert!(route.warnings[0].contains("nowhere/nothing"));
    // A part that says what it needs is not bound by the tier of the name.
    ask.model = "bardo/t1";
    ask.hints = hints("thought");
    first(&all, &ask, "blockrun/claude-opus");
}

#[test]
fn an_unknown_part_is_warned_of_and_its_owners_rules_hold() {
    let mut policy = Policy::default();
    policy
        .routes
        .insert("my_part".into(), vec!["openrouter".into()]);
    let all = router(everybody(), policy);
    let mut ask = Ask::of("My-Part");
    ask.hints.intent.quality = Some(Quality::Maximum);
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(names(&all, &route)[0], "openrouter/claude-opus");
    assert!(route.subsystem.is_none());
    assert!(route.warnings[0].contains("My-Part"));
}

#[test]
fn slow_backends_are_put_last_and_left_out_only_by_the_strict() {
    let slow = Slow("claude-sonnet", 1_500);
    let mut ask = Ask::default();
    ask.health = &slow;
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
fn nobody_behind_the_first_keeps_the_request_less_well() {
    let all = router(vec![blockrun(), venice()], Policy::default());
    let mut ask = Ask::default();
    ask.hints.intent.prefer = Some(vec![Feature::Privacy]);
    check(&all, &ask, &["venice/sealed", "venice/r1"]);
    ask.hints.accept_degraded = Some(true);
    let route = ask.with(|request| all.route(request)).unwrap();
    assert!(names(&all, &route).contains(&"blockrun/claude-sonnet".to_owned()));
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
    // Wishes come before the order (C-006).
    ask.hints.intent.prefer = Some(vec![Feature::Citations]);
    let all = router(vec![openrouter(), blockrun()], ordered);
    first(&all, &ask, "blockrun/claude-opus");
}

#[test]
fn what_does_not_fit_is_left_out_and_asked_where_nobody_fits() {
    let mut small = blockrun();
    small.2[1].capabilities.context_tokens = 1_999;
    let all = router(vec![small], Policy::default());
    first(&all, &Ask::default(), "blockrun/claude-opus");
    let mut ask = Ask::default();
    ask.facts.prompt_tokens = 1_000_000;
    assert!(ask.with(|request| all.route(request)).is_ok());
    let mut blind = blockrun();
    blind.2[1].capabilities.images = false;
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

#[test]
fn refusals_name_what_is_missing_who_lacks_it_and_the_line_that_mends_it() {
    let all = router(vec![blockrun(), openrouter()], Policy::default());
    let mut ask = Ask::default();
    ask.hints.security_class = Some(SecurityClass::Private);
    let refusal = ask.with(|request| all.route(request)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Privacy);
    assert_eq!(refusal.missing, ["privacy"]);
    assert!(
        refusal.advice.contains("`providers.venice.api_key`"),
        "{}",
        refusal.advice
    );
    let (backend, words) = &refusal.lacks[0];
    assert_eq!(backend, "blockrun");
    assert_eq!(
        words,
        "it keeps requests as standard, and this one has to be kept as private"
    );
    ask.model = "gemini-flsh";
    let refusal = ask.with(|request| all.route(request)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::UnknownModel);
    assert_eq!(refusal.advice, "did you mean `gemini-flash`?");
}

#[test]
fn an_explanation_says_why_of_everybody_and_which_line_would_mend_it() {
    let all = router(vec![blockrun(), openrouter()], Policy::default());
    let mut ask = Ask::of("sleep");
    ask.hints.vitality = Some(0.5);
    let explained = ask.with(|request| all.explain(request));
    let route = explained.outcome.unwrap();
    assert_eq!(explained.considered.len(), 7);
    assert!(explained.considered[0].eligible);
    assert_eq!(explained.considered[0].backend, "blockrun");
    for considered in &explained.considered[route.choices.len()..] {
        assert!(!considered.reasons.is_empty(), "{considered:?}");
    }
    assert!((explained.intent.cost_sensitivity - 0.65).abs() < 1e-12);
    assert_eq!(explained.advice.len(), 1);
    assert!(explained.advice[0].contains("`providers.venice.api_key`"));
    assert!(!explained.front.is_empty());
}

#[test]
fn costs_are_estimated_from_the_request_and_unknown_is_not_zero() {
    let mut unpriced = blockrun();
    unpriced.2.truncate(2);
    unpriced.2[1].price = None;
    let all = router(vec![unpriced], Policy::default());
    let mut ask = Ask::default();
    ask.model = "claude-opus";
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(route.choices[0].estimated_cost, Some(MicroUsd::new(20_000)));
    ask.model = "claude-sonnet";
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(route.choices[0].estimated_cost, None);
    ask.model = "bardo/auto";
    first(&all, &ask, "blockrun/claude-opus");
}

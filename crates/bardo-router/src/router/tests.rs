use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::hints::{IntentHints, RouteHints};
use bardo_types::intent::Quality;
use bardo_types::model::{Capabilities, Dialect, ModelEntry, Price, Service, Tier};
use bardo_types::money::{MicroUsd, PricePerMillion};
use bardo_types::phase::Phase;
use bardo_types::privacy::TaskClass;
use bardo_types::unit::UnitInterval;

use super::*;
use crate::catalog::Catalog;
use crate::decision::RefusalKind;
use crate::policy::{BankrPolicy, Mode};
use crate::rated::Terms;
use crate::request::{Facts, HealthState, HealthView, Kind, NoHealth, ObservedHealth};
use crate::roster::{BackendModels, BackendSpec, ModelFilter, RosterBuilder};

mod agents;
mod names;
mod protection;
mod roles;
mod words;

/// A model that reads and uses everything; `cents` is what a million tokens cost, in and out.
pub(super) fn model(id: &str, tier: Option<Tier>, rating: u8, cents: u64) -> ModelEntry {
    let price = PricePerMillion::from_micro(cents * 10_000);
    ModelEntry {
        id: id.into(),
        upstream_id: id.into(),
        display_name: id.into(),
        vendor: id.split('-').next().unwrap_or_default().into(),
        tier,
        capabilities: Arc::new(Capabilities {
            context_tokens: 100_000,
            max_output_tokens: 8_000,
            ..Capabilities::default()
        }),
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
    Arc::make_mut(&mut entry.capabilities).features = features.iter().copied().collect();
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
        cost_sensitivity: UnitInterval::new(0.3).unwrap(),
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
        cost_sensitivity: UnitInterval::new(0.0).unwrap(),
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
                cost_sensitivity: UnitInterval::new(0.8).unwrap(),
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
        several: false,
        effort: None,
        embeddings: false,
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

    fn for_model(model: &'static str) -> Self {
        Self {
            model,
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
            added: &|_| 0,
            own_keys: &|_| false,
            health: self.health,
            bankr: crate::request::BankrFunds::default(),
            tier: None,
        })
    }
}

fn names(router: &Router, route: &Route) -> Vec<String> {
    let name = |choice: &RoutedCandidate| {
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
    fn observe(&self, candidate: &Candidate) -> ObservedHealth {
        let state = if self.0.contains(&candidate.backend) {
            HealthState::Down
        } else {
            HealthState::Healthy
        };
        ObservedHealth {
            state,
            ..ObservedHealth::default()
        }
    }
}

struct Slow(&'static str, u64);

impl HealthView for Slow {
    fn observe(&self, candidate: &Candidate) -> ObservedHealth {
        ObservedHealth {
            p90_ms: (candidate.entry.id == self.0).then_some(self.1),
            ..ObservedHealth::default()
        }
    }
}

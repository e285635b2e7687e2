//! Routers over the shipped example configurations, and requests to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bardo_router::{
    BackendModels, BackendSpec, Candidate, Catalog, Facts, HealthState, HealthView, Kind,
    ModelFilter, ObservedHealth, Policy, Refusal, Roster, RosterBuilder, Route, RouteRequest,
    Router,
};
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::hints::RouteHints;
use bardo_types::model::{Dialect, Price, Service};
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;

/// An example configuration, as far as routing reads it. The gateway's own tests take the whole
/// files; here a few lines of each are enough.
struct Example(&'static str);

impl Example {
    /// The members below `section`/`member`, one to a line, as (name, value).
    fn members(&self, section: &str, member: &str) -> Vec<(&'static str, &'static str)> {
        let mut inside = [false, false];
        let mut found = Vec::new();
        for line in self.0.lines() {
            let text = line.split(" #").next().unwrap_or_default().trim_end();
            let depth = text.len() - text.trim_start().len();
            let Some((name, value)) = text.trim_start().split_once(':') else {
                continue;
            };
            match depth {
                _ if name.starts_with('#') => {}
                0 => inside = [name == section, false],
                2 => inside[1] = inside[0] && name == member,
                4 if inside[1] => found.push((name, value.trim())),
                _ => {}
            }
        }
        found
    }

    /// The names below `section`.
    fn names(&self, section: &str) -> Vec<&'static str> {
        let body = self.0.split(&format!("\n{section}:\n")).nth(1).unwrap();
        body.lines()
            .take_while(|line| line.is_empty() || line.starts_with(' '))
            .filter_map(|line| line.strip_prefix("  "))
            .filter(|line| !line.starts_with([' ', '#']))
            .filter_map(|line| line.split(':').next())
            .collect()
    }

    /// The value of `section`/`member`, where it is there.
    fn value(&self, section: &str, member: &str) -> Option<&'static str> {
        let body = self.0.split(&format!("\n{section}:\n")).nth(1)?;
        let value = body.split(&format!("  {member}: ")).nth(1)?;
        value.lines().next().map(str::trim)
    }
}

/// `[a, b]` as its members.
fn list(text: &str) -> Vec<String> {
    text.trim_matches(['[', ']'])
        .split(',')
        .map(|item| item.trim().trim_matches('"').to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

/// The setups of the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setup {
    BlockrunOnly,
    OpenrouterFallback,
    FullStack,
    SoloVenice,
}

impl Setup {
    pub(crate) const ALL: [Self; 4] = [
        Self::BlockrunOnly,
        Self::OpenrouterFallback,
        Self::FullStack,
        Self::SoloVenice,
    ];

    fn example(self) -> Example {
        Example(match self {
            Self::BlockrunOnly => include_str!("../../../../examples/config/blockrun-only.yaml"),
            Self::OpenrouterFallback => {
                include_str!("../../../../examples/config/openrouter-fallback.yaml")
            }
            Self::FullStack => include_str!("../../../../examples/config/full-stack.yaml"),
            Self::SoloVenice => include_str!("../../../../examples/config/solo-venice.yaml"),
        })
    }

    /// Its backends in the owner's order, with the models that each is configured for.
    fn backends(self) -> Vec<(&'static str, Service, Vec<String>)> {
        let blockrun = ("blockrun", Service::BlockRun, Vec::new());
        match self {
            Self::BlockrunOnly => vec![blockrun],
            Self::OpenrouterFallback => {
                vec![blockrun, ("openrouter", Service::OpenRouter, Vec::new())]
            }
            Self::FullStack => vec![
                blockrun,
                ("openrouter", Service::OpenRouter, self.models("openrouter")),
                ("venice", Service::Venice, Vec::new()),
                ("bankr", Service::Bankr, Vec::new()),
                ("direct/openai", Service::OpenAi, Vec::new()),
                ("direct/anthropic", Service::Anthropic, Vec::new()),
                ("direct/local", Service::Local, vec!["qwen3-7b".to_owned()]),
            ],
            Self::SoloVenice => vec![("venice", Service::Venice, Vec::new())],
        }
    }

    /// The `models` of a provider.
    fn models(self, provider: &str) -> Vec<String> {
        let members = self.example().members("providers", provider);
        let (_, models) = members.iter().find(|(name, _)| *name == "models").unwrap();
        list(models)
    }

    pub(crate) fn policy(self) -> Policy {
        let example = self.example();
        let mut policy = Policy::default();
        for (subsystem, order) in example.members("inference", "routes") {
            policy.routes.insert(subsystem.to_owned(), list(order));
        }
        for (subsystem, floor) in example.members("privacy", "floors") {
            let floor = SecurityClass::parse(floor).unwrap();
            policy.floors.insert(subsystem.to_owned(), floor);
        }
        let providers = |provider| -> BTreeMap<_, _> {
            example.members("providers", provider).into_iter().collect()
        };
        policy.diem_staked = providers("venice").get("diem_staked") == Some(&"true");
        let bankr = providers("bankr");
        policy.bankr.self_funding = bankr.get("self_funding") == Some(&"true");
        if let Some(subsystems) = bankr.get("subsystems") {
            policy.bankr.subsystems = list(subsystems);
        }
        // What the wallet holds is asked of it at run time.
        policy.bankr.revenue_balance = Some(MicroUsd::new(50_000_000));
        policy.bankr.lifetime_revenue = Some(MicroUsd::new(200_000_000));
        policy
    }

    fn roster(self, catalog: Catalog) -> Roster {
        let mut roster = RosterBuilder::new(Arc::new(catalog));
        for (name, service, models) in self.backends() {
            let spec = BackendSpec {
                name: name.to_owned(),
                service,
                filter: ModelFilter::new(models),
            };
            // What runs on this machine costs nothing.
            let price = (service == Service::Local).then(Price::default);
            roster.backend(spec, BackendModels::Snapshot, price);
        }
        roster.build()
    }

    /// The setup with the models of March 2026.
    pub(crate) fn of_march_2026(self) -> Router {
        self.of_march_2026_with(self.policy())
    }

    /// The setup with the models of March 2026, and another policy than the one of its file.
    pub(crate) fn of_march_2026_with(self, policy: Policy) -> Router {
        let text = include_str!("../../fixtures/march-2026.toml");
        Router::new(self.roster(Catalog::parse(text).unwrap()), policy)
    }

    /// The setup with the models that this build knows.
    pub(crate) fn of_today(self) -> Router {
        Router::new(self.roster(Catalog::embedded()), self.policy())
    }
}

/// Nine of ten answers of each model begin within so many milliseconds.
const P90_MS: [(&str, u64); 10] = [
    ("claude-opus-4-6", 4_500),
    ("claude-sonnet-4-6", 3_000),
    ("claude-haiku-4-5", 800),
    ("gpt-5.4", 5_000),
    ("gemini-3-flash", 600),
    ("deepseek-r1", 9_000),
    ("gpt-oss-120b", 900),
    ("llama-3.3-70b", 700),
    ("qwen-plus", 900),
    ("qwen3-7b", 150),
];

/// How the backends do: all well but those that are named.
pub(crate) struct Measured<'a> {
    pub(crate) roster: &'a Roster,
    pub(crate) down: &'a [&'a str],
}

impl<'a> Measured<'a> {
    pub(crate) fn all_well(router: &'a Router) -> Self {
        Self {
            roster: router.roster(),
            down: &[],
        }
    }
}

impl HealthView for Measured<'_> {
    fn observe(&self, candidate: &Candidate) -> ObservedHealth {
        let name = self.roster.backends()[candidate.backend].name.as_str();
        let measured = P90_MS.iter().find(|(id, _)| *id == candidate.entry.id);
        ObservedHealth {
            state: match self.down.contains(&name) {
                true => HealthState::Down,
                false => HealthState::Healthy,
            },
            p50_ms: measured.map(|(_, p90)| p90 / 2),
            p90_ms: measured.map(|(_, p90)| *p90),
            error_permille: Some(0),
        }
    }
}

pub(crate) fn facts() -> Facts {
    Facts {
        dialect: Dialect::Chat,
        uses: FeatureSet::EMPTY,
        prompt_tokens: 4_000,
        max_output_tokens: Some(1_000),
        several: false,
        effort: None,
        embeddings: false,
        turns: 1,
        stream: true,
        kind: Kind::Conversation,
    }
}

/// What a subsystem says of itself, and nothing else.
pub(crate) fn hints(subsystem: &str) -> RouteHints {
    RouteHints {
        subsystem: Some(subsystem.into()),
        ..RouteHints::default()
    }
}

/// Asks for whatever suits the hints.
pub(crate) fn route_by(
    router: &Router,
    hints: &RouteHints,
    health: &dyn HealthView,
) -> Result<Route, Refusal> {
    router.route(&RouteRequest {
        model: "bardo/auto",
        hints,
        facts: facts(),
        allow_downgrade: true,
        may_use: &|_| true,
        added: &|_| 0,
        own_keys: &|_| false,
        health,
        bankr: bardo_router::BankrFunds::default(),
        tier: None,
    })
}

/// Routes a request while all backends are healthy.
pub(crate) fn route(router: &Router, hints: &RouteHints) -> Result<Route, Refusal> {
    route_by(router, hints, &Measured::all_well(router))
}

/// Routes a request while some backends are down.
pub(crate) fn route_while_down(
    router: &Router,
    hints: &RouteHints,
    down: &[&str],
) -> Result<Route, Refusal> {
    let health = Measured {
        roster: router.roster(),
        down,
    };
    route_by(router, hints, &health)
}

/// The choices of a route as `<backend>/<model>`, in order.
pub(crate) fn names(router: &Router, route: &Route) -> Vec<String> {
    let named = route.choices.iter().map(|choice| {
        let backend = &router.roster().backends()[choice.candidate.backend].name;
        format!("{backend}/{}", choice.candidate.entry.id)
    });
    named.collect()
}

/// The first choice for a subsystem, with what it lacks: `blockrun/claude-opus-4-6 -citations`.
pub(crate) fn first(router: &Router, subsystem: &str) -> String {
    first_by(router, subsystem, &Measured::all_well(router))
}

/// The first choice for a subsystem, with these observations of the backends.
pub(crate) fn first_by(router: &Router, subsystem: &str, health: &dyn HealthView) -> String {
    let route = match route_by(router, &hints(subsystem), health) {
        Ok(route) => route,
        Err(refusal) => return format!("refused: {}", refusal.missing.join(" ")),
    };
    let mut text = names(router, &route).swap_remove(0);
    for feature in &route.choices[0].degraded {
        text.push_str(" -");
        text.push_str(Feature::as_str(*feature));
    }
    text
}

#[test]
fn the_setups_are_those_of_the_files() {
    for setup in Setup::ALL {
        let example = setup.example();
        let mut seen: Vec<&str> = Vec::new();
        for (name, ..) in setup.backends() {
            let provider = name.split('/').next().unwrap();
            if seen.last() != Some(&provider) {
                seen.push(provider);
            }
        }
        if let Some(order) = example.value("inference", "provider_order") {
            assert_eq!(seen, list(order), "{setup:?}");
        }
        seen.sort_unstable();
        let mut named = example.names("providers");
        named.sort_unstable();
        assert_eq!(seen, named, "{setup:?}");
    }
    let policy = Setup::FullStack.policy();
    assert_eq!(policy.routes["operator"], ["bankr", "blockrun"]);
    assert_eq!(policy.routes.len(), 4);
    assert_eq!(policy.floors["batch_dream"], SecurityClass::Standard);
    assert!(policy.diem_staked && policy.bankr.self_funding);
    assert_eq!(policy.bankr.subsystems.len(), 3);
    assert_eq!(Setup::FullStack.models("openrouter").len(), 4);
    assert_eq!(Setup::SoloVenice.policy().floors.len(), 8);
}

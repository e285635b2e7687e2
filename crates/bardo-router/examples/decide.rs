//! How long a decision takes among 5, 50 and 500 candidates, and how long a model that the caller
//! names: `cargo run --release -p bardo-router --example decide`.

use std::hint::black_box;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bardo_router::{
    BackendModels, BackendSpec, Catalog, Facts, Kind, ModelFilter, NoHealth, Policy, RosterBuilder,
    RouteRequest, Router,
};
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::hints::{IntentHints, RouteHints};
use bardo_types::model::{Capabilities, Dialect, ModelEntry, Price, Service, Tier};
use bardo_types::money::PricePerMillion;
use bardo_types::privacy::SecurityClass;
use bardo_types::unit::UnitInterval;

const SIZES: [usize; 3] = [5, 50, 500];
const BACKENDS: [(&str, Service); 5] = [
    ("blockrun", Service::BlockRun),
    ("openrouter", Service::OpenRouter),
    ("venice", Service::Venice),
    ("bankr", Service::Bankr),
    ("direct/openai", Service::OpenAi),
];
/// Decisions that are timed together, and how often.
const BATCH: u32 = 200;
const ROUNDS: usize = 200;

/// The `index`th of many models, each a little different.
fn entry(index: usize) -> ModelEntry {
    let micro = |factor: usize| PricePerMillion::from_micro((index * factor % 20_000_000) as u64);
    let tiers = [Tier::Small, Tier::Strong, Tier::Frontier];
    let all: Vec<Feature> = Feature::all().collect();
    ModelEntry {
        id: format!("model-{index}"),
        upstream_id: format!("maker/model-{index}"),
        display_name: String::new(),
        vendor: "maker".into(),
        tier: Some(tiers[index % 3]),
        capabilities: Arc::new(Capabilities {
            features: (0..4)
                .map(|n| all[(index * 7 + n * 5) % all.len()])
                .collect(),
            context_tokens: 200_000,
            max_output_tokens: 32_000,
            ..Capabilities::default()
        }),
        price: Some(Price {
            input: micro(370_001),
            output: micro(1_110_003),
            ..Price::default()
        }),
        created: 0,
        embeddings: false,
        rating: u8::try_from(index * 13 % 100).unwrap_or_default(),
        security: [SecurityClass::Standard, SecurityClass::Private][index % 2],
    }
}

fn router(size: usize, catalog: &Arc<Catalog>) -> Router {
    let mut builder = RosterBuilder::new(Arc::clone(catalog));
    for (at, (name, service)) in BACKENDS.into_iter().enumerate() {
        let models = (0..size)
            .filter(|index| index % BACKENDS.len() == at)
            .map(entry);
        let spec = BackendSpec {
            name: name.into(),
            service,
            filter: ModelFilter::default(),
        };
        builder.backend(spec, BackendModels::Live(models.collect()), None);
    }
    Router::new(builder.build(), Policy::default())
}

/// The median of a round and the slowest of a hundred, for one decision.
fn time(decide: impl Fn()) -> (Duration, Duration) {
    let mut rounds: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..BATCH {
                decide();
            }
            start.elapsed() / BATCH
        })
        .collect();
    rounds.sort_unstable();
    (rounds[ROUNDS / 2], rounds[ROUNDS * 99 / 100])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let catalog = Arc::new(Catalog::embedded());
    let facts = Facts {
        dialect: Dialect::Chat,
        uses: FeatureSet::EMPTY.with(Feature::Tools),
        prompt_tokens: 4_000,
        max_output_tokens: Some(1_000),
        several: false,
        effort: None,
        embeddings: false,
        turns: 3,
        stream: true,
        kind: Kind::AgentLoop,
    };
    let wishful = RouteHints {
        vitality: UnitInterval::new(0.8),
        intent: IntentHints {
            prefer: Some(vec![Feature::Citations, Feature::Privacy]),
            max_latency_ms: Some(20_000),
            ..IntentHints::default()
        },
        ..RouteHints::default()
    };
    let silent = RouteHints::default();
    let mut out = std::io::stdout().lock();
    for size in SIZES {
        let router = router(size, &catalog);
        for (what, model, hints) in [
            ("chosen by wishes", "bardo/auto", &wishful),
            ("named", "model-1", &silent),
        ] {
            let request = RouteRequest {
                model,
                hints,
                facts,
                allow_downgrade: false,
                may_use: &|_| true,
                added: &|_| 0,
                own_keys: &|_| false,
                health: &NoHealth,
                bankr: bardo_router::BankrFunds::default(),
                tier: None,
            };
            router.route(&request).map_err(|refusal| refusal.advice)?;
            let (median, p99) = time(|| {
                let _ = black_box(router.route(black_box(&request)));
            });
            writeln!(
                out,
                "{size} candidates, {what}: median {median:?}, p99 {p99:?}"
            )?;
        }
        let (median, p99) = time(|| {
            let _ = black_box(router.roster().resolve(black_box("model-1")));
        });
        writeln!(
            out,
            "{size} candidates, looked up: median {median:?}, p99 {p99:?}"
        )?;
    }
    Ok(())
}

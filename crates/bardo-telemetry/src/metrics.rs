//! The metrics, registered once.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bardo_types::error_code::ErrorCode;
use bardo_types::fault::FaultClass;
use bardo_types::model::Dialect;
use bardo_types::receipt::{Amounts, Outcome, PaymentMode, ProviderPayment, Receipt};
use bardo_types::usage::Usage;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use crate::caches::CacheMetrics;
use crate::exports::ExportMetrics;
use crate::funds::FundsMetrics;
use crate::labels::{
    BackendStateLabels, BoundedLabels, BuildLabels, DegradedLabels, FailedAttemptLabels,
    LatencyLabels, ListingLabels, MoneyLabels, PaymentLabels, RefusedLabels, RequestLabels,
    ServedLabels, TokensLabels,
};
use crate::prompt_caches::PromptCacheMetrics;
use crate::sales::SaleMetrics;

/// Number of series that each thread remembers.
const SERIES_MET: usize = 64;
/// Number of model names with a series of their own.
const MODELS: usize = 300;
/// Number of lost features with a series of their own.
const FEATURES: usize = 100;
/// Upper bounds of the histograms, in seconds.
const SECONDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];
/// Upper bounds for what the gateway itself adds, in seconds.
const OVERHEAD: [f64; 10] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25,
];

type Histograms = Family<ServedLabels, Histogram, fn() -> Histogram>;

/// Values that are read when metrics are collected.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gauges {
    /// The store answered its last call.
    pub store_up: bool,
    /// Settlements that wait for the store.
    pub settlements_waiting: u64,
    /// Receipts that were dropped because the store could not keep up.
    pub records_dropped: u64,
    /// The last reload of the configuration was taken.
    pub reload_ok: bool,
    /// Backends whose breaker is open.
    pub breakers_open: u64,
    /// Those of them that are asked all the same, there being no other backend.
    pub breakers_asked_anyway: u64,
}

/// How well the backends serve, read when somebody looks.
#[derive(Debug, Clone, Default)]
pub struct BackendGauges {
    /// The name of each, and its state: `healthy`, `degraded`, `down` or `unknown`.
    pub states: Vec<(String, &'static str)>,
    /// How long they take.
    pub latencies: Vec<LatencyGauge>,
}

/// One quantile of how long a backend takes with a model.
#[derive(Debug, Clone)]
pub struct LatencyGauge {
    /// The backend's name.
    pub provider: String,
    /// The model, by the backend's name for it.
    pub model: String,
    /// To the first content of streams, or to the end of whole answers.
    pub streamed: bool,
    /// Which quantile, e.g. `0.9`.
    pub quantile: &'static str,
    /// Duration of that value, as measured.
    pub took: Duration,
}

/// The states that a backend can be in.
const STATES: [&str; 4] = ["healthy", "degraded", "down", "unknown"];

/// The series of one backend, model and dialect.
struct Series {
    of: u64,
    dialect: Dialect,
    streamed: bool,
    backend: Arc<str>,
    named: Arc<str>,
    /// In the order of [`Outcome`].
    requests: [Counter; 4],
    duration: Histogram,
    first_content: Histogram,
    payment: Option<ProviderPayment>,
    /// Requests by the means of payment; `None` where no backend was asked.
    payments: Option<Counter>,
    tokens: [Counter; 4],
    money: [Counter; 8],
}

/// Counts what is not zero: all threads share a counter.
fn add(counter: &Counter, count: u64) {
    if count > 0 {
        counter.inc_by(count);
    }
}

impl Series {
    fn is_for(&self, metrics: u64, receipt: &Receipt) -> bool {
        self.of == metrics
            && self.dialect == receipt.dialect
            && self.streamed == receipt.streamed
            && self.payment == receipt.provider_payment
            && self.backend == receipt.backend
            && self.named == receipt.model
    }

    fn count_tokens(&self, usage: &Usage) {
        let [input, read, write, output] = &self.tokens;
        add(input, usage.fresh_input);
        add(read, usage.cache_read);
        add(write, usage.cache_write());
        add(output, usage.output);
    }

    fn count_money(&self, mode: PaymentMode, amounts: &Amounts) {
        let [
            billed,
            direct,
            spread,
            charge,
            shortfall,
            savings,
            cached,
            premium,
        ] = &self.money;
        // What the owner of a direct key is billed is no money of the gateway's.
        let cost = if mode == PaymentMode::Direct {
            direct
        } else {
            billed
        };
        add(cost, amounts.provider_cost.unwrap_or_default().get());
        add(spread, amounts.spread.get());
        add(charge, amounts.charge.get());
        add(shortfall, amounts.shortfall.get());
        add(savings, amounts.savings().unwrap_or_default().get());
        let saved = amounts.cache_savings.unwrap_or_default();
        add(cached, saved.gain().get());
        add(premium, saved.loss().get());
    }
}

/// The metrics of a process.
pub struct Metrics {
    /// Tells one set of metrics from another, where a process has several (tests).
    id: u64,
    registry: Registry,
    models: BoundedLabels,
    features: BoundedLabels,
    requests: Family<RequestLabels, Counter>,
    duration: Histograms,
    first_content: Histograms,
    overhead: Histogram,
    tokens: Family<TokensLabels, Counter>,
    money: Family<MoneyLabels, Counter>,
    payments: Family<PaymentLabels, Counter>,
    attempts_failed: Family<FailedAttemptLabels, Counter>,
    refused: Family<RefusedLabels, Counter>,
    degraded: Family<DegradedLabels, Counter>,
    listed: Family<ListingLabels, Gauge>,
    quarantined: Family<ListingLabels, Gauge>,
    unpriced: Counter,
    unpriced_models: Family<ListingLabels, Gauge>,
    estimated: Counter,
    store_up: Gauge,
    settlements_waiting: Gauge,
    records_dropped: Gauge,
    reload_ok: Gauge,
    breakers_open: Gauge,
    breakers_asked_anyway: Gauge,
    backend_state: Family<BackendStateLabels, Gauge>,
    backend_latency: Family<LatencyLabels, Gauge<f64, AtomicU64>>,
    pub(crate) caches: CacheMetrics,
    pub(crate) exports: ExportMetrics,
    pub(crate) prompt_caches: PromptCacheMetrics,
    pub(crate) sales: SaleMetrics,
    pub(crate) funds: FundsMetrics,
}

fn family<L, M>(registry: &mut Registry, name: &str, help: &str) -> Family<L, M>
where
    L: Clone + std::hash::Hash + Eq + EncodeLabelSet + std::fmt::Debug + Send + Sync + 'static,
    M: Default + Clone + Metric,
    Family<L, M>: Metric,
{
    let family = Family::<L, M>::default();
    registry.register(name, help, family.clone());
    family
}

fn single<M: Metric + Default + Clone>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn histograms(registry: &mut Registry, name: &str, help: &str) -> Histograms {
    let make: fn() -> Histogram = || Histogram::new(SECONDS);
    let family = Family::new_with_constructor(make);
    registry.register(name, help, family.clone());
    family
}

fn unpriced_models(registry: &mut Registry) -> Family<ListingLabels, Gauge> {
    let help = "Models of a provider without a known price";
    family(registry, "models_unpriced", help)
}

fn settlements_waiting(registry: &mut Registry) -> Gauge {
    let help = "Settlements that wait for the store";
    single(registry, "settlements_waiting", help)
}

/// Registers the histogram of the gateway's own time.
fn overhead(registry: &mut Registry) -> Histogram {
    let overhead = Histogram::new(OVERHEAD);
    let help = "Time from receiving a request to sending it to a provider, in seconds";
    registry.register("gateway_overhead_seconds", help, overhead.clone());
    overhead
}

/// Registers which version this is.
fn tell_build(registry: &mut Registry) {
    let help = "Always 1; the version is a label";
    let build: Family<BuildLabels, Gauge> = family(registry, "build_info", help);
    let version = env!("CARGO_PKG_VERSION");
    build.get_or_create(&BuildLabels { version }).set(1);
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers everything under the prefix `bardo_`.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut registry = Registry::with_prefix("bardo");
        let all = &mut registry;
        tell_build(all);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            models: BoundedLabels::default(),
            features: BoundedLabels::default(),
            requests: family(all, "requests", "Requests that have ended"),
            duration: histograms(
                all,
                "request_duration_seconds",
                "Time from receiving a request to its end, in seconds",
            ),
            first_content: histograms(
                all,
                "time_to_first_token_seconds",
                "Time from receiving a request to its first content, in seconds",
            ),
            overhead: overhead(all),
            tokens: family(
                all,
                "tokens",
                "Tokens that providers counted, in disjoint classes",
            ),
            money: family(all, "usd_micro", "Money in 10^-6 USD"),
            payments: family(
                all,
                "provider_payments",
                "Requests, by how their provider is paid",
            ),
            attempts_failed: family(all, "attempts_failed", "Failed tries, by provider"),
            refused: family(
                all,
                "refused_requests",
                "Requests that were refused, by error code",
            ),
            degraded: family(
                all,
                "degraded_features",
                "Requested features that were lost",
            ),
            listed: family(all, "models_listed", "Models in a provider's last list"),
            quarantined: family(
                all,
                "models_quarantined",
                "Skipped models with invalid rows in a provider's last list",
            ),
            unpriced: single(
                all,
                "unpriced_requests",
                "Requests that were refused, or answered at an unknown cost, because the model has no known price",
            ),
            unpriced_models: unpriced_models(all),
            estimated: single(
                all,
                "estimated_usages",
                "Answers without usage of the provider, whose tokens the gateway counted",
            ),
            store_up: single(all, "store_up", "1 if the last call to the store worked"),
            settlements_waiting: settlements_waiting(all),
            records_dropped: single(
                all,
                "records_dropped",
                "Free receipts dropped because the store was too slow",
            ),
            reload_ok: single(
                all,
                "config_last_reload_success",
                "1 if the last reload of the configuration worked",
            ),
            breakers_open: single(
                all,
                "breakers_open",
                "Backends with an open circuit: they are skipped if another backend is available",
            ),
            breakers_asked_anyway: single(
                all,
                "breakers_asked_anyway",
                "Backends that are called although their circuit is open, because no other backend is available",
            ),
            backend_state: family(
                all,
                "backend_state",
                "1 for the present state of a backend, 0 for the other states",
            ),
            backend_latency: family(
                all,
                "backend_latency_seconds",
                "Latency of a backend over five minutes: to the first content of streams, to the end of whole answers",
            ),
            caches: CacheMetrics::new(all),
            exports: ExportMetrics::new(all),
            prompt_caches: PromptCacheMetrics::new(all),
            sales: SaleMetrics::new(all),
            funds: FundsMetrics::new(all),
            registry,
        }
    }

    /// Counts a request that has ended.
    pub fn settled(&self, receipt: &Receipt) {
        if receipt.is_unpriced() {
            self.unpriced.inc();
        }
        let timings = &receipt.timings;
        self.with_series(receipt, |series| {
            series.requests[receipt.outcome as usize].inc();
            series.duration.observe(timings.total.as_secs_f64());
            if let Some(first) = timings.first_content {
                series.first_content.observe(first.as_secs_f64());
            }
            if let Some(usage) = &receipt.usage {
                series.count_tokens(usage);
                // The share is that of agents' calls. No provider has a cache for texts of vectors.
                if !receipt.is_for_a_cache() && !receipt.is_for_vectors() {
                    self.prompt_caches.count(receipt.received_at_ms, usage);
                }
            }
            series.count_money(receipt.mode, &receipt.amounts);
            if let Some(payments) = &series.payments {
                payments.inc();
            }
        });
        if let Some(sent) = timings.sent {
            self.overhead.observe(sent.as_secs_f64());
        }
        if receipt.estimated {
            self.estimated.inc();
        }
        for lost in &receipt.degraded {
            let feature = self.features.name(&lost.feature, FEATURES);
            self.degraded
                .get_or_create(&DegradedLabels { feature })
                .inc();
        }
    }

    /// Hands the series of a receipt's labels to `count`. Each thread keeps those that it met
    /// last, so that a request looks at a few short texts and no map.
    fn with_series(&self, receipt: &Receipt, count: impl FnOnce(&Series)) {
        thread_local! {
            static MET: RefCell<Vec<Series>> = const { RefCell::new(Vec::new()) };
        }
        MET.with_borrow_mut(|met| {
            let at = match met
                .iter()
                .position(|series| series.is_for(self.id, receipt))
            {
                Some(at) => at,
                None => {
                    if met.len() >= SERIES_MET {
                        met.clear();
                    }
                    met.push(self.series(receipt));
                    met.len() - 1
                }
            };
            count(&met[at]);
        });
    }

    fn series(&self, receipt: &Receipt) -> Series {
        let provider = if receipt.backend.is_empty() {
            "none".to_owned()
        } else {
            receipt.backend.to_string()
        };
        let model = self.models.name(&receipt.model, MODELS);
        let served = ServedLabels {
            provider: provider.clone(),
            stream: if receipt.streamed { "true" } else { "false" },
        };
        let tokens = |class| {
            let labels = TokensLabels {
                provider: provider.clone(),
                model: model.clone(),
                class,
            };
            self.tokens.get_or_create_owned(&labels)
        };
        let money = |kind| {
            let labels = MoneyLabels {
                provider: provider.clone(),
                kind,
            };
            self.money.get_or_create_owned(&labels)
        };
        let outcome = |outcome: Outcome| {
            let labels = RequestLabels {
                dialect: receipt.dialect.as_str(),
                provider: provider.clone(),
                model: model.clone(),
                outcome: outcome.as_str(),
            };
            self.requests.get_or_create_owned(&labels)
        };
        Series {
            of: self.id,
            dialect: receipt.dialect,
            streamed: receipt.streamed,
            backend: Arc::clone(&receipt.backend),
            named: Arc::clone(&receipt.model),
            requests: [
                Outcome::Finished,
                Outcome::Aborted,
                Outcome::Failed,
                Outcome::Unknown,
            ]
            .map(outcome),
            duration: self.duration.get_or_create_owned(&served),
            first_content: self.first_content.get_or_create_owned(&served),
            payment: receipt.provider_payment,
            payments: receipt.provider_payment.map(|payment| {
                let labels = PaymentLabels {
                    provider: provider.clone(),
                    payment: payment.as_str(),
                };
                self.payments.get_or_create_owned(&labels)
            }),
            tokens: ["input", "cache_read", "cache_write", "output"].map(tokens),
            money: [
                "provider_cost",
                "direct_cost",
                "spread",
                "charge",
                "shortfall",
                "savings",
                "prompt_cache_savings",
                "prompt_cache_premium",
            ]
            .map(money),
        }
    }

    /// Counts a try that failed.
    pub fn attempt_failed(&self, provider: &str, class: FaultClass) {
        let labels = FailedAttemptLabels {
            provider: provider.to_owned(),
            class: class.as_str(),
        };
        self.attempts_failed.get_or_create(&labels).inc();
    }

    /// Counts a refusal by its error code.
    pub fn refused(&self, code: ErrorCode) {
        let labels = RefusedLabels {
            code: code.as_str(),
        };
        self.refused.get_or_create(&labels).inc();
        if code == ErrorCode::UnpricedModel {
            self.unpriced.inc();
        }
    }

    /// Tells what a provider's list of models came to.
    pub fn listed(&self, provider: &str, models: usize, quarantined: usize) {
        let labels = ListingLabels {
            provider: provider.to_owned(),
        };
        let count = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
        self.listed.get_or_create(&labels).set(count(models));
        self.quarantined
            .get_or_create(&labels)
            .set(count(quarantined));
    }

    /// Tells how many models of each provider have no known price. Providers that are not told of any
    /// more are not shown any more.
    pub fn unpriced_models(&self, counts: impl IntoIterator<Item = (String, usize)>) {
        self.unpriced_models.clear();
        for (provider, models) in counts {
            let labels = ListingLabels { provider };
            let models = i64::try_from(models).unwrap_or(i64::MAX);
            self.unpriced_models
                .get_or_create_owned(&labels)
                .set(models);
        }
    }

    /// Takes how well the backends serve at this moment. What is not told any more is not shown any
    /// more.
    pub fn backends(&self, backends: &BackendGauges) {
        self.backend_state.clear();
        for (provider, current) in &backends.states {
            for state in STATES {
                let provider = provider.clone();
                let labels = BackendStateLabels { provider, state };
                let gauge = self.backend_state.get_or_create_owned(&labels);
                gauge.set(i64::from(state == *current));
            }
        }
        self.backend_latency.clear();
        for latency in &backends.latencies {
            let labels = LatencyLabels {
                provider: latency.provider.clone(),
                model: self.models.name(&latency.model, MODELS),
                stream: if latency.streamed { "true" } else { "false" },
                quantile: latency.quantile,
            };
            let gauge = self.backend_latency.get_or_create_owned(&labels);
            // Several models may share the name `other`; the slowest is told.
            gauge.set(gauge.get().max(latency.took.as_secs_f64()));
        }
    }

    /// Everything as text; `gauges` are read at this moment.
    #[must_use]
    pub fn encode(&self, gauges: &Gauges) -> String {
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.store_up.set(i64::from(gauges.store_up));
        self.settlements_waiting
            .set(signed(gauges.settlements_waiting));
        self.records_dropped.set(signed(gauges.records_dropped));
        self.reload_ok.set(i64::from(gauges.reload_ok));
        self.breakers_open.set(signed(gauges.breakers_open));
        self.breakers_asked_anyway
            .set(signed(gauges.breakers_asked_anyway));
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests;

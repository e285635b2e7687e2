//! What the gateway has at providers, and in the wallet that pays them, as gauges.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::metrics::Metrics;

/// An amount at a provider that is known at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct FundsGauge {
    /// Name of the backend.
    pub provider: String,
    /// `credit` at the provider, or `wallet` that pays it.
    pub kind: &'static str,
    /// The amount in USD.
    pub usd: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FundsLabels {
    provider: String,
    kind: &'static str,
}

/// The registered gauges. What is unknown has no series.
pub(crate) struct FundsMetrics {
    usd: Family<FundsLabels, Gauge<f64, AtomicU64>>,
}

impl FundsMetrics {
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let usd = Family::default();
        let help = "USD that pay a provider: `credit` of the account there, or the `wallet`";
        registry.register("provider_funds_usd", help, usd.clone());
        Self { usd }
    }
}

impl Metrics {
    /// Takes in the amounts that are known; others are not shown any more.
    pub fn funds(&self, known: &[FundsGauge]) {
        self.funds.usd.clear();
        for one in known {
            let labels = FundsLabels {
                provider: one.provider.clone(),
                kind: one.kind,
            };
            self.funds.usd.get_or_create_owned(&labels).set(one.usd);
        }
    }
}

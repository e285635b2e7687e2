//! Payments of callers on chains, as gauges.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::metrics::Metrics;

/// Where the payments of callers are, read when somebody looks. Amounts are in 10⁻⁶ USD.
#[derive(Debug, Clone, Default)]
pub struct SaleGauges {
    /// How many payments are in each stage, and the sum of their amounts.
    pub stages: Vec<(&'static str, u64, u64)>,
    /// Sum of the ceilings of open payments.
    pub exposure: u64,
    /// Sum of open debts.
    pub debt: u64,
    /// Endpoints of the chain that are believed.
    pub endpoints_up: u64,
    /// All endpoints of the chain.
    pub endpoints: u64,
    /// The newest block whose transfers are known.
    pub transfers_block: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    stage: &'static str,
}

/// The registered gauges. They have no series where nothing is for sale.
pub(crate) struct SaleMetrics {
    payments: Family<StageLabels, Gauge>,
    usd: Family<StageLabels, Gauge>,
    endpoints: Family<StageLabels, Gauge>,
    blocks: Family<StageLabels, Gauge>,
}

impl SaleMetrics {
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let all = Self {
            payments: Family::default(),
            usd: Family::default(),
            endpoints: Family::default(),
            blocks: Family::default(),
        };
        let help = "Payments of callers by stage";
        registry.register("sale_payments", help, all.payments.clone());
        let help = "Amounts of payments of callers in 10⁻⁶ USD by stage; also the open ceilings (`exposure`) and \
                    debts (`debt`)";
        registry.register("sale_usd_micro", help, all.usd.clone());
        let help =
            "Endpoints of the chain of payments: `up` ones are believed, `all` are configured";
        registry.register("chain_endpoints", help, all.endpoints.clone());
        let help =
            "Blocks of the chain of payments: `transfers` to the gateway are booked up to this one";
        registry.register("chain_block", help, all.blocks.clone());
        all
    }
}

impl Metrics {
    /// Takes in where the payments of callers are.
    pub fn sales(&self, now: &SaleGauges) {
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let set = |family: &Family<StageLabels, Gauge>, stage, value| {
            family
                .get_or_create_owned(&StageLabels { stage })
                .set(signed(value));
        };
        let all = &self.sales;
        for (stage, count, usd) in &now.stages {
            set(&all.payments, stage, *count);
            set(&all.usd, stage, *usd);
        }
        set(&all.usd, "exposure", now.exposure);
        set(&all.usd, "debt", now.debt);
        set(&all.endpoints, "up", now.endpoints_up);
        set(&all.endpoints, "all", now.endpoints);
        if let Some(block) = now.transfers_block {
            set(&all.blocks, "transfers", block);
        }
    }
}

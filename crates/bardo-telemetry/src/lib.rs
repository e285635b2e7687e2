//! What is counted: receipts and failures as metrics, in the Prometheus and OpenMetrics text
//! format.
//!
//! Every figure is derived from a [`Receipt`](bardo_types::receipt::Receipt) or from a fact that
//! the gateway tells here; nothing is measured twice. Label values come from small closed sets:
//! never a key, an account, a prompt, or a model name that only a caller wrote.

mod caches;
mod exports;
mod funds;
mod labels;
mod metrics;
mod prompt_caches;
mod sales;

pub use caches::{CacheGauges, SemanticDomainGauges, SemanticGauges};
pub use exports::ExportCounts;
pub use funds::FundsGauge;
pub use metrics::{BackendGauges, Gauges, LatencyGauge, Metrics};
pub use sales::SaleGauges;

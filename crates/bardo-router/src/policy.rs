//! The owner's rules of routing. Built from configuration, read by [`crate::Router`].

use std::collections::BTreeMap;

use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;

/// The rule of choice among allowed backends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The owner's order decides, as far as wishes are met alike.
    Ordered,
    /// The score decides, and the order breaks ties.
    #[default]
    Scored,
}

/// Weights of the score's terms at cost sensitivities 0 and 1; in between they lie on a line. Not
/// negative; they are divided by their sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Weight of the price.
    pub cost: (f64, f64),
    /// Weight of the quality.
    pub quality: (f64, f64),
    /// Weight of the latency.
    pub latency: (f64, f64),
    /// Weight of the preferences met.
    pub features: (f64, f64),
    /// Weight of the protection, if it is preferred and not required.
    pub privacy: (f64, f64),
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            cost: (0.25, 0.60),
            quality: (0.40, 0.20),
            latency: (0.15, 0.15),
            features: (0.20, 0.10),
            privacy: (0.20, 0.20),
        }
    }
}

/// When Bankr is asked, and how much it may cost.
#[derive(Debug, Clone, PartialEq)]
pub struct BankrPolicy {
    /// Agents pay for calls with their revenue. Without it Bankr is chosen only by name.
    pub self_funding: bool,
    /// The subsystems that it serves when the gateway chooses.
    pub subsystems: Vec<String>,
    /// Revenue in the wallet, if it is known.
    pub revenue_balance: Option<MicroUsd>,
    /// Revenue of the agent's whole life, if it is known.
    pub lifetime_revenue: Option<MicroUsd>,
    /// Revenue per cost of the last 30 days, where that is known and no hint says otherwise.
    pub ratio: Option<f64>,
    /// The owner's cap on a single call.
    pub max_call: Option<MicroUsd>,
}

impl Default for BankrPolicy {
    fn default() -> Self {
        Self {
            self_funding: false,
            subsystems: vec!["autonomous".into(), "social".into()],
            revenue_balance: None,
            lifetime_revenue: None,
            ratio: None,
            max_call: None,
        }
    }
}

/// The owner's rules of routing.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The way of choosing between backends.
    pub mode: Mode,
    /// Weights of the score.
    pub weights: Weights,
    /// Price of a blended million tokens at which the cost term is zero.
    pub max_cost: MicroUsd,
    /// A backend slower than the request allows is left out instead of put last.
    pub strict_latency: bool,
    /// Backends in order, by subsystem; replaces the general order for it.
    pub routes: BTreeMap<String, Vec<String>>,
    /// Floors of protection by subsystem, which replace those of the table: owners may lower theirs
    /// too, callers may only raise them.
    pub floors: BTreeMap<String, SecurityClass>,
    /// Requests with a floor fail where no backend can meet it, instead of going on visibly
    /// degraded.
    pub privacy_strict: bool,
    /// Models of `bardo/t1` and heartbeat_t1, `bardo/t2` and heartbeat_t2, as `<backend>/<model>`
    /// or a model.
    pub t1: Option<String>,
    /// Model of `bardo/t2` and heartbeat_t2, in the form of `t1`.
    pub t2: Option<String>,
    /// Model that serves embeddings for which the gateway chooses, in the form of `t1`.
    pub embedder: Option<String>,
    /// Free models may serve more than `Minimum` and `Low`.
    pub free_models: bool,
    /// Local servers count as end-to-end encrypted where no attestation is asked.
    pub trusted_local: bool,
    /// Venice's staked compute is there to be used.
    pub diem_staked: bool,
    /// Models of OpenRouter that may be chosen without being named, beside those that the catalog
    /// rates.
    pub openrouter_models: Vec<String>,
    /// OpenRouter's variants (`:nitro`, `:floor`) are used.
    pub variants: bool,
    /// Rules for the use of Bankr.
    pub bankr: BankrPolicy,
    /// The most that the calls of a dying agent may cost each.
    pub death_reserve: Option<MicroUsd>,
    /// Backends on the owner's own keys and machines answer in place of sellers, where they have the
    /// chosen model and nothing that is asked for is lost.
    pub prefer_own_keys: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            weights: Weights::default(),
            max_cost: MicroUsd::new(30_000_000),
            strict_latency: false,
            routes: BTreeMap::new(),
            floors: BTreeMap::new(),
            privacy_strict: false,
            t1: None,
            t2: None,
            embedder: None,
            free_models: false,
            trusted_local: false,
            diem_staked: false,
            openrouter_models: Vec::new(),
            variants: true,
            bankr: BankrPolicy::default(),
            death_reserve: Some(MicroUsd::new(1_000_000)),
            prefer_own_keys: true,
        }
    }
}

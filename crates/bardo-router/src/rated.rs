//! Everybody who could be chosen, with what a choice needs worked out beforehand.

use std::sync::Arc;

use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::model::{Effort, ModelEntry, Price, Tier, ToolFormat};
use bardo_types::privacy::{SecurityClass, TeeEvidence};

use crate::classes;
use crate::request::Facts;
use crate::requirements::PROTECTION;
use crate::roster::Candidate;
use crate::services::{ServiceRole, ServiceRow};

/// A price per million tokens above which a row is a mistake, in 10⁻⁶ USD.
const ABSURD: u64 = 10_000_000_000;

/// Tokens of an answer over which a flat price per call is spread at most.
const USUAL_ANSWER: u64 = 1_024;
/// Features that this gateway cannot send yet, whatever services offer: batches.
pub(crate) const NOT_BUILT: FeatureSet = FeatureSet::EMPTY.with(Feature::BatchApi);
/// Features that a backend has only where the owner pays for them and its terms say so: prefixes
/// that Gemini stores.
pub(crate) const ON_TERMS: FeatureSet = FeatureSet::EMPTY.with(Feature::ExplicitCaching);

/// Terms of a backend, apart from its models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// Callers are billed for it; `None`: where the service is a seller and no maker.
    pub billed: Option<bool>,
    /// Features of every model of the backend, by configuration.
    pub features: FeatureSet,
    /// Lowest protection class by configuration; `None` leaves that of the service.
    pub security: Option<SecurityClass>,
}

/// One backend with one model.
#[derive(Debug, Clone)]
pub(crate) struct RatedCandidate {
    pub(crate) candidate: Candidate,
    pub(crate) service: &'static ServiceRow,
    /// Without the features of protection, which depend on the request.
    pub(crate) features: FeatureSet,
    pub(crate) security: SecurityClass,
    /// The tier, where unknown the lowest.
    pub(crate) tier: Tier,
    /// From 0 to 1.
    pub(crate) quality: f64,
    /// Price of a million tokens of which a quarter is answer, in 10⁻⁶ USD; unknown is above all others.
    pub(crate) blended: u64,
    pub(crate) is_free: bool,
    /// Where nothing was measured, in milliseconds.
    pub(crate) latency_prior: u64,
}

impl RatedCandidate {
    pub(crate) fn new(candidate: Candidate, service: &'static ServiceRow, terms: Terms) -> Self {
        let entry = &candidate.entry;
        let mut own = features(entry);
        if let Some(only) = &service.schema_only
            && !entry.upstream_id.starts_with(only)
        {
            own = own.without(Feature::StructuredOutputs);
        }
        let reasons = own.has(Feature::VisibleThinking)
            && !entry.capabilities.thinking.disabled
            && !entry.capabilities.efforts.contains(&Effort::None);
        Self {
            features: own
                .minus(service.withholds)
                .union(service.offers)
                .minus(ON_TERMS)
                .union(terms.features)
                .minus(PROTECTION)
                .minus(NOT_BUILT),
            security: entry
                .security
                .max(terms.security.unwrap_or(service.security)),
            tier: entry.tier.unwrap_or(Tier::Small),
            quality: quality(entry),
            blended: entry.price.as_ref().map_or(u64::MAX, blended),
            is_free: entry.price.as_ref().is_some_and(is_free) && !service.own,
            latency_prior: classes::latency().of(entry.tier, reasons),
            service,
            candidate,
        }
    }

    /// Whether the price is one that somebody could have meant.
    pub(crate) fn is_sane(&self) -> bool {
        let sane = |price: &Price| price.input.micro() <= ABSURD && price.output.micro() <= ABSURD;
        self.candidate.entry.price.as_ref().is_none_or(sane)
    }

    pub(crate) fn entry(&self) -> &Arc<ModelEntry> {
        &self.candidate.entry
    }

    /// Price of a million tokens of a request like this one, flat prices per call included; unknown is
    /// above all others.
    pub(crate) fn blended_for(&self, facts: &Facts) -> u64 {
        let flat = self.entry().price.and_then(|price| price.request);
        let Some(flat) = flat.map(|flat| u128::from(flat.get())) else {
            return self.blended;
        };
        let answer = facts
            .max_output_tokens
            .unwrap_or(USUAL_ANSWER)
            .min(USUAL_ANSWER);
        let tokens = u128::from(facts.prompt_tokens.saturating_add(answer).max(1));
        let of_flat = u64::try_from((flat * 1_000_000).div_ceil(tokens)).unwrap_or(u64::MAX);
        self.blended.saturating_add(of_flat)
    }

    /// Evidence for attested hardware: the provider's list only, as long as no attestation is checked.
    /// The owner's own machine claims none.
    pub(crate) fn evidence(&self, security: SecurityClass) -> Option<TeeEvidence> {
        let claimed = security >= SecurityClass::Tee && !self.service.own;
        claimed.then_some(TeeEvidence::Listed)
    }

    pub(crate) fn is_general(&self) -> bool {
        self.service.role == ServiceRole::General
    }
}

/// Features of a model by itself.
fn features(entry: &ModelEntry) -> FeatureSet {
    let capabilities = &entry.capabilities;
    capabilities
        .features
        .with_if(
            capabilities.tool_format != ToolFormat::Unsupported,
            Feature::Tools,
        )
        .with_if(capabilities.images, Feature::Vision)
        .with_if(capabilities.documents, Feature::Documents)
        .with_if(capabilities.audio, Feature::Audio)
        .with_if(capabilities.structured_output, Feature::StructuredOutputs)
        .with_if(capabilities.cache_marks, Feature::PromptCaching)
}

/// By the dated table, and where it says nothing, below what it says of others of the tier.
fn quality(entry: &ModelEntry) -> f64 {
    match (entry.rating, entry.tier) {
        (1.., _) => f64::from(entry.rating.min(100)) / 100.0,
        (0, Some(Tier::Frontier)) => 0.7,
        (0, Some(Tier::Strong)) => 0.5,
        (0, Some(Tier::Small)) => 0.3,
        (0, None) => 0.1,
    }
}

fn blended(price: &Price) -> u64 {
    let sum = u128::from(price.input.micro()) * 3 + u128::from(price.output.micro());
    u64::try_from(sum.div_ceil(4)).unwrap_or(u64::MAX - 1)
}

fn is_free(price: &Price) -> bool {
    price.input.micro() == 0
        && price.output.micro() == 0
        && price.request.is_none_or(|each| each.get() == 0)
}

/// All offers, in an order that does not depend on that of any list.
#[derive(Debug, Default)]
pub(crate) struct CandidatePool {
    pub(crate) rated_candidates: Vec<RatedCandidate>,
    /// The offers of models for embeddings, in the order of `rated_candidates`.
    pub(crate) embedders: Vec<RatedCandidate>,
    /// Rows that were left out because nobody could mean their price.
    pub(crate) quarantined: usize,
    /// The best protection that anybody offers.
    pub(crate) security: SecurityClass,
}

impl CandidatePool {
    pub(crate) fn add(&mut self, rated: RatedCandidate) {
        if !rated.is_sane() {
            self.quarantined += 1;
            return;
        }
        if rated.entry().embeddings {
            self.embedders.push(rated);
            return;
        }
        self.security = self.security.max(rated.security);
        self.rated_candidates.push(rated);
    }

    pub(crate) fn finish(&mut self) {
        let key = |rated: &RatedCandidate| {
            let entry = rated.entry();
            (
                rated.candidate.backend,
                entry.id.clone(),
                entry.upstream_id.len(),
                entry.upstream_id.clone(),
                rated.blended,
            )
        };
        for rated_candidates in [&mut self.rated_candidates, &mut self.embedders] {
            rated_candidates.sort_by_cached_key(key);
            rated_candidates.dedup_by(|a, b| {
                a.candidate.backend == b.candidate.backend
                    && a.entry().upstream_id == b.entry().upstream_id
            });
        }
    }
}

//! What the stages and the relay report of a request, and what they may read of it.

use std::sync::Arc;

use bardo_access::{Admission, LimitRequest};
use bardo_ledger::Reservation;
use bardo_ledger::hold::Slices;
use bardo_providers::Endpoint;
use bardo_types::Degradation;
use bardo_types::fault::Fault;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::Receipt;
use bytes::Bytes;

use super::{Persisting, QuotaReservation, RequestRecord};
use crate::meter::Meter;
use crate::scrub::for_logs;
use crate::seeds::SeedTaken;
use crate::services::Services;

/// Smallest number of bytes of content per token, over a whole answer.
const TOKEN_BYTES: u64 = 3;

impl RequestRecord {
    /// The receipt as far as it is known.
    pub(crate) fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// The ledger, limits, clock and sink that the request is settled with.
    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// The backend that was called last.
    pub(crate) fn endpoint(&self) -> Option<&Arc<Endpoint>> {
        self.answered_at.as_ref()
    }

    /// Notes what was taken from the limits of the caller.
    pub(crate) fn admitted(&mut self, request: LimitRequest, admission: Admission) {
        self.taken = Some(QuotaReservation {
            most: request.tokens,
            request,
            tokens: admission.reserved_tokens,
        });
        self.admission = Some(admission);
    }

    /// The state of the caller's limits, where any apply.
    pub(crate) fn admission(&self) -> Option<&Admission> {
        self.admission.as_ref()
    }

    /// Notes the largest number of tokens that the request can come to.
    pub(crate) fn bound_tokens(&mut self, most: u64) {
        if let Some(taken) = &mut self.taken {
            taken.most = most;
        }
    }

    /// Notes what the request took of its agent's seed.
    pub(crate) fn draw_on(&mut self, seed: Option<Arc<SeedTaken>>) {
        self.seed_taken = seed;
    }

    /// Notes an upper bound of the tokens of the prompt.
    pub(crate) fn bound_prompt(&mut self, tokens: u64) {
        self.prompt_bound = tokens;
    }

    /// Notes the expected cost.
    pub(crate) fn expect(&mut self, estimate: Option<MicroUsd>) {
        self.estimate = estimate;
    }

    /// The expected cost, as far as it is known.
    pub(crate) fn estimate(&self) -> Option<MicroUsd> {
        self.estimate
    }

    /// Notes the hold as the ledger confirmed it.
    pub(crate) fn held(&mut self, reservation: &Reservation) {
        self.hold = Some(reservation.held);
        self.available = Some(reservation.available);
    }

    /// The amount that is held.
    pub(crate) fn hold(&self) -> Option<MicroUsd> {
        self.hold
    }

    /// How the hold grows, where it has to.
    pub(crate) fn slices(&self) -> Option<Slices> {
        self.slices
    }

    /// What the account had when the ledger last told, with the hold.
    pub(crate) fn funds_known(&self) -> Option<MicroUsd> {
        match (self.available, self.hold) {
            (Some(available), Some(held)) => available.checked_add(held),
            (available, _) => available,
        }
    }

    /// Notes that the hold is on its way to the disk; `None` where it is there.
    pub(crate) fn persists(&mut self, persisting: Option<Persisting>) {
        self.persisting = persisting;
    }

    /// The way of the hold to the disk, for the stage that waits for it.
    pub(crate) fn take_persisting(&mut self) -> Option<Persisting> {
        self.persisting.take()
    }

    /// Notes what the head of the answer tells.
    pub(crate) fn answered_as(&mut self, upstream_id: Option<&str>, degraded: &[Degradation]) {
        self.receipt.upstream_request_id = upstream_id.map(Arc::from);
        self.receipt.degraded = degraded.to_vec();
    }

    /// Notes one more loss of the answer.
    pub(crate) fn degrade(&mut self, lost: Degradation) {
        self.receipt.degraded.push(lost);
    }

    /// Counts the answer with this meter from now on.
    pub(crate) fn meter_with(&mut self, meter: Option<Meter>) {
        self.meter = meter;
    }

    /// Keeps a whole answer to be counted, where the provider reported no usage.
    pub(crate) fn keep_for_count(&mut self, answer: impl FnOnce() -> Bytes) {
        if !self.has_usage() {
            self.source.answer = Some(answer());
        }
    }

    /// Whether the provider reported any usage.
    pub(crate) fn has_usage(&self) -> bool {
        self.receipt.usage.is_some()
    }

    /// Tokens of output so far: what the provider reported, or what the bytes come to at most.
    pub(crate) fn output_so_far(&mut self) -> u64 {
        let seen = self.meter.as_mut().map_or(0, |meter| {
            Meter::estimate_bytes(meter).div_ceil(TOKEN_BYTES)
        });
        let reported = self.receipt.usage.as_ref().map_or(0, |usage| usage.output);
        seen.max(reported)
    }

    /// Notes that the caller was handed content.
    pub(crate) fn deliver(&mut self) {
        self.delivered = true;
    }

    /// Notes that the answer ends because the money does.
    pub(crate) fn cut_off(&mut self) {
        self.cut_off = true;
    }

    /// Notes that the answer broke off after its first content. The caller gets what was written
    /// so far together with the failure.
    pub(crate) fn broke_off(&mut self, fault: &Fault) {
        self.deliver();
        self.broke = Some(fault.class);
        self.services.sink.attempt_failed(
            self.receipt.request_id.as_str(),
            &self.receipt.backend,
            &for_logs(fault, &self.source.body),
        );
    }
}

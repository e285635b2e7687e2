//! What the headers of an answer say.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use bardo_access::Admission;
use bardo_types::ids::RequestId;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::TeeEvidence;
use bardo_types::receipt::{DecisionVerification, PassedOver, PaymentMode, Receipt};

use crate::header_lists::{degraded_list, warnings_list};
use crate::record::RequestRecord;

/// The content of an answer's headers.
#[derive(Debug, Clone, Default)]
pub struct AnswerHead {
    /// Id of the request, which its receipt has too; `None` for requests without a receipt.
    pub request_id: Option<RequestId>,
    /// The model as the caller named it.
    pub model_requested: Arc<str>,
    /// The model that answers.
    pub model: Arc<str>,
    /// The backend that answers.
    pub backend: Arc<str>,
    /// The requested features that the answer lacks, as a header value; empty where none is
    /// lacking.
    pub degraded: String,
    /// The warnings about hints that were not understood or have no effect, as a header value;
    /// empty where there are none.
    pub warnings: String,
    /// The result of a second model and the id of its request; empty where none was asked.
    pub verification: String,
    /// The evidence for the claim that the model runs in attested hardware; `None` where no claim
    /// is made.
    pub tee: Option<TeeEvidence>,
    /// The provider's own request id.
    pub upstream_request_id: Option<Arc<str>>,
    /// `hash`, `semantic`, `miss` or `bypass`.
    pub cache: Cow<'static, str>,
    /// Time since a stored answer was made; `None` where none is served.
    pub cache_age: Option<Duration>,
    /// Likeness of both questions in thousandths, where the stored answer was made for the same
    /// question in other words.
    pub cache_similarity: Option<u16>,
    /// Why no stored answer is served, where the cache has a part in the request.
    pub cache_reason: Option<Cow<'static, str>>,
    /// The measures that made the answer cheaper.
    pub optimizations: Vec<Cow<'static, str>>,
    /// The expected cost of the answer, where it is billed and the final figures are not known yet.
    pub estimate: Option<MicroUsd>,
    /// The amount that is held for the answer, where the final figures are not known yet.
    pub hold: Option<MicroUsd>,
    /// The final figures, where they are known at the start.
    pub figures: Option<Figures>,
    /// The account is not charged.
    pub unbilled: bool,
    /// No price is known, so that no cost can be.
    pub unpriced: bool,
    /// A lower bound of the account's balance, as the ledger last reported it; holds are not
    /// subtracted.
    pub funds: Option<MicroUsd>,
    /// The rest of the caller's rate limits.
    pub limits: Option<Admission>,
}

/// The final figures of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// The party that pays for the request.
    pub mode: PaymentMode,
    /// The cost, whichever party pays; `None` where it is not known.
    pub cost: Option<MicroUsd>,
    /// The difference to the list price, where the answer was cheaper.
    pub savings: Option<MicroUsd>,
    /// The addition to the provider's cost.
    pub spread: MicroUsd,
    /// The balance of the account after the request.
    pub balance: Option<MicroUsd>,
}

impl Figures {
    pub(crate) fn of(receipt: &Receipt) -> Self {
        Self {
            mode: receipt.mode,
            cost: receipt.cost(),
            savings: receipt.savings(),
            spread: receipt.amounts.spread,
            balance: receipt.amounts.balance,
        }
    }
}

/// The result of a second model, such as `agreed; request_id=req_1_verify; cost=0.001234`. Id and
/// cost are those of the request whose answer is not delivered.
fn verified(verification: &DecisionVerification) -> String {
    let mut text = verification.result.as_str().to_owned();
    if let Some(other) = &verification.other {
        text.push_str("; request_id=");
        text.push_str(other.as_str());
    }
    if let Some(cost) = verification.other_cost {
        // Writing to a string does not fail.
        let _ = write!(text, "; cost={cost}");
    }
    text
}

/// The warnings of a request: about its order of backends first, then about its hints.
fn warnings(receipt: &Receipt) -> Vec<String> {
    let of_order = receipt.passed_over.iter().map(PassedOver::warning);
    let routing = receipt.routing.iter();
    let of_hints = routing.flat_map(|routing| routing.warnings.iter().cloned());
    of_order.chain(of_hints).collect()
}

impl AnswerHead {
    /// The head of an answer that has begun to stream.
    pub(crate) fn begun(record: &RequestRecord) -> Self {
        let receipt = record.receipt();
        let routing = receipt.routing.as_deref();
        Self {
            request_id: Some(receipt.request_id.clone()),
            model_requested: Arc::clone(&receipt.model_requested),
            model: Arc::clone(&receipt.model),
            backend: Arc::clone(&receipt.backend),
            degraded: degraded_list(&receipt.degraded),
            warnings: warnings_list(&warnings(receipt)),
            verification: receipt
                .verification
                .as_deref()
                .map_or_else(String::new, verified),
            tee: routing.and_then(|routing| routing.tee),
            upstream_request_id: receipt.upstream_request_id.clone(),
            cache: receipt.cache.clone(),
            cache_age: receipt.cache_age,
            cache_similarity: receipt.cache_similarity,
            cache_reason: receipt.cache_reason.clone(),
            optimizations: receipt.optimizations.clone(),
            estimate: record
                .estimate()
                .filter(|_| receipt.mode != PaymentMode::Direct),
            hold: record
                .hold()
                .filter(|_| receipt.mode != PaymentMode::Direct && !receipt.is_found()),
            // Of a found answer they are known from the start.
            figures: receipt.is_found().then(|| Figures::of(receipt)),
            unbilled: !receipt.is_billed(),
            unpriced: record.is_unpriced(),
            funds: record.funds_known(),
            limits: record.admission().cloned(),
        }
    }

    /// The head of a whole answer, with the figures that are known.
    pub(crate) fn whole(record: &RequestRecord) -> Self {
        let receipt = record.receipt();
        Self {
            figures: Some(Figures::of(receipt)),
            estimate: None,
            hold: None,
            funds: receipt.amounts.balance,
            limits: record.admission_after_answer(),
            ..Self::begun(record)
        }
    }
}

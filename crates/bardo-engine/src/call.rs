//! A request that was read and understood: what every later stage may look at and none may change.

use std::sync::Arc;
use std::time::Duration;

use bardo_types::hints::RouteHints;
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::model::Dialect;
use bardo_wire::json::TopLevel;
use bytes::Bytes;
use tokio::time::Instant;

use crate::hints::Hints;
use crate::received::{Payer, Principal, Received, Task};
use crate::request_body::RequestBody;
use crate::request_size::Size;
use crate::sent_mark::SentMark;
use crate::snapshot::Snapshot;

/// The prefix of names that leave the choice of the model to the gateway.
const AUTOMATIC: &str = "bardo/";

/// A request that is well formed. Nothing is known yet of where it goes.
///
/// It is on the heap, because each stage hands it on to the next.
#[derive(Clone)]
pub struct Call(Box<CallFields>);

#[derive(Clone)]
struct CallFields {
    request_id: RequestId,
    client_request_id: Option<Arc<str>>,
    principal: Principal,
    task: Task,
    dialect: Dialect,
    forward: http::HeaderMap,
    request_body: RequestBody,
    hints: Hints,
    model: Arc<str>,
    stream: bool,
    include_usage: bool,
    snapshot: Arc<Snapshot>,
    received_at: Instant,
    received_at_ms: u64,
    read_in: Duration,
    /// The limit of costs is a part of the caller's.
    is_part: bool,
    url: Option<Arc<str>>,
    sent: SentMark,
}

/// The members of a request that the first scan of its body has read.
pub(crate) struct Top {
    pub(crate) request_body: RequestBody,
    pub(crate) model: Arc<str>,
    /// The caller wants the answer piece by piece.
    pub(crate) stream: bool,
    /// The caller asked for the usage at the end of a stream.
    pub(crate) include_usage: bool,
}

impl Call {
    /// A received request with what was found in its body. `at` is when reading it began, by both
    /// clocks.
    pub(crate) fn new(
        received: Received,
        top: Top,
        snapshot: Arc<Snapshot>,
        (at, at_ms): (Instant, u64),
    ) -> Self {
        let Top {
            request_body,
            model,
            stream,
            include_usage,
        } = top;
        Self(Box::new(CallFields {
            request_id: received.request_id,
            client_request_id: received.client_request_id,
            principal: received.principal,
            task: received.task,
            dialect: received.dialect,
            forward: received.forward,
            request_body,
            hints: received.hints,
            model,
            stream,
            include_usage,
            snapshot,
            received_at: at,
            received_at_ms: at_ms,
            read_in: at.elapsed(),
            is_part: false,
            url: received.url,
            sent: SentMark::default(),
        }))
    }

    /// The address that the caller asked; empty where nothing is for sale.
    pub(crate) fn url(&self) -> &str {
        self.0.url.as_deref().unwrap_or_default()
    }

    /// Has it noted whether the request may have been carried out.
    pub(crate) fn watch_sent(&mut self) -> SentMark {
        self.0.sent = SentMark::watched();
        self.0.sent.clone()
    }

    /// The note whether the request may have been carried out.
    pub(crate) fn sent_mark(&self) -> &SentMark {
        &self.0.sent
    }

    /// The call with another request_body, for stages that change what is asked.
    pub(crate) fn with_body(self, change: impl FnOnce(RequestBody) -> RequestBody) -> Self {
        let fields = *self.0;
        Self(Box::new(CallFields {
            request_body: change(fields.request_body),
            ..fields
        }))
    }

    /// A copy of the request under another id. The caller's own id stays with this one.
    pub(crate) fn again_as(&self, request_id: RequestId) -> Self {
        let mut again = self.clone();
        again.0.request_id = request_id;
        again.0.client_request_id = None;
        again
    }

    /// A copy of the request with a part of its limit of costs, in 10⁻⁶ USD; `None`: without one.
    pub(crate) fn within_cost(&self, most: Option<u64>) -> Self {
        let mut part = self.clone();
        let route = &mut part.0.hints.route;
        route.get_or_insert_default().max_cost_micro_usd = most;
        part.0.is_part = true;
        part
    }

    /// Whether the limit of costs is a part of the caller's, for one of two requests.
    pub(crate) fn is_part(&self) -> bool {
        self.0.is_part
    }

    /// The call for the account of another, paid by the owner of the gateway.
    pub(crate) fn paid_by_owner(mut self, account: AccountId) -> Self {
        let payer = Payer::Owner;
        self.0.principal = Principal { account, payer };
        self
    }

    /// The call with another body and a whole answer, and with those hints alone that say which
    /// agent calls.
    pub(crate) fn shortened(&self, request_body: RequestBody) -> Self {
        let known = &self.0.hints;
        let route = known.route.as_deref();
        let mut hints = Hints::default();
        hints.session = known.session.clone();
        hints.subsystem = known.subsystem.clone();
        hints.route = route.map(|route| {
            Box::new(RouteHints {
                golem_id: route.golem_id.clone(),
                ..RouteHints::default()
            })
        });
        Self(Box::new(CallFields {
            request_body,
            hints,
            stream: false,
            include_usage: false,
            ..(*self.0).clone()
        }))
    }

    /// The call under the configuration and catalogs of another moment.
    pub(crate) fn in_world(mut self, snapshot: Arc<Snapshot>) -> Self {
        self.0.snapshot = snapshot;
        self
    }

    /// Whether the caller wants the answer piece by piece.
    #[must_use]
    pub fn stream(&self) -> bool {
        self.0.stream
    }

    /// The id that was made for it.
    pub(crate) fn request_id(&self) -> &RequestId {
        &self.0.request_id
    }

    /// The caller's own id for it.
    pub(crate) fn client_request_id(&self) -> Option<&Arc<str>> {
        self.0.client_request_id.as_ref()
    }

    /// The caller and its payer.
    pub(crate) fn principal(&self) -> &Principal {
        &self.0.principal
    }

    /// An answer, vectors, or a count of tokens.
    pub(crate) fn task(&self) -> Task {
        self.0.task
    }

    /// The caller's dialect.
    pub(crate) fn dialect(&self) -> Dialect {
        self.0.dialect
    }

    /// The caller's headers that may travel on.
    pub(crate) fn forward(&self) -> &http::HeaderMap {
        &self.0.forward
    }

    /// The body of the request, as bytes and in neutral form.
    pub(crate) fn request_body(&self) -> &RequestBody {
        &self.0.request_body
    }

    /// The caller's bytes.
    pub(crate) fn body(&self) -> &Bytes {
        self.0.request_body.body()
    }

    /// The caller's top-level members.
    pub(crate) fn top(&self) -> TopLevel<'_> {
        self.0.request_body.top()
    }

    /// The tokens and answers that the request tells of.
    pub(crate) fn size(&self) -> Size {
        self.0.request_body.size()
    }

    /// The hints of headers and body.
    pub(crate) fn hints(&self) -> &Hints {
        &self.0.hints
    }

    /// Whether the caller leaves the choice of the model to the router.
    pub(crate) fn is_automatic(&self) -> bool {
        self.model().starts_with(AUTOMATIC)
    }

    /// Whether the caller leaves anything to the router.
    pub(crate) fn is_open(&self) -> bool {
        self.hints().route.is_some() || self.is_automatic()
    }

    /// The model as the caller named it.
    #[must_use]
    pub fn model(&self) -> &Arc<str> {
        &self.0.model
    }

    /// Whether the caller asked for the usage at the end of a stream.
    pub(crate) fn include_usage(&self) -> bool {
        self.0.include_usage
    }

    /// The configuration and catalogs that hold for this request.
    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.0.snapshot
    }

    /// When it was received.
    pub(crate) fn received_at(&self) -> Instant {
        self.0.received_at
    }

    /// Time that reading it took.
    pub(crate) fn read_in(&self) -> Duration {
        self.0.read_in
    }

    /// When it was received, by the wall clock, in milliseconds since 1970.
    pub(crate) fn received_at_ms(&self) -> u64 {
        self.0.received_at_ms
    }
}

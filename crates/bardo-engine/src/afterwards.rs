//! What a provider really billed for an answer that was charged by an estimate: looked up after the
//! settlement, where the provider tells. Only a credit can come of it, never a second debit.

use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::Deposit;
use bardo_providers::Endpoint;
use bardo_providers::transport::Transport;
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::{BasisPoints, ExactCost, MicroUsd};
use bardo_types::receipt::PaymentMode;
use bytes::{Bytes, BytesMut};
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use tokio::sync::Semaphore;

use crate::record::RequestRecord;
use crate::services::Services;

/// Number of bills that are looked up at the same time; further estimates stay as they are.
const AT_ONCE: usize = 64;
/// A provider may need some seconds until it knows.
const TRIES: u32 = 7;
/// The pause before the first look; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest answer.
const BODY_MAX: usize = 64 << 10;

/// Looks bills up in the background.
#[derive(Clone)]
pub(crate) struct Afterwards {
    transport: Transport,
    room: Arc<Semaphore>,
}

/// An estimate that was charged, and where the real bill is.
pub(crate) struct Estimate {
    services: Arc<Services>,
    endpoint: Arc<Endpoint>,
    path: String,
    account: AccountId,
    request: RequestId,
    charged: MicroUsd,
    spread: BasisPoints,
}

impl Estimate {
    /// The estimate of a settled request; `None` where nothing was estimated, nothing was charged,
    /// or the provider has no endpoint for its bills.
    pub(crate) fn of(record: &RequestRecord) -> Option<Self> {
        let receipt = record.receipt();
        let is_due = receipt.estimated
            && receipt.mode == PaymentMode::Prepaid
            && receipt.amounts.charge > MicroUsd::ZERO;
        let endpoint = record.endpoint().filter(|_| is_due)?;
        let id = receipt.upstream_request_id.as_deref()?;
        Some(Self {
            path: endpoint.provider().bill_path(id)?,
            services: Arc::clone(record.services()),
            endpoint: Arc::clone(endpoint),
            account: receipt.account.clone(),
            request: receipt.request_id.clone(),
            charged: receipt.amounts.charge,
            spread: receipt.amounts.spread_rate,
        })
    }

    /// The amount charged beyond the real bill, spread included.
    fn excess(&self, bill: MicroUsd) -> Option<MicroUsd> {
        let due = ExactCost::ZERO
            .plus_each(bill, 1)?
            .charge_with(self.spread)?;
        let excess = self.charged.saturating_sub(due);
        (excess > MicroUsd::ZERO).then_some(excess)
    }

    async fn look(&self, transport: &Transport) -> Look {
        let Ok(uri) = format!("{}{}", self.endpoint.base.path, self.path).parse() else {
            return Look::Never;
        };
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.clone_from(self.endpoint.headers());
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let Ok(response) = transport.send(&self.endpoint.origin, request).await else {
            return Look::NotYet;
        };
        match response.status().as_u16() {
            200 => {}
            // Not known yet, too many, or trouble of their own.
            404 | 408 | 425 | 429 | 500.. => return Look::NotYet,
            _ => return Look::Never,
        }
        let mut body = response.into_body();
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                return Look::NotYet;
            };
            if let Some(data) = frame.data_ref() {
                if whole.len() + data.len() > BODY_MAX {
                    return Look::Never;
                }
                whole.extend_from_slice(data);
            }
        }
        match self.endpoint.provider().read_bill(&whole) {
            Some(bill) => Look::Billed(bill),
            None => Look::NotYet,
        }
    }

    async fn pursue(self, transport: &Transport) {
        let mut pause = FIRST_PAUSE;
        for _ in 0..TRIES {
            tokio::time::sleep(pause).await;
            pause *= 2;
            match tokio::time::timeout(PATIENCE, self.look(transport)).await {
                Ok(Look::Billed(bill)) => return self.correct(bill).await,
                Ok(Look::Never) => break,
                Ok(Look::NotYet) | Err(_) => {}
            }
        }
        tracing::info!(id = %self.request, backend = self.endpoint.name, "the provider does not say what it billed; the estimate stands");
    }

    /// Credits the difference. The reference makes it once, however often it is sent.
    async fn correct(&self, bill: MicroUsd) {
        let Some(excess) = self.excess(bill) else {
            return;
        };
        let Some(ledger) = &self.services.ledger else {
            return;
        };
        for _ in 0..TRIES {
            let deposit = Deposit {
                account: self.account.clone(),
                amount: excess,
                reference: format!("credit:{}", self.request),
                now_ms: self.services.clock.now_ms(),
            };
            match ledger.deposit(deposit).await {
                Ok(Ok(_)) => {
                    tracing::info!(id = %self.request, %bill, credit = %excess, "the provider billed less than was estimated; the difference is credited");
                    return;
                }
                Ok(Err(refusal)) => {
                    tracing::warn!(id = %self.request, %refusal, credit = %excess, "a credit was refused");
                    return;
                }
                Err(error) => {
                    tracing::warn!(id = %self.request, %error, "a credit is not posted yet; it is tried again");
                    tokio::time::sleep(FIRST_PAUSE).await;
                }
            }
        }
    }
}

/// The result of asking a provider for a bill.
enum Look {
    Billed(MicroUsd),
    NotYet,
    Never,
}

impl Afterwards {
    pub(crate) fn new(transport: Transport) -> Self {
        Self {
            transport,
            room: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Looks the bill up, and waits for nothing. Bills that are not known when the process ends are
    /// not looked up again.
    pub(crate) fn look_up(&self, estimate: Estimate) {
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            tracing::info!(id = %estimate.request, "too many bills are looked up; the estimate stands");
            return;
        };
        let transport = self.transport.clone();
        tokio::spawn(async move {
            estimate.pursue(&transport).await;
            drop(permit);
        });
    }
}

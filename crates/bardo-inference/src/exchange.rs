//! One request and its payment: sent without one, paid at most once, repeated with the same one.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bardo_providers::transport::UpstreamBody;
use bardo_types::money::MicroUsd;
use bardo_x402::payer::PaymentOffers;
use bardo_x402::wire::PaymentScheme;
use http::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use crate::book::PaymentEnd;
use crate::payer::{self, CountedPayment, OfferPayer, PayRefusal, ReceiptNews, now_s};
use crate::pending::{MessageHash, PaymentInUse, PendingPayments, SentOutcome};
use crate::permit2::ApprovalRefusal;
use crate::refusal::ProxyRefusal;
use crate::seller::{Message, SellerError, SellerLink, WholeAnswer};
use crate::seller_body::SellerBody;
use crate::settlement;
use crate::status::StatusLine;

const FIXED_PRICE: &[PaymentScheme] = &[PaymentScheme::Exact];
/// How often a paid request is sent again, always with the same payment.
const RESENDS: u32 = 3;
/// Wait before the first of them; each next one waits twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(400);
/// Longest wait that a seller can ask for; one that asks for more is not asked again.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Longest wait for a permit that is on its way, where no fixed price is offered.
const PERMIT_WAIT: Duration = Duration::from_secs(60);
/// Time between two looks at whether it has landed.
const PERMIT_LOOK: Duration = Duration::from_secs(1);

/// Sends requests of clients to the seller, and pays.
pub(crate) struct Exchange {
    pub(crate) seller: SellerLink,
    payer: Arc<OfferPayer>,
    status: Rc<StatusLine>,
    pending: Arc<PendingPayments>,
}

/// An answer of the seller.
pub(crate) struct Exchanged {
    pub(crate) answer: Response<SellerBody>,
    /// Whether a payment was sent with the request.
    pub(crate) is_paid: bool,
}

/// What became of a paid request.
enum PaidOutcome {
    Answered(Response<SellerBody>),
    /// The seller wants another payment than this one.
    Refused(PaymentInUse, String),
}

impl Exchange {
    pub(crate) fn new(seller: SellerLink, payer: OfferPayer, status: Rc<StatusLine>) -> Self {
        Self {
            seller,
            payer: Arc::new(payer),
            status,
            pending: Arc::default(),
        }
    }

    /// Sends a request, and pays for it where the seller asks for payment.
    ///
    /// # Errors
    /// When there is no answer, no offer that is taken, or no answer to the payment.
    pub(crate) async fn send(&self, message: &Message) -> Result<Exchanged, ProxyRefusal> {
        let hash = MessageHash::of(message);
        if let Some(answer) = self.resume(message, hash).await? {
            return Ok(paid(answer));
        }
        let answer = self.seller.send(message).await?;
        if answer.status() != StatusCode::PAYMENT_REQUIRED {
            return Ok(Exchanged {
                answer: answer.map(|body| SellerBody::new(body, None)),
                is_paid: false,
            });
        }
        let asked = self.seller.whole(answer).await?;
        let offers = payer::offers(&asked.headers, &asked.body)
            .ok_or_else(|| ProxyRefusal::NoOffer(excerpt(&asked.body)))?;
        self.buy(message, hash, &offers).await.map(paid)
    }

    /// Sends a request with the payment of an earlier one that has the same content and no answer.
    async fn resume(
        &self,
        message: &Message,
        hash: MessageHash,
    ) -> Result<Option<Response<SellerBody>>, ProxyRefusal> {
        let Some((used, sent)) = self.pending.take(hash).await else {
            return Ok(None);
        };
        if sent == SentOutcome::Refused {
            self.payer.end(&used.payment, PaymentEnd::Reopened).await;
        }
        match self
            .send_paid(message, used, sent == SentOutcome::Unknown)
            .await?
        {
            PaidOutcome::Answered(answer) => Ok(Some(answer)),
            PaidOutcome::Refused(used, _) => {
                used.answered();
                Ok(None)
            }
        }
    }

    async fn buy(
        &self,
        message: &Message,
        hash: MessageHash,
        offers: &PaymentOffers,
    ) -> Result<Response<SellerBody>, ProxyRefusal> {
        let mut schemes = self.payer.schemes.as_slice();
        let since = Instant::now();
        loop {
            // What is signed can be settled, whatever the seller says, so one cap is for all of it.
            let spent = self.pending.spent(hash);
            let falls_back = self.falls_back(offers, schemes, spent);
            let payment = match self.payer.pay(offers, schemes, spent).await {
                // Nothing was signed, so a fixed price is still free to choose.
                Err(refusal) if refusal.is_of_a_ceiling() && falls_back => {
                    schemes = FIXED_PRICE;
                    continue;
                }
                Err(PayRefusal::Approval(ApprovalRefusal::Busy))
                    if since.elapsed() < PERMIT_WAIT =>
                {
                    tokio::time::sleep(PERMIT_LOOK).await;
                    continue;
                }
                payment => payment?,
            };
            self.watch(hash, &payment);
            let used = self.pending.keep(hash, payment);
            let (used, reason) = match self.send_paid(message, used, false).await? {
                PaidOutcome::Answered(answer) => return Ok(answer),
                PaidOutcome::Refused(used, reason) => (used, reason),
            };
            // A seller that refuses a ceiling before it served anything may take a fixed price.
            let is_ceiling = used.payment.scheme == PaymentScheme::Upto;
            let spent = self.pending.spent(hash);
            if !is_ceiling || !self.falls_back(offers, schemes, spent) {
                return Err(ProxyRefusal::Refused {
                    amount: used.payment.amount.to_string(),
                    reason,
                });
            }
            used.answered();
            schemes = FIXED_PRICE;
        }
    }

    /// Finds out by the chain how a payment ends, where no answer says it.
    fn watch(&self, hash: MessageHash, payment: &CountedPayment) {
        let (payer, status) = (Arc::clone(&self.payer), Rc::clone(&self.status));
        let (pending, payment) = (Arc::clone(&self.pending), payment.clone());
        tokio::task::spawn_local(async move {
            let charged = settlement::watch(payer, status, payment.clone()).await;
            if charged == Some(MicroUsd::ZERO) {
                pending.disproved(hash, &payment.nonce);
            }
        });
    }

    /// Whether there is an offer of a fixed price that is not tried yet, and has room in the cap of the
    /// request.
    fn falls_back(
        &self,
        offers: &PaymentOffers,
        schemes: &[PaymentScheme],
        spent: MicroUsd,
    ) -> bool {
        schemes.contains(&PaymentScheme::Upto)
            && schemes.contains(&PaymentScheme::Exact)
            && self.payer.choose(offers, FIXED_PRICE, spent).is_ok()
    }

    /// Sends a request with a payment, again and again with the same one while its outcome is open.
    /// `is_open` says that an earlier try may have been charged: then a 402 is no refusal, because a
    /// seller refuses what it has charged.
    async fn send_paid(
        &self,
        message: &Message,
        used: PaymentInUse,
        mut is_open: bool,
    ) -> Result<PaidOutcome, ProxyRefusal> {
        let message = with_payment(message, &used);
        let mut wait = FIRST_WAIT;
        let mut resends = 0;
        loop {
            let is_last = resends == RESENDS || now_s() + wait.as_secs() + 1 >= used.payment.ends_s;
            let mut asked = None;
            let problem = match self.seller.send(&message).await {
                Err(error) => {
                    is_open |= !matches!(error, SellerError::Unreachable(_));
                    error
                }
                Ok(answer) if answer.status() == StatusCode::PAYMENT_REQUIRED => {
                    let news = used.payment.news(answer.headers());
                    if !news.is_taken() && news != ReceiptNews::Open {
                        return match is_open {
                            true => Err(answer_lost(&used)),
                            false => Ok(self.refused(answer, used).await),
                        };
                    }
                    is_open = true;
                    SellerError::Pending
                }
                Ok(answer) if is_failure(&answer, &used) && !is_last && !asks_for_long(&answer) => {
                    is_open = true;
                    asked = retry_after(answer.headers());
                    SellerError::Cut
                }
                Ok(answer) => {
                    let answer = self.answered(answer, used, is_open).await;
                    return Ok(PaidOutcome::Answered(answer));
                }
            };
            if is_last {
                return Err(self.unanswered(used, problem, is_open).await);
            }
            tokio::time::sleep(asked.unwrap_or(wait).max(wait)).await;
            wait *= 2;
            resends += 1;
        }
    }

    /// Notes a 402 as the first answer to a payment.
    async fn refused(&self, answer: Response<UpstreamBody>, used: PaymentInUse) -> PaidOutcome {
        let told = self.seller.whole(answer).await;
        self.payer.end(&used.payment, PaymentEnd::Refused).await;
        used.note(SentOutcome::Refused);
        let reason = told.map_or_else(|error| error.to_string(), |told| reason(&told));
        PaidOutcome::Refused(used, reason)
    }

    /// Notes what the answer to a payment says of it.
    async fn answered(
        &self,
        mut answer: Response<UpstreamBody>,
        used: PaymentInUse,
        is_open: bool,
    ) -> Response<SellerBody> {
        let news = used.payment.news(answer.headers());
        let payment = &used.payment;
        let status = answer.status();
        let end = match news {
            ReceiptNews::Charged(amount) => Some(payment.end_of(amount)),
            // A ceiling stays open: the chain says what was taken.
            ReceiptNews::None if status.is_success() && payment.scheme == PaymentScheme::Exact => {
                Some(PaymentEnd::Charged(payment.amount))
            }
            // It can still be settled until its deadline, whatever the seller says.
            ReceiptNews::Free => Some(payment.end_of(MicroUsd::ZERO)),
            // Refused for another reason than the payment, before any work.
            ReceiptNews::None | ReceiptNews::Failed if status.is_client_error() && !is_open => {
                Some(PaymentEnd::Refused)
            }
            _ => None,
        };
        if let Some(end) = end {
            self.payer.end(payment, end).await;
        }
        if status.is_success() || news.is_taken() {
            used.begin_answer();
            return answer.map(|body| SellerBody::new(body, Some(used)));
        }
        match end {
            Some(PaymentEnd::Refused | PaymentEnd::Reported(MicroUsd::ZERO)) => {
                used.note(SentOutcome::Refused);
            }
            _ => {
                // The outcome is unknown: a client that asks again gets it with the same payment.
                used.note(SentOutcome::Unknown);
                let never = HeaderValue::from_static("false");
                answer.headers_mut().insert("x-should-retry", never);
            }
        }
        answer.map(|body| SellerBody::new(body, None))
    }

    async fn unanswered(
        &self,
        used: PaymentInUse,
        problem: SellerError,
        is_open: bool,
    ) -> ProxyRefusal {
        if !is_open {
            // The seller does not have the payment.
            self.payer.end(&used.payment, PaymentEnd::Refused).await;
            used.note(SentOutcome::Refused);
            return ProxyRefusal::Seller(problem);
        }
        ProxyRefusal::Unanswered {
            amount: used.payment.amount.to_string(),
            reason: problem.to_string(),
            seconds: seconds_left(&used),
        }
    }
}

fn answer_lost(used: &PaymentInUse) -> ProxyRefusal {
    ProxyRefusal::AnswerLost {
        seconds: seconds_left(used),
    }
}

/// Seconds until a payment can no longer settle.
fn seconds_left(used: &PaymentInUse) -> u64 {
    used.payment.ends_s.saturating_sub(now_s())
}

fn paid(answer: Response<SellerBody>) -> Exchanged {
    Exchanged {
        answer,
        is_paid: true,
    }
}

/// The request with its payment, and with a key by which a seller knows a repetition.
fn with_payment(message: &Message, used: &PaymentInUse) -> Message {
    let mut message = message.clone();
    let payment = &used.payment;
    message
        .headers
        .insert(payment.name.clone(), payment.value.clone());
    if !message.headers.contains_key("idempotency-key")
        && let Ok(key) = HeaderValue::from_str(&payment.nonce)
    {
        message.headers.insert("idempotency-key", key);
    }
    message
}

/// Whether an answer is a failure of the seller, so that the same payment may be sent again.
fn is_failure(answer: &Response<UpstreamBody>, used: &PaymentInUse) -> bool {
    answer.status().is_server_error() && !used.payment.news(answer.headers()).is_taken()
}

/// Whether a seller wants to be left alone for longer than a client would wait.
fn asks_for_long(answer: &Response<UpstreamBody>) -> bool {
    retry_after(answer.headers()).is_some_and(|asked| asked > WAIT_MAX)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

/// The reason of a refusal, as the seller says it.
fn reason(told: &WholeAnswer) -> String {
    let header = told.headers.get(bardo_x402::wire::PAYMENT_REQUIRED);
    let offer = header.and_then(|header| bardo_x402::wire::decode_header(header.as_bytes()).ok());
    let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
    let sources = [json(&told.body), offer.as_deref().and_then(json)];
    let found = sources.iter().flatten().find_map(|json| {
        let members = [
            &json["code"],
            &json["error"]["message"],
            &json["error"],
            &json["message"],
        ];
        members.into_iter().find_map(|text| text.as_str())
    });
    match found {
        Some(text) => text.chars().take(200).collect(),
        None => excerpt(&told.body),
    }
}

/// The beginning of a body, as text.
fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(400)]);
    let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    if text.is_empty() {
        return "it says nothing more".into();
    }
    text
}

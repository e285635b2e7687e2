//! One request and its payment: sent without one, paid at most once, repeated with the same one.

use std::sync::Arc;
use std::time::Duration;

use bardo_providers::transport::UpstreamBody;
use bardo_x402::payer::PaymentOffers;
use bardo_x402::wire::PaymentScheme;
use http::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use crate::book::PaymentEnd;
use crate::payer::{self, OfferPayer, PayRefusal, ReceiptNews, now_s};
use crate::pending::{MessageHash, PaymentInUse, PendingPayments, SentOutcome};
use crate::refusal::ProxyRefusal;
use crate::seller::{Message, SellerError, SellerLink, WholeAnswer};

const FIXED_PRICE: &[PaymentScheme] = &[PaymentScheme::Exact];
/// How often a paid request is sent again, always with the same payment.
const RESENDS: u32 = 3;
/// Wait before the first of them; each next one waits twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(400);
/// Longest wait that a seller can ask for.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Sends requests of clients to the seller, and pays.
pub(crate) struct Exchange {
    pub(crate) seller: SellerLink,
    pub(crate) payer: OfferPayer,
    pending: Arc<PendingPayments>,
}

/// An answer of the seller.
pub(crate) struct Exchanged {
    pub(crate) answer: Response<UpstreamBody>,
    /// Whether a payment was sent with the request.
    pub(crate) is_paid: bool,
}

/// What became of a paid request.
enum PaidOutcome {
    Answered(Response<UpstreamBody>),
    /// The seller wants another payment than this one.
    Refused(PaymentInUse, String),
}

impl Exchange {
    pub(crate) fn new(seller: SellerLink, payer: OfferPayer) -> Self {
        Self {
            seller,
            payer,
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
                answer,
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
    ) -> Result<Option<Response<UpstreamBody>>, ProxyRefusal> {
        let Some((used, sent)) = self.pending.take(hash, now_s()) else {
            return Ok(None);
        };
        match self.send_paid(message, used).await? {
            PaidOutcome::Answered(answer) => Ok(Some(answer)),
            PaidOutcome::Refused(used, _) if sent == SentOutcome::Refused => {
                used.answered();
                Ok(None)
            }
            PaidOutcome::Refused(used, _) => {
                used.note(SentOutcome::Unknown);
                let seconds = used.payment.ends_s.saturating_sub(now_s());
                Err(ProxyRefusal::AnswerLost { seconds })
            }
        }
    }

    async fn buy(
        &self,
        message: &Message,
        hash: MessageHash,
        offers: &PaymentOffers,
    ) -> Result<Response<UpstreamBody>, ProxyRefusal> {
        let mut schemes = self.payer.schemes.as_slice();
        loop {
            let payment = match self.payer.pay(offers, schemes).await {
                // Nothing was signed, so a fixed price is still free to choose.
                Err(PayRefusal::Approval(_)) if self.falls_back(offers, schemes) => {
                    schemes = FIXED_PRICE;
                    continue;
                }
                payment => payment?,
            };
            let used = self.pending.keep(hash, payment);
            let (used, reason) = match self.send_paid(message, used).await? {
                PaidOutcome::Answered(answer) => return Ok(answer),
                PaidOutcome::Refused(used, reason) => (used, reason),
            };
            // A seller that refuses a ceiling before it served anything may take a fixed price.
            let is_ceiling = used.payment.scheme == PaymentScheme::Upto;
            if !is_ceiling || !self.falls_back(offers, schemes) {
                return Err(ProxyRefusal::Refused {
                    amount: used.payment.amount.to_string(),
                    reason,
                });
            }
            used.answered();
            schemes = FIXED_PRICE;
        }
    }

    /// Whether there is an offer of a fixed price that is not tried yet.
    fn falls_back(&self, offers: &PaymentOffers, schemes: &[PaymentScheme]) -> bool {
        schemes.contains(&PaymentScheme::Upto)
            && schemes.contains(&PaymentScheme::Exact)
            && self.payer.choose(offers, FIXED_PRICE).is_ok()
    }

    /// Sends a request with a payment, again and again with the same one while its outcome is open.
    async fn send_paid(
        &self,
        message: &Message,
        used: PaymentInUse,
    ) -> Result<PaidOutcome, ProxyRefusal> {
        let message = with_payment(message, &used);
        let mut wait = FIRST_WAIT;
        let mut was_sent = false;
        for resends in 0..=RESENDS {
            let is_last = resends == RESENDS || now_s() + wait.as_secs() + 1 >= used.payment.ends_s;
            let (reason, asked) = match self.seller.send(&message).await {
                Err(error) => {
                    was_sent |= !matches!(error, SellerError::Unreachable(_));
                    (error.to_string(), None)
                }
                Ok(answer) => {
                    was_sent = true;
                    if answer.status() == StatusCode::PAYMENT_REQUIRED {
                        match self.refused(answer, &used).await {
                            Some(reason) => return Ok(PaidOutcome::Refused(used, reason)),
                            None => ("the settlement is pending".to_owned(), None),
                        }
                    } else if is_open(&answer, &used) && !is_last {
                        let asked = retry_after(answer.headers());
                        (format!("status {}", answer.status().as_u16()), asked)
                    } else {
                        return Ok(PaidOutcome::Answered(self.answered(answer, used).await));
                    }
                }
            };
            if is_last {
                return Err(self.unanswered(used, reason, was_sent).await);
            }
            tokio::time::sleep(asked.unwrap_or(wait).max(wait).min(WAIT_MAX)).await;
            wait *= 2;
        }
        Err(self.unanswered(used, String::new(), was_sent).await)
    }

    /// The reason of a 402 that answers a payment; `None` where it may still be settled.
    async fn refused(&self, answer: Response<UpstreamBody>, used: &PaymentInUse) -> Option<String> {
        let news = used.payment.news(answer.headers());
        if matches!(news, ReceiptNews::Open | ReceiptNews::Charged(_)) {
            return None;
        }
        let told = self.seller.whole(answer).await;
        self.payer.end(&used.payment, PaymentEnd::Refused).await;
        used.note(SentOutcome::Refused);
        Some(told.map_or_else(|error| error.to_string(), |told| reason(&told)))
    }

    /// Notes what the answer to a payment says of it.
    async fn answered(
        &self,
        mut answer: Response<UpstreamBody>,
        used: PaymentInUse,
    ) -> Response<UpstreamBody> {
        let news = used.payment.news(answer.headers());
        let payment = &used.payment;
        let status = answer.status();
        let end = match news {
            ReceiptNews::Charged(amount) => Some(PaymentEnd::Charged(amount)),
            ReceiptNews::None if status.is_success() => Some(PaymentEnd::Charged(payment.amount)),
            // Refused for another reason than the payment, before any work.
            ReceiptNews::None | ReceiptNews::Failed if status.is_client_error() => {
                Some(PaymentEnd::Refused)
            }
            _ => None,
        };
        if let Some(end) = end {
            self.payer.end(payment, end).await;
        }
        if status.is_success() || matches!(news, ReceiptNews::Charged(_)) {
            used.answered();
            return answer;
        }
        match end {
            Some(PaymentEnd::Refused) => used.note(SentOutcome::Refused),
            _ => {
                // The outcome is unknown: a client that asks again gets it with the same payment.
                used.note(SentOutcome::Unknown);
                let never = HeaderValue::from_static("false");
                answer.headers_mut().insert("x-should-retry", never);
            }
        }
        answer
    }

    async fn unanswered(&self, used: PaymentInUse, reason: String, was_sent: bool) -> ProxyRefusal {
        if !was_sent {
            // Nobody has the payment.
            self.payer.end(&used.payment, PaymentEnd::Refused).await;
            used.note(SentOutcome::Refused);
        }
        ProxyRefusal::Unanswered {
            amount: used.payment.amount.to_string(),
            reason,
            seconds: used.payment.ends_s.saturating_sub(now_s()),
        }
    }
}

fn paid(answer: Response<UpstreamBody>) -> Exchanged {
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

/// Whether an answer leaves open what became of the payment, so that the same one may be sent again.
fn is_open(answer: &Response<UpstreamBody>, used: &PaymentInUse) -> bool {
    answer.status().is_server_error()
        && !matches!(used.payment.news(answer.headers()), ReceiptNews::Charged(_))
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

//! `POST /v1/deposits`: money of a wallet becomes credit of an account, by x402.

use bardo_seller::{DepositRequest, PaymentRejection};
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use bardo_x402::wire::SettlementReceipt;
use bytes::Bytes;
use http::StatusCode;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::sale::{base, payment, put_receipt};
use super::signed::{self, SignedUse};
use super::{ApiReply, Caller, Edge, json_reply};
use crate::auth::{self, Access};
use crate::body;
use crate::error::Problem;
use crate::sale::Sale;

/// The largest body.
const BODY_MAX: usize = 4_096;

impl Edge {
    /// Takes a deposit, or offers it to a caller who has not paid.
    pub(super) async fn deposit(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        let path = head.uri.path();
        let closed = || Problem::unknown_endpoint(&head.method, path);
        let sale = self.sale.as_ref().ok_or_else(closed)?;
        let headers = &head.headers;
        let is_signed = signed::is_signed(headers);
        let own = match !is_signed && auth::presents_own_key(headers) {
            true => Some(self.authenticate(caller, headers, Access::Read).await?),
            false => None,
        };
        let guest = sale.guest(caller.peer);
        self.engine.refuse_throttled(&guest)?;
        let limits = self.policy.load().limits.clone();
        let mut room = self.bodies.room(limits.max_bodies);
        let body = body::read(headers, body, BODY_MAX, &limits, &mut room).await?;
        let own = match is_signed {
            true => {
                let how = SignedUse::account(Access::Read);
                Some(self.signed(caller, head, &body, how).await?)
            }
            false => own,
        };
        let url = format!("{}/v1/deposits", base(sale, headers));
        let deposit = DepositRequest {
            account: own.as_ref().map(|own| &own.account),
            amount: amount(&body)?,
            url: &url,
            body: &body,
        };
        let Some(payment) = payment(headers)? else {
            return Err(self.deposit_offer(sale, &deposit));
        };
        let admitted = match sale.seller.compare_deposit(payment, &deposit) {
            Ok(compared) => sale.seller.verify(compared).await,
            Err(rejection) => Err(rejection),
        };
        let refused = |rejection: &PaymentRejection| {
            let is_refused = matches!(rejection, PaymentRejection::Refused { .. });
            let offer = is_refused.then(|| self.deposit_offer(sale, &deposit));
            Problem::payment(rejection, offer)
        };
        let admitted = admitted.map_err(|rejection| refused(&rejection))?;
        let account: AccountId = match &own {
            Some(own) => own.account.clone(),
            None => admitted.account(),
        };
        let made = sale
            .seller
            .deposit(&admitted, &caller.id, account.clone(), sale.wait)
            .await;
        let claim = made.map_err(|rejection| refused(&rejection))?;
        let receipt = bardo_seller::receipt_of(&claim);
        if !receipt.is_pending() && !matches!(receipt, SettlementReceipt::Settled { .. }) {
            return Err(Problem::unsettled(&receipt, claim.request.as_str()));
        }
        let mut view = bardo_seller::payment_view(&claim);
        view["object"] = json!("deposit");
        let mut reply = json_reply(StatusCode::OK, view);
        put_receipt(admitted.version(), &claim.request, &receipt, &mut reply);
        Ok(reply)
    }

    fn deposit_offer(&self, sale: &Sale, deposit: &DepositRequest<'_>) -> Problem {
        match sale.seller.deposit_offer(deposit) {
            Some(offer) => Problem::deposit_unpaid(deposit.amount, offer),
            None => {
                let terms = sale.seller.terms().deposits;
                let most = terms.below.to_usd().saturating_sub(MicroUsd::new(1));
                Problem::bad_deposit(format!(
                    "`amount_usd` must be from {} to {most}",
                    terms.least.to_usd()
                ))
            }
        }
    }
}

/// The amount of a body `{"amount_usd": "5.00"}`.
fn amount(body: &Bytes) -> Result<MicroUsd, Problem> {
    let usage =
        || Problem::bad_deposit("send a body such as {\"amount_usd\": \"5.00\"}".to_owned());
    let body: Value = serde_json::from_slice(body).map_err(|_| usage())?;
    let text = match &body["amount_usd"] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err(usage()),
    };
    MicroUsd::from_usd(&text)
        .map_err(|error| Problem::bad_deposit(format!("`amount_usd`: {error}")))
}

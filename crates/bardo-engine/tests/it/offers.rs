//! Requests that are sold one at a time, where an account does not pay for them.

use std::sync::{Arc, Mutex};

use bardo_access::{BoxFuture, PaidRequest, PayerTerms};
use bardo_engine::{EngineError, Offers, PaymentRequirement, PricedRequest, Task, UnpaidRequest};
use bardo_ledger::{Deposit, Funds as _};
use bardo_types::ids::KeyId;
use bardo_types::model::{Dialect, Service};
use bardo_types::money::MicroUsd;
use bardo_types::receipt::PaymentMode;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::purse::{PRICE, Purse};
use crate::world::{prompt, read, script, world_of};

/// The most that one payment may be.
const CEILING: MicroUsd = MicroUsd::new(990_000);

/// A seller that notes what it was asked for.
#[derive(Clone, Default)]
struct Seller {
    sells: bool,
    asked: Arc<Mutex<Vec<(String, MicroUsd)>>>,
}

impl Offers for Seller {
    fn ceiling(&self) -> MicroUsd {
        CEILING
    }

    fn requirement<'a>(
        &'a self,
        request: PricedRequest<'a>,
    ) -> BoxFuture<'a, Option<PaymentRequirement>> {
        let asked = (request.model.to_owned(), request.price);
        self.asked.lock().expect("nobody panicked").push(asked);
        let mut requirement = PaymentRequirement::default();
        let value = HeaderValue::from(request.price.get());
        let name = HeaderName::from_static("payment-required");
        requirement.headers.push((name, value));
        let member = json!(request.price.get());
        requirement.members.insert("accepts".to_owned(), member);
        Box::pin(std::future::ready(self.sells.then_some(requirement)))
    }
}

/// A caller without a key, with so much money, and a seller.
async fn purse(usd: &str, sells: bool) -> (Purse, Seller) {
    let seller = Seller {
        sells,
        ..Seller::default()
    };
    let mut purse = Purse::with(usd).await;
    let payer = KeyId::parse("x402:0xabc").expect("an id");
    purse.terms = Some(PayerTerms::without_key(payer));
    let engine = Arc::into_inner(purse.bench.engine).expect("no request holds it");
    let sold = engine.with_offers(Box::new(seller.clone()));
    purse.bench.engine = Arc::new(sold);
    (purse, seller)
}

async fn unpaid(purse: &Purse, dialect: Dialect, body: &Value) -> UnpaidRequest {
    match purse.ask(dialect, body).await {
        Err(EngineError::Unpaid(unpaid)) => *unpaid,
        other => unreachable!("{:?}", other.err()),
    }
}

async fn nothing_happened(purse: &Purse) {
    assert_eq!(purse.bench.received().await, [""; 0]);
    assert_eq!(purse.settled().await.len(), 0);
    assert_eq!(purse.balance().await.spent, MicroUsd::ZERO);
}

#[tokio::test]
async fn a_request_without_money_ends_in_an_offer_and_nothing_is_held_or_sent() {
    for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Responses] {
        for stream in [false, true] {
            let (purse, seller) = purse("0", true).await;
            let mut body = prompt(dialect, "gpt-5.5", "Hi");
            body["stream"] = json!(stream);
            let unpaid = unpaid(&purse, dialect, &body).await;
            let asked = seller.asked.lock().expect("nobody panicked").clone();
            assert_eq!(asked, [("gpt-5.5".to_owned(), unpaid.price)]);
            let shown = &unpaid.requirement.members["accepts"];
            assert_eq!(*shown, json!(unpaid.price.get()));
            assert!(unpaid.limits.is_some(), "the limits were asked");
            nothing_happened(&purse).await;
            assert_eq!(*purse.gate.used.lock().unwrap(), [0]);
        }
    }
}

#[tokio::test]
async fn the_price_of_an_offer_is_the_worst_case_and_paying_it_is_enough() {
    for stream in [false, true] {
        let (purse, _) = purse("0", true).await;
        let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
        body["max_completion_tokens"] = json!(1_000);
        body["stream"] = json!(stream);
        let price = unpaid(&purse, Dialect::Chat, &body).await.price;
        // 1,000 tokens at 100 USD per million and 20 %, and the prompt.
        assert!(price > MicroUsd::new(120_000) && price < MicroUsd::new(125_000));
        let pay = |amount: u64, reference: &str| Deposit {
            account: purse.account.clone(),
            amount: MicroUsd::new(amount),
            reference: reference.into(),
            now_ms: 1,
        };
        let deposit = purse.books.deposit(pay(price.get() - 1, "paid:1")).await;
        deposit.expect("books").expect("an account");
        unpaid(&purse, Dialect::Chat, &body).await;
        let deposit = purse.books.deposit(pay(1, "paid:2")).await;
        deposit.expect("books").expect("an account");
        purse.ask(Dialect::Chat, &body).await.expect("an answer");
        assert!(purse.receipt().await.amounts.charge <= price);
    }
}

#[tokio::test]
async fn the_price_of_a_stream_without_a_limit_is_that_of_the_longest_answer() {
    let (purse, _) = purse("0", true).await;
    let mut body = prompt(Dialect::Chat, "deepseek-v4-pro", &script(json!([])));
    let whole = unpaid(&purse, Dialect::Chat, &body).await.price;
    body["stream"] = json!(true);
    let streamed = unpaid(&purse, Dialect::Chat, &body).await.price;
    // The flag makes the prompt a few bytes longer.
    let more = streamed.checked_sub(whole).expect("not less");
    assert!(more < MicroUsd::new(200), "{more}");
    // More than the first slice of 4,096 tokens.
    assert!(streamed > MicroUsd::new(4_096 * 120 * 2), "{streamed}");
}

#[tokio::test]
async fn a_request_that_is_not_for_sale_is_refused_for_want_of_money() {
    let (purse, seller) = purse("0", false).await;
    let body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    let refusal = purse.ask(Dialect::Chat, &body).await;
    assert!(matches!(refusal, Err(EngineError::Funds { .. })));
    assert_eq!(seller.asked.lock().expect("nobody panicked").len(), 1);
    nothing_happened(&purse).await;
}

#[tokio::test]
async fn no_offer_is_made_where_a_cap_is_full_or_a_free_backend_answers() {
    let (mut purse, seller) = purse("10", true).await;
    let terms = purse.terms.as_mut().expect("it has terms");
    terms.scopes.spend.day = Some(MicroUsd::ZERO);
    let body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    let refusal = purse.ask(Dialect::Chat, &body).await;
    assert!(matches!(refusal, Err(EngineError::Budget { .. })));
    purse.bench.swap(|address| {
        let is_own = |service| service == Service::Local;
        let mut world = world_of(address, is_own, Some(PRICE));
        let fallbacks = vec!["hermes-4".into()];
        world.fallbacks.insert("gpt-5.5".into(), fallbacks);
        world
    });
    purse.ask(Dialect::Chat, &body).await.expect("an answer");
    assert_eq!(purse.receipt().await.mode, PaymentMode::Direct);
    assert!(seller.asked.lock().expect("nobody panicked").is_empty());
}

#[tokio::test]
async fn a_caller_that_settles_first_gets_the_longest_answer_for_the_price_of_its_offer() {
    for stream in [false, true] {
        let (mut purse, _) = purse("0", true).await;
        let terms = purse.terms.as_mut().expect("it has terms");
        terms.settles_first = true;
        let mut body = prompt(Dialect::Chat, "deepseek-v4-pro", "Hi");
        body["stream"] = json!(stream);
        let price = unpaid(&purse, Dialect::Chat, &body).await.price;
        let deposit = purse.books.deposit(Deposit {
            account: purse.account.clone(),
            amount: price,
            reference: "paid:1".into(),
            now_ms: 1,
        });
        deposit.await.expect("books").expect("an account");
        let answer = purse.begin(Dialect::Chat, &body).await.expect("a head");
        assert_eq!(answer.head.degraded, "");
        if stream {
            assert_eq!(purse.holds().await[0].amount, price);
        }
        read(answer).await.expect("the rest");
        assert!(purse.receipt().await.amounts.charge < price);
    }
}

async fn quoted(purse: &Purse, body: &Value) -> EngineError {
    let call = purse.read_as(Task::Generate, Dialect::Chat, body);
    purse.bench.engine.quote(call.expect("it is read")).await
}

#[tokio::test]
async fn a_quote_is_the_price_that_suffices_and_nothing_is_looked_up_or_sent() {
    let (mut purse, seller) = purse("0", true).await;
    let terms = purse.terms.as_mut().expect("terms");
    terms.settles_first = true;
    let minimum = MicroUsd::new(1_000);
    terms.per_request = Some(PaidRequest { minimum });
    let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    body["max_completion_tokens"] = json!(1_000);
    let EngineError::Unpaid(unpaid) = quoted(&purse, &body).await else {
        unreachable!("it is for sale");
    };
    assert!(unpaid.price > MicroUsd::new(120_000) && unpaid.price < MicroUsd::new(125_000));
    assert_eq!(seller.asked.lock().expect("nobody panicked").len(), 1);
    nothing_happened(&purse).await;
}

#[tokio::test]
async fn an_open_answer_is_quoted_up_to_the_ceiling_and_a_longer_one_is_refused_with_what_fits() {
    let (mut purse, _) = purse("0", true).await;
    let terms = purse.terms.as_mut().expect("terms");
    terms.settles_first = true;
    let minimum = MicroUsd::new(1_000);
    terms.per_request = Some(PaidRequest { minimum });
    let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    let EngineError::Unpaid(unpaid) = quoted(&purse, &body).await else {
        unreachable!("it is for sale");
    };
    assert!(unpaid.price <= CEILING && unpaid.price > MicroUsd::new(900_000));
    body["max_completion_tokens"] = json!(100_000);
    let refused = quoted(&purse, &body).await;
    let text = refused.to_string();
    assert!(matches!(refused, EngineError::Invalid(_)), "{refused:?}");
    assert!(text.contains("set at most 8"), "{text}");
}

#[tokio::test]
async fn an_answer_costs_its_minimum_at_least() {
    let (mut purse, _) = purse("1", true).await;
    let minimum = MicroUsd::new(70_000);
    purse.terms.as_mut().expect("terms").per_request = Some(PaidRequest { minimum });
    let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    body["max_completion_tokens"] = json!(1_000);
    purse.ask(Dialect::Chat, &body).await.expect("an answer");
    let amounts = purse.receipt().await.amounts;
    assert_eq!(amounts.charge, MicroUsd::new(70_000));
    let cost = amounts.provider_cost.expect("a known price");
    assert_eq!(cost.checked_add(amounts.spread), Some(amounts.charge));
}

#[tokio::test]
async fn a_caller_who_pays_per_request_is_not_served_by_an_unbilled_one() {
    let (mut purse, _) = purse("1", true).await;
    purse
        .bench
        .swap(|address| world_of(address, |_| true, Some(PRICE)));
    let body = prompt(Dialect::Chat, "gpt-5.5", "Hi");
    purse.ask(Dialect::Chat, &body).await.expect("an answer");
    let terms = |purse: &mut Purse, per_request, only_billed| {
        let terms = purse.terms.as_mut().expect("terms");
        (terms.per_request, terms.only_billed) = (per_request, only_billed);
    };
    let minimum = MicroUsd::ZERO;
    terms(&mut purse, Some(PaidRequest { minimum }), false);
    let refused = purse.ask(Dialect::Chat, &body).await;
    assert!(refused.is_err(), "an unbilled backend served it");
    terms(&mut purse, None, true);
    let refused = purse.ask(Dialect::Chat, &body).await;
    assert!(refused.is_err(), "an unbilled backend served a wallet");
}

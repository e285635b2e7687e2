//! Backends that ask for a payment per call.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bardo_engine::Snapshot;
use bardo_providers::payment::{PaymentFuture, PaymentOffer, Wallet};
use bardo_providers::wallet::{KeyWallet, WalletCaps};
use bardo_providers::{BaseUrl, Endpoint, EndpointConfig};
use bardo_router::{
    BackendModels, BackendSpec, Catalog, ModelFilter, Policy, RosterBuilder, Router,
};
use bardo_types::model::{Dialect, Price, Service};
use bardo_types::money::{MicroUsd, PricePerMillion};
use bardo_types::secret::Secret;
use serde_json::Value;

use crate::purse::{PRICE, Purse};
use crate::world::{prompt, world};

/// A public test key.
const KEY: &str = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

/// A wallet that counts its signatures.
struct Counts(AtomicU32, KeyWallet);

impl Default for Counts {
    fn default() -> Self {
        let caps = WalletCaps {
            call: MicroUsd::MAX,
            day: MicroUsd::MAX,
        };
        let networks = vec!["eip155:8453".to_owned()];
        let wallet = KeyWallet::new(KEY, caps, networks, None).expect("a key");
        Self(AtomicU32::default(), wallet)
    }
}

impl Wallet for Counts {
    fn pay<'a>(&'a self, offer: &'a PaymentOffer) -> PaymentFuture<'a> {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.pay(offer)
    }
}

/// One backend that sells per call, at this price by our list.
fn seller(address: SocketAddr, price: Price, wallet: &Arc<Counts>) -> Snapshot {
    let mut roster = RosterBuilder::new(Arc::new(Catalog::embedded()));
    let name = "seller".to_owned();
    let spec = BackendSpec {
        name: name.clone(),
        service: Service::BlockRun,
        filter: ModelFilter::new(vec!["claude-sonnet-5-5".to_owned()]),
    };
    roster.backend(spec, BackendModels::Snapshot, Some(price));
    let endpoint = Endpoint::new(EndpointConfig {
        name,
        service: Service::BlockRun,
        base: BaseUrl::parse(&format!("http://{address}/blockrun/api/v1")).expect("an address"),
        key: Secret::new(String::new()),
        allow_private: true,
        dialects: None,
        direct: false,
    });
    Snapshot {
        router: Router::new(roster.build(), Policy::default()),
        endpoints: vec![Arc::new(endpoint)],
        wallet: Some(Arc::clone(wallet) as Arc<dyn Wallet>),
        ..world(address, false, Some(price))
    }
}

#[tokio::test]
async fn a_payment_is_in_the_receipt_of_its_attempt() {
    let (purse, wallet) = (Purse::with("10").await, Arc::new(Counts::default()));
    purse.bench.swap(|address| seller(address, PRICE, &wallet));
    let body = prompt(Dialect::Chat, "claude-sonnet-5-5", "Hi");
    purse.ask(Dialect::Chat, &body).await.expect("an answer");
    assert_eq!(wallet.0.load(Ordering::Relaxed), 1);
    let receipt = purse.receipt().await;
    let [attempt] = &receipt.attempts[..] else {
        panic!("{:?}", receipt.attempts);
    };
    let payment = attempt.payment.as_ref().expect("a payment");
    assert!(payment.amount > MicroUsd::ZERO);
    assert_eq!(&*payment.network, "eip155:8453");
    // The provider's word on the settlement stands beside it.
    let end = payment.settlement.as_ref().expect("a settlement");
    assert_eq!(end.state, "settled");
    assert!(
        end.transaction
            .as_ref()
            .is_some_and(|hash| hash.len() == 66)
    );
    assert_eq!(
        (payment.scheme, end.amount),
        ("exact", Some(payment.amount))
    );
    let json: Value = serde_json::from_str(&bardo_wire::receipt::to_json(&receipt)).expect("JSON");
    let shown = &json["attempts"][0]["payment"];
    assert_eq!(shown["amount"], payment.amount.to_string());
    assert_eq!(shown["reference"], &*payment.reference);
}

#[tokio::test]
async fn an_offer_above_what_the_request_can_cost_is_not_paid() {
    let (purse, wallet) = (Purse::with("10").await, Arc::new(Counts::default()));
    let cheap = Price {
        input: PricePerMillion::from_micro(1),
        output: PricePerMillion::from_micro(1),
        ..PRICE
    };
    purse.bench.swap(|address| seller(address, cheap, &wallet));
    let body = prompt(Dialect::Chat, "claude-sonnet-5-5", "Hi");
    let refused = purse.ask(Dialect::Chat, &body).await;
    assert!(refused.is_err());
    assert_eq!(wallet.0.load(Ordering::Relaxed), 0);
    let receipts = purse.settled().await;
    assert!(receipts[0].attempts.iter().all(|one| one.payment.is_none()));
    assert_eq!(purse.balance().await.spent, MicroUsd::ZERO);
}

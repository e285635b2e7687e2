//! The sale of single requests to callers without a key (x402): terms from the configuration, a
//! chain to verify and settle on, and books for what is paid there.

mod balance;
mod chain;
mod charges;
mod debts;
mod facilitator;
mod probe;
mod rpc;
mod simulated;
mod terms;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bardo_access::{PaidRequest, PayerTerms};
use bardo_engine::{Payer, Principal};
use bardo_ledger::claims::{ClaimBook, ClaimStage};
use bardo_ledger::{Holds, Ledger, StoreError};
use bardo_providers::transport::Transport;
use bardo_seller::{
    AdmittedPayment, ChainUnknown, ClaimedHolds, IdentityRejection, PaymentChain, SaleOffers,
    Seller,
};
use bardo_telemetry::SaleGauges;
use bardo_types::clock::{Clock, SystemClock};
use bardo_types::ids::{AccountId, KeyId};
use serde_json::{Value, json};

use self::chain::RpcChain;
use self::simulated::SandboxChain;
use crate::config::Config;
use crate::stores::ProcessStores;

pub(crate) use self::balance::WalletBalance;
pub(crate) use self::probe::ChainProbe;
pub(crate) use self::terms::check;

/// What the edge and the engine need to sell requests.
pub(crate) struct Sale {
    pub(crate) seller: Seller,
    pub(crate) holds: Arc<ClaimedHolds>,
    pub(crate) chain: Arc<dyn PaymentChain>,
    /// The chain, where it is a real one.
    rpc: Option<Arc<RpcChain>>,
    /// Longest time that a whole answer waits for its settlement.
    pub(crate) wait: Duration,
    /// Address of the gateway as callers see it.
    pub(crate) public_url: Option<String>,
}

/// How often claims are looked at that no request of this process made due.
const LOOK: Duration = Duration::from_secs(1);

/// Settles claims for as long as the process runs.
pub(crate) async fn keep_settling(sale: Arc<Sale>, ledger: Arc<dyn Ledger>) {
    let mut is_failing = false;
    loop {
        let _ = tokio::time::timeout(LOOK, sale.holds.until_due()).await;
        let settled = async {
            sale.chain.settle_due().await?;
            let paid = debts::pay(sale.seller.claims(), &*ledger).await;
            paid.map_err(|error| ChainUnknown(error.to_string()))
        };
        match settled.await {
            Ok(()) => is_failing = false,
            // One line for the whole time, not one every second.
            Err(error) if !std::mem::replace(&mut is_failing, true) => {
                tracing::warn!(%error, "cannot settle payments; the gateway tries again");
            }
            Err(error) => tracing::debug!(%error, "cannot settle payments"),
        }
    }
}

/// The sale of a configuration, with the offers for its engine; `None` where nothing is for sale.
///
/// # Errors
/// What is wrong with the settings.
pub(crate) fn open(
    config: &Config,
    stores: &ProcessStores,
    transport: &Transport,
    sandbox: bool,
) -> Result<Option<(Sale, SaleOffers)>, String> {
    let payments = &config.payments;
    if !payments.enabled {
        return Ok(None);
    }
    let terms = terms::of(config, sandbox)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let claims = ClaimBook::new(Arc::clone(&stores.claims));
    let ledger: Arc<dyn Holds> = Arc::<dyn bardo_ledger::Ledger>::clone(&stores.ledger);
    let rpc = match sandbox {
        true => None,
        false => Some(Arc::new(RpcChain::open(
            config, stores, &claims, transport, &terms,
        )?)),
    };
    let chain: Arc<dyn PaymentChain> = match &rpc {
        Some(rpc) => Arc::clone(rpc) as Arc<dyn PaymentChain>,
        None => Arc::new(SandboxChain::new(
            claims.clone(),
            Arc::clone(&stores.ledger),
        )),
    };
    let holds = ClaimedHolds::new(ledger, claims.clone(), Arc::clone(&clock));
    let holds = Arc::new(holds);
    let terms = Arc::new(terms);
    let offers = SaleOffers::new(Arc::clone(&terms), Arc::clone(&clock));
    let seller = Seller::new(terms, claims, Arc::clone(&chain), Arc::clone(&holds), clock);
    let sale = Sale {
        seller,
        holds,
        chain,
        rpc,
        wait: payments.settlement_wait.0,
        public_url: payments.public_url.clone(),
    };
    Ok(Some((sale, offers)))
}

impl Sale {
    /// Refuses a chain that is not the one of the configuration, or that lacks contracts. A chain
    /// that does not answer may do so later.
    ///
    /// # Errors
    /// What is wrong with the chain.
    pub(crate) async fn check_chain(&self) -> Result<(), String> {
        let Some(rpc) = &self.rpc else {
            return Ok(());
        };
        let network = self.seller.terms().token.network();
        rpc.check_facilitator(network).await?;
        match rpc.check().await {
            Ok(checked) => checked.map_err(|reason| format!("`payments.rpc_urls`: {reason}")),
            Err(error) => {
                tracing::warn!(%error, "the chain does not answer; payments are refused until it does");
                Ok(())
            }
        }
    }

    /// Where payments are, for metrics.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(crate) async fn gauges(&self) -> Result<SaleGauges, StoreError> {
        let totals = self.seller.claims().store().totals().await?;
        let stages = ClaimStage::ALL.iter().map(|&stage| {
            let total = totals.of(stage);
            (stage.as_str(), total.count, total.amount.get())
        });
        let endpoints = self.chain.endpoints();
        let up = endpoints.iter().filter(|(_, reason)| reason.is_none());
        Ok(SaleGauges {
            stages: stages.collect(),
            exposure: totals.exposure.get(),
            debt: totals.debt.get(),
            endpoints_up: up.count() as u64,
            endpoints: endpoints.len() as u64,
            transfers_block: self.chain.transfers_block(),
        })
    }

    /// What operators see of the sale.
    pub(crate) fn status(&self) -> Value {
        let terms = self.seller.terms();
        let settler = terms.methods.iter().find_map(|method| method.facilitator());
        let endpoints = self.chain.endpoints().into_iter();
        let endpoints: Vec<_> = endpoints
            .map(|(name, reason)| json!({ "name": name, "reason": reason }))
            .collect();
        json!({
            "network": terms.token.network().to_string(),
            "pay_to": terms.pay_to.to_string(),
            "settlement_account": settler.map(|account| account.to_string()),
            "facilitator": self.rpc.as_ref().and_then(|rpc| rpc.facilitator()),
            "endpoints": endpoints,
            "transfers_block": self.chain.transfers_block(),
        })
    }

    /// A caller without a key, who may look at offers.
    pub(crate) fn guest(&self, peer: IpAddr) -> Principal {
        let peer = peer.to_canonical();
        let terms = PayerTerms::without_key(counted_as(&format!("guest:{peer}")));
        Principal {
            account: guest_account(),
            payer: self.per_request(terms),
        }
    }

    /// The payer of a request: the caller with its key, else the wallet, with the discount and the
    /// account of the agent that it is linked with.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(crate) async fn payer(
        &self,
        payment: &AdmittedPayment,
        own: Option<Principal>,
    ) -> Result<Principal, StoreError> {
        let link = match self.seller.link_of(payment.wallet()).await {
            Ok(link) => link,
            Err(IdentityRejection::Store(error)) => return Err(error),
            // The wallet pays by itself; without a link, it pays the usual spread.
            Err(rejection) => {
                tracing::warn!(%rejection, "the link of a wallet that pays cannot be checked");
                None
            }
        };
        let spread = link.as_ref().and_then(|link| self.seller.discount(link));
        let spread = spread.map(|(_, spread)| spread);
        let account = link.and_then(|link| link.account);
        let (account, terms) = match own {
            Some(Principal {
                account,
                payer: Payer::Prepaid(terms),
            }) => (account, PayerTerms::clone(&terms)),
            own => {
                let own = own.map(|own| own.account);
                let account = own.or(account).unwrap_or_else(|| payment.account());
                let terms = PayerTerms::without_key(counted_as(account.as_str()));
                (account, terms)
            }
        };
        Ok(Principal {
            account,
            payer: self.per_request(terms.with_reputation(spread)),
        })
    }

    fn per_request(&self, terms: PayerTerms) -> Payer {
        let minimum = self.seller.terms().minimum;
        Payer::Prepaid(Arc::new(PayerTerms {
            settles_first: true,
            per_request: Some(PaidRequest { minimum }),
            ..terms
        }))
    }
}

/// The name under which the limits of a caller without a key are counted.
pub(crate) fn counted_as(name: &str) -> KeyId {
    // An address is made of letters, digits, dots and colons.
    KeyId::parse(name).expect("an account or an address is an id")
}

/// The account of callers without a key. No money is ever booked on it.
fn guest_account() -> AccountId {
    AccountId::parse("guest").expect("a word is an id")
}

//! The chain of a configuration: its endpoints, the account that settles, and what the gateway knows
//! of requests.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bardo_chain::{
    ChainReader, ChainSender, ClaimSettler, Facilitator, ReadError, ReaderTerms, RequestEnds,
    SenderTerms, SettlementSender, SettlerTerms, TransferWatcher, WatcherTerms,
};
use bardo_ledger::claims::{AuthorizationKey, ClaimBook, ClaimRecord};
use bardo_ledger::{Charge, Funds, Ledger, LedgerFuture, StoreError};
use bardo_providers::transport::Transport;
use bardo_seller::{ChainFuture, ChainUnknown, PayerFacts, PaymentChain, SaleTerms};
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;
use bardo_x402::authorization::{PERMIT2, UPTO_PROXY};
use bardo_x402::evm::{Address, SigningAccount};
use bardo_x402::token::{EvmNetwork, PaymentToken};
use bardo_x402::verify::CheckedPayment;

use super::charges;
use super::facilitator::RemoteFacilitator;
use super::rpc::RpcEndpoints;
use super::terms::{gas_per_day, signer};
use crate::config::{Config, RawPaymentScheme};
use crate::stores::ProcessStores;

/// How often transfers are looked for.
const LOOK: Duration = Duration::from_secs(1);
/// Milliseconds between two blocks of Base.
const BLOCK_MS: u64 = 2_000;
/// Milliseconds after which a transaction that is in no block is replaced by a dearer one.
const BUMP_MS: u64 = 30_000;
/// Claims that are settled at a time.
const AT_ONCE: u32 = 32;
/// The most that is paid for one unit of gas: 5 gwei, a hundred times what Base usually asks.
const MAX_FEE: u128 = 5_000_000_000;

/// A chain behind JSON-RPC endpoints.
pub(super) struct RpcChain {
    settler: ClaimSettler,
    watcher: TransferWatcher,
    /// When transfers were looked for last.
    looked: Mutex<Option<Instant>>,
    contracts: Vec<([u8; 20], &'static str)>,
    /// The facilitator that settles in place of an account of ours.
    facilitator: Option<Arc<RemoteFacilitator>>,
}

/// The reader of the chain of a configuration.
///
/// # Errors
/// What is wrong with the settings.
pub(super) fn reader(
    config: &Config,
    transport: &Transport,
    token: &PaymentToken,
) -> Result<ChainReader, String> {
    let payments = &config.payments;
    let urls = payments.rpc_urls.iter().map(Secret::expose);
    let endpoints = RpcEndpoints::new(urls, payments.rpc_allow_private, transport.clone())?;
    if payments.rpc_urls.is_empty() {
        return Err(
                "`payments.rpc_urls` is required to sell requests: JSON-RPC endpoints of the network, such as \
                 [\"https://mainnet.base.org\"]"
                    .to_owned(),
            );
    }
    if payments.rpc_quorum > payments.rpc_urls.len() {
        return Err(
            "`payments.rpc_quorum` is larger than the number of `payments.rpc_urls`".to_owned(),
        );
    }
    let read = ReaderTerms {
        chain_id: token.network().chain_id(),
        quorum: payments.rpc_quorum,
    };
    Ok(ChainReader::new(Arc::new(endpoints), read))
}

/// The contracts that the offers of a configuration need, with words for each.
pub(super) fn contracts(config: &Config, token: [u8; 20]) -> Vec<([u8; 20], &'static str)> {
    let mut contracts = vec![(token, "the token")];
    if config.payments.schemes.contains(&RawPaymentScheme::Upto) {
        contracts.push((PERMIT2.0.0, "Permit2"));
        contracts.push((UPTO_PROXY.0.0, "the proxy of `upto`"));
    }
    contracts
}

impl RpcChain {
    pub(super) fn open(
        config: &Config,
        stores: &ProcessStores,
        claims: &ClaimBook,
        transport: &Transport,
        terms: &SaleTerms,
    ) -> Result<Self, String> {
        let payments = &config.payments;
        let reader = reader(config, transport, &terms.token)?;
        let facilitator = RemoteFacilitator::open(payments, transport)?.map(Arc::new);
        let sender = match &facilitator {
            Some(facilitator) => {
                SettlementSender::Facilitator(Arc::clone(facilitator) as Arc<dyn Facilitator>)
            }
            None => SettlementSender::Own(ChainSender::new(
                reader.clone(),
                signer(payments, false)?,
                claims.clone(),
                SenderTerms {
                    gas_per_day: gas_per_day(payments)?,
                    max_fee: MAX_FEE,
                },
            )),
        };
        let ledger = Arc::clone(&stores.ledger);
        let settler = ClaimSettler::new(
            format!("settler-{}", crate::request_id::fresh()),
            (claims.clone(), Arc::<dyn Ledger>::clone(&ledger)),
            Arc::new(ReceiptEnds(ledger)),
            reader,
            sender,
            SettlerTerms {
                confirmations: payments.confirmations,
                bump_ms: BUMP_MS,
                block_ms: BLOCK_MS,
                at_once: AT_ONCE,
            },
        );
        let funds: Arc<dyn Funds> = Arc::<dyn Ledger>::clone(&stores.ledger);
        let watched = WatcherTerms {
            token: terms.token.address().0.0,
            pay_to: terms.pay_to.0.0,
            confirmations: payments.confirmations,
            least: terms.minimum,
        };
        let reader = settler.reader().clone();
        let watcher = TransferWatcher::new(claims.clone(), funds, reader, watched);
        Ok(Self {
            settler,
            watcher,
            looked: Mutex::default(),
            contracts: contracts(config, terms.token.address().0.0),
            facilitator,
        })
    }

    /// Whether it is time to look for transfers; answers yes once.
    fn is_time_to_look(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = looked.is_none_or(|at| at.elapsed() >= LOOK);
        if is_time {
            *looked = Some(Instant::now());
        }
        is_time
    }

    /// The name of the facilitator; `None` where the gateway settles.
    pub(super) fn facilitator(&self) -> Option<String> {
        Some(self.facilitator.as_ref()?.name())
    }

    /// Whether the facilitator settles what is offered. One that does not answer may do so later.
    ///
    /// # Errors
    /// When it does not settle `exact` on the network.
    pub(super) async fn check_facilitator(&self, network: EvmNetwork) -> Result<(), String> {
        let Some(facilitator) = &self.facilitator else {
            return Ok(());
        };
        match facilitator.settles(network).await {
            Some(true) => Ok(()),
            Some(false) => Err(format!(
                "`payments.facilitator_url`: the facilitator does not settle `exact` on {network}"
            )),
            None => {
                tracing::warn!(
                    "the facilitator does not answer; payments are refused until it does"
                );
                Ok(())
            }
        }
    }

    /// Whether the endpoints are of the right chain and have the contracts of the offers.
    ///
    /// # Errors
    /// When too few endpoints answer.
    pub(super) async fn check(&self) -> Result<Result<(), String>, ReadError> {
        self.settler.reader().check(&self.contracts).await
    }
}

/// What receipts say of requests.
struct ReceiptEnds(Arc<dyn Ledger>);

impl RequestEnds for ReceiptEnds {
    fn used<'a>(
        &'a self,
        claim: &'a ClaimRecord,
    ) -> LedgerFuture<'a, Result<Option<MicroUsd>, StoreError>> {
        Box::pin(charges::used(&*self.0, claim))
    }

    fn charge<'a>(
        &'a self,
        claim: &'a ClaimRecord,
        total: MicroUsd,
    ) -> LedgerFuture<'a, Result<Charge, StoreError>> {
        Box::pin(charges::charge(&*self.0, claim, total))
    }
}

fn unknown(error: &dyn std::fmt::Display) -> ChainUnknown {
    ChainUnknown(error.to_string())
}

impl PaymentChain for RpcChain {
    fn payer<'a>(
        &'a self,
        payment: &'a CheckedPayment,
    ) -> ChainFuture<'a, Result<PayerFacts, ChainUnknown>> {
        Box::pin(async move {
            let read = self.settler.reader().payer(payment).await;
            let read = read.map_err(|error| unknown(&error))?;
            Ok(PayerFacts {
                account: read.account,
                state: read.state,
            })
        })
    }

    fn account(
        &self,
        account: Address,
        signature_call: Vec<u8>,
    ) -> ChainFuture<'_, Result<SigningAccount, ChainUnknown>> {
        Box::pin(async move {
            let reader = self.settler.reader();
            let read = reader.account(account, &signature_call).await;
            read.map_err(|error| unknown(&error))
        })
    }

    fn views(
        &self,
        calls: Vec<(Address, Vec<u8>)>,
    ) -> ChainFuture<'_, Result<Vec<Option<Vec<u8>>>, ChainUnknown>> {
        Box::pin(async move {
            let read = self.settler.reader().views(&calls).await;
            read.map_err(|error| unknown(&error))
        })
    }

    fn refusal<'a>(
        &'a self,
        request: &'a str,
    ) -> ChainFuture<'a, Result<Option<String>, ChainUnknown>> {
        Box::pin(async move {
            match &self.facilitator {
                None => Ok(None),
                Some(facilitator) => facilitator.refusal(request).await.map_err(ChainUnknown),
            }
        })
    }

    fn settle<'a>(
        &'a self,
        key: &'a AuthorizationKey,
        wait: Duration,
    ) -> ChainFuture<'a, Result<Option<ClaimRecord>, ChainUnknown>> {
        Box::pin(async move {
            let settled = self.settler.settle_now(key, wait, &|| SystemClock.now_ms());
            settled.await.map_err(|error| unknown(&error))
        })
    }

    fn endpoints(&self) -> Vec<(String, Option<String>)> {
        let endpoints = self.settler.reader().endpoints().into_iter();
        endpoints.map(|one| (one.name, one.reason)).collect()
    }

    fn transfers_block(&self) -> Option<u64> {
        self.watcher.block()
    }

    fn settle_due(&self) -> ChainFuture<'_, Result<(), ChainUnknown>> {
        Box::pin(async move {
            let now_ms = SystemClock.now_ms();
            let settled = self.settler.settle_due(now_ms).await;
            settled.map_err(|error| unknown(&error))?;
            if self.is_time_to_look() {
                let looked = self.watcher.look(now_ms).await;
                looked.map_err(|error| unknown(&error))?;
            }
            Ok(())
        })
    }
}

//! The chain of a configuration: its endpoints, the account that settles, and what the gateway knows
//! of requests.

use std::sync::Arc;
use std::time::Duration;

use bardo_chain::{
    ChainReader, ChainSender, ClaimSettler, ReadError, ReaderTerms, RequestEnds, SenderTerms,
    SettlerTerms,
};
use bardo_ledger::claims::{AuthorizationKey, ClaimBook, ClaimRecord};
use bardo_ledger::{Charge, Ledger, LedgerFuture, StoreError};
use bardo_providers::transport::Transport;
use bardo_seller::{ChainFuture, ChainUnknown, PayerFacts, PaymentChain};
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;
use bardo_x402::authorization::{PERMIT2, UPTO_PROXY};
use bardo_x402::evm::{Address, SigningAccount};
use bardo_x402::verify::CheckedPayment;

use super::charges;
use super::rpc::RpcEndpoints;
use super::terms::signer;
use crate::config::{Config, RawPaymentScheme};
use crate::stores::ProcessStores;

/// Milliseconds between two blocks of Base.
const BLOCK_MS: u64 = 2_000;
/// Milliseconds after which a transaction that is in no block is replaced by a dearer one.
const BUMP_MS: u64 = 30_000;
/// Claims that are settled at a time.
const AT_ONCE: u32 = 32;
/// The most that is paid for one unit of gas: 5 gwei, a hundred times what Base usually asks.
const MAX_FEE: u128 = 5_000_000_000;
/// Wei of an ETH, for each of the millionths in which the budget of gas is given.
const WEI_OF_MICRO: u128 = 1_000_000_000_000;

/// A chain behind JSON-RPC endpoints.
pub(super) struct RpcChain {
    settler: ClaimSettler,
}

impl RpcChain {
    pub(super) fn open(
        config: &Config,
        stores: &ProcessStores,
        claims: &ClaimBook,
        transport: &Transport,
        token: &bardo_x402::token::PaymentToken,
    ) -> Result<Self, String> {
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
        let terms = ReaderTerms {
            chain_id: token.network().chain_id(),
            quorum: payments.rpc_quorum,
        };
        let reader = ChainReader::new(Arc::new(endpoints), terms);
        let gas = crate::config::usd(
            "payments.max_gas_per_day_eth",
            &payments.max_gas_per_day_eth,
        )?;
        let sender = ChainSender::new(
            reader.clone(),
            signer(payments, false)?,
            claims.clone(),
            SenderTerms {
                gas_per_day: u128::from(gas.get()).saturating_mul(WEI_OF_MICRO),
                max_fee: MAX_FEE,
            },
        );
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
        Ok(Self { settler })
    }

    /// Looks once whether the endpoints are of the right chain and have the contracts of the offers.
    #[expect(dead_code, reason = "TODO")]
    pub(super) async fn check(
        &self,
        config: &Config,
        token: [u8; 20],
    ) -> Result<Result<(), String>, ReadError> {
        let mut contracts = vec![(token, "the token")];
        if config.payments.schemes.contains(&RawPaymentScheme::Upto) {
            contracts.push((PERMIT2.0.0, "Permit2"));
            contracts.push((UPTO_PROXY.0.0, "the proxy of `upto`"));
        }
        self.settler.reader().check(&contracts).await
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

    fn settle<'a>(
        &'a self,
        key: &'a AuthorizationKey,
        wait: Duration,
    ) -> ChainFuture<'a, Result<Option<ClaimRecord>, ChainUnknown>> {
        Box::pin(async move {
            let settled = self.settler.settle_now(key, wait, || SystemClock.now_ms());
            settled.await.map_err(|error| unknown(&error))
        })
    }

    fn settle_due(&self) -> ChainFuture<'_, Result<(), ChainUnknown>> {
        Box::pin(async move {
            let settled = self.settler.settle_due(SystemClock.now_ms()).await;
            settled.map(drop).map_err(|error| unknown(&error))
        })
    }
}

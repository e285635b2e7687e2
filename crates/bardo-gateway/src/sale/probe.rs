//! A look at the chain of a configuration, without a gateway.

use bardo_chain::{ChainReader, ReadError};
use bardo_providers::transport::Transport;
use bardo_x402::evm::Address;
use bardo_x402::token::EvmNetwork;

use super::facilitator::RemoteFacilitator;
use super::{chain, terms};
use crate::config::Config;

/// The chain and the settlement account of a configuration, for checks.
pub(crate) struct ChainProbe {
    reader: ChainReader,
    /// The account that settles; `None` where a facilitator does.
    account: Option<Address>,
    facilitator: Option<RemoteFacilitator>,
    network: EvmNetwork,
    contracts: Vec<([u8; 20], &'static str)>,
}

impl ChainProbe {
    /// Reads the settings, and connects to nothing.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub(crate) fn open(config: &Config, transport: &Transport) -> Result<Self, String> {
        let sale = terms::of(config, false)?;
        Ok(Self {
            reader: chain::reader(config, transport, &sale.token)?,
            account: match terms::is_facilitated(&config.payments) {
                true => None,
                false => Some(terms::signer(&config.payments, false)?.address()),
            },
            facilitator: RemoteFacilitator::open(&config.payments, transport)?,
            network: sale.token.network(),
            contracts: chain::contracts(config, sale.token.address().0.0),
        })
    }

    pub(crate) fn account(&self) -> Option<Address> {
        self.account
    }

    /// Whether the facilitator settles what is offered; `None` where it does not answer.
    pub(crate) async fn facilitator_settles(&self) -> Option<bool> {
        self.facilitator.as_ref()?.settles(self.network).await
    }

    pub(crate) async fn check(&self) -> Result<Result<(), String>, ReadError> {
        self.reader.check(&self.contracts).await
    }

    pub(crate) async fn ether(&self, account: Address) -> Result<u128, ReadError> {
        self.reader.ether(account).await
    }

    /// Time of the newest block, in Unix seconds.
    pub(crate) async fn time_s(&self) -> Result<u64, ReadError> {
        Ok(self.reader.fresh_head().await?.time_s)
    }
}

//! A look at the chain of a configuration, without a gateway.

use bardo_chain::{ChainReader, ReadError};
use bardo_providers::transport::Transport;
use bardo_x402::evm::Address;

use super::{chain, terms};
use crate::config::Config;

/// The chain and the settlement account of a configuration, for checks.
pub(crate) struct ChainProbe {
    reader: ChainReader,
    account: Address,
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
            account: terms::signer(&config.payments, false)?.address(),
            contracts: chain::contracts(config, sale.token.address().0.0),
        })
    }

    pub(crate) fn account(&self) -> Address {
        self.account
    }

    pub(crate) async fn check(&self) -> Result<Result<(), String>, ReadError> {
        self.reader.check(&self.contracts).await
    }

    pub(crate) async fn ether(&self) -> Result<u128, ReadError> {
        self.reader.ether(self.account).await
    }

    /// Time of the newest block, in Unix seconds.
    pub(crate) async fn time_s(&self) -> Result<u64, ReadError> {
        Ok(self.reader.fresh_head().await?.time_s)
    }
}

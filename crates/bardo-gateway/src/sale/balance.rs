//! What the wallet that pays providers has on its chain.

use bardo_chain::ChainReader;
use bardo_providers::transport::Transport;
use bardo_types::money::MicroUsd;
use bardo_x402::authorization::PERMIT2;
use bardo_x402::evm::{Address, U256, calls};
use bardo_x402::token::{PaymentToken, TokenAmount};

use super::chain;
use crate::config::{Config, WalletNetwork};

/// Reads the USDC of one account over the endpoints of `payments.rpc_urls`.
pub(crate) struct WalletBalance {
    reader: ChainReader,
    token: PaymentToken,
    account: Address,
}

impl WalletBalance {
    /// A reader of this account. Connects to nothing.
    ///
    /// # Errors
    /// Why the balance cannot be read: no endpoints, or those of another network.
    pub(crate) fn open(
        config: &Config,
        transport: &Transport,
        account: &str,
    ) -> Result<Self, String> {
        let blockrun = config.providers.blockrun.as_ref();
        let network = blockrun.and_then(|one| one.wallet_network);
        let network = network.unwrap_or_default();
        if config.payments.rpc_urls.is_empty() {
            return Err("`payments.rpc_urls` has no endpoint to read it from".to_owned());
        }
        if config.payments.network != network {
            return Err(
                "the endpoints of `payments.rpc_urls` are on another network than the wallet"
                    .to_owned(),
            );
        }
        let token = match network {
            WalletNetwork::Base => PaymentToken::usdc_on_base(),
            WalletNetwork::BaseSepolia => PaymentToken::usdc_on_base_sepolia(),
        };
        let account = account.parse();
        Ok(Self {
            reader: chain::reader(config, transport, &token)?,
            account: account.map_err(|_| "the wallet has no address".to_owned())?,
            token,
        })
    }

    /// Reads the balance.
    ///
    /// # Errors
    /// Why it is unknown.
    pub(crate) async fn read(&self) -> Result<MicroUsd, String> {
        let read = self
            .reader
            .token_balance(self.token.address(), self.account);
        let units = read.await.map_err(|error| error.to_string())?;
        Ok(usd(units))
    }

    /// Reads what Permit2 may move, which payments by `upto` need.
    ///
    /// # Errors
    /// Why it is unknown.
    pub(crate) async fn permit2(&self) -> Result<MicroUsd, String> {
        let call = calls::allowance(self.account, PERMIT2);
        let read = self.reader.views(&[(self.token.address(), call)]).await;
        let returned = read.map_err(|error| error.to_string())?;
        let units = returned.into_iter().next().flatten();
        let units = units.as_deref().and_then(calls::number);
        units
            .map(usd)
            .ok_or_else(|| "the approval cannot be read".to_owned())
    }
}

/// More than a number of 64 bits is above every cap.
fn usd(units: U256) -> MicroUsd {
    u64::try_from(units).map_or(MicroUsd::MAX, |units| TokenAmount::new(units).to_usd())
}

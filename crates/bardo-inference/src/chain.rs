//! What a network says of the wallet, by JSON-RPC <https://ethereum.org/developers/docs/apis/json-rpc/>.

use bardo_keystore::hex;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use bardo_providers::BaseUrl;
use bardo_x402::authorization::PERMIT2;
use bardo_x402::evm::{Address, U256, calls};
use bardo_x402::token::PaymentToken;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header::CONTENT_TYPE};
use serde_json::{Value, json};

use crate::seller::{Message, SellerLink};

/// Reads from one server of a network.
pub(crate) struct WalletReader {
    server: SellerLink,
}

impl WalletReader {
    /// Reads from the server at this address.
    ///
    /// # Errors
    /// When the address is none.
    pub(crate) fn new(url: &str) -> Result<Self> {
        let base = BaseUrl::parse(url).context("read the address of the JSON-RPC server")?;
        let server = SellerLink::new(base, Duration::from_secs(15));
        Ok(Self { server })
    }

    /// Id of the chain that the server is on.
    ///
    /// # Errors
    /// When the server does not say so.
    pub(crate) async fn chain_id(&self) -> Result<u64> {
        let id = self.number("eth_chainId", json!([])).await?;
        u64::try_from(id).map_err(|_| anyhow!("the chain id is out of range"))
    }

    /// The ether of an account, in 10⁻¹⁸ ETH.
    ///
    /// # Errors
    /// When the server does not say so.
    pub(crate) async fn ether(&self, account: Address) -> Result<U256> {
        self.number("eth_getBalance", json!([account.to_string(), "latest"]))
            .await
    }

    /// What an account has of a token, in its smallest units.
    ///
    /// # Errors
    /// When the server does not say so.
    pub(crate) async fn balance(&self, token: &PaymentToken, account: Address) -> Result<U256> {
        self.view(token, &calls::balance_of(account)).await
    }

    /// What Permit2 may take of a token of the account, in its smallest units.
    ///
    /// # Errors
    /// When the server does not say so.
    pub(crate) async fn permit2_allowance(
        &self,
        token: &PaymentToken,
        account: Address,
    ) -> Result<U256> {
        self.view(token, &calls::allowance(account, PERMIT2)).await
    }

    /// Nonce of the account's next permit (ERC-2612).
    ///
    /// # Errors
    /// When the server does not say so.
    pub(crate) async fn permit_nonce(
        &self,
        token: &PaymentToken,
        account: Address,
    ) -> Result<U256> {
        self.view(token, &calls::permit_nonce(account)).await
    }

    async fn view(&self, token: &PaymentToken, call: &[u8]) -> Result<U256> {
        let call = json!([{ "to": token.address().to_string(), "data": format!("0x{}", hex(call)) }, "latest"]);
        self.number("eth_call", call).await
    }

    async fn number(&self, method: &str, params: Value) -> Result<U256> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let json = HeaderValue::from_static("application/json");
        let message = Message {
            method: Method::POST,
            path: String::new(),
            headers: HeaderMap::from_iter([(CONTENT_TYPE, json)]),
            body: Bytes::from(body.to_string()),
        };
        let answer = self.server.whole(self.server.send(&message).await?).await?;
        let status = answer.status;
        let answer: Value = serde_json::from_slice(&answer.body)
            .with_context(|| format!("the server answered {status} without JSON"))?;
        let Some(result) = answer["result"].as_str() else {
            bail!(
                "the server refused {method}: {}",
                answer["error"]["message"]
            );
        };
        let digits = result.trim_start_matches("0x");
        U256::from_str_radix(digits, 16).map_err(|_| anyhow!("the server answered no number"))
    }
}

/// A number of smallest units in decimal, with this many digits behind the point.
pub(crate) fn decimal(units: U256, digits: usize) -> String {
    let text = format!("{units:0>width$}", width = digits + 1);
    let (whole, rest) = text.split_at(text.len() - digits);
    format!("{whole}.{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_in_decimal() {
        assert_eq!(decimal(U256::from(1_234_567), 6), "1.234567");
        assert_eq!(decimal(U256::from(7), 6), "0.000007");
        assert_eq!(decimal(U256::ZERO, 18), "0.000000000000000000");
    }
}

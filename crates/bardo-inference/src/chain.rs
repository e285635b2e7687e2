//! What a network says of the wallet, by JSON-RPC <https://ethereum.org/developers/docs/apis/json-rpc/>.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use bardo_keystore::hex;
use bardo_providers::BaseUrl;
use bardo_x402::authorization::PERMIT2;
use bardo_x402::evm::{Address, B256, U256, calls};
use bardo_x402::token::PaymentToken;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header::CONTENT_TYPE};
use serde_json::{Value, json};

use crate::permit2::Permit2Payment;
use crate::seller::{Message, SellerLink};
use crate::settle_call::SettleCall;

/// Longest wait for an answer of the server.
const RPC_TIMEOUT: Duration = Duration::from_secs(10);
/// Most transactions that are remembered.
const CALLS_MAX: usize = 256;

/// Reads from one server of a network.
pub(crate) struct WalletReader {
    server: SellerLink,
    chain_id: OnceLock<u64>,
    /// Transactions that paid sellers, and what they settle, which never changes.
    calls: Mutex<HashMap<String, Option<SettleCall>>>,
}

impl WalletReader {
    /// Reads from the server at this address.
    ///
    /// # Errors
    /// When the address is none.
    pub(crate) fn new(url: &str) -> Result<Self> {
        let base = BaseUrl::parse(url).context("read the address of the JSON-RPC server")?;
        let server = SellerLink::new(base, RPC_TIMEOUT);
        Ok(Self {
            server,
            chain_id: OnceLock::new(),
            calls: Mutex::default(),
        })
    }

    /// Id of the chain that the server is on.
    ///
    /// # Errors
    /// When the server does not say so.
    pub(crate) async fn chain_id(&self) -> Result<u64> {
        if let Some(id) = self.chain_id.get() {
            return Ok(*id);
        }
        let id = self.number("eth_chainId", json!([])).await?;
        let id = u64::try_from(id).map_err(|_| anyhow!("the chain id is out of range"))?;
        Ok(*self.chain_id.get_or_init(|| id))
    }

    /// Number of the newest block.
    ///
    /// # Errors
    /// When the server does not say so.
    pub(crate) async fn block(&self) -> Result<u64> {
        let block = self.number("eth_blockNumber", json!([])).await?;
        u64::try_from(block).map_err(|_| anyhow!("the number of the block is out of range"))
    }

    /// Unix time of the newest block.
    ///
    /// # Errors
    /// When the server does not say so.
    pub(crate) async fn time_s(&self) -> Result<u64> {
        let block = self
            .call("eth_getBlockByNumber", json!(["latest", false]))
            .await?;
        let time = number(&block["timestamp"])?;
        u64::try_from(time).map_err(|_| anyhow!("the time of the block is out of range"))
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

    /// Whether Permit2 has taken the payment of an account with this nonce.
    ///
    /// # Errors
    /// When the server does not say so.
    pub(crate) async fn is_settled(&self, account: Address, nonce: U256) -> Result<bool> {
        let call = calls::nonce_bitmap(account, nonce);
        let bitmap = self.ask(PERMIT2, &call).await?;
        Ok(calls::nonce_is_used(bitmap, nonce))
    }

    /// Whether a token has moved the payment of an account with this nonce, or never will because the
    /// account canceled it (ERC-3009).
    ///
    /// # Errors
    /// When the server does not say so, or is on another chain than the token.
    pub(crate) async fn is_moved(
        &self,
        token: &PaymentToken,
        account: Address,
        nonce: B256,
    ) -> Result<bool> {
        if self.chain_id().await? != token.network().chain_id() {
            bail!("the JSON-RPC server is on another network");
        }
        let state = calls::authorization_state(account, nonce);
        Ok(self.view(token, &state).await? != U256::ZERO)
    }

    /// What a payment by Permit2 that is settled moved from an account, in the smallest units of its
    /// token; `None` where no transaction that settles it is found.
    ///
    /// # Errors
    /// When the server does not say so.
    pub(crate) async fn settled(
        &self,
        account: Address,
        payment: &Permit2Payment,
    ) -> Result<Option<U256>> {
        let topic = |account: Address| account.into_word().to_string();
        let filter = json!([{
            "address": payment.token.address().to_string(),
            "topics": [calls::TRANSFER_LOG.to_string(), topic(account), topic(payment.payee)],
            "fromBlock": format!("{:#x}", payment.block),
            "toBlock": "latest",
        }]);
        let logs = self.call("eth_getLogs", filter).await?;
        let logs = logs.as_array().context("the server answered no logs")?;
        let mut moved: BTreeMap<&str, U256> = BTreeMap::new();
        for log in logs {
            let hash = log["transactionHash"].as_str();
            let sum = moved.entry(hash.context("a log has no transaction")?);
            let sum = sum.or_default();
            *sum = sum.saturating_add(number(&log["data"])?);
        }
        let own = SettleCall {
            token: payment.token.address(),
            nonce: payment.nonce,
            owner: account,
        };
        for (hash, amount) in moved {
            // A nonce is used once, so there is one at most.
            if self.settle_call(hash).await? == Some(own) {
                return Ok(Some(amount));
            }
        }
        Ok(None)
    }

    /// What a transaction settles.
    async fn settle_call(&self, hash: &str) -> Result<Option<SettleCall>> {
        let known = || self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = known().get(hash) {
            return Ok(*call);
        }
        let transaction = self.call("eth_getTransactionByHash", json!([hash])).await?;
        let input = transaction["input"].as_str();
        let input = input.context("a transaction has no input")?;
        let to = transaction["to"].as_str().and_then(|to| to.parse().ok());
        let call = to.and_then(|to| SettleCall::read(to, input));
        let mut calls = known();
        if calls.len() >= CALLS_MAX {
            calls.clear();
        }
        calls.insert(hash.to_owned(), call);
        Ok(call)
    }

    async fn view(&self, token: &PaymentToken, call: &[u8]) -> Result<U256> {
        self.ask(token.address(), call).await
    }

    async fn ask(&self, contract: Address, call: &[u8]) -> Result<U256> {
        let call =
            json!([{ "to": contract.to_string(), "data": format!("0x{}", hex(call)) }, "latest"]);
        self.number("eth_call", call).await
    }

    async fn number(&self, method: &str, params: Value) -> Result<U256> {
        number(&self.call(method, params).await?)
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value> {
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
        let mut answer: Value = serde_json::from_slice(&answer.body)
            .with_context(|| format!("the server answered {status} without JSON"))?;
        let result = answer["result"].take();
        if result.is_null() {
            bail!(
                "the server refused {method}: {}",
                answer["error"]["message"]
            );
        }
        Ok(result)
    }
}

/// A number in hexadecimal digits.
fn number(value: &Value) -> Result<U256> {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x"));
    // A contract that has no such view can answer with no digits at all.
    let digits = digits.filter(|digits| !digits.is_empty());
    let digits = digits.context("the server answered no number")?;
    U256::from_str_radix(digits, 16).map_err(|_| anyhow!("the server answered no number"))
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
    fn no_digits_are_no_number() {
        assert_eq!(number(&json!("0x0")).unwrap(), U256::ZERO);
        for none in [json!("0x"), json!(""), json!("1"), json!(1), Value::Null] {
            assert!(number(&none).is_err(), "{none}");
        }
    }

    #[test]
    fn amounts_are_shown_in_decimal() {
        assert_eq!(decimal(U256::from(1_234_567), 6), "1.234567");
        assert_eq!(decimal(U256::from(7), 6), "0.000007");
        assert_eq!(decimal(U256::ZERO, 18), "0.000000000000000000");
    }
}

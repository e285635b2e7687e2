//! Views of contracts, and how accounts sign.

use bardo_x402::evm::{Address, SigningAccount, U256, calls};
use serde_json::{Value, json};

use crate::hex;
use crate::reader::{AgreedAnswer, ChainReader, ReadError};
use crate::rpc::RpcCall;

impl ChainReader {
    /// How an account signs: it has code, and answers to this call (ERC-1271), or it is a key.
    ///
    /// # Errors
    /// When too few endpoints agree.
    pub async fn account(
        &self,
        account: Address,
        signature_call: &[u8],
    ) -> Result<SigningAccount, ReadError> {
        let block = self.block().await?;
        let code = json!([hex::of_bytes(account.as_slice()), block]);
        let batch = [
            RpcCall::new("eth_getCode", code),
            Self::view(account.0.0, signature_call, &block),
        ];
        let answers = self.agreed(&batch).await?;
        let returned = |place: usize| {
            let answer = answers.get(place).and_then(|answer| answer.as_ref().ok());
            answer.and_then(hex::bytes)
        };
        let code = returned(0);
        let code = code.ok_or_else(|| ReadError::Unknown("the code cannot be read".to_owned()))?;
        Ok(match code.is_empty() {
            true => SigningAccount::Key,
            false => SigningAccount::Contract {
                answer: returned(1).unwrap_or_default(),
            },
        })
    }

    /// What contracts return to calls at one block; `None` for a call that reverts.
    ///
    /// # Errors
    /// When too few endpoints agree, or a call has an error that is no revert.
    pub async fn views(
        &self,
        calls: &[(Address, Vec<u8>)],
    ) -> Result<Vec<Option<Vec<u8>>>, ReadError> {
        let block = self.block().await?;
        let views = calls.iter();
        let batch: Vec<_> = views
            .map(|(to, data)| Self::view(to.0.0, data, &block))
            .collect();
        let answers = self.agreed(&batch).await?;
        answers.into_iter().map(returned).collect()
    }

    /// The balance of an account, in wei.
    ///
    /// # Errors
    /// When too few endpoints agree.
    pub async fn ether(&self, account: Address) -> Result<u128, ReadError> {
        let block = self.block().await?;
        let params = json!([hex::of_bytes(account.as_slice()), block]);
        let answers = self
            .agreed(&[RpcCall::new("eth_getBalance", params)])
            .await?;
        let balance = answers.into_iter().next().and_then(Result::ok);
        let balance = balance.as_ref().and_then(hex::wide);
        balance.ok_or_else(|| ReadError::Unknown("the balance cannot be read".to_owned()))
    }

    /// What an account has of a token, in its smallest units.
    ///
    /// # Errors
    /// When too few endpoints agree, or the contract answers no number.
    pub async fn token_balance(&self, token: Address, account: Address) -> Result<U256, ReadError> {
        let answers = self.views(&[(token, calls::balance_of(account))]).await?;
        let returned = answers.into_iter().next().flatten();
        let balance = returned.as_deref().and_then(calls::number);
        balance.ok_or_else(|| ReadError::Unknown("the balance cannot be read".to_owned()))
    }

    /// The block for reads that belong together. One endpoint agrees with itself about its newest
    /// block; several must read the same.
    pub(crate) async fn block(&self) -> Result<Value, ReadError> {
        Ok(match self.transport.endpoints() {
            1 => json!("latest"),
            _ => json!(hex::of_number(self.head().await?.number)),
        })
    }
}

/// What a call returned; `None` where it reverted.
fn returned(answer: AgreedAnswer) -> Result<Option<Vec<u8>>, ReadError> {
    match answer {
        Ok(value) => match hex::bytes(&value) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(ReadError::Unknown("a call returned no bytes".to_owned())),
        },
        Err(refusal) if refusal.is_revert() => Ok(None),
        Err(refusal) => Err(ReadError::Unknown(refusal.to_string())),
    }
}

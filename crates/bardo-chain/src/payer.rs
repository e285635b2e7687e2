//! What a chain says of the payer of a payment.

use bardo_x402::authorization::PERMIT2;
use bardo_x402::evm::{Address, SigningAccount, U256, calls};
use bardo_x402::verify::{CheckedPayment, PayerState};
use bardo_x402::wire::TransferMethod;
use serde_json::json;

use crate::hex;
use crate::reader::{AgreedAnswer, ChainReader, ReadError};
use crate::rpc::RpcCall;

/// The state of a payer at one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayerReads {
    /// How the payer signs.
    pub account: SigningAccount,
    /// Its money and nonces.
    pub state: PayerState,
}

impl ChainReader {
    /// Reads the payer of a payment at one block: its code, whether the nonce is used, its balance,
    /// what Permit2 may take, and the nonce of its next permit. A payer with code is asked for its
    /// signature (ERC-1271).
    ///
    /// # Errors
    /// When too few endpoints agree.
    pub async fn payer(&self, payment: &CheckedPayment) -> Result<PayerReads, ReadError> {
        let block = self.block().await?;
        let claim = payment.claim();
        let (payer, token) = (claim.payer, payment.token().address());
        let by_permit2 = payment.method() != TransferMethod::Exact;
        let nonce = U256::from_be_bytes(claim.nonce.0);
        let used = match by_permit2 {
            true => calls::nonce_bitmap(payer, nonce),
            false => calls::authorization_state(payer, claim.nonce),
        };
        let view = |to: Address, data: &[u8]| Self::view(to.0.0, data, &block);
        let batch = [
            RpcCall::new(
                "eth_getCode",
                json!([hex::of_bytes(payer.as_slice()), block]),
            ),
            view(claim.contract, &used),
            view(token, &calls::balance_of(payer)),
            view(token, &calls::allowance(payer, PERMIT2)),
            view(token, &calls::permit_nonce(payer)),
            view(payer, &payment.signature_call()),
        ];
        let answers = self.agreed(&batch).await?;
        let number = |place: usize| {
            let bytes = answers.get(place).and_then(returned);
            bytes.and_then(|bytes| calls::number(&bytes))
        };
        let needed = |place: usize, what: &str| {
            number(place).ok_or_else(|| ReadError::Unknown(format!("the {what} cannot be read")))
        };
        let code = answers.first().and_then(returned);
        let code = code.ok_or_else(|| ReadError::Unknown("the code cannot be read".to_owned()))?;
        let used = needed(1, "nonce")?;
        Ok(PayerReads {
            account: match code.is_empty() {
                true => SigningAccount::Key,
                false => SigningAccount::Contract {
                    answer: answers.get(5).and_then(returned).unwrap_or_default(),
                },
            },
            state: PayerState {
                nonce_used: match by_permit2 {
                    true => calls::nonce_is_used(used, nonce),
                    false => used != U256::ZERO,
                },
                balance: needed(2, "balance")?,
                permit2_allowance: match by_permit2 {
                    true => needed(3, "allowance")?,
                    false => U256::ZERO,
                },
                // Tokens without permits have no such view.
                permit_nonce: number(4).unwrap_or(U256::ZERO),
            },
        })
    }
}

fn returned(answer: &AgreedAnswer) -> Option<Vec<u8>> {
    answer.as_ref().ok().and_then(hex::bytes)
}

//! Whose signature it is: accounts that are a key, and accounts that are a contract.

use alloy_primitives::{Address, B256, b256};

use super::calls::affirms_signature;
use super::{EvmSignature, SignatureError};

/// The end of a signature of a wallet that is not deployed (ERC-6492).
const UNDEPLOYED: B256 =
    b256!("0x6492649264926492649264926492649264926492649264926492649264926492");

/// What kind of account a signer is, as the chain says. Code decides: a key never stands for an
/// account with code, be it the 23 bytes of a delegation (EIP-7702).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SigningAccount {
    /// The account has no code: its key signs.
    Key,
    /// The account has code, and answered to [`super::calls::is_valid_signature`] with these bytes;
    /// with none where the call was reverted.
    Contract {
        /// What the call returned.
        answer: Vec<u8>,
    },
}

/// Why a signature is not an account's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccountSignatureError {
    /// The signature has the wrong form for an account that is a key.
    #[error(transparent)]
    Form(#[from] SignatureError),
    /// The signature is another account's, or of another message, contract or chain.
    #[error(
        "the signature is not the account's for this message; check the name and version of the domain and the chain id"
    )]
    Signer,
    /// The account is a contract and does not affirm the signature (ERC-1271).
    #[error("the account is a contract, and it does not affirm the signature (ERC-1271)")]
    Contract,
    /// The wallet is not deployed (ERC-6492).
    #[error(
        "signatures of wallets that are not deployed are not taken (ERC-6492); deploy the wallet first"
    )]
    Undeployed,
}

impl SigningAccount {
    /// Proves that the account at this address signed the digest. The signature of a key is returned
    /// in its parts, that of a contract has none.
    ///
    /// # Errors
    /// When it did not, or the signature is of a form that is not taken.
    pub fn prove(
        &self,
        address: Address,
        digest: B256,
        signature: &[u8],
    ) -> Result<Option<EvmSignature>, AccountSignatureError> {
        if signature.ends_with(UNDEPLOYED.as_slice()) {
            return Err(AccountSignatureError::Undeployed);
        }
        match self {
            Self::Key => {
                let signature = EvmSignature::parse(signature)?;
                if signature.recover(digest) != Ok(address) || address == Address::ZERO {
                    return Err(AccountSignatureError::Signer);
                }
                Ok(Some(signature))
            }
            Self::Contract { answer } if affirms_signature(answer) => Ok(None),
            Self::Contract { .. } => Err(AccountSignatureError::Contract),
        }
    }
}

//! Why a contract refused a call, from the bytes that it returned.

use alloy_primitives::U256;

/// The reason of a reverted call of a token, of Permit2 or of a proxy of x402.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Revert {
    /// Another account than the witness's facilitator called the proxy.
    #[error("the proxy takes this payment from its facilitator alone")]
    UnauthorizedFacilitator,
    /// The charge is above the signed ceiling.
    #[error("the amount is above the signed ceiling")]
    AmountExceedsPermitted,
    /// The charge is zero, or above what Permit2 was shown.
    #[error("the amount is zero or above the signed one")]
    InvalidAmount,
    /// The owner or the recipient is the zero address.
    #[error("the payer or the payee is the zero address")]
    ZeroAddress,
    /// The window of the payment has not begun by the chain's clock.
    #[error("the payment is not yet valid")]
    TooEarly,
    /// The window of the payment is over by the chain's clock.
    #[error("the payment has expired")]
    Expired,
    /// The amount of the EIP-2612 permit is not the signed ceiling.
    #[error("the amount of the permit is not the ceiling of the payment")]
    PermitAmountMismatch,
    /// The nonce was used or canceled.
    #[error("the nonce of the payment is used or canceled")]
    NonceUsed,
    /// The signature is not the payer's.
    #[error("the signature is not the payer's")]
    InvalidSignature,
    /// The balance of the payer is below the amount.
    #[error("the payer's balance is too low")]
    InsufficientBalance,
    /// The payer lets Permit2 take less than the amount, or nothing.
    #[error("the payer's allowance is too low")]
    InsufficientAllowance,
    /// The token refuses one of the accounts, or all of them for now.
    #[error("the token refuses the transfer: an account is on its list, or the token is paused")]
    TokenRefuses,
    /// A text that no rule knows; never to be shown to callers.
    #[error("the contract refused the call")]
    Message(String),
    /// An error of the contract that no rule knows, by its selector.
    #[error("the contract refused the call with the error 0x{:08x}", u32::from_be_bytes(*.0))]
    Other([u8; 4]),
    /// The call failed and returned nothing: no such function, or out of gas.
    #[error("the call failed without a reason")]
    Empty,
}

/// `Error(string)`, which `require` and `revert` with a text return.
const ERROR_STRING: u32 = 0x08c3_79a0;

/// Errors of Permit2 and of the proxies, by their selectors.
const SELECTORS: &[(u32, Revert)] = &[
    (0x0f6f_ae87, Revert::UnauthorizedFacilitator),
    (0xfe64_b4c7, Revert::AmountExceedsPermitted),
    (0x2c52_11c6, Revert::InvalidAmount),
    (0x3728_b83d, Revert::InvalidAmount),
    (0x49e2_7cff, Revert::ZeroAddress),
    (0xac6b_05f5, Revert::ZeroAddress),
    (0xa655_39fa, Revert::TooEarly),
    (0x050c_da49, Revert::PermitAmountMismatch),
    (0x7566_88fe, Revert::NonceUsed),
    (0xcd21_db4f, Revert::Expired),
    (0x815e_1d64, Revert::InvalidSignature),
    (0x4be6_321b, Revert::InvalidSignature),
    (0xb066_9cbc, Revert::InvalidSignature),
];

/// Texts of USDC and of common tokens, by a part of each.
const TEXTS: &[(&str, Revert)] = &[
    ("authorization is used or canceled", Revert::NonceUsed),
    ("authorization is not yet valid", Revert::TooEarly),
    ("authorization is expired", Revert::Expired),
    ("permit is expired", Revert::Expired),
    ("invalid signature", Revert::InvalidSignature),
    ("exceeds balance", Revert::InsufficientBalance),
    ("exceeds allowance", Revert::InsufficientAllowance),
    ("TRANSFER_FROM_FAILED", Revert::InsufficientAllowance),
    ("account is blacklisted", Revert::TokenRefuses),
    ("Pausable: paused", Revert::TokenRefuses),
];

impl Revert {
    /// Reads the data of a reverted call.
    #[must_use]
    pub fn decode(data: &[u8]) -> Self {
        let Some((selector, arguments)) = data.split_first_chunk::<4>() else {
            return Self::Empty;
        };
        let number = u32::from_be_bytes(*selector);
        if number == ERROR_STRING {
            return text(arguments).map_or(Self::Other(*selector), Self::of_text);
        }
        let known = SELECTORS.iter().find(|(known, _)| *known == number);
        known.map_or(Self::Other(*selector), |(_, revert)| revert.clone())
    }

    fn of_text(text: String) -> Self {
        let known = TEXTS.iter().find(|(part, _)| text.contains(part));
        known.map_or(Self::Message(text), |(_, revert)| revert.clone())
    }
}

/// The one string among the arguments of an error.
fn text(arguments: &[u8]) -> Option<String> {
    let length_at = |at: usize| {
        let word = arguments.get(at..at.checked_add(32)?)?;
        usize::try_from(U256::from_be_slice(word)).ok()
    };
    let offset = length_at(0)?;
    let length = length_at(offset)?;
    let start = offset.checked_add(32)?;
    let bytes = arguments.get(start..start.checked_add(length)?)?;
    String::from_utf8(bytes.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn the_selectors_are_those_of_the_errors() {
        let names = [
            "UnauthorizedFacilitator()",
            "AmountExceedsPermitted()",
            "InvalidAmount()",
            "InvalidAmount(uint256)",
            "InvalidOwner()",
            "InvalidDestination()",
            "PaymentTooEarly()",
            "Permit2612AmountMismatch()",
            "InvalidNonce()",
            "SignatureExpired(uint256)",
            "InvalidSigner()",
            "InvalidSignatureLength()",
            "InvalidContractSignature()",
        ];
        let computed =
            names.map(|name| u32::from_be_bytes(keccak256(name)[..4].try_into().unwrap()));
        let listed: Vec<u32> = SELECTORS.iter().map(|(selector, _)| *selector).collect();
        assert_eq!(listed, computed);
    }

    fn with_text(text: &str) -> Vec<u8> {
        let mut data = ERROR_STRING.to_be_bytes().to_vec();
        data.extend(U256::from(32).to_be_bytes::<32>());
        data.extend(U256::from(text.len()).to_be_bytes::<32>());
        data.extend(text.as_bytes());
        data
    }

    #[test]
    fn texts_of_tokens_become_reasons() {
        let read = |text: &str| Revert::decode(&with_text(text));
        let used = read("FiatTokenV2: authorization is used or canceled");
        assert_eq!(used, Revert::NonceUsed);
        let poor = read("ERC20: transfer amount exceeds balance");
        assert_eq!(poor, Revert::InsufficientBalance);
        let other = read("something else");
        assert_eq!(other, Revert::Message("something else".into()));
    }

    #[test]
    fn broken_data_is_an_unknown_reason() {
        assert_eq!(Revert::decode(&[]), Revert::Empty);
        assert_eq!(Revert::decode(&[1, 2, 3]), Revert::Empty);
        let mut data = with_text("x");
        data[35] = 0xff;
        assert_eq!(
            Revert::decode(&data),
            Revert::Other(ERROR_STRING.to_be_bytes())
        );
        data[4..36].fill(0xff);
        assert_eq!(
            Revert::decode(&data),
            Revert::Other(ERROR_STRING.to_be_bytes())
        );
    }
}

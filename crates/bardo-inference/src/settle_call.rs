//! Which payment by Permit2 a transaction settles, read from its calldata.
//!
//! The nonce alone proves nothing: anybody can append it to another transaction.

use bardo_x402::authorization::{EXACT_PROXY, UPTO_PROXY};
use bardo_x402::evm::{Address, B256, U256};

/// Hexadecimal digits of an argument, and of the selector before all of them.
const WORD: usize = 64;
const SELECTOR: usize = 8;
/// Words of a permit, which stands before the payment.
const PERMIT_WORDS: usize = 5;

/// A call of a proxy of x402 that settles a payment. The rest of its arguments is signed with these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SettleCall {
    pub(crate) token: Address,
    pub(crate) nonce: U256,
    pub(crate) owner: Address,
}

impl SettleCall {
    /// Reads the call of a transaction from its recipient and its input in hexadecimal digits; `None`
    /// where it settles nothing.
    pub(crate) fn read(to: Address, input: &str) -> Option<Self> {
        let input = input.strip_prefix("0x")?.to_ascii_lowercase();
        let (selector, arguments) = input.split_at_checked(SELECTOR)?;
        // Before the payment, and between its deadline and its owner.
        let (before, between) = match selector {
            "ff11e7b4" if to == UPTO_PROXY => (0, 1),
            "016c1748" if to == UPTO_PROXY => (PERMIT_WORDS, 1),
            "13cd3b53" if to == EXACT_PROXY => (0, 0),
            "fa340378" if to == EXACT_PROXY => (PERMIT_WORDS, 0),
            _ => return None,
        };
        let word = |at: usize| {
            let from = (before + at) * WORD;
            let digits = arguments.get(from..from + WORD)?;
            U256::from_str_radix(digits, 16).ok()
        };
        let address = |at: usize| Some(Address::from_word(B256::from(word(at)?)));
        Some(Self {
            token: address(0)?,
            nonce: word(2)?,
            owner: address(4 + between)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use bardo_keystore::hex;
    use bardo_x402::authorization::{Permit2Transfer, Permit2Witness, TokenPermit};
    use bardo_x402::evm::{Signer, calls};

    use super::*;

    fn address(byte: u8) -> Address {
        Address::repeat_byte(byte)
    }

    fn transfer(facilitator: Option<Address>) -> Permit2Transfer {
        Permit2Transfer {
            token: address(1),
            amount: U256::from(90_000),
            spender: facilitator.map_or(EXACT_PROXY, |_| UPTO_PROXY),
            nonce: U256::from_be_bytes([0xab; 32]),
            deadline: U256::from(7),
            witness: Permit2Witness {
                to: address(2),
                facilitator,
                valid_after: U256::ZERO,
            },
        }
    }

    #[test]
    fn each_settlement_is_read_and_of_its_own_proxy_alone() {
        let owner = address(3);
        let signer = Signer::from_bytes([1; 32]).unwrap();
        let permit = TokenPermit {
            owner,
            spender: address(5),
            value: U256::from(90_000),
            nonce: U256::ZERO,
            deadline: U256::from(7),
        };
        let signature = signer.sign(B256::ZERO);
        for facilitator in [None, Some(address(4))] {
            let transfer = transfer(facilitator);
            for permit in [None, Some((&permit, &signature))] {
                let call = calls::settle(&transfer, U256::from(1), owner, &[9; 65], permit);
                let input = format!("0x{}", hex(&call));
                let read = SettleCall::read(transfer.spender, &input);
                let expected = SettleCall {
                    token: transfer.token,
                    nonce: transfer.nonce,
                    owner,
                };
                assert_eq!(read, Some(expected));
                for to in [UPTO_PROXY, EXACT_PROXY, address(1)] {
                    let is_own = to == transfer.spender;
                    assert_eq!(SettleCall::read(to, &input).is_some(), is_own);
                }
            }
        }
    }

    #[test]
    fn a_transaction_that_only_names_a_nonce_settles_none() {
        let nonce = "ab".repeat(32);
        let zeros = "0".repeat(WORD * 3);
        for input in [
            format!("0x23b872dd{zeros}{nonce}"),
            format!("0xff11e7b4{nonce}"),
            format!("0xff11{nonce}"),
            format!("ff11e7b4{zeros}{zeros}"),
            String::new(),
        ] {
            assert_eq!(SettleCall::read(UPTO_PROXY, &input), None, "{input}");
        }
        let behind = format!("0xff11e7b4{zeros}{zeros}{nonce}");
        let read = SettleCall::read(UPTO_PROXY, &behind).unwrap();
        assert_eq!(read.nonce, U256::ZERO);
    }
}

//! Transactions with a dynamic fee (EIP-1559), signed and ready to send.

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_rlp::{Decodable, Encodable, Header};

use super::{EvmSignature, Signer};

/// Type byte of a transaction with a dynamic fee (EIP-2718).
const TYPE: u8 = 2;

/// A call of a contract or a transfer, with an empty access list. Fees are in wei per gas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicFeeTransaction {
    /// The chain that takes the transaction.
    pub chain_id: u64,
    /// Number of transactions of the sender before this one.
    pub nonce: u64,
    /// Most that goes to the block's builder, in wei per gas.
    pub max_priority_fee_per_gas: u128,
    /// Most that is paid in all, in wei per gas.
    pub max_fee_per_gas: u128,
    /// Most gas that is used.
    pub gas_limit: u64,
    /// The contract or account that is called.
    pub to: Address,
    /// Wei that are sent along.
    pub value: U256,
    /// Calldata of the contract.
    pub data: Vec<u8>,
}

/// A transaction as `eth_sendRawTransaction` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedTransaction {
    /// The bytes to send.
    pub raw: Vec<u8>,
    /// The name of the transaction on its chain, known before it is sent.
    pub hash: B256,
}

impl DynamicFeeTransaction {
    /// Signs the transaction.
    #[must_use]
    pub fn sign(&self, signer: &Signer) -> SignedTransaction {
        let digest = keccak256(self.encode(None));
        let raw = self.encode(Some(signer.sign(digest)));
        SignedTransaction {
            hash: keccak256(&raw),
            raw,
        }
    }

    /// The most per gas and the tip of a signed transaction, in wei; `None` where the bytes are not of
    /// this type.
    #[must_use]
    pub fn fees_of(raw: &[u8]) -> Option<(u128, u128)> {
        let mut fields = raw.strip_prefix(&[TYPE])?;
        let list = Header::decode(&mut fields).ok()?;
        let _chain_id_and_nonce = (
            u64::decode(&mut fields).ok()?,
            u64::decode(&mut fields).ok()?,
        );
        let tip = u128::decode(&mut fields).ok()?;
        let max_fee = u128::decode(&mut fields).ok()?;
        list.list.then_some((max_fee, tip))
    }

    /// The type byte and the list of fields, with the signature's three at the end if there is one.
    fn encode(&self, signature: Option<EvmSignature>) -> Vec<u8> {
        let to = self.to.as_slice();
        let value = trimmed(B256::from(self.value));
        let (value, data) = (value.as_slice(), self.data.as_slice());
        let access_list: Vec<u64> = Vec::new();
        let mut fields: Vec<&dyn Encodable> = vec![
            &self.chain_id,
            &self.nonce,
            &self.max_priority_fee_per_gas,
            &self.max_fee_per_gas,
            &self.gas_limit,
            &to,
            &value,
            &data,
            &access_list,
        ];
        let numbers = signature.map(|signature| {
            let (r, s) = (trimmed(signature.r()), trimmed(signature.s()));
            (signature.y_is_odd(), r, s)
        });
        let numbers = numbers.as_ref().map(|(y, r, s)| (y, &r[..], &s[..]));
        if let Some((y_is_odd, r, s)) = &numbers {
            fields.extend([*y_is_odd as &dyn Encodable, r, s]);
        }
        let payload_length = fields.iter().map(|field| field.length()).sum();
        let mut raw = vec![TYPE];
        Header {
            list: true,
            payload_length,
        }
        .encode(&mut raw);
        for field in fields {
            field.encode(&mut raw);
        }
        raw
    }
}

/// A number without its leading zero bytes, as RLP has numbers.
fn trimmed(word: B256) -> Vec<u8> {
    let zeros = word.iter().take_while(|byte| **byte == 0).count();
    word[zeros..].to_vec()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{address, hex};

    use super::*;

    fn signer() -> Signer {
        Signer::from_hex("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d")
            .unwrap()
    }

    #[track_caller]
    fn check(transaction: &DynamicFeeTransaction, raw: &str, hash: &str) {
        let signed = transaction.sign(&signer());
        assert_eq!(hex::encode_prefixed(&signed.raw), raw);
        assert_eq!(signed.hash.to_string(), hash);
    }

    fn transfer_of_ether() -> DynamicFeeTransaction {
        DynamicFeeTransaction {
            chain_id: 8453,
            nonce: 0,
            max_priority_fee_per_gas: 0,
            max_fee_per_gas: 1_000_000,
            gas_limit: 21_000,
            to: address!("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
            value: U256::from(10).pow(U256::from(18)),
            data: Vec::new(),
        }
    }

    #[test]
    fn a_transfer_is_encoded_as_viem_does() {
        check(
            &transfer_of_ether(),
            "0x02f86f8221058080830f424082520894833589fcd6edb6e08f4c7c32d4f71b54bda02913880de0b6b3a764000080c080a04bb7f329490a0ce8cfb0b477779c6d6f89db62670658f6474976d4e71e2c7f1ca0303fb5953e1ea29194badd6c74aae6b2c9e167d966909565f49a0d26503208e2",
            "0x3e05dbfa4f01699127e1f0c56e4ad24751eac0c941c6561cf4f45fb80c946efd",
        );
    }

    #[test]
    fn a_call_is_encoded_as_viem_does() {
        let data = [&hex!("70a08231")[..], &[0; 12], &[0x11; 20], &[0; 32]].concat();
        let call = DynamicFeeTransaction {
            nonce: 300,
            max_priority_fee_per_gas: 1_500_000_000,
            max_fee_per_gas: 20_000_000_000_000_000_000,
            gas_limit: 250_000,
            value: U256::ZERO,
            data,
            ..transfer_of_ether()
        };
        check(
            &call,
            "0x02f8b982210582012c8459682f008901158e460913d000008303d09094833589fcd6edb6e08f4c7c32d4f71b54bda0291380b84470a0823100000000000000000000000011111111111111111111111111111111111111110000000000000000000000000000000000000000000000000000000000000000c080a063897a85d2057dd301ac03a71f407eddfa48660467ef696dbacd7f495a2d4060a004be9f49fa7ae1754030752da7fe4064d4b1392892fe110b7d6c7df34d0e977e",
            "0x1078616b3e71c370b0ef8e8c48cfa329d98cce31b6847e8d5f68a630392f85fb",
        );
    }

    #[test]
    fn fees_are_read_from_a_signed_transaction() {
        let transfer = DynamicFeeTransaction {
            max_priority_fee_per_gas: 7,
            max_fee_per_gas: u128::MAX,
            ..transfer_of_ether()
        };
        let raw = transfer.sign(&signer()).raw;
        assert_eq!(DynamicFeeTransaction::fees_of(&raw), Some((u128::MAX, 7)));
        assert_eq!(DynamicFeeTransaction::fees_of(&raw[1..]), None);
        assert_eq!(DynamicFeeTransaction::fees_of(&raw[..9]), None);
    }

    #[test]
    fn numbers_of_signatures_have_no_leading_zeros() {
        assert_eq!(trimmed(B256::with_last_byte(7)), [7]);
        assert!(trimmed(B256::ZERO).is_empty());
    }
}

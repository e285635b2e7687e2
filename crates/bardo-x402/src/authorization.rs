//! The messages that payers sign, as typed data (EIP-712).

use alloy_primitives::{Address, B256, U256, address, b256};

use crate::evm::{SigningDomain, Words};

/// Permit2, at this address on every chain (<https://github.com/Uniswap/permit2>).
pub const PERMIT2: Address = address!("0x000000000022D473030F116dDEE9F6B43aC78BA3");
/// The proxy that settles `upto` payments by Permit2.
pub const UPTO_PROXY: Address = address!("0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002");
/// The proxy that settles `exact` payments by Permit2.
pub const EXACT_PROXY: Address = address!("0x402085c248EeA27D92E8b30b2C58ed07f9E20001");

/// Permission for anyone to move exactly this value, once (ERC-3009). Times are Unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferAuthorization {
    /// The account that pays.
    pub from: Address,
    /// The account that is paid.
    pub to: Address,
    /// Smallest units of the token.
    pub value: U256,
    /// The block's time must be later than this.
    pub valid_after: U256,
    /// The block's time must be earlier than this.
    pub valid_before: U256,
    /// Random; used once per payer and token.
    pub nonce: B256,
}

impl TransferAuthorization {
    /// What the payer signs in the domain of the token.
    #[must_use]
    pub fn digest(&self, token: &SigningDomain) -> B256 {
        let words = Words::of(TRANSFER_WITH_AUTHORIZATION)
            .address(self.from)
            .address(self.to)
            .uint(self.value)
            .uint(self.valid_after)
            .uint(self.valid_before)
            .word(self.nonce);
        token.digest(words.hash())
    }
}

/// Permission for a proxy to move up to this amount by Permit2, once (`PermitWitnessTransferFrom`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permit2Transfer {
    /// The token that is moved.
    pub token: Address,
    /// Most that may be moved, in smallest units of the token.
    pub amount: U256,
    /// The proxy that calls Permit2.
    pub spender: Address,
    /// Random; used once per payer, over all tokens.
    pub nonce: U256,
    /// Last second, in Unix time, at which Permit2 takes it.
    pub deadline: U256,
    /// What the proxy must keep to.
    pub witness: Permit2Witness,
}

/// What a proxy of x402 must keep to when it moves money by Permit2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permit2Witness {
    /// The account that is paid.
    pub to: Address,
    /// The one account that may settle. `upto` has one, `exact` has none and anyone settles.
    pub facilitator: Option<Address>,
    /// First second, in Unix time, at which it may be settled.
    pub valid_after: U256,
}

impl Permit2Transfer {
    /// What the payer signs in the domain of Permit2.
    #[must_use]
    pub fn digest(&self, permit2: &SigningDomain) -> B256 {
        let permitted = Words::of(TOKEN_PERMISSIONS)
            .address(self.token)
            .uint(self.amount);
        let Permit2Witness {
            to,
            facilitator,
            valid_after,
        } = self.witness;
        let (primary, witness) = match facilitator {
            Some(facilitator) => {
                let witness = Words::of(UPTO_WITNESS).address(to).address(facilitator);
                (PERMIT_UPTO, witness)
            }
            None => (PERMIT_EXACT, Words::of(EXACT_WITNESS).address(to)),
        };
        let words = Words::of(primary)
            .word(permitted.hash())
            .address(self.spender)
            .uint(self.nonce)
            .uint(self.deadline)
            .word(witness.uint(valid_after).hash());
        permit2.digest(words.hash())
    }

    /// The domain of Permit2 on this chain.
    #[must_use]
    pub fn domain(chain_id: u64) -> SigningDomain {
        SigningDomain::unversioned("Permit2", chain_id, PERMIT2)
    }
}

/// Permission for a spender to take up to this value from then on (ERC-2612).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPermit {
    /// Whose tokens may be taken.
    pub owner: Address,
    /// Who may take them.
    pub spender: Address,
    /// The new allowance, in smallest units of the token.
    pub value: U256,
    /// The number of permits of the owner that the token has taken before.
    pub nonce: U256,
    /// Last second, in Unix time, at which the token takes it.
    pub deadline: U256,
}

impl TokenPermit {
    /// What the owner signs in the domain of the token.
    #[must_use]
    pub fn digest(&self, token: &SigningDomain) -> B256 {
        let words = Words::of(PERMIT)
            .address(self.owner)
            .address(self.spender)
            .uint(self.value)
            .uint(self.nonce)
            .uint(self.deadline);
        token.digest(words.hash())
    }
}

// Hashes of the types; a test computes them again.
const TRANSFER_WITH_AUTHORIZATION: B256 =
    b256!("0x7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267");
const TOKEN_PERMISSIONS: B256 =
    b256!("0x618358ac3db8dc274f0cd8829da7e234bd48cd73c4a740aede1adec9846d06a1");
const PERMIT_UPTO: B256 =
    b256!("0x51dff6974ad4388c499e7fcfe838d2bd767162553a144098ce20ea661d70c2ee");
const PERMIT_EXACT: B256 =
    b256!("0xebc156cd23678a74c94df13d772ef5478420637f0c94bd10d509e1dc98f521c7");
const UPTO_WITNESS: B256 =
    b256!("0xd4171c445a74218b01d4fd8af34ff1106580ea1e36ff837e64484bfaa2253b75");
const EXACT_WITNESS: B256 =
    b256!("0xd97b3239a7f32295517bd14cb074edfdd188dfe5eb42f802bb26d4fd1eb12c37");
const PERMIT: B256 = b256!("0x6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c9");

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;
    use crate::evm::{EvmSignature, Signer};

    const USDC: Address = address!("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
    const PAYEE: Address = address!("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC");
    const FACILITATOR: Address = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    const NONCE: B256 = B256::repeat_byte(0x11);

    /// Signs with the second key of every local test chain.
    fn signer() -> Signer {
        Signer::from_hex("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d")
            .unwrap()
    }

    fn seconds(time: u64) -> U256 {
        U256::from(time)
    }

    #[track_caller]
    fn check(domain: &SigningDomain, separator: B256, signed: B256, digest: B256, signature: &str) {
        assert_eq!(domain.separator(), separator);
        assert_eq!(signed, digest);
        let made: EvmSignature = signer().sign(signed);
        assert_eq!(made.to_string(), signature);
        assert_eq!(made.recover(signed), Ok(signer().address()));
    }

    fn transfer() -> TransferAuthorization {
        TransferAuthorization {
            from: signer().address(),
            to: PAYEE,
            value: U256::from(10_000),
            valid_after: U256::ZERO,
            valid_before: seconds(1_900_000_000),
            nonce: NONCE,
        }
    }

    #[test]
    fn exact_on_base_is_signed_as_other_wallets_sign_it() {
        let domain = SigningDomain::new("USD Coin", "2", 8453, USDC);
        check(
            &domain,
            b256!("0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"),
            transfer().digest(&domain),
            b256!("0xad0a5f5c7497f64fd19e2dc9e6c34b2603c48edc0ff6b379a669d38659d84c63"),
            "0x26bcebea4cfde9bb4511b2e84e3e2a2e6ab532eb2804421d534f5e1caf5176ad6b40947e82ca4badf34039e0a8912b4dbcacd900e34a113be64202356d78e2f01c",
        );
    }

    #[test]
    fn exact_on_base_sepolia_is_signed_as_other_wallets_sign_it() {
        let token = address!("0x036CbD53842c5426634e7929541eC2318f3dCF7e");
        let domain = SigningDomain::new("USDC", "2", 84532, token);
        check(
            &domain,
            b256!("0x71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818"),
            transfer().digest(&domain),
            b256!("0xf2953de99b86b53b5373c9946704f72f6cbf02a1de79c9720f592dd2b062d7dd"),
            "0x9ee5cbd85039917a89c4ace7961877e72c83b40c97cd44a8fef9bd0be35f35251e592e9a98d4ea66dcbcb36f9cdd4fdeaa33af0e3bbcd9a198ce53e0d88d59131b",
        );
    }

    #[test]
    fn upto_is_signed_as_other_wallets_sign_it() {
        let permit = Permit2Transfer {
            token: USDC,
            amount: U256::from(500_000),
            spender: UPTO_PROXY,
            nonce: NONCE.into(),
            deadline: seconds(1_900_000_000),
            witness: Permit2Witness {
                to: PAYEE,
                facilitator: Some(FACILITATOR),
                valid_after: U256::ZERO,
            },
        };
        let domain = Permit2Transfer::domain(8453);
        check(
            &domain,
            b256!("0x3b6f35e4fce979ef8eac3bcdc8c3fc38fe7911bb0c69c8fe72bf1fd1a17e6f07"),
            permit.digest(&domain),
            b256!("0xa20a4225d14a52a9db61d8ed706b24f083e8212a9679e2d318fb0cf9dc0aad55"),
            "0xb27c7107ad8ac429993676dc609c0542c41e4b2da81d4649f17b4ac0511ee3115aaf8fe5c6b5dc7b91a506896736e3475b25af53c92e955634fd2e00aa5cbc971c",
        );
    }

    #[test]
    fn a_permit_is_signed_as_other_wallets_sign_it() {
        let permit = TokenPermit {
            owner: signer().address(),
            spender: PERMIT2,
            value: U256::from(500_000),
            nonce: U256::ZERO,
            deadline: seconds(1_900_000_000),
        };
        let domain = SigningDomain::new("USD Coin", "2", 8453, USDC);
        check(
            &domain,
            b256!("0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"),
            permit.digest(&domain),
            b256!("0xcd900698e1f1cd55142b80decc25b8d40ea162790da4aebdf5ee400abe06e58a"),
            "0x0c3b9ba1b331520f51fa2f4b2c1adbdb7d888ac02dd2cd7917c862b0065fb6266ee7a7fa6f50c5637af108dd1186f8b59e61cf86c34f744c727aee10f7b9f0e71c",
        );
    }

    #[test]
    fn the_type_hashes_are_those_of_the_types() {
        const PERMITTED: &str = "TokenPermissions(address token,uint256 amount)";
        const UPTO: &str = "Witness(address to,address facilitator,uint256 validAfter)";
        const EXACT: &str = "Witness(address to,uint256 validAfter)";
        let primary = "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness)";
        for (hash, text) in [
            (
                TRANSFER_WITH_AUTHORIZATION,
                "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)".into(),
            ),
            (TOKEN_PERMISSIONS, PERMITTED.to_owned()),
            (PERMIT_UPTO, format!("{primary}{PERMITTED}{UPTO}")),
            (PERMIT_EXACT, format!("{primary}{PERMITTED}{EXACT}")),
            (UPTO_WITNESS, UPTO.into()),
            (EXACT_WITNESS, EXACT.into()),
            (
                PERMIT,
                "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)".into(),
            ),
        ] {
            assert_eq!(hash, keccak256(&text), "{text}");
        }
    }
}

//! What is kept of a proven payment until it is settled: bytes that outlive the process.

use alloy_primitives::Address;

use super::{SettlementCall, VerifiedPayment};
use crate::token::TokenAmount;
use crate::wire::{SchemePayload, TransferMethod};

/// All that settles a proven payment. Whoever has it can move the money, to the payee alone.
#[derive(Clone, PartialEq, Eq)]
pub struct SettlementPlan {
    method: TransferMethod,
    chain_id: u64,
    token: Address,
    pay_to: Address,
    ceiling: TokenAmount,
    /// The contract that is called.
    to: Address,
    /// Calldata for the ceiling.
    data: Vec<u8>,
    /// What a facilitator elsewhere is asked to settle; empty where the seller settles.
    request: Vec<u8>,
}

/// Bytes of an argument in calldata.
const WORD: usize = 32;
/// Version of the encoding, and the numbers of the methods in it.
const FORMAT: u8 = 1;
/// Version of an encoding with a request before the rest.
const WITH_REQUEST: u8 = 2;
const EXACT: u8 = 1;
const UPTO: u8 = 2;
const EXACT_PERMIT2: u8 = 3;
/// Bytes before the calldata.
const HEAD: usize = 1 + 1 + 20 + 8 + 20 + 20 + 8 + 20;
/// The words before the amount in `settle` and `settleWithPermit` of the proxy of `upto`.
const BEFORE_AMOUNT: usize = 4;
const BEFORE_AMOUNT_WITH_PERMIT: usize = 9;
/// Selector of `settleWithPermit` of the proxy of `upto`.
const SETTLE_WITH_PERMIT: [u8; 4] = [0x01, 0x6c, 0x17, 0x48];

impl VerifiedPayment {
    /// What settles this payment, to be kept with its claim.
    #[must_use]
    pub fn plan(&self) -> Option<SettlementPlan> {
        let call = self.settlement(self.ceiling())?;
        let pay_to = match self.payload() {
            SchemePayload::Transfer(signed) => signed.authorization.to,
            SchemePayload::Permit2(signed) => signed.transfer.witness.to,
        };
        Some(SettlementPlan {
            method: self.method(),
            chain_id: self.token().network().chain_id(),
            token: self.token().address(),
            pay_to,
            ceiling: self.ceiling(),
            to: call.to,
            data: call.data,
            request: Vec::new(),
        })
    }
}

impl SettlementPlan {
    /// The plan with what a facilitator elsewhere is asked to settle.
    #[must_use]
    pub fn by_facilitator(self, request: String) -> Self {
        Self {
            request: request.into_bytes(),
            ..self
        }
    }

    /// What a facilitator elsewhere is asked to settle, the same each time; `None` where the seller
    /// settles.
    #[must_use]
    pub fn request(&self) -> Option<&[u8]> {
        Some(self.request.as_slice()).filter(|request| !request.is_empty())
    }

    /// The contract of the token that moves.
    #[must_use]
    pub fn token(&self) -> Address {
        self.token
    }

    /// Id of the chain.
    #[must_use]
    pub fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// The account that is paid.
    #[must_use]
    pub fn pay_to(&self) -> Address {
        self.pay_to
    }

    /// How the money moves.
    #[must_use]
    pub fn method(&self) -> TransferMethod {
        self.method
    }

    /// The call that settles this amount: at most the ceiling under `upto`, exactly the price under
    /// `exact`. `None` for any other amount, and for zero.
    #[must_use]
    pub fn call(&self, amount: TokenAmount) -> Option<SettlementCall> {
        let mut data = self.data.clone();
        match self.method {
            TransferMethod::Upto { .. } => {
                let before = match data.get(..4)? {
                    found if found == SETTLE_WITH_PERMIT => BEFORE_AMOUNT_WITH_PERMIT,
                    _ => BEFORE_AMOUNT,
                };
                let start = 4 + before * WORD;
                let word = data.get_mut(start..start + WORD)?;
                word.copy_from_slice(&amount.to_u256().to_be_bytes::<WORD>());
            }
            TransferMethod::Exact | TransferMethod::ExactPermit2 if amount != self.ceiling => {
                return None;
            }
            TransferMethod::Exact | TransferMethod::ExactPermit2 => {}
        }
        (amount != TokenAmount::ZERO && amount <= self.ceiling).then_some(SettlementCall {
            to: self.to,
            data,
            from: self.method.facilitator(),
        })
    }

    /// The plan as bytes, for the row of its claim.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let number = match self.method {
            TransferMethod::Exact => EXACT,
            TransferMethod::Upto { .. } => UPTO,
            TransferMethod::ExactPermit2 => EXACT_PERMIT2,
        };
        let facilitator = self.method.facilitator().unwrap_or(Address::ZERO);
        let mut bytes = Vec::new();
        if let Some(request) = self.request() {
            let length = u32::try_from(request.len()).unwrap_or(u32::MAX);
            bytes.push(WITH_REQUEST);
            bytes.extend(length.to_be_bytes());
            bytes.extend(request);
        }
        bytes.extend([FORMAT, number]);
        bytes.extend(facilitator.as_slice());
        bytes.extend(self.chain_id.to_be_bytes());
        bytes.extend(self.token.as_slice());
        bytes.extend(self.pay_to.as_slice());
        bytes.extend(self.ceiling.get().to_be_bytes());
        bytes.extend(self.to.as_slice());
        bytes.extend(&self.data);
        bytes
    }

    /// The plan of these bytes; `None` where they are none.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if let Some((&WITH_REQUEST, rest)) = bytes.split_first() {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
            let (request, rest) = rest.split_at_checked(length)?;
            let plan = Self::decode(rest).filter(|plan| plan.request.is_empty())?;
            let request = request.to_vec();
            return Some(Self { request, ..plan });
        }
        let (head, data) = bytes.split_first_chunk::<HEAD>()?;
        let address = |start: usize| Address::from_slice(&head[start..start + 20]);
        let number = |start: usize| -> Option<u64> {
            let bytes = head[start..].first_chunk()?;
            Some(u64::from_be_bytes(*bytes))
        };
        let method = match (head[0], head[1]) {
            (FORMAT, EXACT) => TransferMethod::Exact,
            (FORMAT, UPTO) => TransferMethod::Upto {
                facilitator: address(2),
            },
            (FORMAT, EXACT_PERMIT2) => TransferMethod::ExactPermit2,
            _ => return None,
        };
        Some(Self {
            method,
            chain_id: number(22)?,
            token: address(30),
            pay_to: address(50),
            ceiling: TokenAmount::new(number(70)?),
            to: address(78),
            data: data.to_vec(),
            request: Vec::new(),
        })
    }
}

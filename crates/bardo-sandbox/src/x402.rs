//! x402 version 2 as a seller and a facilitator see it: what a payment must look like.
//!
//! Signatures are checked as the contracts check them: the payer is who signed. A payer whose
//! address ends in `dead` has no money, whatever it signs.

use bardo_x402::authorization::{Permit2Transfer, Permit2Witness, TransferAuthorization};
use bardo_x402::evm::{Address, B256, EvmSignature, U256};
use bardo_x402::token::PaymentToken;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// USDC on Base.
pub(crate) const USDC: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
/// The network Base mainnet.
pub(crate) const NETWORK: &str = "eip155:8453";
/// The key that settles for the simulated sellers.
pub(crate) const FACILITATOR: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

const UPTO_PROXY: &str = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";
/// Seconds of life that an authorization must have left.
const MARGIN_S: u64 = 6;

/// Who pays, and which single-use nonce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payer {
    pub(crate) address: String,
    pub(crate) nonce: String,
}

impl Payer {
    /// The name under which the nonce is claimed.
    pub(crate) fn claim(&self) -> String {
        format!(
            "x402:{}:{}",
            self.address.to_lowercase(),
            self.nonce.to_lowercase()
        )
    }
}

/// Decodes a payment header: standard base64 with padding over JSON.
pub(crate) fn decode(header: &str) -> Option<Value> {
    serde_json::from_slice(&STANDARD.decode(header.trim()).ok()?).ok()
}

/// Encodes JSON for a header.
pub(crate) fn encode(value: &Value) -> String {
    STANDARD.encode(value.to_string())
}

/// Checks a payment against the seller's own requirement; the error is the reason code.
pub(crate) fn check(
    payment: &Value,
    requirement: &Value,
    now_s: u64,
) -> Result<Payer, &'static str> {
    if payment["x402Version"] != 2 {
        return Err("invalid_x402_version");
    }
    let accepted = &payment["accepted"];
    if accepted["scheme"] != requirement["scheme"] {
        return Err("invalid_scheme");
    }
    if accepted["network"] != requirement["network"] {
        return Err("invalid_network");
    }
    if !same_address(&accepted["asset"], &requirement["asset"])
        || !same_address(&accepted["payTo"], &requirement["payTo"])
        || !extends(&accepted["extra"], &requirement["extra"])
    {
        return Err("invalid_payment_requirements");
    }
    let payer = match requirement["scheme"].as_str() {
        Some("exact") => exact(&payment["payload"], accepted, requirement, now_s)?,
        Some("upto") => upto(&payment["payload"], accepted, requirement, now_s)?,
        _ => return Err("unsupported_scheme"),
    };
    if payer.address.to_lowercase().ends_with("dead") {
        return Err("insufficient_funds");
    }
    let (payload, scheme) = (&payment["payload"], &requirement["scheme"]);
    let (signed, refused) = match scheme.as_str() {
        Some("upto") => (permit_digest(payload), "invalid_permit2_signature"),
        _ => (
            transfer_digest(payload),
            "invalid_exact_evm_payload_signature",
        ),
    };
    let signature = bytes(&payload["signature"]).and_then(|bytes| EvmSignature::parse(&bytes).ok());
    let recovered = signed.zip(signature);
    let recovered = recovered.and_then(|(digest, signature)| signature.recover(digest).ok());
    if recovered != address(&payload_owner(payload)["from"]) || recovered.is_none() {
        return Err(refused);
    }
    Ok(payer)
}

/// The part of a payload that names the payer.
fn payload_owner(payload: &Value) -> &Value {
    match &payload["permit2Authorization"] {
        Value::Null => &payload["authorization"],
        permit => permit,
    }
}

fn address(value: &Value) -> Option<Address> {
    value.as_str()?.parse().ok()
}

fn number(value: &Value) -> Option<U256> {
    U256::from_str_radix(value.as_str()?, 10).ok()
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    let hex = value.as_str()?.strip_prefix("0x")?;
    let pair = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    (0..hex.len()).step_by(2).map(pair).collect()
}

/// What the payer of an `exact` payment signs: a transfer of USDC (ERC-3009).
fn transfer_digest(payload: &Value) -> Option<B256> {
    let told = &payload["authorization"];
    let signed = TransferAuthorization {
        from: address(&told["from"])?,
        to: address(&told["to"])?,
        value: number(&told["value"])?,
        valid_after: number(&told["validAfter"])?,
        valid_before: number(&told["validBefore"])?,
        nonce: told["nonce"].as_str()?.parse().ok()?,
    };
    Some(signed.digest(PaymentToken::usdc_on_base().domain()))
}

/// What the payer of an `upto` payment signs: a permission of Permit2.
fn permit_digest(payload: &Value) -> Option<B256> {
    let told = &payload["permit2Authorization"];
    let signed = Permit2Transfer {
        token: address(&told["permitted"]["token"])?,
        amount: number(&told["permitted"]["amount"])?,
        spender: address(&told["spender"])?,
        nonce: number(&told["nonce"])?,
        deadline: number(&told["deadline"])?,
        witness: Permit2Witness {
            to: address(&told["witness"]["to"])?,
            facilitator: Some(address(&told["witness"]["facilitator"])?),
            valid_after: number(&told["witness"]["validAfter"])?,
        },
    };
    let chain_id = PaymentToken::usdc_on_base().network().chain_id();
    Some(signed.digest(&Permit2Transfer::domain(chain_id)))
}

fn exact(
    payload: &Value,
    accepted: &Value,
    requirement: &Value,
    now_s: u64,
) -> Result<Payer, &'static str> {
    let authorization = &payload["authorization"];
    if !is_signature(&payload["signature"]) {
        return Err("invalid_exact_evm_payload_signature");
    }
    let from = authorization["from"]
        .as_str()
        .filter(|from| is_hex(from, 40));
    let nonce = authorization["nonce"]
        .as_str()
        .filter(|nonce| is_hex(nonce, 64));
    let (Some(from), Some(nonce)) = (from, nonce) else {
        return Err("invalid_payload");
    };
    if !same_address(&authorization["to"], &requirement["payTo"]) {
        return Err("invalid_exact_evm_payload_recipient_mismatch");
    }
    let value = atomic(&authorization["value"]).ok_or("invalid_payload")?;
    let wanted = atomic(&requirement["amount"]).ok_or("invalid_payment_requirements")?;
    if atomic(&accepted["amount"]) != Some(value) || value != wanted {
        return Err("invalid_exact_evm_payload_authorization_value_mismatch");
    }
    let after = atomic(&authorization["validAfter"]).ok_or("invalid_payload")?;
    let before = atomic(&authorization["validBefore"]).ok_or("invalid_payload")?;
    if before < now_s + MARGIN_S {
        return Err("invalid_exact_evm_payload_authorization_valid_before");
    }
    if after > now_s {
        return Err("invalid_exact_evm_payload_authorization_valid_after");
    }
    Ok(Payer {
        address: from.to_owned(),
        nonce: nonce.to_owned(),
    })
}

fn upto(
    payload: &Value,
    accepted: &Value,
    requirement: &Value,
    now_s: u64,
) -> Result<Payer, &'static str> {
    let permit = &payload["permit2Authorization"];
    if !is_signature(&payload["signature"]) {
        return Err("invalid_permit2_signature");
    }
    let from = permit["from"]
        .as_str()
        .filter(|from| is_hex(from, 40))
        .ok_or("invalid_payload")?;
    let nonce = permit["nonce"].as_str().filter(|nonce| !nonce.is_empty());
    let nonce = nonce.ok_or("invalid_payload")?;
    if !permit["spender"]
        .as_str()
        .is_some_and(|spender| spender.eq_ignore_ascii_case(UPTO_PROXY))
    {
        return Err("invalid_permit2_spender");
    }
    if !same_address(&permit["witness"]["to"], &requirement["payTo"]) {
        return Err("invalid_permit2_recipient_mismatch");
    }
    let facilitator = &requirement["extra"]["facilitatorAddress"];
    if !same_address(&permit["witness"]["facilitator"], facilitator) {
        return Err("upto_facilitator_mismatch");
    }
    if !same_address(&permit["permitted"]["token"], &requirement["asset"]) {
        return Err("permit2_token_mismatch");
    }
    // At settlement the requirement names the actual charge, so it may be below the ceiling.
    let ceiling = atomic(&permit["permitted"]["amount"]).ok_or("invalid_payload")?;
    let wanted = atomic(&requirement["amount"]).ok_or("invalid_payment_requirements")?;
    if atomic(&accepted["amount"]) != Some(ceiling) || wanted > ceiling {
        return Err("permit2_amount_mismatch");
    }
    if atomic(&permit["deadline"]).is_none_or(|deadline| deadline < now_s + MARGIN_S) {
        return Err("permit2_deadline_expired");
    }
    if atomic(&permit["witness"]["validAfter"]).is_none_or(|after| after > now_s) {
        return Err("permit2_not_yet_valid");
    }
    Ok(Payer {
        address: from.to_owned(),
        nonce: nonce.to_owned(),
    })
}

/// Amounts and times are decimal strings.
pub(crate) fn atomic(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

fn is_signature(value: &Value) -> bool {
    value
        .as_str()
        .and_then(|text| text.strip_prefix("0x"))
        .is_some_and(|hex| {
            hex.len() >= 130
                && hex.len().is_multiple_of(2)
                && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
                && hex.bytes().any(|byte| byte != b'0')
        })
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.strip_prefix("0x")
        .is_some_and(|hex| hex.len() == digits && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn same_address(one: &Value, other: &Value) -> bool {
    match (one.as_str(), other.as_str()) {
        (Some(one), Some(other)) => is_hex(one, 40) && one.eq_ignore_ascii_case(other),
        _ => false,
    }
}

/// Every field of `wanted` is in `given`; more is fine.
fn extends(given: &Value, wanted: &Value) -> bool {
    wanted
        .as_object()
        .into_iter()
        .flatten()
        .all(|(name, value)| given.get(name) == Some(value))
}

#[cfg(test)]
pub(crate) mod tests {
    use bardo_x402::evm::Signer;
    use serde_json::json;

    use super::*;

    pub(crate) fn requirement(amount: &str) -> Value {
        json!({ "scheme": "exact", "network": NETWORK, "amount": amount, "asset": USDC,
            "payTo": "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", "maxTimeoutSeconds": 300,
            "extra": { "name": "USD Coin", "version": "2" } })
    }

    /// A public test key.
    const KEY: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

    /// A payment that fits a requirement.
    pub(crate) fn payment(requirement: &Value, nonce: char, now_s: u64) -> Value {
        let mut paid = unsigned(requirement, nonce, now_s);
        let digest = transfer_digest(&paid["payload"]).expect("it is complete");
        let signature = Signer::from_hex(KEY).expect("a key").sign(digest);
        paid["payload"]["signature"] = json!(signature.to_string());
        paid
    }

    fn unsigned(requirement: &Value, nonce: char, now_s: u64) -> Value {
        json!({ "x402Version": 2, "accepted": requirement, "payload": {
            "authorization": {
                "from": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "to": requirement["payTo"],
                "value": requirement["amount"], "validAfter": "0",
                "validBefore": (now_s + 300).to_string(),
                "nonce": format!("0x{}", nonce.to_string().repeat(64)),
            } } })
    }

    #[test]
    fn a_fitting_payment_passes_and_each_mismatch_has_its_reason() {
        let wanted = requirement("1000");
        let fine = payment(&wanted, '1', 1_000);
        assert!(check(&fine, &wanted, 1_000).is_ok());
        let cases = [
            ("/x402Version", json!(1), "invalid_x402_version"),
            ("/accepted/network", json!("base"), "invalid_network"),
            (
                "/accepted/payTo",
                json!(USDC),
                "invalid_payment_requirements",
            ),
            (
                "/payload/authorization/to",
                json!(USDC),
                "invalid_exact_evm_payload_recipient_mismatch",
            ),
            (
                "/payload/authorization/value",
                json!("999"),
                "invalid_exact_evm_payload_authorization_value_mismatch",
            ),
            (
                "/payload/authorization/validBefore",
                json!("1005"),
                "invalid_exact_evm_payload_authorization_valid_before",
            ),
            (
                "/payload/authorization/validAfter",
                json!("1001"),
                "invalid_exact_evm_payload_authorization_valid_after",
            ),
            (
                "/payload/authorization/nonce",
                json!("0x1"),
                "invalid_payload",
            ),
            (
                "/payload/signature",
                json!(format!("0x{}", "0".repeat(130))),
                "invalid_exact_evm_payload_signature",
            ),
            (
                "/payload/signature",
                json!(format!("0x{}1c", "5a".repeat(64))),
                "invalid_exact_evm_payload_signature",
            ),
            (
                "/payload/authorization/from",
                json!("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
                "invalid_exact_evm_payload_signature",
            ),
            (
                "/payload/authorization/from",
                json!(format!("0x{}dead", "0".repeat(36))),
                "insufficient_funds",
            ),
        ];
        for (path, value, reason) in cases {
            let mut broken = fine.clone();
            *broken.pointer_mut(path).expect("a field") = value;
            assert_eq!(check(&broken, &wanted, 1_000), Err(reason), "{path}");
        }
    }
}

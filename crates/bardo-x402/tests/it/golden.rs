//! Payments that official clients signed for our offers, with fixed keys, nonces and times.
//!
//! `tests/x402` has the programs that made them. `UPDATE_GOLDEN=1` writes the offers anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bardo_x402::evm::{B256, U256};
use bardo_x402::payer::{PaymentOffers, Permit2Approval};
use bardo_x402::token::{PaymentToken, TokenAmount};
use bardo_x402::verify::{CheckedPayment, SettlementPlan};
use bardo_x402::wire::{
    OfferedRequirement, PaymentPayload, TransferMethod, X402Version, decode_header,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fixed;

#[derive(Deserialize)]
struct Golden {
    now_s: u64,
    nonce_byte: u8,
    /// What calldata charges under `upto`.
    charge: Option<u64>,
    cases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
struct Case {
    offer: String,
    header: String,
    value: String,
    /// The call that settles it, by the ABI of the official package.
    calldata: Option<String>,
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn read<T: for<'de> Deserialize<'de>>(name: &str) -> T {
    serde_json::from_slice(&std::fs::read(path(name)).unwrap()).unwrap()
}

/// The requirement behind each offer. Version 1 has no quote.
fn requirements() -> BTreeMap<&'static str, OfferedRequirement> {
    let exact = fixed::requirement(TransferMethod::Exact);
    let sepolia = OfferedRequirement {
        token: PaymentToken::usdc_on_base_sepolia(),
        ..exact.clone()
    };
    let v1 = OfferedRequirement {
        quote: None,
        ..exact.clone()
    };
    BTreeMap::from([
        ("exact_v1", v1),
        ("exact_v2", exact),
        ("exact_sepolia_v2", sepolia),
        (
            "exact_permit2_v2",
            fixed::requirement(TransferMethod::ExactPermit2),
        ),
        ("upto_v2", fixed::requirement(fixed::upto())),
    ])
}

fn offers() -> BTreeMap<&'static str, Value> {
    let requirements = requirements().into_iter();
    let rendered = requirements.map(|(name, requirement)| {
        let offer = fixed::offer(vec![requirement]);
        let sent = if name.ends_with("_v1") {
            json!({"body": offer.body()})
        } else {
            json!({"header": offer.header(), "body": {}})
        };
        (name, sent)
    });
    rendered.collect()
}

#[test]
fn the_offers_are_those_that_official_clients_have_paid() {
    let rendered = serde_json::to_string_pretty(&offers()).unwrap() + "\n";
    let path = path("offers.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &rendered).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), rendered);
}

/// Verifies each payment of an official client, and signs the same as that client did.
#[track_caller]
fn check(file: &str, cases: usize) {
    let golden: Golden = read(file);
    assert_eq!(golden.cases.len(), cases);
    for (name, case) in &golden.cases {
        let requirement = &requirements()[case.offer.as_str()];
        let version = if case.offer.ends_with("_v1") {
            X402Version::V1
        } else {
            X402Version::V2
        };
        assert_eq!(case.header, version.payment_header(), "{name}");
        let payment = PaymentPayload::from_header(version, case.value.as_bytes()).unwrap();
        let has_permit = payment.gas_permit.is_some();
        assert_eq!(has_permit, name == "upto_permit_v2", "{name}");
        let checked =
            CheckedPayment::check(payment, requirement, fixed::window(), golden.now_s).unwrap();
        let state = if has_permit {
            fixed::rich()
        } else {
            fixed::approved()
        };
        let verified = checked.verify(&fixed::KEY, &state).unwrap();
        assert_eq!(verified.payer(), fixed::payer().address(), "{name}");
        assert_eq!(verified.sends_permit(), has_permit, "{name}");

        if let Some(calldata) = &case.calldata {
            let amount = match requirement.method {
                TransferMethod::Upto { .. } => TokenAmount::new(golden.charge.unwrap()),
                TransferMethod::Exact | TransferMethod::ExactPermit2 => requirement.amount,
            };
            let call = verified.settlement(amount).unwrap();
            let hex: String = call.data.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(*calldata, format!("0x{hex}"), "{name}");
            let kept = verified.plan().unwrap().encode();
            let plan = SettlementPlan::decode(&kept).unwrap();
            assert_eq!(plan.call(amount), Some(call), "{name}");
            assert_eq!(plan.request(), None, "{name}");
            let asked = plan.clone().by_facilitator("{}".to_owned());
            let read = SettlementPlan::decode(&asked.encode()).unwrap();
            assert!(read == asked && read.request() == Some(b"{}"), "{name}");
            for end in 0..asked.encode().len() {
                let cut = SettlementPlan::decode(&asked.encode()[..end]);
                assert!(cut.is_none_or(|cut| cut != asked), "{name}");
            }
            assert_eq!(plan.pay_to(), requirement.pay_to, "{name}");
            assert_eq!(plan.token(), verified.token().address(), "{name}");
            for units in [0, requirement.amount.get() + 1, 1, amount.get() - 1] {
                let amount = TokenAmount::new(units);
                assert_eq!(
                    plan.call(amount),
                    verified.settlement(amount),
                    "{name}: {units}"
                );
            }
            assert!(SettlementPlan::decode(&kept[1..]).is_none());
        }

        let nonce = B256::repeat_byte(golden.nonce_byte);
        let ours = sign(&case.offer, nonce, has_permit, golden.now_s);
        assert_eq!(ours, decoded(&case.value), "{name}");
    }
}

/// What our own payer sends for the offer.
fn sign(offer: &str, nonce: B256, permit: bool, now_s: u64) -> Value {
    let offer = &offers()[offer];
    let header = offer["header"].as_str().map(str::as_bytes);
    let body = offer["body"].to_string();
    let offers = PaymentOffers::read(header, body.as_bytes()).unwrap();
    let chosen = offers.choose(&fixed::limits()).unwrap();
    let approval = if permit {
        let nonce = U256::from(fixed::PERMIT_NONCE);
        Permit2Approval::Permit { nonce }
    } else {
        Permit2Approval::Standing
    };
    let signed = chosen.sign(&fixed::payer(), nonce, approval, now_s);
    decoded(&signed.value)
}

fn decoded(header: &str) -> Value {
    serde_json::from_slice(&decode_header(header.as_bytes()).unwrap()).unwrap()
}

#[test]
fn payments_of_the_typescript_client_are_verified_and_reproduced() {
    check("typescript.json", 6);
}

#[test]
fn the_payment_of_the_first_client_is_verified_and_reproduced() {
    check("legacy.json", 1);
}

#[test]
fn payments_of_the_python_client_are_verified_and_reproduced() {
    check("python.json", 5);
}

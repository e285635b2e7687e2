//! One changed member of a payment is refused, unless it is one of those that mean nothing here.

use bardo_x402::wire::{OfferedRequirement, PaymentPayload, TransferMethod};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixed;

/// Members that a payer may change at will: what is sold, and what offers say for people to read.
const IRRELEVANT: &[&str] = &[
    "/resource",
    "/accepted/extra/expiry",
    "/extensions/eip2612GasSponsoring/schema",
    "/extensions/eip2612GasSponsoring/info/description",
    "/extensions/eip2612GasSponsoring/info/version",
];

/// Paths of all values below this one, without the value itself.
fn pointers(value: &Value, path: &str, found: &mut Vec<String>) {
    let Value::Object(members) = value else {
        return;
    };
    for (name, member) in members {
        let path = format!("{path}/{name}");
        pointers(member, &path, found);
        found.push(path);
    }
}

/// Extensions are for Permit2, so they mean nothing to a transfer by ERC-3009.
const EXTENSIONS: &str = "/extensions";

fn is_irrelevant(pointer: &str, method: TransferMethod) -> bool {
    let extensions = (method == TransferMethod::Exact).then_some(&EXTENSIONS);
    IRRELEVANT.iter().chain(extensions).any(|known| {
        let below = pointer.strip_prefix(known);
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn schemes() -> [(Value, OfferedRequirement); 2] {
    [
        (fixed::exact(), fixed::requirement(TransferMethod::Exact)),
        (fixed::upto_with_permit(), fixed::requirement(fixed::upto())),
    ]
}

fn is_taken(payment: &Value, requirement: &OfferedRequirement) -> bool {
    let read = PaymentPayload::from_json(payment.to_string().as_bytes()).is_ok();
    read && fixed::verify(payment, requirement).is_ok()
}

/// Values of another kind, or near to the one before.
fn changes(before: &Value) -> Vec<Value> {
    let mut changes = vec![
        Value::Null,
        json!(0),
        json!(""),
        json!({}),
        json!([]),
        json!(true),
    ];
    if let Value::String(text) = before {
        // Each character once; hex digits stay digits, so that lengths and forms are kept.
        changes.extend((0..text.len()).map(|at| {
            let other = if text[at..].starts_with('3') {
                "4"
            } else {
                "3"
            };
            json!(format!("{}{other}{}", &text[..at], &text[at + 1..]))
        }));
        changes.push(json!(format!("{text}0")));
        changes.push(json!(&text[..text.len() - 1]));
    }
    if let Some(number) = before.as_u64() {
        changes.extend([
            json!(number + 1),
            json!(number - 1),
            json!(number.to_string()),
        ]);
    }
    changes.retain(|change| change != before);
    changes
}

#[test]
fn every_member_is_relevant_or_named() {
    for (payment, requirement) in schemes() {
        assert!(is_taken(&payment, &requirement));
        let mut found = Vec::new();
        pointers(&payment, "", &mut found);
        assert!(found.len() > 20);
        for pointer in found {
            for change in changes(payment.pointer(&pointer).unwrap()) {
                let mut changed = payment.clone();
                *changed.pointer_mut(&pointer).unwrap() = change.clone();
                let taken = is_taken(&changed, &requirement);
                assert!(
                    !taken || is_irrelevant(&pointer, requirement.method),
                    "{pointer}: {change}"
                );
            }
        }
    }
}

#[test]
fn a_member_more_is_passed_over() {
    for (payment, requirement) in schemes() {
        for pointer in [
            "",
            "/payload",
            "/accepted",
            "/accepted/extra",
            "/extensions",
        ] {
            let mut more = payment.clone();
            more.pointer_mut(pointer).unwrap()["unheardOf"] = json!({"a": [1, null]});
            assert!(is_taken(&more, &requirement), "{pointer}");
        }
    }
}

#[test]
fn addresses_are_taken_in_any_case() {
    for (mut payment, requirement) in schemes() {
        let lower = |text: &Value| json!(text.as_str().unwrap().to_lowercase());
        for member in ["asset", "payTo"] {
            payment["accepted"][member] = lower(&payment["accepted"][member]);
        }
        assert!(is_taken(&payment, &requirement));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = PaymentPayload::from_json(&bytes);
    }

    #[test]
    fn a_payment_with_bytes_changed_is_refused_or_as_good_as_before(
        scheme in 0_usize..2,
        at in any::<prop::sample::Index>(),
        length in 0_usize..4,
        with in "[ -~]{0,4}",
    ) {
        let (payment, requirement) = &schemes()[scheme];
        let text = payment.to_string();
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        let changed = format!("{}{with}{}", &text[..at], &text[end..]);
        if let Ok(changed) = serde_json::from_str::<Value>(&changed)
            && is_taken(&changed, requirement)
        {
            let claim = |payment| fixed::check(payment, requirement).unwrap().claim();
            prop_assert_eq!(claim(&changed), claim(payment));
        }
    }
}

//! Receipts and the sums of them.

use bardo_types::ids::KeyId;
use bardo_types::money::{MicroUsd, SignedMicroUsd};

use super::rig::{NOW_MS, Rig, capture};
use crate::command::{End, ReceiptRecord};
use crate::prompt_cache::PromptCacheFigures;
use crate::receipts::{Dimension, Group, ReceiptFilter, SumQuery, SumRow, Sums};

cases! {
    a_receipt_is_found_by_our_id_and_by_the_callers
    of_several_with_one_name_the_newest_is_found
    another_accounts_receipt_is_not_found
    a_settled_request_keeps_its_first_receipt
    a_reconciled_request_has_its_last_receipt
    a_kept_receipt_shows_what_was_really_taken
    receipts_are_summed_by_day_model_and_backend
}

pub(super) const DAY_MS: u64 = 86_400_000;

pub(super) fn record(rig: &Rig, number: u64, client: Option<&str>, json: &str) -> ReceiptRecord {
    ReceiptRecord {
        request: rig.request(number),
        client_request_id: client.map(Into::into),
        account: rig.account.clone(),
        key: Some(rig.key()),
        at_ms: NOW_MS + number,
        model: "strong-1".into(),
        provider: "sim".into(),
        outcome: "finished",
        input_tokens: 100,
        output_tokens: 10,
        provider_cost: Some(MicroUsd::new(20)),
        charge: MicroUsd::new(24),
        savings: MicroUsd::new(5),
        subsystem: None,
        session: None,
        prompt_cache: cached(1),
        json: json.into(),
        details: None,
    }
}

/// Keeps a receipt together with an end, so that it is there when this answers.
pub(super) async fn keep(rig: &Rig, record: ReceiptRecord) {
    let command = crate::command::Settle {
        account: record.account.clone(),
        request: record.request.clone(),
        end: End::Release,
        record: Some(record),
        now_ms: NOW_MS,
    };
    rig.ledger.settle(command).await.expect("the store works");
}

async fn a_receipt_is_found_by_our_id_and_by_the_callers(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 50).await;
    let kept = record(&rig, 1, Some("mine 1"), r#"{"n":1}"#);
    rig.end_with(1, capture(20, 4), Some(kept)).await;
    let found = Some(r#"{"n":1}"#.to_owned());
    assert_eq!(rig.receipt(rig.request(1).as_str()).await, found);
    assert_eq!(rig.receipt("mine 1").await, found);
    assert_eq!(rig.receipt("mine").await, None);
    assert_eq!(rig.receipt(rig.request(2).as_str()).await, None);
}

async fn of_several_with_one_name_the_newest_is_found(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    for number in [2, 3, 1] {
        let json = format!(r#"{{"n":{number}}}"#);
        keep(&rig, record(&rig, number, Some("mine"), &json)).await;
    }
    assert_eq!(rig.receipt("mine").await, Some(r#"{"n":3}"#.to_owned()));
    let oldest = rig.receipt(rig.request(1).as_str()).await;
    assert_eq!(oldest, Some(r#"{"n":1}"#.to_owned()));
}

async fn another_accounts_receipt_is_not_found(rig: Rig) {
    let other = rig.other();
    rig.deposit(100, "operator:1").await;
    other.deposit(100, "operator:2").await;
    keep(&rig, record(&rig, 1, Some("mine"), "{}")).await;
    assert_eq!(other.receipt(rig.request(1).as_str()).await, None);
    assert_eq!(other.receipt("mine").await, None);
    let theirs = ReceiptRecord {
        request: other.request(2),
        ..record(&other, 2, Some("mine"), r#"{"theirs":1}"#)
    };
    keep(&other, theirs).await;
    assert_eq!(rig.receipt("mine").await, Some("{}".to_owned()));
}

async fn a_settled_request_keeps_its_first_receipt(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 50).await;
    for json in [r#"{"n":1}"#, r#"{"n":2}"#] {
        let kept = record(&rig, 1, None, json);
        rig.end_with(1, capture(20, 4), Some(kept)).await;
    }
    let found = rig.receipt(rig.request(1).as_str()).await;
    assert_eq!(found, Some(r#"{"n":1}"#.to_owned()));
    assert_eq!(sums(&rig, None).await.len(), 1);
    assert_eq!(sums(&rig, None).await[0].sums.requests, 1);
}

async fn a_reconciled_request_has_its_last_receipt(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 50).await;
    let unknown = ReceiptRecord {
        outcome: "unknown",
        charge: MicroUsd::ZERO,
        ..record(&rig, 1, None, r#"{"n":1}"#)
    };
    rig.end_with(1, End::Unknown, Some(unknown)).await;
    let found = rig.receipt(rig.request(1).as_str()).await;
    assert_eq!(found, Some(r#"{"n":1}"#.to_owned()));
    let known = record(&rig, 1, None, r#"{"n":2}"#);
    rig.end_with(1, capture(20, 4), Some(known)).await;
    let found = rig.receipt(rig.request(1).as_str()).await;
    assert_eq!(found, Some(r#"{"n":2}"#.to_owned()));
    let sums = sums(&rig, None).await;
    assert_eq!((sums[0].sums.requests, sums[0].sums.charge.get()), (1, 24));
}

async fn a_kept_receipt_shows_what_was_really_taken(rig: Rig) {
    let cost = |spread, charge, shortfall, savings, balance: &str| {
        format!(
            r#"{{"cost":{{"spread":"0.0000{spread}","charge":"0.0000{charge}","shortfall":"0.0000{shortfall}","list_price":"0.000050","savings":"0.0000{savings}","balance":{balance}}},"n":1}}"#
        )
    };
    rig.deposit(40, "operator:1").await;
    rig.reserve(1, 10).await;
    rig.reserve(2, 10).await;
    let kept = |number, json: &str| ReceiptRecord {
        charge: MicroUsd::new(44),
        savings: MicroUsd::new(6),
        ..record(&rig, number, None, json)
    };
    let json = cost("24", "44", "00", "06", "null");
    // The account has thirty for it: the hold, and what is free.
    let first = Some(kept(1, &json));
    rig.end_with(1, capture(20, 24), first).await;
    let found = rig.receipt(rig.request(1).as_str()).await;
    let taken = cost("10", "30", "14", "20", r#""0.000000""#);
    assert_eq!(found, Some(taken));
    // Less than the hold: the rest is free afterwards.
    let second = Some(kept(2, &json));
    rig.end_with(2, capture(2, 1), second).await;
    let found = rig.receipt(rig.request(2).as_str()).await;
    let taken = cost("01", "03", "00", "47", r#""0.000007""#);
    assert_eq!(found, Some(taken));
    let sums = sums(&rig, None).await;
    assert_eq!(
        (sums[0].sums.charge.get(), sums[0].sums.savings.get()),
        (33, 67)
    );
    // Other cases may run on the same store at the same time.
    let verification = rig.ledger.verify().await.expect("the store works");
    let mut problems = verification.problems.iter();
    assert_eq!(
        problems.find(|one| one.contains(rig.account.as_str())),
        None
    );
}

async fn receipts_are_summed_by_day_model_and_backend(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    let other_key = KeyId::parse("other-key").expect("plain");
    for number in 0..3 {
        keep(&rig, record(&rig, number, None, "{}")).await;
    }
    let small = ReceiptRecord {
        model: "small-1".into(),
        key: Some(other_key.clone()),
        ..record(&rig, 3, None, "{}")
    };
    let tomorrow = ReceiptRecord {
        at_ms: NOW_MS + DAY_MS,
        ..record(&rig, 4, None, "{}")
    };
    let elsewhere = ReceiptRecord {
        provider: "another".into(),
        ..record(&rig, 5, None, "{}")
    };
    let too_late = ReceiptRecord {
        at_ms: NOW_MS + 2 * DAY_MS,
        ..record(&rig, 6, None, "{}")
    };
    let too_early = ReceiptRecord {
        at_ms: NOW_MS - 1,
        ..record(&rig, 7, None, "{}")
    };
    for kept in [small, tomorrow, elsewhere, too_late, too_early] {
        keep(&rig, kept).await;
    }
    let day = NOW_MS / DAY_MS;
    let row = |day, model: &str, backend: &str, requests| SumRow {
        group: Group {
            starts_at_ms: Some(day * DAY_MS),
            model: Some(model.to_owned()),
            backend: Some(backend.to_owned()),
            ..Group::default()
        },
        sums: of(requests),
    };
    assert_eq!(
        sums(&rig, None).await,
        [
            row(day, "small-1", "sim", 1),
            row(day, "strong-1", "another", 1),
            row(day, "strong-1", "sim", 3),
            row(day + 1, "strong-1", "sim", 1),
        ]
    );
    let of_key = sums(&rig, Some(other_key)).await;
    assert_eq!(of_key, [row(day, "small-1", "sim", 1)]);
    assert_eq!(sums(&rig.other(), None).await, []);
}

/// Figures of the prompt cache in so many receipts that [`record`] made: their writes cost more than
/// their reads saved.
fn cached(requests: u64) -> PromptCacheFigures {
    PromptCacheFigures {
        read_tokens: 50 * requests,
        written_tokens: 40 * requests,
        saved: SignedMicroUsd::difference(MicroUsd::ZERO, MicroUsd::new(3 * requests)),
    }
}

/// Sums of this many receipts that [`record`] made.
pub(super) fn of(requests: u64) -> Sums {
    Sums {
        requests,
        failed_requests: 0,
        unpriced_requests: 0,
        input_tokens: 100 * requests,
        output_tokens: 10 * requests,
        provider_cost: MicroUsd::new(20 * requests),
        charge: MicroUsd::new(24 * requests),
        savings: MicroUsd::new(5 * requests),
        prompt_cache: cached(requests),
    }
}

/// Sums of two days of an account by day, model and backend.
async fn sums(rig: &Rig, key: Option<KeyId>) -> Vec<SumRow> {
    let account = rig.account.clone();
    let query = SumQuery {
        filter: ReceiptFilter {
            account: Some(account),
            key,
            ..ReceiptFilter::between(NOW_MS, NOW_MS + 2 * DAY_MS)
        },
        by: vec![Dimension::Day, Dimension::Model, Dimension::Backend],
        limit: u32::MAX,
    };
    rig.ledger.sums(query).await.expect("the store works")
}

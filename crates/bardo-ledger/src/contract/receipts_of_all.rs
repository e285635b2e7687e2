//! Sums and lists of the receipts of all accounts. Other cases may keep receipts at the same time,
//! so each case looks at a model of its own name.

use std::sync::Arc;

use bardo_types::ids::KeyId;
use bardo_types::money::{MicroUsd, SignedMicroUsd};

use super::receipts::{DAY_MS, keep, of, record};
use super::rig::{NOW_MS, Rig, capture};
use crate::command::{End, ReceiptRecord, Settle};
use crate::prompt_cache::PromptCacheFigures;
use crate::receipts::{Cursor, Dimension, Group, ListQuery, ReceiptFilter, SumQuery, SumRow, Sums};

cases! {
    receipts_of_all_accounts_are_summed_by_any_dimensions
    a_filter_of_receipts_leaves_out_what_it_excludes
    a_receipt_of_unknown_cost_is_counted_and_adds_nothing
    sums_of_receipts_are_cut_at_the_limit_in_their_order
    receipts_of_all_accounts_are_listed_page_by_page_from_the_newest
    a_listed_receipt_is_whole_and_shows_what_was_really_taken
    a_receipt_that_is_kept_again_is_summed_once
    prompt_caches_of_receipts_are_summed_with_their_signs
}

const HOUR_MS: u64 = 3_600_000;

/// All receipts of a case: two days of its own model.
fn own(rig: &Rig) -> ReceiptFilter {
    ReceiptFilter {
        model: Some(rig.account.to_string()),
        ..ReceiptFilter::between(NOW_MS, NOW_MS + 2 * DAY_MS)
    }
}

/// A receipt that [`own`] covers; `account` pays for it.
fn owned(rig: &Rig, account: &Rig, number: u64) -> ReceiptRecord {
    ReceiptRecord {
        request: rig.request(number),
        model: rig.account.as_str().into(),
        ..record(account, number, None, "{}")
    }
}

async fn sums(rig: &Rig, filter: ReceiptFilter, by: &[Dimension]) -> Vec<SumRow> {
    let query = SumQuery {
        filter,
        by: by.to_vec(),
        limit: u32::MAX,
    };
    rig.ledger.sums(query).await.expect("the store works")
}

fn row(group: Group, sums: Sums) -> SumRow {
    SumRow { group, sums }
}

/// Three receipts of one account and one of another, with names of all kinds.
async fn keep_four(rig: &Rig, other: &Rig) {
    let key = |name: &str| Some(KeyId::parse(name).expect("plain"));
    let name = |name: &str| Some(Arc::from(name));
    for kept in [
        ReceiptRecord {
            key: key("key-a"),
            subsystem: name("dream_rem"),
            session: name("s1"),
            ..owned(rig, rig, 1)
        },
        ReceiptRecord {
            key: key("key-b"),
            subsystem: name("dream_rem"),
            session: name("s2"),
            outcome: "failed",
            ..owned(rig, rig, 2)
        },
        ReceiptRecord {
            key: None,
            provider: "another".into(),
            at_ms: NOW_MS + HOUR_MS,
            ..owned(rig, rig, 3)
        },
        ReceiptRecord {
            key: key("key-b"),
            session: name("s1"),
            at_ms: NOW_MS + DAY_MS,
            ..owned(rig, other, 4)
        },
    ] {
        keep(rig, kept).await;
    }
}

async fn receipts_of_all_accounts_are_summed_by_any_dimensions(rig: Rig) {
    use Dimension::{Account, Backend, Day, Hour, Key, Model, Session, Subsystem};
    let other = rig.other();
    keep_four(&rig, &other).await;
    let failed = |requests| Sums {
        failed_requests: 1,
        ..of(requests)
    };
    let none = Group::default;
    let name = |name: &str| Some(name.to_owned());
    let by = async |by: &[Dimension]| sums(&rig, own(&rig), by).await;
    assert_eq!(by(&[]).await, [row(none(), failed(4))]);
    let key = |key| Group { key, ..none() };
    assert_eq!(
        by(&[Key]).await,
        [
            row(key(None), of(1)),
            row(key(name("key-a")), of(1)),
            row(key(name("key-b")), failed(2)),
        ]
    );
    let account = |rig: &Rig| name(rig.account.as_str());
    let key_of = |rig, key| Group {
        account: account(rig),
        key,
        ..none()
    };
    assert_eq!(
        by(&[Key, Account]).await,
        [
            row(key_of(&rig, None), of(1)),
            row(key_of(&rig, name("key-a")), of(1)),
            row(key_of(&rig, name("key-b")), failed(1)),
            row(key_of(&other, name("key-b")), of(1)),
        ]
    );
    let at = |starts_at_ms| Group {
        starts_at_ms: Some(starts_at_ms),
        ..none()
    };
    let day = NOW_MS / DAY_MS * DAY_MS;
    let days = [row(at(day), failed(3)), row(at(day + DAY_MS), of(1))];
    assert_eq!(by(&[Day]).await, days);
    let hours = [
        row(at(NOW_MS), failed(2)),
        row(at(NOW_MS + HOUR_MS), of(1)),
        row(at(NOW_MS + DAY_MS), of(1)),
    ];
    assert_eq!(by(&[Hour]).await, hours);
    assert_eq!(by(&[Hour, Day]).await, hours);
    let served = |backend: &str| Group {
        model: account(&rig),
        backend: name(backend),
        ..none()
    };
    assert_eq!(
        by(&[Model, Backend]).await,
        [row(served("another"), of(1)), row(served("sim"), failed(3))]
    );
    let part = |subsystem| Group {
        subsystem,
        ..none()
    };
    assert_eq!(
        by(&[Subsystem]).await,
        [
            row(part(None), of(2)),
            row(part(name("dream_rem")), failed(2))
        ]
    );
    let session = |session| Group { session, ..none() };
    assert_eq!(
        by(&[Session]).await,
        [
            row(session(None), of(1)),
            row(session(name("s1")), of(2)),
            row(session(name("s2")), failed(1)),
        ]
    );
}

async fn a_filter_of_receipts_leaves_out_what_it_excludes(rig: Rig) {
    let other = rig.other();
    keep_four(&rig, &other).await;
    let elsewhere = ReceiptRecord {
        model: "strong-1".into(),
        ..owned(&rig, &rig, 5)
    };
    keep(&rig, elsewhere).await;
    let all = || own(&rig);
    let name = |name: &str| Some(name.to_owned());
    let filters = [
        (all(), vec![4, 3, 2, 1]),
        (
            ReceiptFilter {
                account: Some(other.account.clone()),
                ..all()
            },
            vec![4],
        ),
        (
            ReceiptFilter {
                key: Some(KeyId::parse("key-b").expect("plain")),
                ..all()
            },
            vec![4, 2],
        ),
        (
            ReceiptFilter {
                backend: name("another"),
                ..all()
            },
            vec![3],
        ),
        (
            ReceiptFilter {
                subsystem: name("dream_rem"),
                ..all()
            },
            vec![2, 1],
        ),
        (
            ReceiptFilter {
                session: name("s1"),
                ..all()
            },
            vec![4, 1],
        ),
        (
            ReceiptFilter {
                outcome: name("failed"),
                ..all()
            },
            vec![2],
        ),
        (
            ReceiptFilter {
                session: name("s1"),
                account: Some(rig.account.clone()),
                ..all()
            },
            vec![1],
        ),
        (
            ReceiptFilter {
                from_ms: NOW_MS + 2,
                to_ms: NOW_MS + DAY_MS,
                ..all()
            },
            vec![3, 2],
        ),
        (
            ReceiptFilter {
                session: name("s3"),
                ..all()
            },
            vec![],
        ),
        (
            ReceiptFilter {
                from_ms: NOW_MS,
                to_ms: NOW_MS,
                ..all()
            },
            vec![],
        ),
    ];
    for (filter, numbers) in filters {
        let requests: Vec<_> = numbers
            .into_iter()
            .map(|number| rig.request(number))
            .collect();
        let listed = list(&rig, filter.clone(), None, u32::MAX).await;
        let found: Vec<_> = listed.iter().map(|one| one.request.clone()).collect();
        assert_eq!(found, requests, "{filter:?}");
        let summed = sums(&rig, filter.clone(), &[]).await;
        let count: u64 = summed.iter().map(|row| row.sums.requests).sum();
        assert_eq!(count, found.len() as u64, "{filter:?}");
    }
}

async fn a_receipt_of_unknown_cost_is_counted_and_adds_nothing(rig: Rig) {
    let unknown = ReceiptRecord {
        provider_cost: None,
        ..owned(&rig, &rig, 1)
    };
    let free = ReceiptRecord {
        provider_cost: Some(MicroUsd::ZERO),
        ..owned(&rig, &rig, 2)
    };
    keep(&rig, unknown).await;
    let expected = Sums {
        unpriced_requests: 1,
        provider_cost: MicroUsd::ZERO,
        ..of(1)
    };
    let found = sums(&rig, own(&rig), &[]).await;
    assert_eq!(found, [row(Group::default(), expected)]);
    assert!(!found[0].sums.is_cost_known());
    keep(&rig, free).await;
    keep(&rig, owned(&rig, &rig, 3)).await;
    let expected = Sums {
        unpriced_requests: 1,
        provider_cost: MicroUsd::new(20),
        ..of(3)
    };
    let found = sums(&rig, own(&rig), &[]).await;
    assert_eq!(found, [row(Group::default(), expected)]);
    assert!(found[0].sums.is_cost_known());
    let costs: Vec<_> = list(&rig, own(&rig), None, 9)
        .await
        .iter()
        .map(|one| one.provider_cost)
        .collect();
    assert_eq!(costs, [Some(MicroUsd::new(20)), Some(MicroUsd::ZERO), None]);
}

async fn sums_of_receipts_are_cut_at_the_limit_in_their_order(rig: Rig) {
    for number in 0..4 {
        let kept = ReceiptRecord {
            session: Some(format!("s{number}").into()),
            ..owned(&rig, &rig, number)
        };
        keep(&rig, kept).await;
    }
    let query = SumQuery {
        filter: own(&rig),
        by: vec![Dimension::Session],
        limit: 2,
    };
    let rows = rig.ledger.sums(query).await.expect("the store works");
    let sessions: Vec<_> = rows.into_iter().map(|row| row.group.session).collect();
    assert_eq!(sessions, ["s0", "s1"].map(|name| Some(name.to_owned())));
}

async fn list(
    rig: &Rig,
    filter: ReceiptFilter,
    after: Option<Cursor>,
    limit: u32,
) -> Vec<ReceiptRecord> {
    let query = ListQuery {
        filter,
        after,
        limit,
    };
    rig.ledger.list(query).await.expect("the store works")
}

async fn receipts_of_all_accounts_are_listed_page_by_page_from_the_newest(rig: Rig) {
    let other = rig.other();
    // Several at the same moment, and two accounts with a request of the same name.
    let times = [0, 0, 0, 7, 60_000, 60_001, 60_001, HOUR_MS];
    for (number, time) in (0..).zip(times) {
        let kept = ReceiptRecord {
            at_ms: NOW_MS + time,
            ..owned(&rig, &rig, number)
        };
        let twin = ReceiptRecord {
            account: other.account.clone(),
            ..kept.clone()
        };
        keep(&rig, kept).await;
        if number % 3 == 0 {
            keep(&rig, twin).await;
        }
    }
    let all = list(&rig, own(&rig), None, u32::MAX).await;
    assert_eq!(all.len(), 11);
    let places: Vec<Cursor> = all.iter().map(Cursor::of).collect();
    assert!(places.is_sorted_by(|a, b| a > b), "{places:?}");
    for limit in [1, 2, 3, 11] {
        let (mut paged, mut after) = (Vec::new(), None);
        loop {
            let page = list(&rig, own(&rig), after, limit).await;
            let Some(last) = page.last() else {
                break;
            };
            after = Some(Cursor::of(last));
            paged.extend(page.iter().map(Cursor::of));
        }
        assert_eq!(paged, places, "{limit} a page");
    }
}

async fn a_listed_receipt_is_whole_and_shows_what_was_really_taken(rig: Rig) {
    let cost = |charge, balance: &str| {
        format!(
            r#"{{"cost":{{"spread":"0.000004","charge":"{charge}","list_price":"0.000050","savings":"0.000026","balance":{balance}}}}}"#
        )
    };
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 50).await;
    let kept = ReceiptRecord {
        client_request_id: Some("mine".into()),
        subsystem: Some("dream_rem".into()),
        session: Some("s".into()),
        json: cost("0.000044", "null").into(),
        ..owned(&rig, &rig, 1)
    };
    let command = Settle {
        account: rig.account.clone(),
        request: rig.request(1),
        end: capture(20, 4),
        record: Some(kept.clone()),
        now_ms: NOW_MS,
    };
    rig.ledger.settle(command).await.expect("the store works");
    let expected = ReceiptRecord {
        savings: MicroUsd::new(26),
        json: cost("0.000024", r#""0.000076""#).into(),
        ..kept
    };
    let listed = list(&rig, own(&rig), None, 9).await;
    assert_eq!(format!("{listed:?}"), format!("{:?}", [expected]));
}

async fn a_receipt_that_is_kept_again_is_summed_once(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 50).await;
    let unknown = ReceiptRecord {
        outcome: "unknown",
        provider_cost: None,
        ..owned(&rig, &rig, 1)
    };
    rig.end_with(1, End::Unknown, Some(unknown)).await;
    let known = ReceiptRecord {
        subsystem: Some("dream_rem".into()),
        session: Some("s".into()),
        ..owned(&rig, &rig, 1)
    };
    rig.end_with(1, capture(20, 4), Some(known)).await;
    let group = Group {
        subsystem: Some("dream_rem".to_owned()),
        session: Some("s".to_owned()),
        ..Group::default()
    };
    let by = [Dimension::Subsystem, Dimension::Session];
    assert_eq!(sums(&rig, own(&rig), &by).await, [row(group, of(1))]);
}

async fn prompt_caches_of_receipts_are_summed_with_their_signs(rig: Rig) {
    let figures = |read_tokens, written_tokens, saved| PromptCacheFigures {
        read_tokens,
        written_tokens,
        saved: SignedMicroUsd::new(saved),
    };
    let all = [figures(0, 900, -75), figures(900, 0, 270), figures(0, 0, 0)];
    for (number, prompt_cache) in (1..).zip(all) {
        let kept = ReceiptRecord {
            prompt_cache,
            session: Some(format!("s{number}").into()),
            ..owned(&rig, &rig, number)
        };
        keep(&rig, kept).await;
    }
    let by_session = sums(&rig, own(&rig), &[Dimension::Session]).await;
    let found: Vec<_> = by_session.iter().map(|row| row.sums.prompt_cache).collect();
    assert_eq!(found, all);
    let total = sums(&rig, own(&rig), &[]).await;
    assert_eq!(total[0].sums.prompt_cache, figures(900, 900, 195));
    let listed = list(&rig, own(&rig), None, 9).await;
    let found: Vec<_> = listed.iter().rev().map(|one| one.prompt_cache).collect();
    assert_eq!(found, all);
}

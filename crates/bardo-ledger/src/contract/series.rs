//! Series of receipts, searches, and lists of agents and accounts. Other cases may keep receipts at
//! the same time, so each case looks at an account, a model or an agent of its own.

use bardo_types::money::MicroUsd;

use super::receipts::{DAY_MS, keep, record};
use super::rig::{NOW_MS, Rig, capture};
use crate::command::{End, ReceiptRecord};
use crate::receipts::{Cursor, ReceiptFilter};
use crate::series::{
    Figure, FoundReceipts, ReceiptSearch, Resolution, SeriesDimension, SeriesFigures, SeriesKeep,
    SeriesName, SeriesQuery, SeriesRow, pair,
};

cases! {
    a_receipt_is_added_to_its_series_once_whatever_the_steps
    a_receipt_is_in_every_split_with_the_figures_of_its_text
    a_receipt_that_changes_is_counted_as_it_is_now
    receipts_of_names_beyond_the_bound_are_counted_together
    rows_of_old_receipts_are_dropped
    a_search_of_receipts_finds_what_its_filters_cover_page_by_page
    a_search_finds_receipts_before_and_after_they_are_in_the_series
    agents_are_listed_as_their_last_receipts_show_them
    accounts_are_listed_in_order_with_balance_and_debt
}

const HOUR_MS: u64 = 3_600_000;

/// Rolls all receipts up, in steps of so many.
async fn roll_up(rig: &Rig, limit: u32, keep: SeriesKeep) {
    let series = &rig.ledger;
    series.flush().await.expect("the store works");
    for _ in 0..100_000 {
        series.roll_up(keep, limit).await.expect("the store works");
        let lag = series.lag().await.expect("the store works");
        if lag.waiting == 0 && !lag.is_back_filling {
            break;
        }
    }
    // What changed since it was added is taken in by one more step.
    series.roll_up(keep, limit).await.expect("the store works");
}

/// Rows of the account of a case, per hour.
async fn rows(rig: &Rig, dimension: SeriesDimension, summed: bool) -> Vec<SeriesRow> {
    let query = SeriesQuery {
        resolution: Resolution::Hour,
        from_ms: NOW_MS,
        to_ms: NOW_MS + 2 * DAY_MS,
        account: Some(rig.account.clone()),
        dimension,
        only: None,
        summed,
    };
    rig.ledger.series(query).await.expect("the store works")
}

async fn total(rig: &Rig) -> SeriesFigures {
    let mut total = SeriesFigures::default();
    for row in rows(rig, SeriesDimension::Total, true).await {
        total.add(&row.figures);
    }
    total
}

/// The text of a receipt with the members that series read.
fn text(layer: &str, golem: &str) -> String {
    format!(
        r#"{{"request_id":"r","attempts":[{{"provider":"a","class":"server","status":500}},{{"provider":"sim","class":null}}],"usage":{{"input_tokens":100,"reasoning_tokens":4}},"cost":{{"mode":"prepaid","spread":"0.000004","charge":"0.000024","shortfall":"0.000003"}},"cache":"{layer}","routing":{{"subsystem":"dream_rem","golem_id":"{golem}","vitality":0.25,"phase":"stable","sustainability":1.5}},"timings_ms":{{"reserved":1,"first_content":30,"total":400}},"timings_us":{{"total":400000}}}}"#
    )
}

async fn a_receipt_is_added_to_its_series_once_whatever_the_steps(rig: Rig) {
    for number in 0..7 {
        let kept = ReceiptRecord {
            at_ms: NOW_MS + number * HOUR_MS / 2,
            ..record(&rig, number, None, "{}")
        };
        keep(&rig, kept).await;
    }
    roll_up(&rig, 2, SeriesKeep::default()).await;
    roll_up(&rig, 100, SeriesKeep::default()).await;
    let all = total(&rig).await;
    assert_eq!(all.get(Figure::Requests), 7);
    assert_eq!(all.get(Figure::Charge), 7 * 24);
    assert_eq!(all.get(Figure::OutputTokens), 70);
    let hours = rows(&rig, SeriesDimension::Total, false).await;
    let counts: Vec<_> = hours
        .iter()
        .map(|row| row.figures.get(Figure::Requests))
        .collect();
    assert_eq!(counts, [2, 2, 2, 1]);
    assert!(hours.is_sorted_by_key(|row| row.starts_at_ms));
    keep(&rig, record(&rig, 7, None, "{}")).await;
    roll_up(&rig, 2, SeriesKeep::default()).await;
    assert_eq!(total(&rig).await.get(Figure::Requests), 8);
}

async fn a_receipt_is_in_every_split_with_the_figures_of_its_text(rig: Rig) {
    let golem = rig.account.as_str();
    for (number, layer) in (0..).zip(["hash", "miss"]) {
        let kept = ReceiptRecord {
            subsystem: Some("dream_rem".into()),
            session: Some("s1".into()),
            outcome: if layer == "miss" {
                "failed"
            } else {
                "finished"
            },
            ..record(&rig, number, None, &text(layer, golem))
        };
        keep(&rig, kept).await;
    }
    roll_up(&rig, 100, SeriesKeep::default()).await;
    let all = total(&rig).await;
    for (figure, expected) in [
        (Figure::Requests, 2),
        (Figure::Finished, 1),
        (Figure::Failed, 1),
        (Figure::Attempts, 4),
        (Figure::FailedAttempts, 2),
        (Figure::HashHits, 1),
        (Figure::CacheMisses, 1),
        (Figure::ReasoningTokens, 8),
        (Figure::Cost, 48),
        (Figure::Spread, 8),
        (Figure::Shortfall, 6),
        (Figure::Savings, 10),
        (Figure::HashSavings, 5),
        (Figure::DurationMs, 800),
    ] {
        assert_eq!(all.get(figure), expected, "{}", figure.as_str());
    }
    assert_eq!(all.latency().count(), 2);
    assert!(all.latency().quantile(990).is_some_and(|ms| ms <= 500));
    assert!(all.first_content().quantile(500).is_some_and(|ms| ms <= 50));
    let named = |name: &str| SeriesName::Named(name.to_owned());
    for (dimension, name) in [
        (SeriesDimension::Backend, named("sim")),
        (SeriesDimension::Model, named("strong-1")),
        (SeriesDimension::Key, named(rig.key().as_str())),
        (SeriesDimension::Subsystem, named("dream_rem")),
        (SeriesDimension::Session, named("s1")),
        (SeriesDimension::Golem, named(golem)),
        (
            SeriesDimension::GolemSubsystem,
            named(&pair(golem, Some("dream_rem"))),
        ),
    ] {
        let found = rows(&rig, dimension, true).await;
        let expected = SeriesRow {
            starts_at_ms: 0,
            name,
            figures: all,
        };
        assert_eq!(found, [expected], "{}", dimension.as_str());
    }
    // Of all accounts, per minute: this agent alone.
    let query = SeriesQuery {
        resolution: Resolution::Minute,
        from_ms: NOW_MS,
        to_ms: NOW_MS + HOUR_MS,
        account: None,
        dimension: SeriesDimension::Golem,
        only: Some(named(golem)),
        summed: false,
    };
    let found = rig.ledger.series(query).await.expect("the store works");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].starts_at_ms, Resolution::Minute.start(NOW_MS));
    assert_eq!(found[0].figures, all);
}

async fn a_receipt_that_changes_is_counted_as_it_is_now(rig: Rig) {
    rig.deposit(1_000, "operator:1").await;
    rig.reserve(1, 500).await;
    let unknown = ReceiptRecord {
        outcome: "unknown",
        charge: MicroUsd::ZERO,
        ..record(&rig, 1, None, "{}")
    };
    rig.end_with(1, End::Unknown, Some(unknown)).await;
    keep(&rig, record(&rig, 2, None, "{}")).await;
    roll_up(&rig, 100, SeriesKeep::default()).await;
    let before = total(&rig).await;
    assert_eq!(before.get(Figure::Unknown), 1);
    let decided = record(&rig, 1, None, r#"{"cost":{"mode":"prepaid"}}"#);
    rig.end_with(1, capture(20, 4), Some(decided)).await;
    roll_up(&rig, 100, SeriesKeep::default()).await;
    let after = total(&rig).await;
    assert_eq!(after.get(Figure::Requests), 2);
    assert_eq!(after.get(Figure::Unknown), 0);
    assert_eq!(after.get(Figure::Finished), 2);
    assert_eq!(after.get(Figure::Charge), 48);
    let mut search = own(&rig);
    search.filter.outcome = Some("unknown".to_owned());
    assert!(found(&rig, search).await.is_empty());
}

async fn receipts_of_names_beyond_the_bound_are_counted_together(rig: Rig) {
    for number in 0..520 {
        let kept = ReceiptRecord {
            at_ms: NOW_MS,
            session: Some(format!("session {number}").into()),
            ..record(&rig, number, None, "{}")
        };
        keep(&rig, kept).await;
    }
    roll_up(&rig, 200, SeriesKeep::default()).await;
    let found = rows(&rig, SeriesDimension::Session, true).await;
    let named = found.iter().filter(|row| row.name.label().is_some());
    assert_eq!(named.count(), 500);
    let rest = found.iter().find(|row| row.name == SeriesName::Other);
    let rest = rest.map(|row| row.figures.get(Figure::Requests));
    assert_eq!(rest, Some(20));
}

async fn rows_of_old_receipts_are_dropped(rig: Rig) {
    let old = ReceiptRecord {
        at_ms: NOW_MS,
        ..record(&rig, 1, None, &text("miss", rig.account.as_str()))
    };
    keep(&rig, old).await;
    let later = SeriesKeep {
        minutes_from_ms: NOW_MS + HOUR_MS,
        hours_from_ms: 0,
    };
    roll_up(&rig, 100, later).await;
    assert_eq!(total(&rig).await.get(Figure::Requests), 1);
    let query = SeriesQuery {
        resolution: Resolution::Minute,
        from_ms: NOW_MS,
        to_ms: NOW_MS + HOUR_MS,
        account: None,
        dimension: SeriesDimension::Golem,
        only: Some(SeriesName::Named(rig.account.to_string())),
        summed: true,
    };
    let found = rig.ledger.series(query).await.expect("the store works");
    assert_eq!(found, []);
}

/// A search for the receipts of a case.
fn own(rig: &Rig) -> ReceiptSearch {
    ReceiptSearch {
        filter: ReceiptFilter {
            account: Some(rig.account.clone()),
            ..ReceiptFilter::between(NOW_MS, NOW_MS + 2 * DAY_MS)
        },
        limit: 100,
        ..ReceiptSearch::default()
    }
}

async fn page(rig: &Rig, search: ReceiptSearch) -> FoundReceipts {
    rig.ledger.search(search).await.expect("the store works")
}

async fn found(rig: &Rig, search: ReceiptSearch) -> Vec<String> {
    let page = page(rig, search).await;
    let ids = page.records.iter().map(|record| record.request.to_string());
    ids.collect()
}

/// Six receipts: even ones of an agent and answered by the cache, the third one dear.
async fn keep_six(rig: &Rig) {
    for number in 0..6 {
        let is_even = number % 2 == 0;
        let json = if is_even {
            text("hash", r#"g \"one\""#)
        } else {
            text("miss", "g2")
        };
        let kept = ReceiptRecord {
            session: Some(if is_even { "s1" } else { "s2" }.into()),
            outcome: if number == 5 { "failed" } else { "finished" },
            charge: MicroUsd::new(if number == 3 { 900 } else { 24 }),
            ..record(rig, number, None, &json)
        };
        keep(rig, kept).await;
    }
}

async fn check_six(rig: &Rig) {
    let id = |number: u64| rig.request(number).to_string();
    let ids = |numbers: &[u64]| numbers.iter().map(|one| id(*one)).collect::<Vec<_>>();
    let by = |change: &dyn Fn(&mut ReceiptSearch)| {
        let mut search = own(rig);
        change(&mut search);
        search
    };
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(found(rig, own(rig)).await, ids(&[5, 4, 3, 2, 1, 0]));
    let session = by(&|search| search.filter.session = name("s1"));
    assert_eq!(found(rig, session).await, ids(&[4, 2, 0]));
    let golem = by(&|search| search.golem = name("g2"));
    assert_eq!(found(rig, golem).await, ids(&[5, 3, 1]));
    let quoted = by(&|search| search.golem = name("g \"one\""));
    assert_eq!(found(rig, quoted).await, ids(&[4, 2, 0]));
    let layer = by(&|search| search.layer = name("hash"));
    assert_eq!(found(rig, layer).await, ids(&[4, 2, 0]));
    let failed = by(&|search| search.filter.outcome = name("failed"));
    assert_eq!(found(rig, failed).await, ids(&[5]));
    let none = by(&|search| search.layer = name("semantic"));
    assert!(found(rig, none).await.is_empty());
    let prefix = by(&|search| search.request_prefix = Some(id(4)));
    assert_eq!(found(rig, prefix).await, ids(&[4]));
    let both = by(&|search| {
        search.golem = name("g2");
        search.filter.outcome = name("finished");
        search.filter.to_ms = NOW_MS + 3;
    });
    assert_eq!(found(rig, both).await, ids(&[1]));
    // Page by page, with a filter.
    let first = page(
        rig,
        by(&|search| {
            search.layer = name("hash");
            search.limit = 2;
        }),
    )
    .await;
    let last = first.records.last().map(Cursor::of);
    let second = by(&|search| {
        search.layer = name("hash");
        search.limit = 2;
        search.after = last.clone();
    });
    assert_eq!(found(rig, second).await, ids(&[0]));
}

async fn a_search_of_receipts_finds_what_its_filters_cover_page_by_page(rig: Rig) {
    keep_six(&rig).await;
    roll_up(&rig, 4, SeriesKeep::default()).await;
    check_six(&rig).await;
    let dear = ReceiptSearch {
        min_cost: Some(MicroUsd::new(25)),
        ..own(&rig)
    };
    assert_eq!(found(&rig, dear).await, [rig.request(3).to_string()]);
}

async fn a_search_finds_receipts_before_and_after_they_are_in_the_series(rig: Rig) {
    keep_six(&rig).await;
    rig.ledger.flush().await.expect("the store works");
    check_six(&rig).await;
    roll_up(&rig, 4, SeriesKeep::default()).await;
    check_six(&rig).await;
}

async fn agents_are_listed_as_their_last_receipts_show_them(rig: Rig) {
    let golem = rig.account.as_str();
    for (number, phase) in [(2, "thriving"), (1, "stable")] {
        let json = text("miss", golem).replace("stable", phase);
        let kept = ReceiptRecord {
            at_ms: NOW_MS + number,
            ..record(&rig, number, None, &json)
        };
        keep(&rig, kept).await;
        roll_up(&rig, 100, SeriesKeep::default()).await;
    }
    let all = rig.ledger.golems(0, 10_000).await.expect("the store works");
    let seen = all.iter().find(|seen| seen.golem == golem);
    let seen = seen.expect("the agent is listed");
    assert_eq!(seen.account, golem);
    assert_eq!(seen.phase.as_deref(), Some("thriving"));
    assert_eq!(seen.vitality.as_deref(), Some("0.25"));
    assert_eq!(seen.sustainability.as_deref(), Some("1.5"));
    assert_eq!(
        (seen.first_seen_ms, seen.last_seen_ms),
        (NOW_MS + 1, NOW_MS + 2)
    );
    let none = rig.ledger.golems(NOW_MS + 10 * DAY_MS, 10).await;
    assert!(
        none.expect("the store works")
            .iter()
            .all(|seen| seen.golem != golem)
    );
}

async fn accounts_are_listed_in_order_with_balance_and_debt(rig: Rig) {
    rig.deposit(100, "operator:1").await;
    rig.reserve(1, 60).await;
    rig.end_with(1, capture(60, 0), None).await;
    let other = rig.other();
    other.deposit(7, "operator:2").await;
    rig.ledger.flush().await.expect("the store works");
    let mut listed = Vec::new();
    loop {
        let after = listed
            .last()
            .map(|view: &crate::series::AccountView| view.account.to_string());
        let page = rig
            .ledger
            .accounts(after, 3)
            .await
            .expect("the store works");
        if page.is_empty() {
            break;
        }
        listed.extend(page);
    }
    assert!(listed.is_sorted_by_key(|view| view.account.to_string()));
    let of = |rig: &Rig| {
        listed
            .iter()
            .find(|view| view.account == rig.account)
            .cloned()
    };
    let view = of(&rig).expect("the account is listed");
    assert_eq!(view.balance.available, MicroUsd::new(40));
    assert_eq!(view.debt, MicroUsd::ZERO);
    let view = of(&other).expect("the account is listed");
    assert_eq!(view.balance.deposited, MicroUsd::new(7));
}

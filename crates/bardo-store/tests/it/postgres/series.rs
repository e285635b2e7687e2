//! Series that several gateways share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bardo_ledger::contract::block_on;
use bardo_ledger::series::{Figure, Resolution, SeriesDimension, SeriesKeep, SeriesQuery};
use bardo_ledger::{End, Holds, PromptCacheFigures, ReceiptRecord, ReceiptSeries, Settle};
use bardo_store::postgres::PostgresStore;
use bardo_types::money::MicroUsd;

use super::schema::WITHOUT_RECEIPTS_OF_ALL;
use super::{NOW_MS, account, request, server, store};

fn keep(store: &PostgresStore, number: u64) {
    let record = ReceiptRecord {
        request: request(&format!("r{number:05}")),
        client_request_id: None,
        account: account("owner"),
        key: None,
        at_ms: NOW_MS + number,
        model: "m".into(),
        provider: "sim".into(),
        outcome: "finished",
        input_tokens: 10,
        output_tokens: 1,
        provider_cost: Some(MicroUsd::new(2)),
        charge: MicroUsd::ZERO,
        savings: MicroUsd::ZERO,
        subsystem: None,
        session: None,
        prompt_cache: PromptCacheFigures::default(),
        json: r#"{"cache":"miss"}"#.into(),
        details: None,
    };
    let settle = Settle {
        account: record.account.clone(),
        request: record.request.clone(),
        end: End::Release,
        record: Some(record),
        now_ms: NOW_MS,
    };
    block_on(store.settle(settle)).unwrap();
}

fn step(store: &PostgresStore, limit: u32) {
    block_on(store.roll_up(SeriesKeep::default(), limit)).unwrap();
}

fn is_behind(store: &PostgresStore) -> bool {
    let lag = block_on(store.lag()).unwrap();
    lag.waiting > 0 || lag.is_back_filling
}

fn requests(store: &PostgresStore) -> i64 {
    let query = SeriesQuery {
        resolution: Resolution::Day,
        from_ms: 0,
        to_ms: NOW_MS + 86_400_000,
        account: None,
        dimension: SeriesDimension::Layer,
        only: None,
        summed: true,
    };
    let rows = block_on(store.series(query)).unwrap();
    let counts = rows.iter().map(|row| row.figures.get(Figure::Requests));
    counts.sum()
}

#[test]
fn gateways_that_roll_up_at_once_beside_requests_add_each_receipt_once() {
    let url = server().database().unwrap();
    let gateways = [store(&url), store(&url), store(&url)];
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let rolling: Vec<_> = gateways
            .iter()
            .map(|gateway| {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) || is_behind(gateway) {
                        step(gateway, 7);
                    }
                })
            })
            .collect();
        let keeping: Vec<_> = (0..4)
            .map(|thread| {
                let gateway = &gateways[thread % 3];
                scope.spawn(move || {
                    for number in 0..100 {
                        keep(gateway, (thread * 100 + number) as u64);
                    }
                })
            })
            .collect();
        for thread in keeping {
            thread.join().unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
        for thread in rolling {
            thread.join().unwrap();
        }
    });
    assert_eq!(requests(&gateways[0]), 400);
}

#[test]
fn a_number_whose_transaction_is_open_holds_the_watermark_back() {
    let url = server().database().unwrap();
    let store = store(&url);
    keep(&store, 1);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let connecting = tokio_postgres::connect(&url, tokio_postgres::NoTls);
    let (open, connection) = runtime.block_on(connecting).unwrap();
    runtime.spawn(connection);
    let execute = |sql| runtime.block_on(open.batch_execute(sql)).unwrap();
    execute(
        "BEGIN; SELECT bardo.keep_receipts(1,
            ARRAY['owner', 'late', NULL, NULL, 'm', 'sim', 'finished', '{\"cache\":\"miss\"}'],
            ARRAY[1795190400000, 1, 1, 0, 0, 0])",
    );
    keep(&store, 2);
    for _ in 0..5 {
        step(&store, 10);
    }
    let before = requests(&store);
    execute("COMMIT");
    while is_behind(&store) {
        step(&store, 10);
    }
    assert!(before < 3, "{before}");
    assert_eq!(requests(&store), 3);
}

#[test]
fn receipts_of_an_earlier_version_are_added_in_steps_and_one_that_changes_counts_once() {
    let url = server().database().unwrap();
    drop(store(&url));
    server().execute(&url, WITHOUT_RECEIPTS_OF_ALL).unwrap();
    for number in 0..5 {
        let old = format!(
            "INSERT INTO bardo.receipts (account, request, model, provider, outcome, json, at_ms,
                input_tokens, output_tokens, provider_cost, charge, savings)
            VALUES ('owner', 'old{number}', 'm', 'sim', 'finished', '{{\"cache\":\"hash\"}}',
                {NOW_MS}, 100, 10, 0, 0, 0)"
        );
        server().execute(&url, &old).unwrap();
    }
    let store = store(&url);
    keep(&store, 1);
    while is_behind(&store) {
        step(&store, 2);
    }
    assert_eq!(requests(&store), 6);
    let change = "UPDATE bardo.receipts SET json = '{\"cache\":\"miss\"}' WHERE request = 'old3'";
    server().execute(&url, change).unwrap();
    step(&store, 2);
    assert_eq!(requests(&store), 6);
}

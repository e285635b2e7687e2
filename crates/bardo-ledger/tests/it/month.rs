//! What an agent in its stable phase spends in a month under a cap of a dollar a day.

use bardo_ledger::{
    Cap, CapScope, CapWindow, Charge, Deposit, End, Funds as _, Holds as _, LedgerRefusal,
    MemoryLedger, Reserve, Settle,
};
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::MicroUsd;

use crate::now::now;

/// 2026-11-01T00:00:00Z, in Unix milliseconds.
const NOVEMBER_MS: u64 = 1_793_491_200_000;
const DAY_MS: u64 = 86_400_000;
const DAYS: u64 = 30;
/// A tick of the agent's heartbeat, in milliseconds.
const TICK_MS: u64 = 60_000;

/// Cost of a tick in micro-USD: most have no model, some a small one, few a large one. Without a cap
/// a day comes to 1.44 USD.
fn cost(tick: u64) -> u64 {
    match tick % 100 {
        0..80 => 0,
        80..95 => 2_000,
        _ => 14_000,
    }
}

#[test]
fn a_dollar_a_day_is_about_thirty_a_month() {
    let ledger = MemoryLedger::new();
    let account = AccountId::parse("acct").unwrap();
    let key = KeyId::parse("key").unwrap();
    let deposit = Deposit {
        account: account.clone(),
        amount: MicroUsd::new(100_000_000),
        reference: "operator:1".to_owned(),
        now_ms: NOVEMBER_MS,
    };
    now(ledger.deposit(deposit)).unwrap().unwrap();
    let day = Cap {
        scope: CapScope::Key(key.clone()),
        window: CapWindow::Day,
        limit: MicroUsd::new(1_000_000),
    };
    let ticks = DAYS * DAY_MS / TICK_MS;
    let mut refused = 0;
    for tick in (0..ticks).filter(|tick| cost(*tick) > 0) {
        let now_ms = NOVEMBER_MS + tick * TICK_MS;
        let request = RequestId::parse(&format!("req_{tick}")).unwrap();
        let command = Reserve {
            request: request.clone(),
            account: account.clone(),
            key: Some(key.clone()),
            // The worst case is twice what an answer comes to.
            amount: MicroUsd::new(2 * cost(tick)),
            caps: vec![day.clone()],
            expires_at_ms: now_ms + TICK_MS,
            now_ms,
        };
        match now(ledger.reserve(command)).unwrap() {
            Ok(_) => {}
            Err(LedgerRefusal::Capped { window, .. }) => {
                assert_eq!(window, CapWindow::Day);
                refused += 1;
                continue;
            }
            Err(other) => panic!("{other}"),
        }
        let end = End::Capture(Charge {
            provider: "sim".into(),
            provider_cost: MicroUsd::new(cost(tick)),
            spread: MicroUsd::ZERO,
        });
        let command = Settle {
            account: account.clone(),
            request,
            end,
            record: None,
            now_ms,
        };
        now(ledger.settle(command)).unwrap();
    }
    assert!(refused > 0, "the agent would spend more without its cap");
    let balance = now(ledger.balance(&account)).unwrap().unwrap();
    let spent = balance.spent.get();
    assert!((29_000_000..=30_000_000).contains(&spent), "{spent}");
}

//! Streams that outrun the money: they end with a billing error, the account is never overdrawn,
//! and the provider is closed.

use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::{Accounts as _, Funds as _};
use bardo_testkit::answer::Answer;
use bardo_testkit::client::{Ending, Wish, name_of};
use bardo_testkit::dice::Dice;
use bardo_testkit::fault::{Fault, Patience};
use bardo_testkit::till::Till;
use bardo_testkit::upstream::Upstream;
use bardo_testkit::world::{Backend, End};
use bardo_types::model::Dialect;

use crate::matrix::PROVIDERS;

/// Worth about 300 tokens of output at 10 USD per million and 20 % of spread.
const BALANCE: u64 = 4_000;
const WORDS: usize = 3_000;

async fn till(provider: Dialect, micro: u64, words: usize) -> Till {
    let upstream = Upstream::new("long.test", provider, move |asked| {
        let answer = Answer::new(provider, "m", 0, asked.case, words);
        Fault::Healthy.script(&answer, asked, &mut Dice::new(1))
    });
    let backend = Backend {
        upstream: Arc::new(upstream),
        models: vec!["m".to_owned()],
    };
    Till::with(&[backend], micro).await
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_outruns_its_money_ends_as_one() {
    for provider in PROVIDERS {
        for caller in [Dialect::Chat, Dialect::Responses] {
            let what = format!("{} to {}", name_of(provider), name_of(caller));
            let till = till(provider, BALANCE, WORDS).await;
            let mut wish = Wish::new(1, caller, "m", true);
            wish.purse = Some(0);
            let visit = till.scene.visit(&wish).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            till.scene.engine.drain_settler().await;
            assert!(
                matches!(visit.end, End::Stream(Ending::Failed(_))),
                "{what}: {:?}",
                visit.end
            );
            assert!(!visit.text.is_empty(), "{what}");
            // It was the money that ended, not the time.
            let took = visit.went_at - visit.came_at;
            assert!(took < Patience::TOTAL, "{what}: {took:?}");
            let call = &till.scene.upstreams[0].calls()[0];
            assert!(call.text.starts_with(&visit.text), "{what}");
            assert!(call.over && call.left_at.is_some(), "{what}: not closed");
            let account = &till.scene.purses[0].key.account;
            let balance = till.ledger.balance(account).await.expect("it answers");
            let balance = balance.expect("it is there");
            assert_eq!(balance.held.get(), 0, "{what}");
            assert!(balance.spent.get() <= BALANCE, "{what}: {balance:?}");
            // Most of the money was used before the end.
            assert!(balance.spent.get() > BALANCE / 2, "{what}: {balance:?}");
            let problems = till.ledger.verify().await.expect("it answers").problems;
            assert_eq!(problems, [""; 0], "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_stream_is_paid_in_slices_to_its_end() {
    for provider in PROVIDERS {
        let till = till(provider, 1_000_000, 600).await;
        let mut wish = Wish::new(1, Dialect::Chat, "m", true);
        wish.purse = Some(0);
        let visit = till.scene.visit(&wish).await;
        assert_eq!(visit.end, End::Stream(Ending::Clean), "{provider:?}");
        assert_eq!(till.judge(&visit).await, [""; 0], "{provider:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_cannot_pay_is_not_sent_on() {
    let till = till(Dialect::Chat, 500, 20).await;
    for stream in [false, true] {
        let mut wish = Wish::new(1, Dialect::Chat, "m", stream);
        wish.purse = Some(0);
        let visit = till.scene.visit(&wish).await;
        assert!(matches!(visit.end, End::Refused { unknown: false, .. }));
    }
    assert_eq!(till.scene.upstreams[0].calls().len(), 0);
}

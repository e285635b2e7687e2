use std::sync::Mutex;

use super::*;
use crate::adapter::ProviderAdapter;
use crate::event::Recorded;
use crate::extension::Extensions;
use crate::runtime::fake::{FakeGateway, Still};
use crate::runtime::{AgentSetup, Runtime};

/// Books in memory.
struct Books {
    state: Mutex<ApiState>,
}

#[derive(Default)]
struct ApiState {
    balance: u64,
    /// What a top-up answers instead of being done.
    failure: Option<CreditsError>,
    keys: Vec<String>,
    looks: usize,
    /// What Bankr does by itself.
    auto: Option<Result<AutoTopUp, CreditsError>>,
}

impl Credits for Books {
    fn balance(&self) -> Pending<'_, Result<MicroUsd, CreditsError>> {
        let mut state = self.state.lock().unwrap();
        state.looks += 1;
        let balance = MicroUsd::new(state.balance);
        Box::pin(std::future::ready(Ok(balance)))
    }

    fn top_up<'a>(
        &'a self,
        amount: MicroUsd,
        token: &'a str,
        key: &'a str,
    ) -> Pending<'a, Result<(), CreditsError>> {
        assert_eq!(token, "USDC");
        let mut state = self.state.lock().unwrap();
        state.keys.push(key.to_owned());
        let result = match state.failure.clone() {
            Some(failure) => Err(failure),
            None => {
                // A fee of a cent, so that computing the balance is not measuring it.
                state.balance += amount.get() - 10_000;
                Ok(())
            }
        };
        Box::pin(std::future::ready(result))
    }

    fn auto_top_up(&self) -> Pending<'_, Result<Option<AutoTopUp>, CreditsError>> {
        let auto = self.state.lock().unwrap().auto.clone();
        Box::pin(std::future::ready(auto.transpose()))
    }
}

struct Rig {
    books: Arc<Books>,
    clock: Arc<Still>,
    sink: Arc<Recorded>,
    runtime: Runtime,
    ticks: Mutex<u64>,
}

impl Rig {
    async fn new(rules: TopUpRules) -> Self {
        let books = Arc::new(Books {
            state: Mutex::default(),
        });
        let clock = Arc::new(Still(Mutex::new(1_000 * DAY_MS)));
        let sink = Arc::new(Recorded::default());
        let setup = AgentSetup {
            sink: sink.clone(),
            clock: clock.clone(),
            ..AgentSetup::new("golem-7", "s")
        };
        let extensions = Extensions::new()
            .with(ProviderAdapter::connected("x".into(), FakeGateway::new()))
            .with(BankrCreditMonitor::new(books.clone(), rules));
        let runtime = Runtime::start(extensions, setup).await.unwrap();
        Self {
            books,
            clock,
            sink,
            runtime,
            ticks: Mutex::new(0),
        }
    }

    /// A hundred ticks with this balance, in USD.
    async fn look_at(&self, balance: u64) {
        self.books.state.lock().unwrap().balance = balance * 1_000_000;
        for _ in 0..100 {
            let tick = {
                let mut ticks = self.ticks.lock().unwrap();
                *ticks += 1;
                *ticks
            };
            self.runtime.tick(tick, &[]).await;
        }
    }

    fn next_day(&self) {
        *self.clock.0.lock().unwrap() += DAY_MS;
    }

    fn topups(&self) -> usize {
        self.books.state.lock().unwrap().keys.len()
    }

    fn auto(&self, auto: Option<Result<AutoTopUp, CreditsError>>) {
        self.books.state.lock().unwrap().auto = auto;
    }

    fn fail(&self, failure: Option<CreditsError>) {
        self.books.state.lock().unwrap().failure = failure;
    }
}

fn paying(daily: u64) -> TopUpRules {
    TopUpRules {
        auto_topup: true,
        daily_cap: Some(MicroUsd::new(daily * 1_000_000)),
        ..TopUpRules::default()
    }
}

#[tokio::test]
async fn it_looks_every_hundred_ticks() {
    let rig = Rig::new(TopUpRules::default()).await;
    rig.look_at(9).await;
    rig.look_at(9).await;
    assert_eq!(rig.books.state.lock().unwrap().looks, 2);
    assert_eq!(rig.sink.warnings(), [""; 0]);
}

#[tokio::test]
async fn without_leave_or_without_a_cap_it_warns_and_pays_nothing() {
    let uncapped = TopUpRules {
        daily_cap: None,
        ..paying(0)
    };
    for rules in [TopUpRules::default(), uncapped] {
        let rig = Rig::new(rules).await;
        rig.look_at(4).await;
        rig.look_at(3).await;
        assert_eq!(rig.topups(), 0);
        assert_eq!(
            rig.sink.warnings(),
            ["Bankr credits low: $4.00. Enable auto_topup or top up manually."],
            "said once per crossing"
        );
    }
}

#[tokio::test]
async fn it_pays_once_per_crossing_and_measures_what_came_of_it() {
    let rig = Rig::new(paying(100)).await;
    rig.look_at(4).await;
    let topup = rig
        .sink
        .events()
        .into_iter()
        .find_map(|event| match event.data {
            GolemEvent::BankrTopup { new_balance, .. } => new_balance,
            _ => None,
        });
    assert_eq!(
        topup,
        Some(MicroUsd::new(28_990_000)),
        "not 29: measured, not computed"
    );
    rig.look_at(20).await;
    rig.look_at(4).await;
    assert_eq!(rig.topups(), 2);
    let keys = rig.books.state.lock().unwrap().keys.clone();
    assert_ne!(keys[0], keys[1]);
}

#[tokio::test]
async fn a_top_up_that_changes_nothing_is_not_repeated() {
    let rules = TopUpRules {
        amount: MicroUsd::new(1_000_000),
        ..paying(100)
    };
    let rig = Rig::new(rules).await;
    for _ in 0..5 {
        rig.look_at(1).await;
    }
    assert_eq!(rig.topups(), 1);
}

#[tokio::test]
async fn the_cap_of_a_day_holds_and_the_next_day_is_another() {
    let rig = Rig::new(paying(60)).await;
    for _ in 0..4 {
        rig.look_at(4).await;
        rig.look_at(20).await;
    }
    assert_eq!(rig.topups(), 2, "two of 25 fit in 60, a third does not");
    let capped = rig.sink.warnings();
    assert!(
        capped[0].contains("The cap of auto_topup is reached"),
        "{capped:?}"
    );
    rig.next_day();
    rig.look_at(4).await;
    assert_eq!(rig.topups(), 3);
}

#[tokio::test]
async fn the_cap_of_a_month_holds_over_days() {
    let rules = TopUpRules {
        monthly_cap: Some(MicroUsd::new(50_000_000)),
        ..paying(100)
    };
    let rig = Rig::new(rules).await;
    for _ in 0..29 {
        rig.look_at(4).await;
        rig.look_at(20).await;
        rig.next_day();
    }
    assert_eq!(rig.topups(), 2);
    rig.next_day();
    rig.look_at(4).await;
    assert_eq!(rig.topups(), 3, "the first is thirty days old");
}

#[tokio::test]
async fn a_refused_top_up_counts_for_no_cap_and_is_tried_again() {
    let rig = Rig::new(paying(25)).await;
    rig.fail(Some(CreditsError::Refused("402".into())));
    rig.look_at(4).await;
    assert_eq!(rig.sink.warnings(), ["Bankr refused: 402"]);
    rig.fail(None);
    rig.look_at(4).await;
    assert_eq!(rig.topups(), 2);
    assert_eq!(rig.books.state.lock().unwrap().balance, 28_990_000);
}

#[tokio::test]
async fn a_top_up_of_unknown_outcome_counts_as_paid() {
    let rig = Rig::new(paying(25)).await;
    rig.fail(Some(CreditsError::Unknown("timeout".into())));
    rig.look_at(4).await;
    rig.fail(None);
    rig.look_at(4).await;
    assert_eq!(
        rig.topups(),
        1,
        "it may have been paid: nothing is tried before it is seen"
    );
    rig.look_at(20).await;
    rig.look_at(4).await;
    assert_eq!(rig.topups(), 1, "and it counts for the cap of its day");
    rig.next_day();
    rig.look_at(20).await;
    rig.look_at(4).await;
    assert_eq!(rig.topups(), 2);
}

#[tokio::test]
async fn what_was_paid_before_a_restart_counts() {
    let books = Arc::new(Books {
        state: Mutex::default(),
    });
    let monitor = BankrCreditMonitor::new(books, paying(25));
    let today = 1_000;
    assert_eq!(monitor.decide(MicroUsd::ZERO, today), Action::TopUp(1));
    let paid = monitor.paid();
    let books = Arc::new(Books {
        state: Mutex::default(),
    });
    let restarted = BankrCreditMonitor::new(books, paying(25)).resuming(paid);
    assert_eq!(restarted.decide(MicroUsd::ZERO, today), Action::Capped);
}

#[tokio::test]
async fn where_bankr_tops_up_by_itself_nothing_is_paid_twice() {
    let rig = Rig::new(paying(100)).await;
    let on = AutoTopUp {
        is_enabled: true,
        last_error: Some("no USDC".into()),
        ..AutoTopUp::default()
    };
    rig.auto(Some(Ok(on)));
    rig.look_at(4).await;
    rig.look_at(3).await;
    assert_eq!(rig.topups(), 0);
    let told = "Bankr credits low: $4.00. Bankr tops up by itself, so nothing is paid here. \
                Its last top-up failed: no USDC.";
    assert_eq!(rig.sink.warnings(), [told], "said once per crossing");
    // Nothing was paid, so the caps have room once it is off.
    rig.auto(Some(Ok(AutoTopUp::default())));
    rig.look_at(20).await;
    rig.look_at(4).await;
    assert_eq!(rig.topups(), 1);
}

#[tokio::test]
async fn while_nobody_says_whether_bankr_tops_up_nothing_is_paid() {
    let rig = Rig::new(paying(25)).await;
    for unknown in [
        CreditsError::Unknown("timeout".into()),
        CreditsError::Refused("429".into()),
    ] {
        rig.auto(Some(Err(unknown)));
        rig.look_at(4).await;
        assert_eq!(rig.topups(), 0);
    }
    // Books without the setting have the caps of the owner.
    rig.auto(None);
    rig.look_at(4).await;
    assert_eq!(rig.topups(), 1);
}

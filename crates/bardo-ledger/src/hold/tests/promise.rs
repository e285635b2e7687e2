//! What providers may bill for all that is under way is never more than the account has.

use bardo_types::ids::{AccountId, RequestId};

use super::*;
use crate::Book;
use crate::command::{Charge, Deposit, End, Reserve, Settle};

/// What happens, by whom.
#[derive(Debug, Clone)]
enum EndStep {
    /// A request of so many prompt tokens.
    Begin {
        prompt: u64,
        own_limit: Option<u64>,
        streamed: bool,
        unseen: bool,
    },
    /// The provider of one that is under way writes so much.
    Write { which: usize, tokens: u64 },
    /// One ends, for what its provider bills.
    End { which: usize },
}

fn step() -> impl Strategy<Value = EndStep> {
    prop_oneof![
        3 => (0..4_000_u64, proptest::option::of(0..9_000_u64), any::<bool>(), any::<bool>())
            .prop_map(|(prompt, own_limit, streamed, unseen)| EndStep::Begin {
                prompt,
                own_limit,
                streamed,
                unseen,
            }),
        5 => (any::<usize>(), 1..700_u64).prop_map(|(which, tokens)| EndStep::Write { which, tokens }),
        1 => any::<usize>().prop_map(|which| EndStep::End { which }),
    ]
}

/// A request under way, as its provider sees it.
struct Open {
    request: RequestId,
    candidate: HoldCandidate,
    prompt: u64,
    /// The limit that it was sent.
    limit: u64,
    plan: HoldPlan,
    held: MicroUsd,
    written: u64,
}

impl Open {
    fn cost(&self, tokens: u64) -> MicroUsd {
        let ask = HoldQuery {
            prompt_tokens: self.prompt,
            ..ask(&[], 0)
        };
        self.candidate.worst(&ask, tokens).expect("in range")
    }

    /// The most that the provider may bill if it is left alone now: one that shows what it writes
    /// is stopped at what is held, any other goes on to its limit.
    fn bill(&self) -> MicroUsd {
        match self.plan.bound {
            Bound::Growing => self.cost(self.written),
            Bound::Own | Bound::Imposed => self.cost(self.limit),
        }
    }
}

struct World {
    book: Book,
    account: AccountId,
    open: Vec<Open>,
    begun: u32,
}

impl World {
    fn with(micro_usd: u64) -> Self {
        let account = AccountId::parse("acct_1").unwrap();
        let mut book = Book::default();
        let deposit = Deposit {
            account: account.clone(),
            amount: micro(micro_usd),
            reference: "operator".into(),
            now_ms: 0,
        };
        book.deposit(&deposit).unwrap();
        Self {
            book,
            account,
            open: Vec::new(),
            begun: 0,
        }
    }

    fn begin(&mut self, prompt: u64, own_limit: Option<u64>, streamed: bool, unseen: bool) {
        let candidate = HoldCandidate { unseen, ..strong() };
        let candidates = [candidate];
        let sizing = size(&HoldQuery {
            prompt_tokens: prompt,
            max_tokens: own_limit,
            streamed,
            available: self.book.balance(&self.account).unwrap().available,
            ..ask(&candidates, 0)
        });
        let Sizing::Hold(plan) = sizing else { return };
        self.begun += 1;
        let request = RequestId::parse(&format!("req_{}", self.begun)).unwrap();
        let reserve = Reserve {
            request: request.clone(),
            account: self.account.clone(),
            key: None,
            amount: plan.amount,
            caps: Vec::new(),
            expires_at_ms: 1_000,
            now_ms: 0,
        };
        self.book.reserve(&reserve).unwrap();
        let limit = own_limit.or(plan.limit).unwrap_or(u64::MAX);
        self.open.push(Open {
            request,
            candidate,
            prompt,
            limit: limit.min(candidate.max_output),
            plan,
            held: plan.amount,
            written: 0,
        });
    }

    /// The provider writes; what is shown is looked at token by token, as a stream is.
    fn write(&mut self, which: usize, tokens: u64) {
        let Some(index) = which.checked_rem(self.open.len()) else {
            return;
        };
        let open = &mut self.open[index];
        let slices = Slices::of(&open.candidate).unwrap();
        for _ in 0..tokens {
            if open.written >= open.limit {
                return self.end(which);
            }
            if open.plan.bound == Bound::Growing {
                let metered = open.cost(open.written + 1);
                let mut more = slices.next(metered, open.held);
                while let Some(by) = more {
                    let extended = self.book.extend(&self.account, &open.request, by);
                    more = None;
                    match extended {
                        Ok(reservation) => open.held = reservation.held,
                        Err(crate::LedgerRefusal::Insufficient { available, .. }) => {
                            more = slices.last(available);
                        }
                        Err(other) => unreachable!("{other}"),
                    }
                }
                if metered > open.held {
                    return self.end(which);
                }
            }
            open.written += 1;
        }
    }

    fn end(&mut self, which: usize) {
        let Some(index) = which.checked_rem(self.open.len()) else {
            return;
        };
        let open = self.open.swap_remove(index);
        let settle = Settle {
            account: self.account.clone(),
            request: open.request.clone(),
            end: End::Capture(Charge {
                provider: "one".into(),
                provider_cost: open.bill(),
                spread: MicroUsd::ZERO,
            }),
            record: None,
            now_ms: 0,
        };
        let settled = self.book.settle(&settle);
        assert_eq!(settled.paid.shortfall, MicroUsd::ZERO, "the operator pays");
    }
}

proptest! {
    #[test]
    fn what_providers_may_bill_for_all_that_is_open_never_exceeds_the_balance(
        money in 0..3_000_000_u64,
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let mut world = World::with(money);
        for step in steps {
            match step {
                EndStep::Begin { prompt, own_limit, streamed, unseen } => {
                    world.begin(prompt, own_limit, streamed, unseen);
                }
                EndStep::Write { which, tokens } => world.write(which, tokens),
                EndStep::End { which } => world.end(which),
            }
            let balance = world.book.balance(&world.account).unwrap();
            let bills: u64 = world.open.iter().map(|open| open.bill().get()).sum();
            let left = balance.deposited.saturating_sub(balance.spent);
            prop_assert!(bills <= left.get(), "{bills} of {left}");
            // Whatever a limit allows, its hold can grow to.
            for open in world.open.iter().filter(|open| open.plan.bound != Bound::Growing) {
                prop_assert!(open.cost(open.limit) <= open.held);
            }
        }
    }
}

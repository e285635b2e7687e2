//! The books after a visit, held to what is owed.

use std::sync::Arc;

use bardo_ledger::{Accounts as _, HoldState, HoldView, MemoryLedger};
use bardo_types::receipt::Receipt;

use crate::due::{self, Due, Unknown};
use crate::purse::Purse;
use crate::upstream::Call;
use crate::world::{Backend, SPREAD, Scene, Visit, request_id};

/// More than any test spends.
const PLENTY: u64 = 1_000_000_000;

/// The money of one visit, as far as it can be seen.
#[derive(Debug)]
pub struct Seen<'a> {
    /// By the postings of its request.
    pub charged: i64,
    /// All holds that have not ended.
    pub holds: &'a [HoldView],
    /// All receipts of the account.
    pub receipts: &'a [Receipt],
    /// The purse may have too little for what is owed.
    pub may_lack: bool,
}

impl Seen<'_> {
    /// A visit is charged what the written rule says, and its receipt says so too; nothing stays
    /// held but what nobody knows. Answers what is wrong, in words.
    #[must_use]
    pub fn judge(&self, visit: &Visit, calls: &[&Call]) -> Vec<String> {
        let mut wrong = Vec::new();
        let charged = self.charged;
        if visit.wish.purse.is_none() {
            if charged != 0 {
                wrong.push(format!("the owner was charged {charged}"));
            }
            return wrong;
        }
        let mut due = due::of(visit, calls, SPREAD.get());
        if self.may_lack {
            due = Due { least: 0, ..due };
        }
        if !u64::try_from(charged).is_ok_and(|charged| due.includes(charged)) {
            wrong.push(format!("charged {charged}, owed is {due:?}"));
        }
        let request = request_id(visit.wish.case);
        let held = self.holds.iter().find(|hold| hold.request == request);
        match held.map(|hold| hold.state) {
            Some(HoldState::Open) => wrong.push("its hold has leaked".to_owned()),
            Some(HoldState::Unknown) if due.unknown == Unknown::No => {
                wrong.push("it is held as unknown, and is not".to_owned());
            }
            None if due.unknown == Unknown::Yes => {
                wrong.push("nothing is held of what nobody knows".to_owned())
            }
            Some(HoldState::Unknown) | None => {}
        }
        let receipts = self.receipts.iter();
        let own: Vec<&Receipt> = receipts.filter(|own| own.request_id == request).collect();
        if own.len() > 1 {
            wrong.push(format!("{} receipts", own.len()));
        }
        let told: i128 = own
            .iter()
            .map(|receipt| i128::from(receipt.amounts.charge.get()))
            .sum();
        if told != i128::from(charged) {
            wrong.push(format!("charged {charged}, and the receipt says {told}"));
        }
        wrong
    }
}

/// A scene whose callers pay from one purse, and its books.
pub struct Till {
    /// The scene of the test.
    pub scene: Scene,
    /// The ledger of the scene.
    pub ledger: Arc<MemoryLedger>,
}

impl Till {
    /// A scene with more money than any test spends.
    pub async fn over(backends: &[Backend]) -> Self {
        Self::with(backends, PLENTY).await
    }

    /// A scene with so many micro-USD.
    pub async fn with(backends: &[Backend], micro: u64) -> Self {
        let ledger = Arc::new(MemoryLedger::new());
        let purse = Purse::fill(&*ledger, "p", micro).await;
        let books = Arc::<MemoryLedger>::clone(&ledger);
        Self {
            scene: Scene::selling(backends, books, vec![purse]),
            ledger,
        }
    }

    /// The charge of the request with that number.
    pub async fn charged(&self, case: u64) -> i64 {
        let request = request_id(case);
        let account = &self.scene.purses[0].key.account;
        let postings = self.ledger.postings(account, 0, u32::MAX).await;
        let postings = postings.expect("books in memory answer");
        let own = postings.iter().filter(|posting| {
            posting.reference == request.as_str() && posting.book.starts_with("customer:")
        });
        -own.map(|posting| posting.amount).sum::<i64>()
    }

    /// The errors in the money of a visit and in the books.
    pub async fn judge(&self, visit: &Visit) -> Vec<String> {
        self.scene.engine.drain_settler().await;
        let calls: Vec<Call> = self
            .scene
            .upstreams
            .iter()
            .flat_map(|upstream| upstream.calls())
            .collect();
        let calls: Vec<&Call> = calls
            .iter()
            .filter(|call| call.case == visit.wish.case)
            .collect();
        let holds = self.ledger.holds(None).await;
        let seen = Seen {
            charged: self.charged(visit.wish.case).await,
            holds: &holds.expect("books in memory answer"),
            receipts: &self.scene.receipts(),
            may_lack: false,
        };
        let mut wrong = seen.judge(visit, &calls);
        let verified = self.ledger.verify().await;
        wrong.extend(verified.expect("books in memory answer").problems);
        wrong
    }
}

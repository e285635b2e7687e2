//! Payments to providers (x402), held against what the ledger has as their cost.

use std::collections::HashSet;

use bardo_ledger::series::ReceiptSearch;
use bardo_ledger::{Cursor, ReceiptFilter, ReceiptRecord};
use bardo_types::money::{MicroUsd, SignedMicroUsd};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Operator, OperatorError};

/// How many receipts are read at once.
const PAGE: u32 = 1_000;
/// The text that a receipt has exactly if a payment was signed for one of its attempts.
const MARK: &str = r#""payment":{"#;

/// The payments of all receipts, and the costs that were booked for them.
#[derive(Debug, Default)]
pub(super) struct ProviderPayments {
    /// Payments that were signed.
    count: u64,
    signed: MicroUsd,
    /// Those of attempts without an answer: the provider may settle them or not.
    unanswered: MicroUsd,
    /// Amount that providers took for answers: as they report it, else as it was signed.
    taken: MicroUsd,
    /// Payments of answers that the providers have not settled yet; they may until they expire.
    pending: u64,
    /// The cost at the price of the provider, of the requests that a payment bought.
    booked: MicroUsd,
    references: HashSet<String>,
    /// What cannot be.
    problems: Vec<String>,
}

impl ProviderPayments {
    /// Adds the payments of a receipt; most have none.
    fn add(&mut self, record: &ReceiptRecord) {
        let json = record.json.json();
        if !json.contains(MARK) {
            return;
        }
        let Ok(receipt) = serde_json::from_str::<PaidReceipt>(&json) else {
            self.problems.push(unreadable(record));
            return;
        };
        let mut bought = false;
        for attempt in receipt.attempts {
            let Some(payment) = attempt.payment else {
                continue;
            };
            self.count += 1;
            let Ok(amount) = MicroUsd::from_usd(&payment.amount) else {
                self.problems.push(unreadable(record));
                continue;
            };
            self.signed = sum(self.signed, amount);
            match attempt.outcome == "answered" {
                true => {
                    bought = true;
                    self.take(&payment, amount);
                }
                false => self.unanswered = sum(self.unanswered, amount),
            }
            if !self.references.insert(payment.reference.clone()) {
                let (reference, request) = (payment.reference, &record.request);
                self.problems.push(format!(
                    "the receipt of {request} has the payment {reference} to a provider, and another place has it too"
                ));
            }
        }
        if bought && let Some(cost) = record.provider_cost {
            self.booked = sum(self.booked, cost);
        }
    }

    /// Adds what a provider took of a payment for its answer.
    fn take(&mut self, payment: &PaidAmount, signed: MicroUsd) {
        let told = payment.settled.as_deref().map(MicroUsd::from_usd);
        let taken = match (payment.settlement.as_deref(), told) {
            (_, Some(Ok(told))) => told,
            (Some("failed"), _) => MicroUsd::ZERO,
            _ => signed,
        };
        self.taken = sum(self.taken, taken);
        self.pending += u64::from(payment.settlement.as_deref() == Some("pending"));
    }

    /// The payments as JSON.
    pub(super) fn json(&self) -> Value {
        json!({
            "payments": self.count,
            "signed": self.signed.to_string(),
            "unanswered": self.unanswered.to_string(),
            "taken": self.taken.to_string(),
            "pending": self.pending,
            "booked": self.booked.to_string(),
            "difference": SignedMicroUsd::difference(self.booked, self.taken).to_string(),
        })
    }

    /// What cannot be: a payment in two receipts, or one that cannot be read.
    pub(super) fn into_problems(self) -> Vec<String> {
        self.problems
    }
}

fn sum(one: MicroUsd, other: MicroUsd) -> MicroUsd {
    one.checked_add(other).unwrap_or(MicroUsd::MAX)
}

fn unreadable(record: &ReceiptRecord) -> String {
    let request = &record.request;
    format!("the receipt of {request} has payments to providers that cannot be read")
}

impl Operator {
    /// The payments to providers of all receipts that the store has.
    pub(super) async fn provider_payments(&self) -> Result<ProviderPayments, OperatorError> {
        let mut found = ProviderPayments::default();
        let mut search = ReceiptSearch {
            filter: ReceiptFilter::between(0, u64::MAX),
            limit: PAGE,
            ..ReceiptSearch::default()
        };
        loop {
            let page = self.ledger.search(search.clone()).await?.records;
            page.iter().for_each(|record| found.add(record));
            match page.last() {
                Some(last) if page.len() >= PAGE as usize => search.after = Some(Cursor::of(last)),
                _ => return Ok(found),
            }
        }
    }
}

#[derive(Deserialize)]
struct PaidReceipt {
    attempts: Vec<PaidAttempt>,
}

#[derive(Deserialize)]
struct PaidAttempt {
    outcome: String,
    payment: Option<PaidAmount>,
}

#[derive(Deserialize)]
struct PaidAmount {
    /// Amount of the payment in USD.
    amount: String,
    reference: String,
    /// Older receipts have none of the rest.
    settlement: Option<String>,
    settled: Option<String>,
}

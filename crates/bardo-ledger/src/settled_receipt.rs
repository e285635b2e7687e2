//! What a receipt says in the end.
//!
//! A receipt is written before the books are asked, and kept in the transaction that settles. What
//! was really taken is known in between, so the store puts it into the text when it writes the row.

use std::sync::LazyLock;

use bardo_types::money::MicroUsd;
use bardo_types::receipt::text::member;
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

use crate::command::ReceiptRecord;

/// The figures of a settlement, as the receipt shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinalFigures {
    /// The part of the charge above the provider's cost.
    pub spread: MicroUsd,
    /// The amount that was taken.
    pub charge: MicroUsd,
    /// The amount that was owed beyond that.
    pub shortfall: MicroUsd,
    /// The balance of the account afterwards, where it is known.
    pub balance: Option<MicroUsd>,
}

impl ReceiptRecord {
    /// The receipt with what settling really came to.
    #[must_use]
    pub fn with_final(&self, figures: &FinalFigures) -> Self {
        let mut record = self.clone();
        record.put_final(figures);
        record
    }

    /// Has the receipt say what settling really came to.
    pub fn put_final(&mut self, figures: &FinalFigures) {
        if self.lacks_balance_alone(figures) {
            let Some(balance) = figures.balance else {
                return;
            };
            if let Some(text) = put_balance(self.json.as_kept(), balance) {
                self.json = text.into();
                return;
            }
        }
        self.charge = figures.charge;
        let before = self.json.json();
        let Some((start, end)) = cost(&before) else {
            return;
        };
        let (json, list_price) = figures.put_between(&before, start, end);
        if let Some(list_price) = list_price {
            self.savings = list_price.saturating_sub(figures.charge);
        }
        self.json = json.into();
        if let Some(details) = &mut self.details {
            details.spread = figures.spread;
            let missing = details.shortfall.checked_add(figures.shortfall);
            details.shortfall = missing.unwrap_or(MicroUsd::MAX);
        }
    }

    /// Whether the text has all figures but the balance, as nearly every text does: what was to be
    /// charged was there.
    fn lacks_balance_alone(&self, figures: &FinalFigures) -> bool {
        let details = self.details.as_ref();
        self.charge == figures.charge
            && figures.shortfall == MicroUsd::ZERO
            && details.is_some_and(|details| details.spread == figures.spread)
    }

    /// The list price that the text names.
    #[must_use]
    pub fn list_price(&self) -> Option<MicroUsd> {
        let json = self.json.json();
        let (start, end) = cost(&json)?;
        let mut members = CostMembers(&json[start..end]);
        members.find_map(|member| match member.name {
            "list_price" => member.amount(),
            _ => None,
        })
    }
}

impl FinalFigures {
    /// The text of a receipt with these figures in its `cost`; `None` where it has none.
    #[must_use]
    pub fn put_into(&self, json: &str) -> Option<String> {
        let (start, end) = cost(json)?;
        Some(self.put_between(json, start, end).0)
    }

    /// The text with these figures between `start` and `end`, and the list price that it names. The
    /// members are read in the order in which they are written: the list price before the savings.
    fn put_between(&self, json: &str, start: usize, end: usize) -> (String, Option<MicroUsd>) {
        let mut list_price = None;
        let mut text = String::with_capacity(json.len() + 64);
        text.push_str(&json[..start]);
        for member in CostMembers(&json[start..end]) {
            if text.len() > start {
                text.push(',');
            }
            let amount = match member.name {
                "spread" => Some(self.spread),
                "charge" => Some(self.charge),
                // What was cut off because nothing more could be held was missing before.
                "shortfall" => {
                    let missing = member.amount().unwrap_or_default();
                    missing.checked_add(self.shortfall).or(Some(MicroUsd::MAX))
                }
                "list_price" => {
                    list_price = member.amount();
                    None
                }
                "savings" => list_price.map(|price| price.saturating_sub(self.charge)),
                "balance" => self.balance,
                _ => None,
            };
            match amount {
                Some(amount) => {
                    for part in ["\"", member.name, "\":\"", amount.text().as_str(), "\""] {
                        text.push_str(part);
                    }
                }
                None => text.push_str(member.text),
            }
        }
        text.push_str(&json[end..]);
        (text, list_price)
    }
}

/// The kept text of a receipt with this balance as the last member of its `cost`; `None` where another
/// member is the last, or where names have no codes.
fn put_balance(kept: &str, balance: MicroUsd) -> Option<String> {
    const COST: &str = member("cost");
    const BALANCE: &str = member("balance");
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(COST));
    let start = FINDER.find(kept.as_bytes())? + COST.len();
    let end = start + memchr(b'}', &kept.as_bytes()[start..])?;
    // No amount has a comma.
    let last = start + memrchr(b',', &kept.as_bytes()[start..end])?;
    let is_balance = kept[last..end].starts_with(BALANCE);
    let (before, after) = (&kept[..last + BALANCE.len()], &kept[end..]);
    is_balance.then(|| [before, "\"", balance.text().as_str(), "\"", after].concat())
}

/// Where the members of `cost` are: a flat object of the compact text that is written here. Within
/// a string its quotes would have backslashes.
fn cost(json: &str) -> Option<(usize, usize)> {
    const NAME: &str = "\"cost\":{";
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(NAME));
    let start = FINDER.find(json.as_bytes())? + NAME.len();
    let end = start + memchr(b'}', &json.as_bytes()[start..])?;
    Some((start, end))
}

/// A member of a flat object.
struct CostMember<'a> {
    /// The member as it is written.
    text: &'a str,
    name: &'a str,
    value: &'a str,
}

impl CostMember<'_> {
    /// The value as an amount; `None` where it is none.
    fn amount(&self) -> Option<MicroUsd> {
        MicroUsd::from_usd(self.value.trim_matches('"')).ok()
    }
}

/// The members of a flat object, none of whose names and values has a comma or a colon.
struct CostMembers<'a>(&'a str);

impl<'a> Iterator for CostMembers<'a> {
    type Item = CostMember<'a>;

    fn next(&mut self) -> Option<CostMember<'a>> {
        if self.0.is_empty() {
            return None;
        }
        let length = memchr(b',', self.0.as_bytes());
        let (text, rest) = match length {
            Some(length) => (&self.0[..length], &self.0[length + 1..]),
            None => (self.0, ""),
        };
        self.0 = rest;
        let colon = memchr(b':', text.as_bytes());
        let (name, value) = match colon {
            Some(colon) => (&text[..colon], &text[colon + 1..]),
            None => (text, ""),
        };
        let bare = |name: &'a str| name.strip_prefix('"')?.strip_suffix('"');
        let name = bare(name).unwrap_or_default();
        Some(CostMember { text, name, value })
    }
}

#[cfg(test)]
mod tests {
    use bardo_types::receipt::text::json;

    use super::*;

    const FIGURES: FinalFigures = FinalFigures {
        spread: MicroUsd::new(10),
        charge: MicroUsd::new(30),
        shortfall: MicroUsd::new(14),
        balance: Some(MicroUsd::new(7)),
    };

    #[test]
    fn what_was_taken_is_put_into_the_cost_and_nowhere_else() {
        let before = r#"{"session":"\"cost\":{\"charge\":1}","charge":1,"cost":{"spread":"0.000024","spread_bps":5,"charge":"0.000044","shortfall":"0.000002","list_price":"0.000050","savings":"0.000006","balance":null},"degraded":[{"charge":2}]}"#;
        let after = r#"{"session":"\"cost\":{\"charge\":1}","charge":1,"cost":{"spread":"0.000010","spread_bps":5,"charge":"0.000030","shortfall":"0.000016","list_price":"0.000050","savings":"0.000020","balance":"0.000007"},"degraded":[{"charge":2}]}"#;
        assert_eq!(FIGURES.put_into(before).as_deref(), Some(after));
    }

    #[test]
    fn what_is_unknown_stays_unknown() {
        let before = r#"{"cost":{"charge":"0.000044","list_price":null,"savings":null}}"#;
        let after = r#"{"cost":{"charge":"0.000030","list_price":null,"savings":null}}"#;
        assert_eq!(FIGURES.put_into(before).as_deref(), Some(after));
        assert_eq!(FIGURES.put_into(r#"{"n":1}"#), None);
    }

    #[test]
    fn a_receipt_that_lacks_the_balance_alone_gets_that_and_nothing_else() {
        let figures = FinalFigures {
            shortfall: MicroUsd::ZERO,
            ..FIGURES
        };
        for before in ["null", "\"0.000009\""] {
            let members = [
                ("spread", "\"0.000010\""),
                ("charge", "\"0.000030\""),
                ("shortfall", "\"0.000000\""),
                ("list_price", "\"0.000050\""),
                ("savings", "\"0.000020\""),
                ("balance", before),
            ];
            let cost: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{}{value}", &member(name)[1..]))
                .collect();
            let cost = cost.join(",");
            let kept = format!(
                "{{\"session\":\",balance:\"{}{{{cost}}}{}null}}",
                member("cost"),
                member("cache")
            );
            let fast = put_balance(&kept, MicroUsd::new(7)).map(|kept| json(&kept).into_owned());
            assert!(fast.is_some());
            assert_eq!(fast, figures.put_into(&json(&kept)));
        }
        let other = format!(
            "{{{}{{{}null{}1}}}}",
            member("cost"),
            member("balance"),
            member("mode")
        );
        for kept in [other.as_str(), r#"{"cost":{"balance":null}}"#, "{}"] {
            assert_eq!(put_balance(kept, MicroUsd::new(7)), None);
        }
    }
}

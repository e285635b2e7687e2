//! What a receipt says in the end.
//!
//! A receipt is written before the books are asked, and kept in the transaction that settles. What
//! was really taken is known in between, so the store puts it into the text there.

use std::fmt::Write as _;

use bardo_types::money::MicroUsd;

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
        self.charge = figures.charge;
        let Some((start, end)) = cost(&self.json) else {
            return;
        };
        if let Some(list_price) = amount(&self.json[start..end], "list_price") {
            self.savings = list_price.saturating_sub(figures.charge);
        }
        self.json = figures.put_between(&self.json, start, end).into();
    }

    /// The list price that the text names.
    #[must_use]
    pub fn list_price(&self) -> Option<MicroUsd> {
        let (start, end) = cost(&self.json)?;
        amount(&self.json[start..end], "list_price")
    }
}

impl FinalFigures {
    /// The text of a receipt with these figures in its `cost`; `None` where it has none.
    #[must_use]
    pub fn put_into(&self, json: &str) -> Option<String> {
        let (start, end) = cost(json)?;
        Some(self.put_between(json, start, end))
    }

    fn put_between(&self, json: &str, start: usize, end: usize) -> String {
        let members = &json[start..end];
        let list_price = amount(members, "list_price");
        // What was cut off because nothing more could be held was missing before.
        let missing = amount(members, "shortfall").unwrap_or_default();
        let mut text = String::with_capacity(json.len() + 64);
        text.push_str(&json[..start]);
        for (index, member) in members.split(',').enumerate() {
            if index > 0 {
                text.push(',');
            }
            let name = member.split(':').next().unwrap_or_default();
            let amount = match name {
                "\"spread\"" => Some(self.spread),
                "\"charge\"" => Some(self.charge),
                "\"shortfall\"" => missing.checked_add(self.shortfall).or(Some(MicroUsd::MAX)),
                "\"savings\"" => list_price.map(|price| price.saturating_sub(self.charge)),
                "\"balance\"" => self.balance,
                _ => None,
            };
            match amount {
                Some(amount) => {
                    let written = write!(text, "{name}:\"{amount}\"");
                    written.expect("a text takes all that is written");
                }
                None => text.push_str(member),
            }
        }
        text.push_str(&json[end..]);
        text
    }
}

/// Where the members of `cost` are: a flat object of the compact text that is written here. Within
/// a string its quotes would have backslashes.
fn cost(json: &str) -> Option<(usize, usize)> {
    const NAME: &str = "\"cost\":{";
    let start = json.find(NAME)? + NAME.len();
    let end = start + json[start..].find('}')?;
    Some((start, end))
}

/// The amount of a member.
fn amount(members: &str, name: &str) -> Option<MicroUsd> {
    let value = members.split(',').find_map(|member| {
        let (found, value) = member.split_once(':')?;
        (found.strip_prefix('"')?.strip_suffix('"')? == name).then_some(value)
    })?;
    MicroUsd::from_usd(value.trim_matches('"')).ok()
}

#[cfg(test)]
mod tests {
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
}

//! Lists of words as values of headers.

use std::collections::HashSet;
use std::fmt::Write as _;

use bardo_types::Degradation;

/// As much of the warnings as a header holds.
const WARNINGS_BYTES: usize = 1_024;

/// Warnings as one header value, within bounds. Entries are separated by `; `, and a semicolon
/// inside of an entry becomes a comma. The last entry counts those that do not fit.
pub(crate) fn warnings_list(warnings: &[String]) -> String {
    let mut list = String::new();
    for (index, warning) in warnings.iter().enumerate() {
        let more = warnings.len() - index;
        if list.len() + warning.len() > WARNINGS_BYTES {
            let _ = write!(
                list,
                "{}{more} more",
                if list.is_empty() { "" } else { "; " }
            );
            break;
        }
        if !list.is_empty() {
            list.push_str("; ");
        }
        // A caller's word may hold what a header must not.
        for c in warning.chars() {
            match c {
                ';' => list.push(','),
                ' '..='~' => list.push(c),
                '→' => list.push_str("->"),
                _ => list.push('?'),
            }
        }
    }
    list
}

/// The features lost, once each, in order, as one header value.
pub(crate) fn degraded_list(degraded: &[Degradation]) -> String {
    let mut list = String::new();
    let mut known = HashSet::new();
    for lost in degraded {
        if !known.insert(&*lost.feature) {
            continue;
        }
        if !list.is_empty() {
            list.push(',');
        }
        // A caller's field name may hold bytes that a header must not.
        list.extend(
            lost.feature
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || "._-[]".contains(*c)),
        );
    }
    list
}

#[cfg(test)]
mod tests {
    use super::warnings_list;

    #[test]
    fn a_header_of_warnings_is_ascii_and_keeps_its_arrows() {
        let warnings = [
            "temperature 0.1 → provider default (thinking)",
            "`é` is no hint; did you mean `e`?",
        ];
        assert_eq!(
            warnings_list(&warnings.map(str::to_owned)),
            "temperature 0.1 -> provider default (thinking); `?` is no hint, did you mean `e`?"
        );
    }
}

//! Amounts as decimal texts. Money is never computed in floating point.

/// An amount for one token as the amount for a million, both as decimal texts; `None` if the text is
/// no number, negative, or absurd.
pub(super) fn per_million(text: &str) -> Option<String> {
    shifted(text, 6)
}

/// A decimal text times a power of ten, without an exponent.
pub(super) fn shifted(text: &str, places: i32) -> Option<String> {
    let (mantissa, exponent) = match text.trim().split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text.trim(), 0),
    };
    let mantissa = mantissa.strip_prefix('+').unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let exponent = exponent.checked_add(places)?;
    if !is_number || exponent.abs() > 40 {
        return None;
    }
    let point = i32::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let count = i32::try_from(digits.len()).ok()?;
    let before = usize::try_from(-point).unwrap_or(0);
    let after = usize::try_from(point - count).unwrap_or(0);
    let digits = format!("{}{digits}{}", "0".repeat(before), "0".repeat(after));
    let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
    let (whole, fraction) = (
        whole.trim_start_matches('0'),
        fraction.trim_end_matches('0'),
    );
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match fraction {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_of_a_token_become_prices_of_a_million_exactly() {
        for (token, million) in [
            ("0.000002", "2"),
            ("2e-06", "2"),
            ("2.5E-6", "2.5"),
            ("0.00000000125", "0.00125"),
            ("0", "0"),
            ("0.0", "0"),
            ("1", "1000000"),
            ("1e-7", "0.1"),
            (".5e-6", "0.5"),
        ] {
            assert_eq!(per_million(token).as_deref(), Some(million), "{token}");
        }
        for wrong in ["-1", "", "abc", "1e99", "NaN", "1.2.3", "."] {
            assert_eq!(per_million(wrong), None, "{wrong}");
        }
    }
}

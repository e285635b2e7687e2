//! Exact bounds of a rate from counts (Clopper and Pearson).

/// The rate at which `found` or fewer of `trials` occur with the probability `error`.
pub(super) fn upper(found: u32, trials: u32, error: f64) -> f64 {
    if found >= trials {
        return 1.0;
    }
    bisect(|rate| at_most(found, trials, rate) > error)
}

/// The rate at which `found` or more of `trials` occur with the probability `error`.
pub(super) fn lower(found: u32, trials: u32, error: f64) -> f64 {
    match found.checked_sub(1) {
        Some(fewer) => bisect(|rate| 1.0 - at_most(fewer, trials, rate) < error),
        None => 0.0,
    }
}

/// The size of a record without any disagreement whose upper bound is at most `rate`.
pub(super) fn clean_audits(rate: f64, error: f64) -> u32 {
    let audits = (error.ln() / (1.0 - rate).ln()).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and at most some ten thousands for the rates that are allowed"
    )]
    let audits = audits as u32;
    audits
}

/// The largest rate for which `is_below` holds.
fn bisect(is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The probability of `found` or fewer of `trials` at a rate, summed in logarithms.
fn at_most(found: u32, trials: u32, rate: f64) -> f64 {
    if rate <= 0.0 {
        return 1.0;
    }
    if rate >= 1.0 {
        return 0.0;
    }
    let odds = (rate / (1.0 - rate)).ln();
    let mut term = f64::from(trials) * (1.0 - rate).ln();
    let mut sum = term.exp();
    for k in 0..found {
        term += odds + (f64::from(trials - k) / f64::from(k + 1)).ln();
        sum += term.exp();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::{clean_audits, lower, upper};

    #[test]
    fn a_clean_record_of_299_bounds_one_percent_at_95_percent() {
        assert_eq!(clean_audits(0.01, 0.05), 299);
        assert!(upper(0, 299, 0.05) <= 0.01);
        assert!(upper(0, 298, 0.05) > 0.01);
    }

    #[test]
    fn bounds_agree_with_published_tables() {
        for (found, trials, error, low, high) in [
            (1, 10, 0.025, 0.00253, 0.44502),
            (5, 50, 0.025, 0.03328, 0.21814),
            (10, 100, 0.025, 0.04900, 0.17622),
        ] {
            assert!((lower(found, trials, error) - low).abs() < 1e-4);
            assert!((upper(found, trials, error) - high).abs() < 1e-4);
        }
    }

    #[test]
    fn bounds_hold_at_the_ends() {
        assert!((upper(7, 7, 0.05) - 1.0).abs() < 1e-9);
        assert!(lower(0, 7, 0.05).abs() < 1e-9);
        assert!((lower(7, 7, 0.05) - 0.05_f64.powf(1.0 / 7.0)).abs() < 1e-6);
    }
}

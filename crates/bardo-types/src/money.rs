//! Exact money: integers only, rounded up once, at the charge.

mod signed;

use std::fmt;

pub use signed::SignedMicroUsd;

/// An amount of 10⁻⁶ USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MicroUsd(u64);

/// A price in 10⁻⁶ USD per million tokens, i.e. 10⁻¹² USD per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PricePerMillion(u64);

/// A cost in 10⁻¹² USD, not yet rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ExactCost(u128);

/// Why a decimal amount was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an amount; write a number such as 10 or 0.25, with at most 6 digits after the point"
)]
pub struct InvalidAmount(String);

/// A share of 1/10,000. Used for what is added to a provider's cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BasisPoints(u32);

impl BasisPoints {
    /// Nothing is added.
    pub const ZERO: Self = Self(0);
    /// The most that is taken: tenfold cost.
    pub const MAX: Self = Self(90_000);

    /// This many 1/10,000; `None` above [`Self::MAX`].
    #[must_use]
    pub const fn new(points: u32) -> Option<Self> {
        if points <= Self::MAX.0 {
            Some(Self(points))
        } else {
            None
        }
    }

    /// The number of 1/10,000.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl MicroUsd {
    /// No money: 0 USD.
    pub const ZERO: Self = Self(0);
    /// The largest amount that the books take: what fits a signed 64-bit integer.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// The sum; `None` above [`Self::MAX`].
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) if sum <= Self::MAX.0 => Some(Self(sum)),
            _ => None,
        }
    }

    /// The difference; `None` below zero.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(rest) => Some(Self(rest)),
            None => None,
        }
    }

    /// The difference, or nothing where `other` is more.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Reads decimal USD such as `10`, `0.5` or `0.000001`, exactly or not at all.
    ///
    /// # Errors
    /// On a sign, more than 6 fractional digits that are not zero, or more than [`Self::MAX`].
    pub fn from_usd(decimal: &str) -> Result<Self, InvalidAmount> {
        parse_scaled(decimal, 6)
            .map(Self)
            .filter(|amount| *amount <= Self::MAX)
            .ok_or_else(|| InvalidAmount(decimal.to_owned()))
    }

    /// Reads decimal USD as a provider writes it, with any number of digits, rounded up to 10⁻⁶ USD;
    /// `None` where it is negative, too large or no number.
    #[must_use]
    pub fn from_usd_rounded_up(decimal: &str) -> Option<Self> {
        let (whole, has_more) = parse_parts(decimal, 6)?;
        whole.checked_add(u64::from(has_more)).map(Self)
    }

    /// Reads a balance in decimal USD as a provider writes it, rounded down to 10⁻⁶ USD; what is
    /// negative is nothing. `None` where it is too large or no number.
    #[must_use]
    pub fn from_usd_rounded_down(decimal: &str) -> Option<Self> {
        match decimal.strip_prefix('-') {
            Some(debt) => parse_parts(debt, 6).map(|_| Self::ZERO),
            None => parse_parts(decimal, 6).map(|(whole, _)| Self(whole)),
        }
    }

    /// An amount of this many 10⁻⁶ USD.
    #[must_use]
    pub const fn new(micro: u64) -> Self {
        Self(micro)
    }

    /// The number of 10⁻⁶ USD.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for MicroUsd {
    /// Decimal USD with six digits, as headers and receipts show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl MicroUsd {
    /// Decimal USD with six digits, such as `0.000123`, written without the formatter: every answer
    /// shows a dozen amounts.
    #[must_use]
    pub fn text(self) -> AmountText {
        let mut text = [b'0'; AmountText::LEN];
        let (mut at, mut rest) = (text.len(), self.0);
        while rest > 0 || at > AmountText::POINT - 1 {
            at -= 1;
            if at == AmountText::POINT {
                text[at] = b'.';
                continue;
            }
            text[at] = b'0' + u8::try_from(rest % 10).expect("a digit is below ten");
            rest /= 10;
        }
        AmountText { text, at }
    }
}

/// The text of an amount, on the stack.
#[derive(Debug, Clone, Copy)]
pub struct AmountText {
    text: [u8; Self::LEN],
    at: usize,
}

impl AmountText {
    /// 14 digits, the point and 6 more.
    const LEN: usize = 21;
    const POINT: usize = 14;

    /// The text, such as `0.000123`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("digits are ASCII")
    }

    /// The bytes of the text, all of them ASCII.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[self.at..]
    }
}

impl PricePerMillion {
    /// A price of this many 10⁻⁶ USD per million tokens.
    #[must_use]
    pub const fn from_micro(micro: u64) -> Self {
        Self(micro)
    }

    /// The number of 10⁻⁶ USD per million tokens.
    #[must_use]
    pub const fn micro(self) -> u64 {
        self.0
    }

    /// The price times `numerator / denominator`, rounded up; `None` on overflow or for a
    /// denominator of 0.
    #[must_use]
    pub fn times(self, numerator: u32, denominator: u32) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let product = u128::from(self.0) * u128::from(numerator);
        u64::try_from(product.div_ceil(u128::from(denominator)))
            .ok()
            .map(Self)
    }

    /// Reads a decimal price in USD per million tokens, exactly or not at all.
    ///
    /// # Errors
    /// On a sign, an exponent, more than 6 fractional digits that are not zero, or overflow.
    pub fn from_usd_per_million(decimal: &str) -> Result<Self, InvalidAmount> {
        parse_scaled(decimal, 6)
            .map(Self)
            .ok_or_else(|| InvalidAmount(decimal.to_owned()))
    }

    /// Reads a decimal price in USD per token, as OpenRouter lists them.
    ///
    /// # Errors
    /// As [`Self::from_usd_per_million`], at 12 fractional digits; negative sentinels are errors.
    pub fn from_usd_per_token(decimal: &str) -> Result<Self, InvalidAmount> {
        parse_scaled(decimal, 12)
            .map(Self)
            .ok_or_else(|| InvalidAmount(decimal.to_owned()))
    }
}

impl ExactCost {
    /// No cost: 0 USD.
    pub const ZERO: Self = Self(0);

    /// Adds `tokens` at `price`; `None` on overflow.
    #[must_use]
    pub fn plus(self, price: PricePerMillion, tokens: u64) -> Option<Self> {
        u128::from(price.0)
            .checked_mul(u128::from(tokens))
            .and_then(|cost| self.0.checked_add(cost))
            .map(Self)
    }

    /// Adds `count` times a flat amount, e.g. a price per search or per request.
    #[must_use]
    pub fn plus_each(self, each: MicroUsd, count: u64) -> Option<Self> {
        u128::from(each.0)
            .checked_mul(1_000_000)?
            .checked_mul(u128::from(count))
            .and_then(|cost| self.0.checked_add(cost))
            .map(Self)
    }

    /// Rounds up to 10⁻⁶ USD, once; `None` when it does not fit.
    #[must_use]
    pub fn charge(self) -> Option<MicroUsd> {
        self.charge_with(BasisPoints::ZERO)
    }

    /// The cost and `spread` on top of it, rounded up to 10⁻⁶ USD once, at the end; `None` when it
    /// does not fit.
    #[must_use]
    pub fn charge_with(self, spread: BasisPoints) -> Option<MicroUsd> {
        let scaled = self.0.checked_mul(10_000 + u128::from(spread.0))?;
        u64::try_from(scaled.div_ceil(10_000 * 1_000_000))
            .ok()
            .map(MicroUsd)
            .filter(|amount| *amount <= MicroUsd::MAX)
    }

    /// The number of 10⁻¹² USD.
    #[must_use]
    pub const fn pico(self) -> u128 {
        self.0
    }
}

/// A decimal times ten to the power of `digits`, exactly or not at all.
fn parse_scaled(decimal: &str, digits: usize) -> Option<u64> {
    match parse_parts(decimal, digits)? {
        (whole, false) => Some(whole),
        (_, true) => None,
    }
}

/// The whole part of a decimal times ten to the power of `digits`, and whether there is more.
fn parse_parts(decimal: &str, digits: usize) -> Option<(u64, bool)> {
    let (mantissa, exponent) = match decimal.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (decimal, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty()
        || !whole
            .bytes()
            .chain(fraction.bytes())
            .all(|b| b.is_ascii_digit())
    {
        return None;
    }
    if exponent == 0 && fraction.len() <= digits {
        // As nearly all amounts are written.
        let missing = u32::try_from(digits - fraction.len()).ok()?;
        let mut digits = whole.bytes().chain(fraction.bytes());
        let value = digits.try_fold(0_u64, |value, digit| {
            value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        })?;
        return Some((value.checked_mul(10u64.checked_pow(missing)?)?, false));
    }
    let all: String = format!("{whole}{fraction}");
    let scale =
        i32::try_from(digits).ok()?.checked_add(exponent)? - i32::try_from(fraction.len()).ok()?;
    let value = all.trim_start_matches('0');
    if value.is_empty() {
        return Some((0, false));
    }
    if scale >= 0 {
        let factor = 10u64.checked_pow(u32::try_from(scale).ok()?)?;
        let whole = value.parse::<u64>().ok()?.checked_mul(factor)?;
        return Some((whole, false));
    }
    let cut = usize::try_from(scale.unsigned_abs()).ok()?;
    let (kept, lost) = value.split_at(value.len().saturating_sub(cut));
    let has_more = lost.bytes().any(|b| b != b'0');
    match kept {
        "" => Some((0, has_more)),
        kept => Some((kept.parse().ok()?, has_more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_parse_exactly_or_not_at_all() {
        let per_million = |s| {
            PricePerMillion::from_usd_per_million(s)
                .ok()
                .map(PricePerMillion::micro)
        };
        assert_eq!(per_million("0.286"), Some(286_000));
        assert_eq!(per_million("15"), Some(15_000_000));
        assert_eq!(per_million("0.50"), Some(500_000));
        assert_eq!(per_million("0.0000001"), None);
        assert_eq!(per_million("-1"), None);
        assert_eq!(per_million("1,5"), None);
        assert_eq!(per_million(""), None);
        let per_token = |s| {
            PricePerMillion::from_usd_per_token(s)
                .ok()
                .map(PricePerMillion::micro)
        };
        assert_eq!(per_token("0.000004"), Some(4_000_000));
        assert_eq!(per_token("4e-6"), Some(4_000_000));
        assert_eq!(per_token("-1"), None);
    }

    #[test]
    fn amounts_of_a_provider_are_rounded_up_to_whole_micro_usd() {
        for (text, micro) in [
            ("0", Some(0)),
            ("0.00", Some(0)),
            ("1.5e-6", Some(2)),
            ("1.2345678901234567e-05", Some(13)),
            ("0.000000000000000000000001", Some(1)),
            ("0.001", Some(1_000)),
            ("2", Some(2_000_000)),
            ("-1", None),
            ("", None),
            ("1e40", None),
        ] {
            assert_eq!(
                MicroUsd::from_usd_rounded_up(text).map(MicroUsd::get),
                micro,
                "{text}"
            );
        }
    }

    #[test]
    fn the_charge_is_rounded_up_once() {
        let price = PricePerMillion::from_micro(1);
        let cost = ExactCost::ZERO
            .plus(price, 1)
            .unwrap()
            .plus(price, 1)
            .unwrap();
        assert_eq!(cost.charge(), Some(MicroUsd::new(1)));
        assert_eq!(MicroUsd::new(1_858).to_string(), "0.001858");
        assert_eq!(
            ExactCost::ZERO
                .plus(PricePerMillion::from_micro(u64::MAX), u64::MAX)
                .unwrap()
                .charge(),
            None
        );
    }
}

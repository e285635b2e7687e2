//! One million priced calls against whole numbers of any size.
//!
//! The oracle never divides: a charge is right exactly if it covers the cost and one unit less
//! would not, which can be said by multiplying alone.

use std::cmp::Ordering;

use bardo_ledger::bill;
use bardo_types::model::Price;
use bardo_types::money::{BasisPoints, ExactCost, MicroUsd, PricePerMillion};
use bardo_types::usage::Usage;
use proptest::prelude::*;

use crate::chance::{Chance, Replay, only_seed};

const CALLS: u64 = 1_000_000;

/// A whole number below 2³²⁰, in digits of 64 bits, the lowest first.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Natural([u64; 5]);

impl Natural {
    fn of(number: u64) -> Self {
        Self([number, 0, 0, 0, 0])
    }

    fn plus(self, other: Self) -> Self {
        self.digits(|at, digit| digit + u128::from(other.0[at]))
    }

    fn times(self, factor: u64) -> Self {
        self.digits(|_, digit| digit * u128::from(factor))
    }

    /// As on paper: digit by digit, from the lowest, with a carry.
    fn digits(self, of: impl Fn(usize, u128) -> u128) -> Self {
        let (mut result, mut carry) = (Self::default(), 0);
        for (at, digit) in self.0.into_iter().enumerate() {
            let total = of(at, u128::from(digit)) + carry;
            result.0[at] = (total & u128::from(u64::MAX)) as u64;
            carry = total >> 64;
        }
        assert_eq!(carry, 0, "five digits are enough");
        result
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

/// Tokens and prices of one call, by class.
struct Call {
    tokens: [u64; 5],
    prices: [u64; 5],
    points: u32,
}

impl Call {
    fn random(chance: &mut Chance) -> Self {
        // Mostly what occurs, at times what barely fits, at times what does not.
        let (token_bits, price_bits) = match chance.below(20) {
            0 => (64, 64),
            1 => (40, 40),
            2..=4 => (32, 30),
            _ => (20, 27),
        };
        Self {
            tokens: std::array::from_fn(|_| chance.scale(token_bits)),
            prices: std::array::from_fn(|_| chance.scale(price_bits)),
            points: match chance.below(4) {
                0 => *chance.pick(&[0, 400, 750, 800, 1_500, 2_000, 2_500, 90_000]),
                _ => u32::try_from(chance.below(90_001)).expect("small"),
            },
        }
    }

    fn usage(&self) -> Usage {
        let [
            fresh_input,
            cache_read,
            cache_write_5m,
            cache_write_1h,
            output,
        ] = self.tokens;
        Usage {
            fresh_input,
            cache_read,
            cache_write_5m,
            cache_write_1h,
            output,
            ..Usage::default()
        }
    }

    fn price(&self) -> Price {
        let [input, read, write_5m, write_1h, output] =
            self.prices.map(PricePerMillion::from_micro);
        Price {
            input,
            output,
            cache_read: Some(read),
            cache_write_5m: Some(write_5m),
            cache_write_1h: Some(write_1h),
            ..Price::default()
        }
    }

    fn rate(&self) -> BasisPoints {
        BasisPoints::new(self.points).expect("in range")
    }

    /// The cost in 10⁻¹² USD.
    fn exact(&self) -> Natural {
        self.tokens
            .iter()
            .zip(self.prices)
            .fold(Natural::default(), |sum, (tokens, price)| {
                sum.plus(Natural::of(*tokens).times(price))
            })
    }
}

/// Whether `micro` is the least number of 10⁻⁶ USD that covers `pico` and the spread on it:
/// micro × 10⁶ × 10⁴ ≥ pico × (10⁴ + points), and micro − 1 is not.
fn is_rounded_up(micro: u64, pico: Natural, points: u32) -> bool {
    let due = pico.times(10_000 + u64::from(points));
    let paid = |micro: u64| Natural::of(micro).times(1_000_000).times(10_000);
    paid(micro) >= due && (micro == 0 || paid(micro - 1) < due)
}

/// Whether it is more than the books take.
fn is_out_of_range(pico: Natural, points: u32) -> bool {
    let most = Natural::of(MicroUsd::MAX.get());
    pico.times(10_000 + u64::from(points)) > most.times(1_000_000).times(10_000)
}

fn check(call: &Call) -> bool {
    let exact = call.exact();
    let Some(bill) = bill(&call.usage(), &call.price(), call.rate()) else {
        // What is refused is out of range, or too large to be multiplied in 128 bits.
        let limit = Natural::of(u64::MAX).times(u64::MAX);
        assert!(
            is_out_of_range(exact, call.points) || exact.times(100_000) > limit,
            "a bill that fits was refused"
        );
        return false;
    };
    assert!(is_rounded_up(bill.charge.get(), exact, call.points));
    assert!(is_rounded_up(bill.provider_cost.get(), exact, 0));
    assert_eq!(
        bill.provider_cost.get() + bill.spread.get(),
        bill.charge.get()
    );
    let pico = bill.exact.pico();
    let (high, low) = ((pico >> 64) as u64, (pico & u128::from(u64::MAX)) as u64);
    let shifted = Natural::of(high).times(1 << 32).times(1 << 32);
    assert!(shifted.plus(Natural::of(low)) == exact);
    true
}

#[test]
fn a_million_calls_are_billed_as_the_oracle_does() {
    let seed = only_seed().unwrap_or(11);
    let _replay = Replay(seed);
    let mut chance = Chance::new(seed);
    let billed: u64 = (0..CALLS)
        .map(|_| u64::from(check(&Call::random(&mut chance))))
        .sum();
    assert!((CALLS / 2..CALLS).contains(&billed), "both kinds: {billed}");
}

#[test]
fn flat_prices_are_charged_as_the_oracle_does() {
    let seed = only_seed().unwrap_or(12);
    let _replay = Replay(seed);
    let mut chance = Chance::new(seed);
    for _ in 0..CALLS / 10 {
        let call = Call::random(&mut chance);
        let (each, count) = (chance.scale(40), chance.scale(20));
        let Some(cost) = call.usage().cost(&call.price()) else {
            continue;
        };
        let Some(cost) = cost.plus_each(MicroUsd::new(each), count) else {
            continue;
        };
        let exact = call
            .exact()
            .plus(Natural::of(each).times(count).times(1_000_000));
        match cost.charge_with(call.rate()) {
            Some(charge) => assert!(is_rounded_up(charge.get(), exact, call.points)),
            None => assert!(
                is_out_of_range(exact, call.points)
                    || exact.times(100_000) > Natural::of(u64::MAX).times(u64::MAX)
            ),
        }
    }
}

proptest! {
    /// Rounding happens once: the parts of a call, each charged alone, never come to less than
    /// the whole, and to at most a unit more each.
    #[test]
    fn the_parts_of_a_call_come_to_no_less_than_the_whole(
        parts in prop::collection::vec((0..10_000_000_u64, 0..100_000_000_u64), 1..8),
        points in 0..=90_000_u32,
    ) {
        let rate = BasisPoints::new(points).expect("in range");
        let cost = |(tokens, price): (u64, u64)| {
            ExactCost::ZERO
                .plus(PricePerMillion::from_micro(price), tokens)
                .expect("small")
        };
        let alone: u64 = parts
            .iter()
            .map(|part| cost(*part).charge_with(rate).expect("small").get())
            .sum();
        let together = parts
            .iter()
            .try_fold(ExactCost::ZERO, |sum, (tokens, price)| {
                sum.plus(PricePerMillion::from_micro(*price), *tokens)
            })
            .expect("small");
        let whole = together.charge_with(rate).expect("small").get();
        prop_assert!(whole <= alone);
        prop_assert!(alone < whole + parts.len() as u64);
        let sum: u128 = parts.iter().map(|part| cost(*part).pico()).sum();
        prop_assert_eq!(together.pico(), sum);
    }

    #[test]
    fn a_bill_never_loses_to_the_provider_and_grows_with_its_parts(
        tokens: [u32; 5],
        prices: [u32; 5],
        points in 0..=90_000_u32,
        more in 1..1_000_u64,
        class in 0..5_usize,
    ) {
        let call = Call {
            tokens: tokens.map(u64::from),
            prices: prices.map(u64::from),
            points,
        };
        let before = bill(&call.usage(), &call.price(), call.rate()).expect("in range");
        prop_assert!(before.provider_cost <= before.charge);
        let mut larger = call;
        larger.tokens[class] += more;
        let after = bill(&larger.usage(), &larger.price(), larger.rate()).expect("in range");
        prop_assert!(after.charge >= before.charge);
        prop_assert!(after.exact.pico() - before.exact.pico()
            == u128::from(more) * u128::from(larger.prices[class]));
    }
}

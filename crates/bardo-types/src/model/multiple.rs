//! Prices as a multiple of a list's.

use crate::money::PricePerMillion;

use super::{LongContext, Price};

impl Price {
    /// The list with all prices of tokens times `numerator / denominator`, each rounded up. Fees per
    /// search and per request stay. `None` on overflow or for a denominator of 0.
    #[must_use]
    pub fn tokens_times(&self, numerator: u32, denominator: u32) -> Option<Self> {
        let times = |price: PricePerMillion| price.times(numerator, denominator);
        let listed = |price: Option<PricePerMillion>| match price {
            Some(price) => times(price).map(Some),
            None => Some(None),
        };
        let long_context = match self.long_context {
            Some(long) => Some(LongContext {
                above: long.above,
                input: times(long.input)?,
                output: times(long.output)?,
                cache_read: listed(long.cache_read)?,
                cache_write_5m: listed(long.cache_write_5m)?,
                cache_write_1h: listed(long.cache_write_1h)?,
            }),
            None => None,
        };
        Some(Self {
            input: times(self.input)?,
            output: times(self.output)?,
            cache_read: listed(self.cache_read)?,
            cache_write_5m: listed(self.cache_write_5m)?,
            cache_write_1h: listed(self.cache_write_1h)?,
            audio_input: listed(self.audio_input)?,
            audio_output: listed(self.audio_output)?,
            reasoning: listed(self.reasoning)?,
            web_search: self.web_search,
            request: self.request,
            long_context,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::MicroUsd;

    fn of(micro: u64) -> PricePerMillion {
        PricePerMillion::from_micro(micro)
    }

    #[test]
    fn all_prices_of_tokens_rise_and_fees_stay() {
        let long = LongContext {
            above: 200_000,
            input: of(10),
            output: of(20),
            cache_read: Some(of(30)),
            cache_write_5m: Some(of(40)),
            cache_write_1h: Some(of(50)),
        };
        let list = Price {
            input: of(100),
            output: of(200),
            cache_read: Some(of(1)),
            cache_write_5m: None,
            cache_write_1h: Some(of(300)),
            audio_input: Some(of(400)),
            audio_output: Some(of(500)),
            reasoning: Some(of(600)),
            web_search: Some(MicroUsd::new(10_000)),
            request: Some(MicroUsd::new(5)),
            long_context: Some(long),
        };
        let dearer = list.tokens_times(11, 10).expect("small prices");
        let expected = Price {
            input: of(110),
            output: of(220),
            cache_read: Some(of(2)),
            cache_write_5m: None,
            cache_write_1h: Some(of(330)),
            audio_input: Some(of(440)),
            audio_output: Some(of(550)),
            reasoning: Some(of(660)),
            long_context: Some(LongContext {
                above: 200_000,
                input: of(11),
                output: of(22),
                cache_read: Some(of(33)),
                cache_write_5m: Some(of(44)),
                cache_write_1h: Some(of(55)),
            }),
            ..list
        };
        assert_eq!(dearer, expected);
        assert_eq!(list.tokens_times(1, 1), Some(list));
    }

    #[test]
    fn a_price_that_cannot_be_computed_is_none() {
        let list = Price {
            output: of(u64::MAX),
            ..Price::default()
        };
        assert_eq!(list.tokens_times(11, 10), None);
        assert_eq!(Price::default().tokens_times(1, 0), None);
    }
}

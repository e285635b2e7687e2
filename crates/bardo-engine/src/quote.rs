//! What a request can come to at worst, and how much of that is held.
//!
//! Pure integers. Prompts are sized by their bytes, which is never far too little and takes no
//! time; what is charged in the end rests on what the provider counted.

use bardo_types::model::{Dialect, Price};
use bardo_types::money::{BasisPoints, ExactCost, MicroUsd, PricePerMillion};
use bardo_wire::json::TopLevel;

/// Bytes of JSON that a token takes at least, over a whole prompt.
const TOKEN_BYTES: u64 = 3;
/// A run of base64 shorter than this is taken for text.
const MEDIA_MIN: usize = 4_096;
/// Tokens that an image comes to at most.
const IMAGE_TOKENS: u64 = 6_000;
/// Tokens that any other medium comes to at least, and the bytes of it that come to one.
const MEDIA_TOKENS: u64 = 1_600;
const MEDIA_TOKEN_BYTES: u64 = 32;
/// Searches that are reckoned with where a request offers them to the model.
const SEARCHES: u64 = 5;

/// What is known of a request's size before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Tokens of the prompt, at most.
    pub(crate) prompt: u64,
    /// Tokens of output per answer, where the caller set a limit.
    pub(crate) output: Option<u64>,
    /// How many answers are asked for.
    pub(crate) choices: u64,
    searches: u64,
    hears: bool,
    speaks: bool,
}

impl Size {
    pub(crate) fn of(dialect: Dialect, top: &TopLevel<'_>) -> Self {
        let number = |key: &str| top.get(key)?.trim().parse::<u64>().ok();
        let output = match dialect {
            Dialect::Chat => number("max_completion_tokens").max(number("max_tokens")),
            Dialect::Responses => number("max_output_tokens"),
            Dialect::Anthropic | Dialect::Completions | Dialect::Gemini => number("max_tokens"),
        };
        let choices = match dialect {
            Dialect::Chat => number("n"),
            Dialect::Completions => number("best_of").max(number("n")),
            Dialect::Responses | Dialect::Anthropic | Dialect::Gemini => None,
        };
        let body = top.bytes();
        let mentions = |word: &str| memchr::memmem::find(body, word.as_bytes()).is_some();
        let offers_search = top.get("tools").is_some() && mentions("web_search")
            || top.get("web_search_options").is_some()
            || top.get("plugins").is_some();
        Self {
            prompt: prompt_bound(body),
            output,
            choices: choices.unwrap_or(1).max(1),
            searches: if offers_search { SEARCHES } else { 0 },
            hears: dialect == Dialect::Chat && mentions("input_audio"),
            speaks: top.get("audio").is_some(),
        }
    }
}

/// More tokens than a body comes to.
fn prompt_bound(body: &[u8]) -> u64 {
    let (mut media_bytes, mut media_tokens) = (0, 0);
    let mut at = MEDIA_MIN;
    // A long run of base64 is met by looking here and there.
    while at + 64 <= body.len() {
        if body[at..at + 64].iter().all(|&byte| is_base64(byte)) {
            let start = memchr::memrchr(b'"', &body[..at]).map_or(0, |quote| quote + 1);
            let end = memchr::memchr(b'"', &body[at..]).map_or(body.len(), |quote| at + quote);
            if end - start >= MEDIA_MIN {
                let before = &body[start.saturating_sub(96)..(start + 32).min(end)];
                let length = (end - start) as u64;
                media_bytes += length;
                media_tokens += if memchr::memmem::find(before, b"image").is_some() {
                    IMAGE_TOKENS
                } else {
                    MEDIA_TOKENS.max(length / MEDIA_TOKEN_BYTES)
                };
            }
            at = end;
        }
        at += MEDIA_MIN;
    }
    (body.len() as u64 - media_bytes) / TOKEN_BYTES + media_tokens + 1
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte)
}

/// What a request can cost at the dearest of its backends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quote {
    /// Whatever is written: the prompt, searches, the request itself.
    fixed: ExactCost,
    per_token: PricePerMillion,
    rate: BasisPoints,
}

impl Quote {
    /// The dearest of everything; `None` without any price, or out of range.
    pub(crate) fn dearest(
        prices: impl IntoIterator<Item = Price>,
        size: &Size,
        rate: BasisPoints,
    ) -> Option<Self> {
        let mut quote: Option<Self> = None;
        for price in prices {
            let one = Self::at(&price, size, rate)?;
            quote = Some(match quote {
                None => one,
                Some(known) => Self {
                    fixed: known.fixed.max(one.fixed),
                    per_token: known.per_token.max(one.per_token),
                    rate,
                },
            });
        }
        quote
    }

    fn at(price: &Price, size: &Size, rate: BasisPoints) -> Option<Self> {
        let written = price.cache_write_5m.max(price.cache_write_1h);
        let heard = price.audio_input.filter(|_| size.hears);
        let input = price
            .input
            .max(written.unwrap_or_default())
            .max(heard.unwrap_or_default());
        let spoken = price.audio_output.filter(|_| size.speaks);
        let output = price
            .output
            .max(price.reasoning.unwrap_or_default())
            .max(spoken.unwrap_or_default());
        let fixed = ExactCost::ZERO
            .plus(input, size.prompt)?
            .plus_each(price.web_search.unwrap_or_default(), size.searches)?
            .plus_each(price.request.unwrap_or_default(), 1)?;
        Some(Self {
            fixed,
            per_token: output,
            rate,
        })
    }

    /// What so many tokens of output come to with all else, spread included; `None` out of range.
    pub(crate) fn charge(&self, output: u64) -> Option<MicroUsd> {
        self.fixed
            .plus(self.per_token, output)?
            .charge_with(self.rate)
    }

    /// The most tokens of output that `amount` pays for with all else.
    pub(crate) fn output_within(&self, amount: MicroUsd) -> u64 {
        let cost =
            u128::from(amount.get()) * 1_000_000 * 10_000 / (10_000 + u128::from(self.rate.get()));
        let Some(rest) = cost.checked_sub(self.fixed.pico()) else {
            return 0;
        };
        match u128::from(self.per_token.micro()) {
            0 => u64::MAX,
            each => u64::try_from(rest / each).unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(input: u64, output: u64) -> Price {
        Price {
            input: PricePerMillion::from_micro(input),
            output: PricePerMillion::from_micro(output),
            ..Price::default()
        }
    }

    fn size(body: &str) -> Size {
        Size::of(
            Dialect::Chat,
            &bardo_wire::json::scan(body.as_bytes()).unwrap(),
        )
    }

    #[test]
    fn limits_and_choices_are_read_as_each_dialect_writes_them() {
        let read = |dialect, body: &str| {
            let top = bardo_wire::json::scan(body.as_bytes()).unwrap();
            let size = Size::of(dialect, &top);
            (size.output, size.choices)
        };
        let body =
            r#"{"max_tokens":5,"max_completion_tokens":7,"max_output_tokens":9,"n":3,"best_of":4}"#;
        assert_eq!(read(Dialect::Chat, body), (Some(7), 3));
        assert_eq!(read(Dialect::Responses, body), (Some(9), 1));
        assert_eq!(read(Dialect::Anthropic, body), (Some(5), 1));
        assert_eq!(read(Dialect::Completions, body), (Some(5), 4));
        assert_eq!(read(Dialect::Chat, r#"{"max_tokens":null}"#), (None, 1));
    }

    #[test]
    fn media_are_not_taken_for_text() {
        let text = "word ".repeat(20_000);
        assert!(size(&format!(r#"{{"a":"{text}"}}"#)).prompt > 33_000);
        let data = "iVBORw0KGgo".repeat(20_000);
        let image = size(&format!(r#"{{"url":"data:image/png;base64,{data}"}}"#)).prompt;
        assert!((6_000..6_100).contains(&image), "{image}");
        let image = format!(r#"{{"type":"base64","media_type":"image/png","data":"{data}"}}"#);
        assert!((6_000..6_100).contains(&size(&image).prompt));
        let document = size(&format!(
            r#"{{"media_type":"application/pdf","data":"{data}"}}"#
        ))
        .prompt;
        assert!((6_000..8_000).contains(&document), "{document}");
    }

    #[test]
    fn the_dearest_price_of_each_class_counts() {
        let cached = Price {
            cache_write_1h: Some(PricePerMillion::from_micro(20_000_000)),
            ..price(10_000_000, 30_000_000)
        };
        let size = Size {
            prompt: 100,
            output: None,
            choices: 1,
            searches: 0,
            hears: false,
            speaks: false,
        };
        let rate = BasisPoints::new(2_000).unwrap();
        let quote = Quote::dearest([cached, price(1_000_000, 90_000_000)], &size, rate).unwrap();
        // (100 * 20 + 10 * 90) * 1.2
        assert_eq!(quote.charge(10), Some(MicroUsd::new(3_480)));
        assert_eq!(Quote::dearest([], &size, rate), None);
    }

    #[test]
    fn what_fits_an_amount_costs_no_more_and_one_more_would() {
        let size = size(r#"{"messages":"hello there, this is a prompt"}"#);
        let rate = BasisPoints::new(1_500).unwrap();
        let quote = Quote::dearest([price(3_000_000, 15_000_000)], &size, rate).unwrap();
        for micro in [1, 50, 77, 1_000, 999_999, 12_345_678] {
            let amount = MicroUsd::new(micro);
            let tokens = quote.output_within(amount);
            if tokens > 0 {
                assert!(quote.charge(tokens).unwrap() <= amount, "{micro}");
            }
            assert!(quote.charge(tokens + 1).unwrap() > amount, "{micro}");
        }
    }
}

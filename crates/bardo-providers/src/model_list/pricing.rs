//! What each service says of prices. A price is read as an exact decimal or not at all, and a row
//! whose main prices cannot be read has none.

use bardo_types::json::RawJson;
use bardo_types::model::{LongContext, Price};
use bardo_types::money::{MicroUsd, PricePerMillion};
use serde::Deserialize;

/// A JSON number or string as the exact decimal it was written as.
fn decimal(raw: &RawJson) -> &str {
    raw.as_str().trim_matches('"')
}

fn per_million(raw: Option<&RawJson>) -> Option<PricePerMillion> {
    PricePerMillion::from_usd_per_million(decimal(raw?)).ok()
}

/// Nobody asks more for a million tokens, or so much for a single request, in USD: whoever lists
/// it has made a mistake, most likely in the unit.
const MILLION_MAX: f64 = 10_000.0;
const EACH_MAX: f64 = 100.0;

/// Finds what no price can be, as far as the price is stated at all: no number, a negative one, or
/// an absurd one.
fn plausible<'a>(
    prices: impl IntoIterator<Item = Option<&'a RawJson>>,
    highest: f64,
) -> Result<(), &'static str> {
    for text in prices.into_iter().flatten().map(decimal) {
        match text.parse::<f64>() {
            _ if matches!(text, "" | "null") => {}
            Err(_) => return Err("its price is not a number"),
            Ok(price) if !price.is_finite() => return Err("its price is not a number"),
            Ok(price) if price < 0.0 => return Err("its price is negative"),
            Ok(price) if price > highest => return Err("its price is implausibly high"),
            Ok(_) => {}
        }
    }
    Ok(())
}

/// A flat amount; `Some(None)` where there is none, `None` where it cannot be read.
fn flat(raw: Option<&RawJson>) -> Option<Option<MicroUsd>> {
    match raw {
        None => Some(None),
        Some(raw) => Some(Some(MicroUsd::from_usd(decimal(raw)).ok()?)),
    }
}

/// Fills in what a list leaves out: it has a place for a price of cache writes, so where that is
/// empty they cost what other prompt tokens do. Anthropic's always cost more, so there the general
/// rule stands (see [`Price::cache_write_5m_or_more`]).
fn with_unlisted_writes(mut price: Price, vendor: &str) -> Price {
    if price.cache_write_5m.is_none() && vendor != "anthropic" {
        price.cache_write_5m = Some(price.input);
        price.cache_write_1h = price.cache_write_1h.or(Some(price.input));
        if let Some(long) = &mut price.long_context {
            long.cache_write_5m = long.cache_write_5m.or(Some(long.input));
            long.cache_write_1h = long.cache_write_1h.or(Some(long.input));
        }
    }
    price
}

/// One set of rates out of two: the dearer of each.
fn dearest(a: LongContext, b: LongContext) -> LongContext {
    LongContext {
        above: a.above.min(b.above),
        input: a.input.max(b.input),
        output: a.output.max(b.output),
        cache_read: either(a.cache_read, b.cache_read),
        cache_write_5m: either(a.cache_write_5m, b.cache_write_5m),
        cache_write_1h: either(a.cache_write_1h, b.cache_write_1h),
    }
}

/// The dearer of two prices; an absent one stands for the price of fresh input, which is dearer
/// than any cache read and cheaper than any write that it could be compared with.
fn either(a: Option<PricePerMillion>, b: Option<PricePerMillion>) -> Option<PricePerMillion> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        _ => None,
    }
}

/// Decimal strings in USD per token.
#[derive(Deserialize)]
pub(super) struct OpenRouterPrices {
    prompt: RawJson,
    completion: RawJson,
    request: Option<RawJson>,
    web_search: Option<RawJson>,
    audio: Option<RawJson>,
    audio_output: Option<RawJson>,
    internal_reasoning: Option<RawJson>,
    input_cache_read: Option<RawJson>,
    input_cache_write: Option<RawJson>,
    input_cache_write_1h: Option<RawJson>,
    discount: Option<RawJson>,
    #[serde(default)]
    overrides: Vec<Override>,
}

/// Other prices under a condition: a long prompt, or an hour of the day.
#[derive(Deserialize)]
struct Override {
    min_prompt_tokens: Option<u64>,
    utc_start: Option<RawJson>,
    utc_end: Option<RawJson>,
    utc_days: Option<RawJson>,
    prompt: Option<RawJson>,
    completion: Option<RawJson>,
    input_cache_read: Option<RawJson>,
    input_cache_write: Option<RawJson>,
    input_cache_write_1h: Option<RawJson>,
}

fn per_token(raw: Option<&RawJson>) -> Option<PricePerMillion> {
    PricePerMillion::from_usd_per_token(decimal(raw?)).ok()
}

impl OpenRouterPrices {
    /// Finds nonsense. A price of -1 stands for a router, whose price is that of the model it picks.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let stated = |raw: &&RawJson| decimal(raw) != "-1";
        let main = [&self.prompt, &self.completion].map(|raw| Some(raw).filter(stated));
        plausible(main, MILLION_MAX / 1e6)?;
        plausible([self.request.as_ref(), self.web_search.as_ref()], EACH_MAX)
    }

    pub(super) fn price(&self, vendor: &str) -> Option<Price> {
        // Zero says that there is no price beside that of the completion.
        let own = |raw: Option<&RawJson>| per_token(raw).filter(|price| price.micro() > 0);
        let mut price = Price {
            input: per_token(Some(&self.prompt))?,
            output: per_token(Some(&self.completion))?,
            cache_read: per_token(self.input_cache_read.as_ref()),
            cache_write_5m: per_token(self.input_cache_write.as_ref()),
            cache_write_1h: per_token(self.input_cache_write_1h.as_ref()),
            audio_input: own(self.audio.as_ref()),
            audio_output: own(self.audio_output.as_ref()),
            reasoning: own(self.internal_reasoning.as_ref()),
            web_search: flat(self.web_search.as_ref())?,
            request: flat(self.request.as_ref())?.filter(|fee| fee.get() > 0),
            long_context: None,
        };
        for change in &self.overrides {
            change.apply(&mut price)?;
        }
        let price = match &self.discount {
            Some(discount) => discounted(price, discount)?,
            None => price,
        };
        Some(with_unlisted_writes(price, vendor))
    }
}

impl Override {
    /// Later ones win; one that holds at some hours only raises, because a price may not change
    /// between quote and charge.
    fn apply(&self, price: &mut Price) -> Option<()> {
        let timed = [&self.utc_start, &self.utc_end, &self.utc_days]
            .iter()
            .any(|part| part.is_some());
        let change = |old: PricePerMillion, raw: &Option<RawJson>| match raw {
            None => Some(old),
            Some(raw) => {
                let new = per_token(Some(raw))?;
                Some(if timed { new.max(old) } else { new })
            }
        };
        let change_listed = |old: Option<PricePerMillion>, raw: &Option<RawJson>| match (old, raw) {
            (old, None) => Some(old),
            (Some(old), raw) => change(old, raw).map(Some),
            (None, Some(raw)) => per_token(Some(raw)).map(Some),
        };
        let base = price.long_context.unwrap_or(LongContext {
            above: u64::MAX,
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write_5m: price.cache_write_5m,
            cache_write_1h: price.cache_write_1h,
        });
        let changed = LongContext {
            above: self.min_prompt_tokens.unwrap_or(base.above).min(base.above),
            input: change(base.input, &self.prompt)?,
            output: change(base.output, &self.completion)?,
            cache_read: change_listed(base.cache_read, &self.input_cache_read)?,
            cache_write_5m: change_listed(base.cache_write_5m, &self.input_cache_write)?,
            cache_write_1h: change_listed(base.cache_write_1h, &self.input_cache_write_1h)?,
        };
        if self.min_prompt_tokens.is_some() {
            price.long_context = Some(match price.long_context {
                // Of several thresholds the lowest stands for all, at the dearest rates.
                Some(known) if self.min_prompt_tokens != Some(known.above) => {
                    dearest(known, changed)
                }
                _ => changed,
            });
            return Some(());
        }
        if price.long_context.is_some() {
            price.long_context = Some(changed);
        }
        price.input = change(price.input, &self.prompt)?;
        price.output = change(price.output, &self.completion)?;
        price.cache_read = change_listed(price.cache_read, &self.input_cache_read)?;
        price.cache_write_5m = change_listed(price.cache_write_5m, &self.input_cache_write)?;
        price.cache_write_1h = change_listed(price.cache_write_1h, &self.input_cache_write_1h)?;
        Some(())
    }
}

/// Prices per token less a share of them, rounded up.
fn discounted(price: Price, share: &RawJson) -> Option<Price> {
    const WHOLE: u32 = 1_000_000;
    let share = u32::try_from(MicroUsd::from_usd(decimal(share)).ok()?.get()).ok()?;
    let left = WHOLE.checked_sub(share)?;
    price.tokens_times(left, WHOLE)
}

/// Numbers in USD (and DIEM, which is worth one) per million tokens.
#[derive(Deserialize)]
pub(super) struct VenicePrices {
    input: Usd,
    output: Option<Usd>,
    cache_input: Option<Usd>,
    cache_write: Option<Usd>,
    extended: Option<Extended>,
}

/// Rates of a whole request above a threshold.
#[derive(Deserialize)]
struct Extended {
    context_token_threshold: u64,
    input: Usd,
    output: Usd,
    cache_input: Option<Usd>,
    cache_write: Option<Usd>,
}

#[derive(Deserialize)]
struct Usd {
    usd: RawJson,
}

fn usd(price: Option<&Usd>) -> Option<PricePerMillion> {
    per_million(price.map(|price| &price.usd))
}

impl VenicePrices {
    /// Refuses implausible prices.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let prices = [Some(&self.input), self.output.as_ref()];
        plausible(
            prices.map(|price| price.map(|price| &price.usd)),
            MILLION_MAX,
        )
    }

    pub(super) fn price(&self, vendor: &str) -> Option<Price> {
        let output = match &self.output {
            // Embeddings have none.
            None => PricePerMillion::default(),
            listed => usd(listed.as_ref())?,
        };
        let long_context = match &self.extended {
            None => None,
            Some(long) => Some(LongContext {
                above: long.context_token_threshold,
                input: usd(Some(&long.input))?,
                output: usd(Some(&long.output))?,
                cache_read: usd(long.cache_input.as_ref()),
                cache_write_5m: usd(long.cache_write.as_ref()),
                cache_write_1h: None,
            }),
        };
        let price = Price {
            input: usd(Some(&self.input))?,
            output,
            cache_read: usd(self.cache_input.as_ref()),
            cache_write_5m: usd(self.cache_write.as_ref()),
            long_context,
            ..Price::default()
        };
        Some(with_unlisted_writes(price, vendor))
    }
}

/// Numbers in USD per million tokens, or per request.
#[derive(Deserialize)]
pub(super) struct PerMillion {
    input: Option<RawJson>,
    output: Option<RawJson>,
    cache_read: Option<RawJson>,
    cache_write: Option<RawJson>,
    flat: Option<RawJson>,
    #[serde(default)]
    long_context: Vec<Threshold>,
}

/// Rates of a whole request above a threshold.
#[derive(Deserialize)]
struct Threshold {
    threshold: u64,
    #[serde(default)]
    inclusive: bool,
    input: RawJson,
    output: RawJson,
    cache_read: Option<RawJson>,
    cache_write: Option<RawJson>,
}

impl Threshold {
    fn rates(&self) -> Option<LongContext> {
        Some(LongContext {
            above: match self.inclusive {
                true => self.threshold.saturating_sub(1),
                false => self.threshold,
            },
            input: per_million(Some(&self.input))?,
            output: per_million(Some(&self.output))?,
            cache_read: per_million(self.cache_read.as_ref()),
            cache_write_5m: per_million(self.cache_write.as_ref()),
            cache_write_1h: None,
        })
    }
}

/// The price that is stated, unless it is nonsense.
pub(super) fn checked(
    pricing: Option<PerMillion>,
    vendor: &str,
) -> Result<Option<Price>, &'static str> {
    let Some(pricing) = pricing else {
        return Ok(None);
    };
    plausible(
        [pricing.input.as_ref(), pricing.output.as_ref()],
        MILLION_MAX,
    )?;
    plausible([pricing.flat.as_ref()], EACH_MAX)?;
    Ok(pricing.price(vendor))
}

impl PerMillion {
    fn price(&self, vendor: &str) -> Option<Price> {
        if let (None, None, Some(flat)) = (&self.input, &self.output, &self.flat) {
            return Some(Price {
                request: Some(MicroUsd::from_usd(decimal(flat)).ok()?),
                ..Price::default()
            });
        }
        let mut long_context = None;
        for threshold in &self.long_context {
            let rates = threshold.rates()?;
            long_context = Some(match long_context {
                Some(known) => dearest(known, rates),
                None => rates,
            });
        }
        let price = Price {
            input: per_million(self.input.as_ref())?,
            output: per_million(self.output.as_ref())?,
            cache_read: per_million(self.cache_read.as_ref()),
            cache_write_5m: per_million(self.cache_write.as_ref()),
            request: flat(self.flat.as_ref())?,
            long_context,
            ..Price::default()
        };
        Some(with_unlisted_writes(price, vendor))
    }
}

#[cfg(test)]
mod tests;

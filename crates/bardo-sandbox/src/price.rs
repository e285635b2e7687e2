//! List prices, as the resellers' own lists in this sandbox name them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

/// What a model costs, in micro-USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Price {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl Price {
    /// The cost of this many tokens in USD, rounded up to six decimals.
    pub(crate) fn cost(self, input: u64, output: u64) -> String {
        let pico = u128::from(input) * u128::from(self.input)
            + u128::from(output) * u128::from(self.output);
        let micro = pico.div_ceil(1_000_000);
        format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
    }
}

/// Every list, with the service that it belongs to and where it names prices.
const LISTS: &[(&str, &str, [&str; 2], u32)] = &[
    (
        "bankr",
        include_str!("../data/bankr.json"),
        ["/row/pricing/input", "/row/pricing/output"],
        6,
    ),
    (
        "blockrun",
        include_str!("../data/blockrun.json"),
        ["/pricing/input", "/pricing/output"],
        6,
    ),
    (
        "venice",
        include_str!("../data/venice.json"),
        [
            "/model_spec/pricing/input/usd",
            "/model_spec/pricing/output/usd",
        ],
        6,
    ),
    (
        "openrouter",
        include_str!("../data/openrouter.json"),
        ["/pricing/prompt", "/pricing/completion"],
        // These are per token.
        12,
    ),
];

type Prices = HashMap<(&'static str, String), Price>;

static PRICES: LazyLock<Prices> = LazyLock::new(|| {
    let mut prices = Prices::new();
    for (service, text, paths, scale) in LISTS {
        let list: Value = serde_json::from_str(text).unwrap_or_default();
        let rows = list.as_array().or(list["text"].as_array());
        for row in rows.into_iter().flatten() {
            let id = row["id"].as_str().or(row["row"]["id"].as_str());
            let [input, output] = paths.map(|path| amount(row.pointer(path)?, *scale));
            if let (Some(id), Some(input), Some(output)) = (id, input, output) {
                prices.insert((service, plain(id)), Price { input, output });
            }
        }
    }
    prices
});

/// The list price of a model at a service. What a maker sells itself costs what others pass on.
pub(crate) fn of(service: &str, model: &str) -> Option<Price> {
    if service == "local" {
        return None;
    }
    let model = plain(model);
    let own = LISTS.iter().find(|(name, ..)| *name == service);
    let anywhere = || ["openrouter", "bankr", "blockrun"].into_iter();
    let lists: Vec<&'static str> = match own {
        Some((name, ..)) => vec![name],
        None => anywhere().collect(),
    };
    lists
        .into_iter()
        .find_map(|list| PRICES.get(&(list, model.clone())).copied())
}

/// A model's name without its maker, dots as dashes: lists spell the same model differently.
fn plain(model: &str) -> String {
    let name = model.rsplit_once('/').map_or(model, |(_, name)| name);
    name.replace('.', "-").to_lowercase()
}

/// A decimal number times ten to the power of `scale`, as a whole number.
fn amount(value: &Value, scale: u32) -> Option<u64> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let scale = usize::try_from(scale).ok()?;
    if rest.len() > scale {
        return None;
    }
    format!("{whole}{rest:0<scale$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_costs_what_the_lists_say() {
        let price = |input, output| Some(Price { input, output });
        assert_eq!(
            of("anthropic", "claude-sonnet-5-5"),
            price(2_000_000, 10_000_000)
        );
        assert_eq!(
            of("openrouter", "openai/gpt-5.5"),
            price(5_000_000, 30_000_000)
        );
        assert_eq!(of("venice", "openai-gpt-5-5"), price(6_000_000, 36_000_000));
        assert_eq!(of("local", "llama-3"), None);
        assert_eq!(of("openai", "no-such-model"), None);
    }

    #[test]
    fn a_cost_is_rounded_up() {
        let price = of("anthropic", "claude-sonnet-5-5").expect("a price");
        assert_eq!(price.cost(1, 0), "0.000002");
        assert_eq!(price.cost(1_000_000, 1_000_000), "12.000000");
        let odd = Price {
            input: 1,
            output: 1,
        };
        assert_eq!(odd.cost(1, 0), "0.000001");
    }
}

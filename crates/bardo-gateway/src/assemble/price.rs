//! Prices from the configuration.

use bardo_types::model::Price;
use bardo_types::money::{InvalidAmount, MicroUsd, PricePerMillion};
use serde_json::Number;

use crate::config::PriceConfig;

/// The owner's price, exactly as written. Zero is a price; an absent key has no price of its own.
pub(super) fn read(config: &PriceConfig, place: &str) -> Result<Price, String> {
    let named = |key: &str, error: InvalidAmount| format!("`{place}.price.{key}`: {error}");
    let tokens = |key: &str, number: &Number| {
        PricePerMillion::from_usd_per_million(&number.to_string())
            .map_err(|error| named(key, error))
    };
    let maybe = |key: &str, number: &Option<Number>| match number {
        Some(number) => tokens(key, number).map(Some),
        None => Ok(None),
    };
    let flat = |key: &str, number: &Option<Number>| match number {
        Some(number) => MicroUsd::from_usd(&number.to_string())
            .map(Some)
            .map_err(|error| named(key, error)),
        None => Ok(None),
    };
    Ok(Price {
        input: tokens("input_per_million", &config.input_per_million)?,
        output: tokens("output_per_million", &config.output_per_million)?,
        cache_read: maybe("cache_read_per_million", &config.cache_read_per_million)?,
        cache_write_5m: maybe("cache_write_per_million", &config.cache_write_per_million)?,
        cache_write_1h: maybe(
            "cache_write_1h_per_million",
            &config.cache_write_1h_per_million,
        )?,
        audio_input: maybe("audio_input_per_million", &config.audio_input_per_million)?,
        audio_output: maybe("audio_output_per_million", &config.audio_output_per_million)?,
        reasoning: maybe("reasoning_per_million", &config.reasoning_per_million)?,
        web_search: flat("per_search", &config.per_search)?,
        request: flat("per_request", &config.per_request)?,
        long_context: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(json: &str) -> Result<Price, String> {
        read(&serde_json::from_str(json).unwrap(), "providers.local")
    }

    #[test]
    fn every_class_is_read_exactly() {
        let read = price(
            r#"{"input_per_million":1,"output_per_million":2.5,"cache_read_per_million":0.1,
                "cache_write_per_million":1.25,"cache_write_1h_per_million":2,"audio_input_per_million":32,
                "audio_output_per_million":64,"reasoning_per_million":3,"per_search":0.01,"per_request":0.000001}"#,
        )
        .unwrap();
        let micro = PricePerMillion::from_micro;
        assert_eq!(
            read,
            Price {
                input: micro(1_000_000),
                output: micro(2_500_000),
                cache_read: Some(micro(100_000)),
                cache_write_5m: Some(micro(1_250_000)),
                cache_write_1h: Some(micro(2_000_000)),
                audio_input: Some(micro(32_000_000)),
                audio_output: Some(micro(64_000_000)),
                reasoning: Some(micro(3_000_000)),
                web_search: Some(MicroUsd::new(10_000)),
                request: Some(MicroUsd::new(1)),
                long_context: None,
            }
        );
    }

    #[test]
    fn zero_is_a_price_and_refusals_name_the_key() {
        let free = price(r#"{"input_per_million":0,"output_per_million":0.0}"#).unwrap();
        assert_eq!(free, Price::default());
        let refusal = price(r#"{"input_per_million":-1,"output_per_million":0}"#).unwrap_err();
        assert!(
            refusal.starts_with("`providers.local.price.input_per_million`: `-1` is not"),
            "{refusal}"
        );
        assert!(
            price(r#"{"input_per_million":1,"output_per_million":1,"per_request":0.0000001}"#)
                .unwrap_err()
                .contains("per_request")
        );
    }
}

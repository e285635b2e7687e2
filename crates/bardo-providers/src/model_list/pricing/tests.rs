use super::*;

fn micro(price: PricePerMillion) -> u64 {
    price.micro()
}

fn openrouter(pricing: &str) -> Option<Price> {
    serde_json::from_str::<OpenRouterPrices>(pricing)
        .ok()?
        .price("openai")
}

fn per_million_list(pricing: &str, vendor: &str) -> Option<Price> {
    serde_json::from_str::<PerMillion>(pricing)
        .ok()?
        .price(vendor)
}

#[test]
fn openrouter_lists_every_class() {
    let price = openrouter(
        r#"{"prompt":"0.000004","completion":"0.00002","request":"0.002","image":"0","web_search":"0.01",
            "internal_reasoning":"0.00003","audio":"0.0001","input_cache_read":"0.0000002",
            "input_cache_write":"0.000005","input_cache_write_1h":"0.000008"}"#,
    )
    .unwrap();
    assert_eq!(micro(price.reasoning.unwrap()), 30_000_000);
    assert_eq!(micro(price.audio_input.unwrap()), 100_000_000);
    assert_eq!(price.web_search, Some(MicroUsd::new(10_000)));
    assert_eq!(price.request, Some(MicroUsd::new(2_000)));
    assert_eq!(micro(price.cache_write_1h.unwrap()), 8_000_000);
    assert_eq!(price.long_context, None);
}

#[test]
fn a_zero_beside_the_completion_is_no_price_of_its_own() {
    let price = openrouter(
        r#"{"prompt":"0.000001","completion":"0.000002","request":"0","internal_reasoning":"0","audio":"0"}"#,
    )
    .unwrap();
    assert_eq!(
        (price.reasoning, price.audio_input, price.request),
        (None, None, None)
    );
    assert_eq!(micro(price.cache_write_5m.unwrap()), 1_000_000);
}

#[test]
fn openrouter_reprices_long_prompts_key_by_key() {
    let price = openrouter(
        r#"{"prompt":"0.000004","completion":"0.00002","input_cache_read":"0.0000004",
            "overrides":[{"min_prompt_tokens":200000,"prompt":"0.000008"},
                         {"min_prompt_tokens":200000,"completion":"0.00003"}]}"#,
    )
    .unwrap();
    let long = price.long_context.unwrap();
    assert_eq!(long.above, 200_000);
    assert_eq!(
        (micro(long.input), micro(long.output)),
        (8_000_000, 30_000_000)
    );
    assert_eq!(long.cache_read.map(micro), Some(400_000));
    assert_eq!(micro(price.input), 4_000_000);
}

#[test]
fn of_several_thresholds_the_lowest_stands_at_the_dearest_rates() {
    let price = openrouter(
        r#"{"prompt":"0.000001","completion":"0.000002",
            "overrides":[{"min_prompt_tokens":32000,"prompt":"0.000002"},
                         {"min_prompt_tokens":128000,"prompt":"0.000004"}]}"#,
    )
    .unwrap();
    let long = price.long_context.unwrap();
    assert_eq!((long.above, micro(long.input)), (32_000, 4_000_000));
}

#[test]
fn prices_of_certain_hours_only_raise() {
    let price = openrouter(
        r#"{"prompt":"0.000004","completion":"0.00002",
            "overrides":[{"utc_start":"1630","utc_end":"0030","prompt":"0.000002","completion":"0.00005"}]}"#,
    )
    .unwrap();
    assert_eq!(
        (micro(price.input), micro(price.output)),
        (4_000_000, 50_000_000)
    );
    assert_eq!(price.long_context, None);
}

#[test]
fn a_discount_is_taken_off_and_rounded_up() {
    let price = openrouter(
        r#"{"prompt":"0.000004","completion":"0.000000000001","web_search":"0.01","discount":0.25}"#,
    )
    .unwrap();
    assert_eq!((micro(price.input), micro(price.output)), (3_000_000, 1));
    assert_eq!(price.web_search, Some(MicroUsd::new(10_000)));
}

#[test]
fn what_cannot_be_read_exactly_leaves_no_price() {
    for pricing in [
        r#"{"prompt":"-1","completion":"-1"}"#,
        r#"{"prompt":"0.000001"}"#,
        r#"{"prompt":"0.000001","completion":"0.000001","request":"0.0000001"}"#,
        r#"{"prompt":"0.000001","completion":"0.000001","discount":2}"#,
        r#"{"prompt":"0.000001","completion":"0.000001","overrides":[{"min_prompt_tokens":5,"prompt":"dear"}]}"#,
        r#"{"prompt":"0.000001","completion":"0.0000000000001"}"#,
    ] {
        assert_eq!(openrouter(pricing), None, "{pricing}");
    }
}

#[test]
fn blockrun_has_flat_free_and_long_context_prices() {
    let flat = per_million_list(r#"{"flat":0.002}"#, "openai").unwrap();
    assert_eq!(flat.request, Some(MicroUsd::new(2_000)));
    assert_eq!((micro(flat.input), micro(flat.output)), (0, 0));
    let free = per_million_list(r#"{"input":0,"output":0}"#, "nvidia");
    assert_eq!(
        free,
        Some(Price::default()).map(|price| with_unlisted_writes(price, "nvidia"))
    );
    let long = per_million_list(
        r#"{"input":2.5,"output":15,"cache_read":0.25,
            "long_context":[{"threshold":272000,"inclusive":false,"input":5,"output":22.5,"cache_read":0.5}]}"#,
        "openai",
    )
    .unwrap();
    let rates = long.long_context.unwrap();
    assert_eq!(rates.above, 272_000);
    assert_eq!(micro(rates.output), 22_500_000);
    assert_eq!(rates.cache_write_5m.map(micro), Some(5_000_000));
    let inclusive = per_million_list(
        r#"{"input":1,"output":1,"long_context":[{"threshold":100,"inclusive":true,"input":2,"output":2}]}"#,
        "openai",
    );
    assert_eq!(inclusive.unwrap().long_context.unwrap().above, 99);
    assert_eq!(per_million_list(r#"{"per_image":0.05}"#, "google"), None);
}

#[test]
fn claude_without_a_listed_write_price_is_not_billed_below_anthropics() {
    let price = per_million_list(r#"{"input":3,"output":15}"#, "anthropic").unwrap();
    assert_eq!(price.cache_write_5m, None);
    assert_eq!(price.cache_write_5m_or_more().map(micro), Some(3_750_000));
    assert_eq!(price.cache_write_1h_or_more().map(micro), Some(6_000_000));
}

#[test]
fn venice_reprices_above_its_threshold_and_has_embeddings_without_output() {
    let venice = |text: &str| {
        serde_json::from_str::<VenicePrices>(text)
            .unwrap()
            .price("zai")
            .unwrap()
    };
    let price = venice(
        r#"{"input":{"usd":1.54,"diem":1.54},"output":{"usd":4.84,"diem":4.84},"cache_input":{"usd":0.286,"diem":0.286},
            "extended":{"context_token_threshold":128000,"input":{"usd":3,"diem":3},"output":{"usd":9,"diem":9},"cache_input":{"usd":0.5,"diem":0.5}}}"#,
    );
    let long = price.long_context.unwrap();
    assert_eq!(
        (long.above, micro(long.input), long.cache_read.map(micro)),
        (128_000, 3_000_000, Some(500_000))
    );
    let embedding = venice(r#"{"input":{"usd":0.15,"diem":0.15}}"#);
    assert_eq!(
        (micro(embedding.input), micro(embedding.output)),
        (150_000, 0)
    );
}

use super::*;

fn catalog() -> Catalog {
    Catalog::embedded()
}

#[test]
fn openrouter_prices_per_token_become_prices_per_million() {
    let body = br#"{"data":[
      {"id":"anthropic/claude-opus-5.5","name":"Claude Opus 5.5","created":1750000000,"context_length":1000000,
       "architecture":{"input_modalities":["text","image"]},
       "pricing":{"prompt":"0.000004","completion":"0.00002","input_cache_read":"0.0000002","input_cache_write":"0.000005","input_cache_write_1h":"0.000008"},
       "supported_parameters":["tools","structured_outputs"],"top_provider":{"max_completion_tokens":128000}},
      {"id":"openrouter/auto","pricing":{"prompt":"-1","completion":"-1"}},
      {"name":"no id"}]}"#;
    let rows = openrouter_rows(body, &catalog()).unwrap();
    assert_eq!(rows.len(), 2);
    let price = rows[0].price.unwrap();
    assert_eq!(
        (price.input.micro(), price.output.micro()),
        (4_000_000, 20_000_000)
    );
    assert_eq!(price.cache_write_1h.unwrap().micro(), 8_000_000);
    assert_eq!(
        (rows[0].id.as_str(), rows[0].vendor.as_str()),
        ("claude-opus-5-5", "anthropic")
    );
    assert!(!rows[0].capabilities.audio && rows[0].capabilities.images);
    assert_eq!(rows[1].price, None, "a sentinel is no price");
}

#[test]
fn venice_rows_carry_flags_and_skip_offline_models() {
    let body = br#"{"object":"list","data":[
      {"id":"zai-org-glm-5-1","created":1775520000,"type":"text","model_spec":{"name":"GLM 5.1","privacy":"private","availableContextTokens":200000,"maxCompletionTokens":32768,"offline":false,
        "capabilities":{"supportsVision":false,"supportsReasoning":true,"reasoningEffortOptions":["none","low","medium","high"],"supportsResponseSchema":true},
        "pricing":{"input":{"usd":1.54,"diem":1.54},"cache_input":{"usd":0.286,"diem":0.286},"output":{"usd":4.84,"diem":4.84}}}},
      {"id":"gone","model_spec":{"offline":true}}]}"#;
    let rows = venice_rows(body, &catalog()).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].price.unwrap().cache_read.unwrap().micro(), 286_000);
    assert_eq!(
        rows[0].capabilities.efforts,
        [Effort::None, Effort::Low, Effort::Medium, Effort::High]
    );
    assert!(!rows[0].capabilities.images);
}

#[test]
fn blockrun_lists_only_models_that_chat() {
    let body = br#"{"object":"list","data":[
      {"id":"anthropic/claude-sonnet-5","owned_by":"anthropic","context_window":1000000,"max_output":128000,"categories":["chat","vision"],"billing_mode":"paid","pricing":{"input":2,"output":10,"cache_read":0.2,"cache_write":2.5}},
      {"id":"openai/gpt-oss-120b","owned_by":"openai","categories":["chat"],"billing_mode":"flat","pricing":{"flat":0.002}},
      {"id":"google/nano-banana","owned_by":"google","categories":["image"],"pricing":{"per_image":0.0525}}]}"#;
    let rows = blockrun_rows(body, &catalog()).unwrap();
    assert_eq!(
        rows.iter()
            .map(|row| row.upstream_id.as_str())
            .collect::<Vec<_>>(),
        ["anthropic/claude-sonnet-5", "openai/gpt-oss-120b"]
    );
    assert_eq!(
        rows[0].price.unwrap().cache_write_5m.unwrap().micro(),
        2_500_000
    );
    assert_eq!(
        rows[1].price.unwrap().request.map(|flat| flat.get()),
        Some(2_000),
        "a flat price is one per request"
    );
}

#[test]
fn anthropic_capabilities_come_from_the_list() {
    let body = br#"{"data":[{"type":"model","id":"claude-next-7","display_name":"Claude Next 7","max_input_tokens":500000,"max_tokens":99000,
      "capabilities":{"effort":{"supported":true,"low":{"supported":true},"max":{"supported":true},"high":{"supported":false}},
      "thinking":{"supported":true,"types":{"adaptive":{"supported":true},"disabled":{"supported":false},"enabled":{"supported":false}}},"image_input":{"supported":false}}}],"has_more":false}"#;
    let rows = anthropic_rows(body, &catalog()).unwrap();
    assert_eq!(rows[0].capabilities.efforts, [Effort::Low, Effort::Max]);
    assert!(rows[0].capabilities.thinking.adaptive && !rows[0].capabilities.thinking.disabled);
    assert_eq!(rows[0].capabilities.max_output_tokens, 99_000);
    assert!(!rows[0].capabilities.images);
}

#[test]
fn google_and_bankr_rows() {
    let google = br#"{"models":[{"name":"models/gemini-3-flash","inputTokenLimit":1048576,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent"]},
      {"name":"models/gemini-embedding-001","supportedGenerationMethods":["embedContent"]}]}"#;
    let rows = google_rows(google, &catalog()).unwrap();
    assert_eq!(rows[0].upstream_id, "gemini-3-flash");
    assert!(rows[1].embeddings && !rows[0].embeddings);
    let bankr = br#"{"object":"list","data":[{"id":"claude-sonnet-4.6","object":"model","owned_by":"anthropic","context_window":1000000,"max_output_tokens":64000,"input_modalities":["text","image"],"pricing":{"input":3.0,"output":15.0,"cache_read":0.3,"cache_write":3.75}}]}"#;
    let rows = bankr_rows(bankr, &catalog()).unwrap();
    assert_eq!(
        (rows[0].id.as_str(), rows[0].price.unwrap().input.micro()),
        ("claude-sonnet-4-6", 3_000_000)
    );
}

#[test]
fn a_row_whose_price_is_gone_keeps_its_place_and_has_no_price() {
    let openrouter = br#"{"data":[{"id":"anthropic/claude-opus-4.6"},{"id":"anthropic/claude-opus-4.5","pricing":{"prompt":"soon"}}]}"#;
    let rows = openrouter_rows(openrouter, &catalog()).unwrap();
    assert_eq!(
        rows.iter().map(|row| row.price).collect::<Vec<_>>(),
        [None, None]
    );
    let bankr = br#"{"data":[{"id":"claude-sonnet-4.6"}]}"#;
    assert_eq!(bankr_rows(bankr, &catalog()).unwrap()[0].price, None);
    let venice = br#"{"data":[{"id":"kimi-k3","model_spec":{}}]}"#;
    assert_eq!(venice_rows(venice, &catalog()).unwrap()[0].price, None);
    let blockrun = br#"{"data":[{"id":"openai/gpt-5.4","categories":["chat"]}]}"#;
    assert_eq!(blockrun_rows(blockrun, &catalog()).unwrap()[0].price, None);
}

#[test]
fn no_list_is_an_error_and_never_an_empty_list() {
    assert!(openai_rows(b"<html>", &catalog()).is_err());
    assert!(openai_rows(br#"{"error":"x"}"#, &catalog()).is_err());
}

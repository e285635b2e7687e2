use bardo_types::feature::Feature;
use bardo_types::model::{Effort, Tier};
use bardo_types::privacy::SecurityClass;

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
    let rows = openrouter_rows(body, &catalog()).unwrap().models;
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
    let rows = venice_rows(body, &catalog()).unwrap().models;
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
    let rows = blockrun_rows(body, &catalog()).unwrap().models;
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
    let rows = anthropic_rows(body, &catalog()).unwrap().models;
    assert_eq!(rows[0].capabilities.efforts, [Effort::Low, Effort::Max]);
    assert!(rows[0].capabilities.thinking.adaptive && !rows[0].capabilities.thinking.disabled);
    assert_eq!(rows[0].capabilities.max_output_tokens, 99_000);
    assert!(!rows[0].capabilities.images);
}

#[test]
fn google_and_bankr_rows() {
    let google = br#"{"models":[{"name":"models/gemini-3-flash","inputTokenLimit":1048576,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent"]},
      {"name":"models/gemini-embedding-001","supportedGenerationMethods":["embedContent"]}]}"#;
    let rows = google_rows(google, &catalog()).unwrap().models;
    assert_eq!(rows[0].upstream_id, "gemini-3-flash");
    assert!(rows[1].embeddings && !rows[0].embeddings);
    let bankr = br#"{"object":"list","data":[{"id":"claude-sonnet-4.6","object":"model","owned_by":"anthropic","context_window":1000000,"max_output_tokens":64000,"input_modalities":["text","image"],"pricing":{"input":3.0,"output":15.0,"cache_read":0.3,"cache_write":3.75}}]}"#;
    let rows = bankr_rows(bankr, &catalog()).unwrap().models;
    assert_eq!(
        (rows[0].id.as_str(), rows[0].price.unwrap().input.micro()),
        ("claude-sonnet-4-6", 3_000_000)
    );
}

#[test]
fn a_row_whose_price_is_gone_keeps_its_place_and_has_no_price() {
    let openrouter = br#"{"data":[{"id":"anthropic/claude-opus-4.6"},{"id":"anthropic/claude-opus-4.5","pricing":{"prompt":"soon"}}]}"#;
    let rows = openrouter_rows(openrouter, &catalog()).unwrap().models;
    assert_eq!(
        rows.iter().map(|row| row.price).collect::<Vec<_>>(),
        [None, None]
    );
    let bankr = br#"{"data":[{"id":"claude-sonnet-4.6"}]}"#;
    assert_eq!(bankr_rows(bankr, &catalog()).unwrap().models[0].price, None);
    let venice = br#"{"data":[{"id":"kimi-k3","model_spec":{}}]}"#;
    assert_eq!(
        venice_rows(venice, &catalog()).unwrap().models[0].price,
        None
    );
    let blockrun = br#"{"data":[{"id":"openai/gpt-5.4","categories":["chat"]}]}"#;
    assert_eq!(
        blockrun_rows(blockrun, &catalog()).unwrap().models[0].price,
        None
    );
}

#[test]
fn no_list_is_an_error_and_never_an_empty_list() {
    assert!(openai_rows(b"<html>", &catalog()).is_err());
    assert!(openai_rows(br#"{"error":"x"}"#, &catalog()).is_err());
}

/// Models that are kept, and what is said of those that are not.
#[track_caller]
fn check(list: ModelList, kept: &[&str], left_out: &[(&str, &str)]) {
    let models: Vec<&str> = list.models.iter().map(|m| m.upstream_id.as_str()).collect();
    assert_eq!(models, kept);
    let quarantined: Vec<(&str, &str)> = list
        .quarantined
        .iter()
        .map(|row| (row.model.as_str(), row.reason))
        .collect();
    assert_eq!(quarantined, left_out);
}

const NO_NUMBER: &str = "its price is not a number";
const NEGATIVE: &str = "its price is negative";
const ABSURD: &str = "its price is implausibly high";
const NO_MODEL: &str = "its members are not the members of a model";

#[test]
fn openrouter_rows_that_make_no_sense_are_left_out_and_named() {
    let body = br#"{"data":[
      {"id":"a/fine","pricing":{"prompt":"0.000001","completion":"0.000002"}},
      {"id":"a/nan","pricing":{"prompt":"NaN","completion":"0.000002"}},
      {"id":"a/negative","pricing":{"prompt":"0.000001","completion":"-0.000002"}},
      {"id":"a/absurd","pricing":{"prompt":"3","completion":"15"}},
      {"id":"a/endless","pricing":{"prompt":"1e999","completion":"0"}},
      {"id":"a/router","pricing":{"prompt":"-1","completion":"-1"}},
      {"id":"a/dear","pricing":{"prompt":"0","completion":"0","request":"1e9"}},
      {"id":"  ","pricing":{"prompt":"0","completion":"0"}},
      {"name":"nameless"},
      {"id":7},
      null]}"#;
    check(
        openrouter_rows(body, &catalog()).unwrap(),
        &["a/fine", "a/router"],
        &[
            ("a/nan", NO_NUMBER),
            ("a/negative", NEGATIVE),
            ("a/absurd", ABSURD),
            ("a/endless", NO_NUMBER),
            ("a/dear", ABSURD),
            ("  ", "it has no id"),
            ("nameless", NO_MODEL),
            ("7", NO_MODEL),
            ("", NO_MODEL),
        ],
    );
}

#[test]
fn rows_of_the_others_that_make_no_sense_are_left_out_and_named() {
    let venice = br#"{"data":[
      {"id":"fine","model_spec":{"pricing":{"input":{"usd":1},"output":{"usd":2}}}},
      {"id":"negative","model_spec":{"pricing":{"input":{"usd":-1},"output":{"usd":2}}}},
      {"id":"off","model_spec":{"offline":true}},
      {"id":"no spec"}]}"#;
    check(
        venice_rows(venice, &catalog()).unwrap(),
        &["fine"],
        &[("negative", NEGATIVE), ("no spec", NO_MODEL)],
    );
    let bankr = br#"{"data":[
      {"id":"fine","pricing":{"input":3,"output":15}},
      {"id":"per-token","pricing":{"input":3000000,"output":15}},
      {"id":"words","pricing":{"input":"soon","output":15}},
      {"id":"gpt-image-2","output_modalities":["image"]}]}"#;
    check(
        bankr_rows(bankr, &catalog()).unwrap(),
        &["fine"],
        &[("per-token", ABSURD), ("words", NO_NUMBER)],
    );
    let blockrun = br#"{"data":[
      {"id":"fine","categories":["chat"],"pricing":{"input":0,"output":0}},
      {"id":"flat","categories":["chat"],"pricing":{"flat":-0.002}},
      {"id":"pictures","categories":["image"],"pricing":{"flat":-1}}]}"#;
    let list = blockrun_rows(blockrun, &catalog()).unwrap();
    assert!(list.models[0].price.unwrap().is_free());
    check(list, &["fine"], &[("flat", NEGATIVE)]);
}

#[test]
fn venice_tells_what_is_kept_and_what_runs_in_an_enclave() {
    let row = |id: &str, privacy: &str, flags: &str| {
        format!(
            r#"{{"id":"{id}","type":"text","model_spec":{{"privacy":"{privacy}","capabilities":{{{flags}}}}}}}"#
        )
    };
    let body = format!(
        r#"{{"data":[{},{},{},{}]}}"#,
        row(
            "zai-org-glm-5-1",
            "private",
            r#""supportsReasoning":true,"supportsFunctionCalling":true,"supportsResponseSchema":true,"supportsWebSearch":true"#
        ),
        row(
            "claude-opus-5-5",
            "anonymized",
            r#""supportsReasoning":true,"supportsFunctionCalling":true"#
        ),
        row(
            "e2ee-glm-5-1",
            "private",
            r#""supportsReasoning":true,"supportsFunctionCalling":false,"supportsTeeAttestation":true,"supportsE2EE":true"#
        ),
        row("llama-3.3-70b", "", r#""supportsReasoning":false"#),
    );
    let rows = venice_rows(body.as_bytes(), &catalog()).unwrap().models;
    let offers = |at: usize, feature| {
        let capabilities: &bardo_types::model::Capabilities = &rows[at].capabilities;
        capabilities.features.has(feature)
    };
    assert_eq!(
        rows.iter().map(|row| row.security).collect::<Vec<_>>(),
        [
            SecurityClass::Private,
            SecurityClass::Standard,
            SecurityClass::Tee,
            SecurityClass::Standard
        ]
    );
    assert!(offers(0, Feature::VisibleThinking) && offers(0, Feature::WebSearch));
    assert!(offers(0, Feature::Tools) && offers(0, Feature::StructuredOutputs));
    assert!(
        !offers(1, Feature::VisibleThinking),
        "it is passed on to its maker"
    );
    assert!(!offers(1, Feature::StructuredOutputs));
    assert!(offers(2, Feature::E2ee) && !offers(2, Feature::Tools));
    assert!(!offers(3, Feature::VisibleThinking));
    assert_eq!((rows[0].rating, rows[0].tier), (80, Some(Tier::Strong)));
}

#[test]
fn openrouter_tells_which_parameters_a_model_takes() {
    let body = br#"{"data":[
      {"id":"z-ai/glm-5.2","supported_parameters":["tools","temperature","seed","top_k","reasoning","include_reasoning","structured_outputs"],"reasoning":{"mandatory":true,"supported_efforts":["high","low"]}},
      {"id":"meta-llama/llama-3.3-70b-instruct","supported_parameters":["temperature","min_p","frequency_penalty"]},
      {"id":"qwen/qwen-plus"}]}"#;
    let rows = openrouter_rows(body, &catalog()).unwrap().models;
    let (glm, llama, qwen) = (
        &rows[0].capabilities,
        &rows[1].capabilities,
        &rows[2].capabilities,
    );
    assert!(glm.features.has(Feature::VisibleThinking) && glm.features.has(Feature::Tools));
    assert!(glm.seed && glm.top_k && !glm.min_p && !glm.thinking.disabled);
    assert_eq!(glm.efforts, [Effort::Low, Effort::High]);
    assert!(!llama.features.has(Feature::Tools) && !llama.features.has(Feature::StructuredOutputs));
    assert!(llama.min_p && llama.penalties && !llama.seed);
    assert_eq!(rows[1].id, "llama-3.3-70b");
    assert!(
        qwen.features.has(Feature::Tools),
        "a list that says nothing changes nothing"
    );
    assert!(
        rows.iter()
            .all(|row| row.security == SecurityClass::Standard)
    );
}

#[test]
fn anthropic_tells_what_a_model_offers() {
    let body = br#"{"data":[
      {"id":"claude-opus-5-5","capabilities":{"citations":{"supported":false},"context_management":{"supported":true},"batch":true,"thinking":{"types":{"adaptive":{"supported":true}}}}},
      {"id":"claude-haiku-4-5","capabilities":{"thinking":{"types":{"enabled":{"supported":true}}}}}]}"#;
    let rows = anthropic_rows(body, &catalog()).unwrap().models;
    let offers = |at: usize, feature| rows[at].capabilities.features.has(feature);
    assert!(!offers(0, Feature::Citations) && offers(0, Feature::Compaction));
    assert!(offers(0, Feature::AdaptiveThinking) && offers(0, Feature::BatchApi));
    assert!(offers(1, Feature::Citations) && !offers(1, Feature::AdaptiveThinking));
}

//! The settings and members of a request that efforts and fields become, by family and service.

use bardo_profile::named_schema;
use bardo_types::model::{Dialect, Effort, Service};
use bardo_types::profile::InferenceProfile;
use serde_json::{Value, json};

use crate::case::{
    Case, DEEPSEEK, FLASH_2_5, GPT_4_1, GPT_5_4, HAIKU_4_5, KIMI, OPUS_4_6, OPUS_5_5, at, want,
};
use crate::models::question;

use Dialect::{Chat, Responses};

/// A model in one place, the members that tell how hard to think, and their values by effort.
type Efforts = (
    (Service, Dialect, &'static str),
    &'static [&'static str],
    [Value; 5],
);

/// The setting for each effort and family of models. `Null`: nothing is sent.
#[test]
fn an_effort_reaches_each_family_in_its_own_words() {
    let glm_on = |effort: &str| json!({"reasoning_effort": effort});
    let rows: Vec<Efforts> = vec![
        (
            HAIKU_4_5,
            &["/thinking"],
            [
                json!({"type": "disabled"}),
                json!({"type": "enabled", "budget_tokens": 1024}),
                json!({"type": "enabled", "budget_tokens": 4096}),
                json!({"type": "enabled", "budget_tokens": 16384}),
                // Of 65,536 what 64,000 tokens leave beside an answer.
                json!({"type": "enabled", "budget_tokens": 59904}),
            ],
        ),
        (
            OPUS_4_6,
            &["/output_config/effort"],
            [
                json!(null),
                json!("low"),
                json!("medium"),
                json!("high"),
                json!("max"),
            ],
        ),
        (
            OPUS_5_5,
            &["/output_config/effort"],
            [
                json!("low"),
                json!("low"),
                json!("medium"),
                json!("high"),
                json!("max"),
            ],
        ),
        (
            GPT_5_4,
            &["/reasoning_effort"],
            [
                json!("none"),
                json!("low"),
                json!("medium"),
                json!("high"),
                json!("xhigh"),
            ],
        ),
        (
            at(Service::OpenAi, Responses, "gpt-5.4"),
            &["/reasoning/effort"],
            [
                json!("none"),
                json!("low"),
                json!("medium"),
                json!("high"),
                json!("xhigh"),
            ],
        ),
        (
            GPT_4_1,
            &["/reasoning_effort"],
            [
                json!(null),
                json!(null),
                json!(null),
                json!(null),
                json!(null),
            ],
        ),
        (
            at(Service::Venice, Chat, "kimi-k3"),
            &[""],
            [
                glm_on("none"),
                glm_on("low"),
                glm_on("medium"),
                glm_on("high"),
                glm_on("high"),
            ],
        ),
        (
            DEEPSEEK,
            &["/thinking/type", "/reasoning_effort"],
            [
                json!("disabled"),
                json!("low"),
                json!("high"),
                json!("high"),
                json!("max"),
            ],
        ),
        (
            FLASH_2_5,
            &["/generationConfig/thinkingConfig/thinkingBudget"],
            [
                json!(0),
                json!(1024),
                json!(8192),
                json!(24576),
                json!(24576),
            ],
        ),
        (
            at(Service::OpenRouter, Chat, "claude-haiku-4-5"),
            &["/reasoning"],
            [
                json!({"enabled": false}),
                json!({"max_tokens": 1024}),
                json!({"max_tokens": 4096}),
                json!({"max_tokens": 16384}),
                json!({"max_tokens": 59904}),
            ],
        ),
        (
            at(Service::BlockRun, Chat, "claude-opus-4-6"),
            &["/reasoning_effort"],
            [
                json!(null),
                json!("low"),
                json!("medium"),
                json!("high"),
                json!("max"),
            ],
        ),
        (
            at(Service::Bankr, Chat, "gpt-5.4"),
            &["/reasoning_effort"],
            [
                json!("none"),
                json!("low"),
                json!("medium"),
                json!("high"),
                json!("xhigh"),
            ],
        ),
    ];
    for (place, pointers, sent) in rows {
        let case = Case::of(place);
        let efforts = [
            Effort::None,
            Effort::Low,
            Effort::Medium,
            Effort::High,
            Effort::Max,
        ];
        for (effort, sent) in efforts.into_iter().zip(sent) {
            let wanted = want(InferenceProfile {
                reasoning_effort: Some(effort),
                ..InferenceProfile::default()
            });
            let (body, _) = case.body(&wanted, question(Chat));
            let found = pointers
                .iter()
                .rev()
                .find_map(|pointer| body.pointer(pointer));
            let label = format!("{} {effort:?}: {body}", case.name);
            if let (Some(expected), Some(_)) =
                (sent.as_object(), pointers.first().filter(|p| p.is_empty()))
            {
                for (name, value) in expected {
                    assert_eq!(&body[name], value, "{label}");
                }
            } else if sent == json!("disabled") {
                assert_eq!(body["thinking"]["type"], "disabled", "{label}");
            } else {
                assert_eq!(found.unwrap_or(&Value::Null), &sent, "{label}");
            }
        }
    }
}

/// The member that each field becomes, `""` where there is none.
#[test]
fn each_field_has_its_member_or_is_named_as_lost() {
    let columns = [
        KIMI,
        HAIKU_4_5,
        GPT_4_1,
        at(Service::Bankr, Chat, "llama3.2"),
        at(Service::OpenRouter, Chat, "llama3.2"),
        FLASH_2_5,
        at(Service::OpenAi, Responses, "gpt-4.1"),
    ];
    let none = InferenceProfile::default;
    let rows: [(&str, InferenceProfile, [&str; 7]); 11] = [
        (
            "temperature",
            InferenceProfile {
                temperature: Some(0.3),
                ..none()
            },
            [
                "/temperature",
                "/temperature",
                "/temperature",
                "/temperature",
                "/temperature",
                "/generationConfig/temperature",
                "/temperature",
            ],
        ),
        (
            "top_p",
            InferenceProfile {
                top_p: Some(0.9),
                ..none()
            },
            [
                "/top_p",
                "/top_p",
                "/top_p",
                "/top_p",
                "/top_p",
                "/generationConfig/topP",
                "/top_p",
            ],
        ),
        (
            "top_k",
            InferenceProfile {
                top_k: Some(40),
                ..none()
            },
            [
                "/top_k",
                "/top_k",
                "",
                "",
                "/top_k",
                "/generationConfig/topK",
                "",
            ],
        ),
        (
            "min_p",
            InferenceProfile {
                min_p: Some(0.1),
                top_p: Some(0.9),
                ..none()
            },
            ["/min_p", "", "", "", "/min_p", "", ""],
        ),
        (
            "frequency_penalty",
            InferenceProfile {
                frequency_penalty: Some(0.5),
                ..none()
            },
            [
                "/frequency_penalty",
                "",
                "/frequency_penalty",
                "/frequency_penalty",
                "/frequency_penalty",
                "/generationConfig/frequencyPenalty",
                "",
            ],
        ),
        (
            "presence_penalty",
            InferenceProfile {
                presence_penalty: Some(0.5),
                ..none()
            },
            [
                "/presence_penalty",
                "",
                "/presence_penalty",
                "/presence_penalty",
                "/presence_penalty",
                "/generationConfig/presencePenalty",
                "",
            ],
        ),
        (
            "seed",
            InferenceProfile {
                seed: Some(7),
                ..none()
            },
            [
                "/seed",
                "",
                "/seed",
                "/seed",
                "/seed",
                "/generationConfig/seed",
                "",
            ],
        ),
        (
            "stop_sequences",
            InferenceProfile {
                stop_sequences: Some(vec!["END".to_owned()]),
                ..none()
            },
            [
                "/stop",
                "/stop_sequences",
                "/stop",
                "/stop",
                "/stop",
                "/generationConfig/stopSequences",
                "",
            ],
        ),
        (
            "response_schema",
            InferenceProfile {
                response_schema: named_schema("capture_result"),
                ..none()
            },
            [
                "/response_format/json_schema",
                "/output_config/format",
                "/response_format/json_schema",
                "/response_format/json_schema",
                "/response_format/json_schema",
                "/generationConfig/responseJsonSchema",
                "/text/format",
            ],
        ),
        (
            "web_search",
            InferenceProfile {
                web_search: Some(true),
                ..none()
            },
            [
                "/venice_parameters/enable_web_search",
                "",
                "",
                "",
                "",
                "",
                "",
            ],
        ),
        // Lost without a word: it costs more and changes nothing.
        (
            "",
            InferenceProfile {
                prompt_cache_key: Some("k".to_owned()),
                ..none()
            },
            [
                "/prompt_cache_key",
                "",
                "/prompt_cache_key",
                "",
                "/prompt_cache_key",
                "",
                "/prompt_cache_key",
            ],
        ),
    ];
    for (field, profile, members) in rows {
        for (column, member) in columns.iter().zip(members) {
            let case = Case::of(*column);
            let (body, lost) = case.body(&want(profile.clone()), question(Chat));
            let label = format!(
                "{field} at {:?} {}: {body} {lost:?}",
                case.service,
                case.dialect.as_str()
            );
            assert_eq!(
                !member.is_empty() && body.pointer(member).is_some(),
                !member.is_empty(),
                "{label}"
            );
            let named = !field.is_empty() && lost.iter().any(|lost| lost.starts_with(field));
            assert_eq!(named, member.is_empty() && !field.is_empty(), "{label}");
        }
    }
}

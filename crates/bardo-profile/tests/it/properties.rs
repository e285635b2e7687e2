//! What holds for whatever is wanted, of whichever model.

use bardo_profile::{MinPFallback, Wanted, apply};
use bardo_types::chat::{ChatRequest, Opaque, Part, Reasoning, Role, ToolChoice};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort};
use bardo_types::profile::InferenceProfile;
use proptest::prelude::*;
use proptest::sample::select;

use crate::models::{message, model, question};
use crate::pairs::{Served, lookup, served};

fn efforts() -> impl Strategy<Value = Effort> {
    select(vec![
        Effort::None,
        Effort::Minimal,
        Effort::Low,
        Effort::Medium,
        Effort::High,
        Effort::Xhigh,
        Effort::Max,
    ])
}

fn maybe<T: Clone + std::fmt::Debug + 'static>(
    values: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    proptest::option::of(values).boxed()
}

/// Numbers as people write them.
fn hundredths(least: i32, most: i32) -> impl Strategy<Value = f64> {
    (least..=most).prop_map(|value| f64::from(value) / 100.0)
}

prop_compose! {
    fn profiles()(
        (temperature, top_p, top_k, min_p) in
            (maybe(hundredths(0, 200)), maybe(hundredths(1, 100)), maybe(1_u32..60), maybe(hundredths(0, 100))),
        (frequency_penalty, presence_penalty) in
            (maybe(hundredths(-200, 200)), maybe(hundredths(-200, 200))),
        (reasoning_effort, visible_thinking) in (maybe(efforts()), maybe(any::<bool>())),
        schema in maybe(select(vec!["heartbeat_decision", "capture_result"])),
        (max_tokens, stops) in (maybe(1_u64..200_000), maybe(1_usize..8)),
        (cache_control, web_search, seed) in
            (maybe(any::<bool>()), maybe(any::<bool>()), maybe(any::<u64>())),
        predicted_output in maybe(Just("The same again.".to_owned())),
    ) -> InferenceProfile {
        InferenceProfile {
            temperature, top_p, top_k, min_p, frequency_penalty, presence_penalty,
            reasoning_effort, visible_thinking,
            response_schema: schema.and_then(bardo_profile::named_schema),
            max_tokens,
            stop_sequences: stops.map(|count| (0..count).map(|at| format!("END{at}")).collect()),
            prompt_cache_key: Some("golem-g-risk".to_owned()),
            cache_control, web_search, tee_mode: None, predicted_output, seed,
        }
    }
}

prop_compose! {
    fn wishes()(
        profile in profiles(),
        locked in any::<bool>(),
        reasoning_first in any::<bool>(),
        drop in any::<bool>(),
    ) -> Wanted {
        Wanted {
            profile,
            row: None,
            locked,
            reasoning_first,
            predicts: None,
            min_p_fallback: if drop { MinPFallback::Drop } else { MinPFallback::TopP },
            search_at_tee: false,
            warnings: Vec::new(),
        }
    }
}

prop_compose! {
    fn requests()(
        dialect in select(vec![Dialect::Chat, Dialect::Anthropic, Dialect::Responses]),
        temperature in maybe(hundredths(0, 100)),
        top_p in maybe(hundredths(1, 100)),
        effort in maybe(efforts()),
        max_output_tokens in maybe(200_u64..60_000),
        (tools, forced, signed) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) -> ChatRequest {
        let mut request = question(dialect);
        let number = |value: Option<f64>| value.and_then(|value| RawJson::of(&value).ok());
        request.sampling.temperature = number(temperature);
        request.sampling.top_p = number(top_p);
        request.reasoning.effort = effort;
        request.max_output_tokens = max_output_tokens;
        if tools {
            request.tools = vec![lookup()];
            request.tool_choice = forced.then_some(ToolChoice::Required);
        }
        if signed {
            let mut thought = message(Role::Assistant, "Hm.");
            thought.parts.insert(0, Part::Reasoning(Reasoning {
                text: String::new(),
                summary: false,
                opaque: Some(Opaque::AnthropicSignature("c2ln".to_owned())),
            }));
            request.messages.extend([thought, message(Role::User, "And then?")]);
        }
        request
    }
}

fn models() -> impl Strategy<Value = usize> {
    0..SERVED.with(Vec::len)
}

thread_local! {
    static SERVED: Vec<Served> = served();
}

fn on<T>(at: usize, look: impl FnOnce(&Served) -> T) -> T {
    SERVED.with(|all| look(&all[at]))
}

fn set(wanted: &Wanted, request: &mut ChatRequest, served: &Served) -> bardo_profile::Applied {
    let model = model(
        &served.capabilities,
        served.service,
        served.dialect,
        &served.name,
    );
    apply(wanted, request, &model)
}

fn read(raw: Option<&RawJson>) -> Option<f64> {
    raw.and_then(|raw| raw.read().ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn doing_it_twice_is_doing_it_once(wanted in wishes(), request in requests(), at in models()) {
        on(at, |served| {
            let mut once = request.clone();
            let first = set(&wanted, &mut once, served);
            let mut again = request.clone();
            prop_assert_eq!(&set(&wanted, &mut again, served), &first, "the same every time");
            prop_assert_eq!(&again, &once);
            let mut twice = once.clone();
            let second = set(&wanted, &mut twice, served);
            prop_assert_eq!(&twice, &once, "{}", served.label());
            prop_assert_eq!(second.schema, first.schema);
            prop_assert!(!second.touched_conversation);
            Ok(())
        })?;
    }

    #[test]
    fn numbers_stay_within_what_the_model_takes(wanted in wishes(), request in requests(), at in models()) {
        on(at, |served| {
            let mut set_up = request.clone();
            set(&wanted, &mut set_up, served);
            let able = &served.capabilities;
            let sampling = &set_up.sampling;
            let own = |raw: &Option<RawJson>, said: &Option<RawJson>| raw.is_some() && raw != said;
            if own(&sampling.temperature, &request.sampling.temperature) {
                let value = read(sampling.temperature.as_ref()).expect("a number");
                prop_assert!((0.0..=f64::from(able.max_temperature_milli) / 1_000.0).contains(&value));
                prop_assert!(able.sampling);
                let both = able.temperature_or_top_p && sampling.top_p.is_some();
                prop_assert!(!both, "{sampling:?}");
            }
            if own(&sampling.top_p, &request.sampling.top_p) {
                let value = read(sampling.top_p.as_ref()).expect("a number");
                prop_assert!(value > 0.0 && value <= 1.0);
            }
            prop_assert!(sampling.min_p.is_none() || able.min_p);
            prop_assert!(sampling.top_k.is_none() || able.top_k);
            let said = (request.reasoning.mode, request.reasoning.effort);
            let sent = (set_up.reasoning.mode, set_up.reasoning.effort);
            if let (Some(effort), true) = (sent.1, sent != said && !able.efforts.is_empty()) {
                let least = Effort::Low;
                let known = able.efforts.contains(&effort)
                    || effort == least && able.efforts.iter().any(|other| *other < least);
                prop_assert!(known, "{effort:?} {}", served.label());
            }
            if let Some(limit) = set_up.max_output_tokens.filter(|_| request.max_output_tokens.is_none()) {
                let most = able.max_output_tokens;
                prop_assert!(limit >= 1 && (most == 0 || limit <= most));
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_the_caller_says_stands_unless_the_profile_is_locked(
        wanted in wishes(), request in requests(), at in models(),
    ) {
        on(at, |served| {
            let mut set_up = request.clone();
            let wanted = Wanted { locked: false, ..wanted };
            set(&wanted, &mut set_up, served);
            let (was, is) = (&request.sampling, &set_up.sampling);
            for (was, is) in [(&was.temperature, &is.temperature), (&was.top_p, &is.top_p)] {
                prop_assert!(was.is_none() || was == is);
            }
            if request.reasoning.effort.is_some() {
                prop_assert_eq!(request.reasoning.effort, set_up.reasoning.effort);
            }
            if request.max_output_tokens.is_some() {
                prop_assert_eq!(request.max_output_tokens, set_up.max_output_tokens);
            }
            prop_assert!(request.tool_choice.is_none() || request.tool_choice == set_up.tool_choice);
            Ok(())
        })?;
    }

    #[test]
    fn what_signed_thinking_binds_is_not_touched(
        wanted in wishes(), request in requests(), at in models(),
    ) {
        on(at, |served| {
            let signed = request.messages.len() > 2;
            if !signed || !served.capabilities.bound_thinking {
                return Ok(());
            }
            let mut set_up = request.clone();
            set(&wanted, &mut set_up, served);
            let words = |request: &ChatRequest| -> Vec<String> {
                request.messages.iter().map(bardo_types::chat::Message::text).collect()
            };
            prop_assert_eq!(words(&set_up), words(&request));
            prop_assert_eq!(set_up.tools.len(), request.tools.len());
            Ok(())
        })?;
    }

    /// Of what was lost, nothing could have been kept: with it put back, the encoder loses it, or
    /// something else, or the model is known not to take it.
    #[test]
    fn nothing_is_changed_that_could_have_been_kept(wanted in wishes(), at in models()) {
        on(at, |served| {
            let able = &served.capabilities;
            // Of models of other makers in Anthropic's dialect nobody says what they take.
            if served.dialect == Dialect::Anthropic && !served.name.contains("claude") {
                return Ok(());
            }
            let wanted = Wanted { locked: false, ..wanted };
            let mut set_up = question(Dialect::Chat);
            let applied = set(&wanted, &mut set_up, served);
            let profile = &wanted.profile;
            let number = |value: f64| RawJson::of(&value).ok();
            // What the encoders pass on and the model refuses.
            let claude_draws = able.thinking_fixes_sampling && able.sampling;
            for lost in &applied.degraded {
                let mut whole = set_up.clone();
                let refused = match &*lost.feature {
                    "temperature" => {
                        whole.sampling.temperature = profile.temperature.and_then(number);
                        claude_draws || able.max_temperature_milli < 2_000
                    }
                    "top_p" => {
                        whole.sampling.top_p = profile.top_p.and_then(number);
                        claude_draws || able.temperature_or_top_p
                    }
                    "top_k" => {
                        whole.sampling.top_k = RawJson::of(&profile.top_k).ok();
                        !able.top_k || claude_draws
                    }
                    "min_p" => {
                        whole.sampling.min_p = profile.min_p.and_then(number);
                        !able.min_p
                    }
                    "seed" => {
                        whole.sampling.seed = RawJson::of(&profile.seed).ok();
                        !able.seed
                    }
                    "stop_sequences" => {
                        whole.stop = profile.stop_sequences.clone().unwrap_or_default();
                        false
                    }
                    "web_search" => {
                        whole.web_search = Some(true);
                        false
                    }
                    _ => continue,
                };
                let repaired = served.encode(&whole).degraded;
                prop_assert!(!repaired.is_empty() || refused, "{lost:?} of {}", served.label());
            }
            Ok(())
        })?;
    }
}

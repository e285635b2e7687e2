//! The part of the key that comes from hints.

use bardo_types::feature::Feature;
use bardo_types::hints::{IntentHints, RouteHints};
use bardo_types::profile::{InferenceProfile, ResponseSchema};
use bardo_types::unit::UnitInterval;

use super::Steering;
use super::writer::KeyWriter;

pub(super) fn write(writer: &mut KeyWriter<'_>, hints: &RouteHints, steering: &Steering<'_>) {
    let RouteHints {
        subsystem,
        task_class,
        // Part of the effective class, which has a field of its own.
        security_class: _,
        intent,
        profile,
        remembered_class: _,
        vitality,
        phase,
        sustainability,
        call_index,
        call_count,
        cycle,
        domain,
        // Names of the call and of its caller: the namespace says whose answer it is.
        tick: _,
        golem_id: _,
        session: _,
        allow_downgrade,
        accept_degraded,
        max_cost_micro_usd,
        stakes_micro_usd,
        warnings: _,
    } = hints;
    writer.option_text(subsystem.as_deref());
    writer.option_text(task_class.map(bardo_types::privacy::TaskClass::as_str));
    write_intent(writer, intent);
    writer.option(profile.as_deref(), write_profile);
    writer.option_text(domain.as_deref());
    writer.option(*allow_downgrade, KeyWriter::flag);
    writer.option(*accept_degraded, KeyWriter::flag);
    writer.option(*max_cost_micro_usd, KeyWriter::number);
    match steering {
        Steering::Raw => {
            writer.choice(0);
            writer.option(vitality.map(UnitInterval::get), KeyWriter::float);
            writer.option_text(phase.map(bardo_types::phase::Phase::as_str));
            writer.option(*sustainability, KeyWriter::float);
            for count in [call_index, call_count, cycle] {
                writer.option(count.map(u64::from), KeyWriter::number);
            }
            writer.option(*stakes_micro_usd, KeyWriter::number);
        }
        Steering::Resolved(profile) => {
            writer.choice(1);
            write_profile(writer, profile);
        }
    }
}

fn write_intent(writer: &mut KeyWriter<'_>, intent: &IntentHints) {
    let IntentHints {
        model,
        require,
        prefer,
        quality,
        max_latency_ms,
        cost_sensitivity,
        low_effort,
    } = intent;
    writer.option_text(model.as_deref());
    for list in [require, prefer] {
        writer.option(list.as_deref(), |writer, features: &[Feature]| {
            writer.list(features.iter(), |writer, feature| {
                writer.text(feature.as_str());
            });
        });
    }
    writer.option_text(quality.map(bardo_types::intent::Quality::as_str));
    writer.option(*max_latency_ms, KeyWriter::number);
    writer.option(cost_sensitivity.map(UnitInterval::get), KeyWriter::float);
    writer.option(*low_effort, KeyWriter::flag);
}

fn write_profile(writer: &mut KeyWriter<'_>, profile: &InferenceProfile) {
    let InferenceProfile {
        temperature,
        top_p,
        top_k,
        min_p,
        frequency_penalty,
        presence_penalty,
        reasoning_effort,
        visible_thinking,
        response_schema,
        max_tokens,
        stop_sequences,
        // Prices of the provider alone.
        prompt_cache_key: _,
        cache_control: _,
        web_search,
        tee_mode,
        predicted_output,
        seed,
    } = profile;
    for number in [
        temperature,
        top_p,
        min_p,
        frequency_penalty,
        presence_penalty,
    ] {
        writer.option(*number, KeyWriter::float);
    }
    writer.option(top_k.map(u64::from), KeyWriter::number);
    writer.option_text(reasoning_effort.map(bardo_types::model::Effort::as_str));
    writer.option(*visible_thinking, KeyWriter::flag);
    writer.option(
        response_schema.as_ref(),
        |writer, shape: &ResponseSchema| {
            let ResponseSchema {
                name,
                schema,
                strict,
            } = shape;
            writer.text(name);
            writer.json(schema);
            writer.flag(*strict);
        },
    );
    writer.option(*max_tokens, KeyWriter::number);
    writer.option(stop_sequences.as_deref(), |writer, texts: &[String]| {
        writer.list(texts.iter(), |writer, text| writer.text(text));
    });
    writer.option(*web_search, KeyWriter::flag);
    writer.option(*tee_mode, KeyWriter::flag);
    writer.option_text(predicted_output.as_deref());
    writer.option(*seed, KeyWriter::number);
}

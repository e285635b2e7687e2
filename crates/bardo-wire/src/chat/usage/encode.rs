//! What was counted, as OpenAI counts: cache reads and writes are part of the prompt.

use bardo_types::usage::Usage;

use crate::json::Object;

pub(in crate::chat) fn write(usage: &Usage, object: &mut Object<'_>) {
    object
        .set("prompt_tokens", usage.prompt())
        .set("completion_tokens", usage.output)
        .set("total_tokens", usage.total());
    object
        .object("prompt_tokens_details")
        .set("cached_tokens", usage.cache_read)
        .set("cache_write_tokens", usage.cache_write())
        .set("audio_tokens", usage.audio_input.unwrap_or(0));
    object
        .object("completion_tokens_details")
        .set("reasoning_tokens", usage.reasoning.unwrap_or(0))
        .set("audio_tokens", usage.audio_output.unwrap_or(0))
        .set(
            "accepted_prediction_tokens",
            usage.accepted_prediction.unwrap_or(0),
        )
        .set(
            "rejected_prediction_tokens",
            usage.rejected_prediction.unwrap_or(0),
        );
}

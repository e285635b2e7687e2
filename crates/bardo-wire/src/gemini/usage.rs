//! What was counted.

use bardo_types::usage::{Usage, prompt_classes};

use crate::gemini::shapes::answer::{ModalityCount, UsageMetadata};
use crate::json::Lenient;

/// Counts in disjoint classes: Gemini's prompt includes cached tokens, its candidates exclude
/// thoughts, and what server tools read is told apart.
pub(super) fn read_usage(meta: &UsageMetadata<'_>) -> Usage {
    let prompt = meta.prompt_token_count.get();
    let cached = meta.cached_content_token_count.get();
    let tool_use = meta.tool_use_prompt_token_count.get();
    let thoughts = meta.thoughts_token_count.get();
    let input = prompt.saturating_add(tool_use);
    let mut output = meta.candidates_token_count.get().saturating_add(thoughts);
    if meta.candidates_token_count.0.is_none() {
        // Then only the total tells what was written.
        output = output.max(meta.total_token_count.get().saturating_sub(input));
    }
    let cached_audio = audio(&meta.cache_tokens_details).unwrap_or(0);
    // Gemini counts them within the prompt in any case, so a total of nothing says so too.
    let total = Some(meta.total_token_count.get());
    let (fresh, cached, _) = prompt_classes(prompt, (cached, 0), output, total);
    Usage {
        fresh_input: fresh.saturating_add(tool_use),
        cache_read: cached,
        output,
        reasoning: meta.thoughts_token_count.0,
        audio_input: audio(&meta.prompt_tokens_details)
            .map(|audio| audio.saturating_sub(cached_audio)),
        audio_output: audio(&meta.candidates_tokens_details),
        ..Usage::default()
    }
}

/// The audio tokens among counts by kind.
fn audio(details: &Lenient<Vec<ModalityCount<'_>>>) -> Option<u64> {
    let details = details.0.as_deref()?;
    let audio = details
        .iter()
        .find(|detail| detail.modality.as_deref() == Some("AUDIO"))?;
    audio.token_count.0
}

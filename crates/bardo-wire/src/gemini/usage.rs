//! What was counted.

use bardo_types::usage::{Usage, prompt_classes};

use crate::gemini::shapes::answer::{ModalityCount, UsageMetadata};

/// Counts in disjoint classes: Gemini's prompt includes cached tokens, its candidates exclude
/// thoughts, and what server tools read is told apart.
pub(super) fn read_usage(meta: &UsageMetadata<'_>) -> Usage {
    let prompt = meta.prompt_token_count.unwrap_or(0);
    let cached = meta.cached_content_token_count.unwrap_or(0);
    let tool_use = meta.tool_use_prompt_token_count.unwrap_or(0);
    let thoughts = meta.thoughts_token_count.unwrap_or(0);
    let total = meta.total_token_count.unwrap_or(0);
    let input = prompt.saturating_add(tool_use);
    let output = match meta.candidates_token_count {
        Some(candidates) => candidates.saturating_add(thoughts),
        // Then only the total tells what was written.
        None => thoughts.max(total.saturating_sub(input)),
    };
    let cached_audio = audio(&meta.cache_tokens_details).unwrap_or(0);
    // Gemini counts them within the prompt in any case, so a total of nothing says so too.
    let total = Some(total);
    let (fresh, cached, _) = prompt_classes(prompt, (cached, 0), output, total);
    Usage {
        fresh_input: fresh.saturating_add(tool_use),
        cache_read: cached,
        output,
        reasoning: meta.thoughts_token_count,
        audio_input: audio(&meta.prompt_tokens_details)
            .map(|audio| audio.saturating_sub(cached_audio)),
        audio_output: audio(&meta.candidates_tokens_details),
        ..Usage::default()
    }
}

/// The audio tokens among counts by kind.
fn audio(details: &Option<Vec<ModalityCount<'_>>>) -> Option<u64> {
    let mut details = details.iter().flatten();
    let audio = details.find(|detail| detail.modality.as_deref() == Some("AUDIO"))?;
    audio.token_count
}

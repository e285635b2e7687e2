use bardo_types::chat::{Choice, Finish, Part, ToolCall};

/// Reads `stop_reason`. A reason that is not known yet ends the answer all the same.
pub(super) fn parse(reason: &str) -> Finish {
    match reason {
        "end_turn" => Finish::Stop,
        "stop_sequence" => Finish::StopSequence,
        "max_tokens" => Finish::Length,
        "model_context_window_exceeded" => Finish::ContextWindow,
        "tool_use" => Finish::ToolCalls,
        "pause_turn" | "compaction" => Finish::Pause,
        "refusal" => Finish::Refusal,
        _ => Finish::Unknown,
    }
}

/// The finish reason that fits the calls that came: an answer with calls ended for its calls,
/// unless it was cut within the last one or refused.
pub(super) fn with_calls(finish: Finish, called: bool, last_call_is_whole: bool) -> Finish {
    match finish {
        Finish::Stop | Finish::StopSequence | Finish::Unknown if called => Finish::ToolCalls,
        Finish::Length | Finish::ContextWindow if called && last_call_is_whole => Finish::ToolCalls,
        Finish::ToolCalls if !called => Finish::Stop,
        other => other,
    }
}

/// [`with_calls`] for a whole answer.
pub(super) fn of_choice(choice: &Choice, told: Finish) -> Finish {
    let last = choice.parts.iter().rev().find_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    });
    let whole = last.is_some_and(|call: &ToolCall| call.input.as_object().is_some());
    let refused = choice
        .parts
        .iter()
        .any(|part| matches!(part, Part::Refusal(_)));
    if refused && matches!(told, Finish::Stop | Finish::Unknown) && last.is_none() {
        return Finish::Refusal;
    }
    with_calls(told, last.is_some(), whole)
}

/// The value of `stop_reason`.
pub(super) const fn name(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::Unknown => "end_turn",
        Finish::StopSequence => "stop_sequence",
        Finish::Length => "max_tokens",
        Finish::ContextWindow => "model_context_window_exceeded",
        Finish::ToolCalls => "tool_use",
        Finish::Refusal => "refusal",
        Finish::Pause => "pause_turn",
    }
}

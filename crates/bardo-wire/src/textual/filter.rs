use bardo_types::chat::{
    Assembler, ChatResponse, Choice, Finish, OutputFormat, Part, StreamEvent, ThinkingMode,
    ToolChoice,
};
use bardo_types::model::{Capabilities, Effort, ReasoningFormat};

use super::Ending;
use super::calls::CallPiece;
use super::splitter::CallSplitter;
use super::think::{Opener, ThinkPiece, ThinkSplitter};
use crate::codec::DecodeContext;
use crate::kit::custom_tools::unwrapped_whole;
use crate::kit::steps;

/// Turns what a model wrote into its text into the steps it stands for.
///
/// The context's request must be the caller's own, not the one that [`super::lower()`] made of it:
/// without tools no call is looked for.
pub struct EventFilter {
    context: DecodeContext,
    choices: Vec<ChoiceFilter>,
}

struct ChoiceFilter {
    think: Option<ThinkSplitter>,
    calls: Option<CallSplitter>,
    /// The number of the next call.
    next_call: u32,
    called: bool,
    cut_call: bool,
    finished: bool,
}

impl EventFilter {
    /// A filter for one answer.
    #[must_use]
    pub fn new(context: &DecodeContext) -> Self {
        Self {
            context: context.clone(),
            choices: Vec::new(),
        }
    }

    /// Whether a model's answers have to pass a filter at all.
    #[must_use]
    pub fn needed(capabilities: &Capabilities) -> bool {
        capabilities.reasoning_format == ReasoningFormat::ThinkTags
            || capabilities.tool_format.is_textual()
    }

    /// Takes the next step and appends what it stands for. Text that may be the beginning of a
    /// tag is held back until more comes, at the latest until the choice finishes.
    pub fn push(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) {
        match event {
            StreamEvent::Text { choice, text } => self.text(choice, &text, out),
            StreamEvent::Finish {
                choice,
                reason,
                stop_sequence,
                details,
            } => {
                let told = reason;
                let reason = self.finish(choice, reason, out);
                out.push(StreamEvent::Finish {
                    choice,
                    reason,
                    stop_sequence: stop_sequence.filter(|_| reason == told),
                    details,
                });
            }
            StreamEvent::Done | StreamEvent::Failed(_) => {
                for choice in 0..self.choices.len() {
                    let choice = u32::try_from(choice).unwrap_or(u32::MAX);
                    self.flush(choice, Ending::Cut, out);
                }
                out.push(event);
            }
            StreamEvent::Reasoning { choice, .. } => {
                if let Some(think) = &mut self.at(choice).think {
                    think.thinking_came_apart();
                }
                out.push(event);
            }
            StreamEvent::ToolStart { choice, call, .. } => {
                let state = self.at(choice);
                state.next_call = state.next_call.max(call.saturating_add(1));
                out.push(event);
            }
            event => out.push(event),
        }
    }

    fn at(&mut self, choice: u32) -> &mut ChoiceFilter {
        let index = choice as usize;
        while self.choices.len() <= index {
            self.choices.push(ChoiceFilter::new(&self.context));
        }
        &mut self.choices[index]
    }

    fn text(&mut self, choice: u32, text: &str, out: &mut Vec<StreamEvent>) {
        let mut pieces = Vec::new();
        match &mut self.at(choice).think {
            Some(think) => think.push(text, &mut pieces),
            None => pieces.push(ThinkPiece::Words(text.to_owned())),
        }
        self.pieces(choice, pieces, out);
    }

    fn pieces(&mut self, choice: u32, pieces: Vec<ThinkPiece>, out: &mut Vec<StreamEvent>) {
        for piece in pieces {
            match piece {
                ThinkPiece::Thought(text) => out.push(steps::reasoning(choice, text, false)),
                ThinkPiece::Words(text) => {
                    let mut pieces = Vec::new();
                    match &mut self.at(choice).calls {
                        Some(calls) => calls.push(&text, &mut pieces),
                        None => pieces.push(CallPiece::Words(text)),
                    }
                    self.call_pieces(choice, pieces, out);
                }
            }
        }
    }

    fn call_pieces(&mut self, choice: u32, pieces: Vec<CallPiece>, out: &mut Vec<StreamEvent>) {
        for piece in pieces {
            match piece {
                CallPiece::Words(text) => out.push(StreamEvent::Text { choice, text }),
                CallPiece::Call {
                    name,
                    arguments,
                    complete,
                } => self.call(choice, &name, arguments, complete, out),
            }
        }
    }

    fn call(
        &mut self,
        choice: u32,
        name: &str,
        arguments: String,
        complete: bool,
        out: &mut Vec<StreamEvent>,
    ) {
        let state = self.at(choice);
        let call = state.next_call;
        state.next_call += 1;
        state.called = true;
        state.cut_call = !complete;
        let seed = &self.context.id_seed;
        let id = match choice {
            0 => format!("call_{seed}_{call}"),
            _ => format!("call_{seed}_{choice}_{call}"),
        };
        let name = self.context.original_tool_name(name).to_owned();
        let custom = self.context.request.is_custom_tool(&name);
        out.push(StreamEvent::ToolStart {
            choice,
            call,
            id,
            name,
            custom,
            opaque: None,
        });
        out.push(steps::tool_input(
            choice,
            call,
            if custom {
                free_text(arguments)
            } else {
                arguments
            },
        ));
        out.push(StreamEvent::ToolEnd { choice, call });
    }

    /// Decides what is held.
    fn flush(&mut self, choice: u32, ending: Ending, out: &mut Vec<StreamEvent>) {
        let state = self.at(choice);
        if std::mem::replace(&mut state.finished, true) {
            return;
        }
        let mut pieces = Vec::new();
        if let Some(think) = &mut state.think {
            think.finish(ending, &mut pieces);
        }
        self.pieces(choice, pieces, out);
        let mut pieces = Vec::new();
        if let Some(calls) = &mut self.at(choice).calls {
            calls.finish(ending, &mut pieces);
        }
        self.call_pieces(choice, pieces, out);
    }

    fn finish(&mut self, choice: u32, reason: Finish, out: &mut Vec<StreamEvent>) -> Finish {
        let ending = match reason {
            Finish::Stop | Finish::StopSequence | Finish::ToolCalls | Finish::Unknown => {
                Ending::Complete
            }
            _ => Ending::Cut,
        };
        self.flush(choice, ending, out);
        let state = self.at(choice);
        match reason {
            Finish::Stop | Finish::StopSequence | Finish::Unknown if state.called => {
                Finish::ToolCalls
            }
            Finish::Length if state.called && !state.cut_call => Finish::ToolCalls,
            other => other,
        }
    }
}

impl ChoiceFilter {
    fn new(context: &DecodeContext) -> Self {
        let capabilities = &*context.target.capabilities;
        let request = &context.request;
        let think = (capabilities.reasoning_format == ReasoningFormat::ThinkTags).then(|| {
            let splitter = ThinkSplitter::new(opener(context));
            match request.output {
                OutputFormat::Text => splitter,
                OutputFormat::JsonObject | OutputFormat::JsonSchema { .. } => {
                    splitter.before_json()
                }
            }
        });
        let may_call = !request.tools.is_empty() && request.tool_choice != Some(ToolChoice::None);
        let calls = (capabilities.tool_format.is_textual() && may_call)
            .then(|| CallSplitter::new(request.clone(), capabilities.tool_format));
        Self {
            think,
            calls,
            next_call: 0,
            called: false,
            cut_call: false,
            finished: false,
        }
    }
}

/// A model that thinks on this request may have had its opening tag written into the prompt.
fn opener(context: &DecodeContext) -> Opener {
    let modes = context.target.capabilities.thinking;
    let asked = &context.request.reasoning;
    let off = asked.mode == Some(ThinkingMode::Disabled) || asked.effort == Some(Effort::None);
    let on = modes.by_default || modes.any() && (asked.mode.is_some() || asked.effort.is_some());
    if on && !(off && modes.disabled) {
        Opener::MayBeMissing
    } else {
        Opener::Written
    }
}

/// The input of a custom tool, which was declared with one `input` string.
fn free_text(arguments: String) -> String {
    unwrapped_whole(&arguments).unwrap_or(arguments)
}

/// Does to a whole answer what an [`EventFilter`] does to a stream.
#[must_use]
pub fn filter_response(mut response: ChatResponse, context: &DecodeContext) -> ChatResponse {
    let mut filter = EventFilter::new(context);
    for (index, choice) in response.choices.iter_mut().enumerate() {
        filter_choice(
            u32::try_from(index).unwrap_or(u32::MAX),
            choice,
            &mut filter,
        );
    }
    response
}

fn filter_choice(index: u32, choice: &mut Choice, filter: &mut EventFilter) {
    let mut parts = Vec::with_capacity(choice.parts.len());
    for part in std::mem::take(&mut choice.parts) {
        let mut steps = Vec::new();
        match part {
            Part::Text(mut text) => {
                let words = std::mem::take(&mut text.text);
                filter.text(index, &words, &mut steps);
                let from = parts.len();
                parts.extend(assembled(index, steps));
                let marked = !text.citations.is_empty() || text.opaque.is_some();
                let last = parts[from..].iter_mut().rev().find_map(|part| match part {
                    Part::Text(text) => Some(text),
                    _ => None,
                });
                match last {
                    Some(last) => {
                        text.text = std::mem::take(&mut last.text);
                        *last = text;
                    }
                    None if marked => parts.push(text.into()),
                    None => {}
                }
                continue;
            }
            Part::Reasoning(_) => {
                if let Some(think) = &mut filter.at(index).think {
                    think.thinking_came_apart();
                }
            }
            Part::ToolCall(_) => filter.at(index).next_call += 1,
            _ => {}
        }
        parts.push(part);
    }
    let mut steps = Vec::new();
    match choice.finish {
        Some(told) => {
            let reason = filter.finish(index, told, &mut steps);
            choice.finish = Some(reason);
            if reason != told {
                choice.stop_sequence = None;
            }
        }
        None => filter.flush(index, Ending::Cut, &mut steps),
    }
    for part in assembled(index, steps) {
        // Words that were held back belong to the words before them.
        match (parts.last_mut(), part) {
            (Some(Part::Text(open)), Part::Text(rest)) => open.text.push_str(&rest.text),
            (Some(Part::Reasoning(open)), Part::Reasoning(rest)) => open.text.push_str(&rest.text),
            (_, part) => parts.push(part),
        }
    }
    choice.parts = parts;
}

/// The parts that some steps of one choice make.
fn assembled(index: u32, steps: Vec<StreamEvent>) -> Vec<Part> {
    let mut assembler = Assembler::default();
    for step in steps {
        assembler.push(step);
    }
    assembler
        .so_far()
        .choices
        .get(index as usize)
        .map(|choice| choice.parts.clone())
        .unwrap_or_default()
}

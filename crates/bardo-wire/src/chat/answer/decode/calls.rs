//! Calls from their fragments, which servers number and name in many ways.

use bardo_types::chat::{Opaque, StreamEvent};
use serde_json::value::RawValue;

use crate::chat::request::decode::thought_signature;
use crate::chat::shapes::answer::{FunctionDelta, ToolDelta, text_of};
use crate::codec::DecodeContext;
use crate::kit::custom_tools::unwrapped;
use crate::kit::steps;

/// More calls than any answer makes. Each fragment looks for its call among all of them.
const MAX_CALLS: usize = 1_024;

/// The calls of one choice.
#[derive(Default)]
pub(super) struct IncomingCalls {
    all: Vec<IncomingCall>,
    too_many: bool,
}

struct IncomingCall {
    /// The number the provider gave it, if any.
    index: Option<u64>,
    id: String,
    name: String,
    /// Everything told of its input so far.
    input: String,
    kind: CallKind,
    opaque: Option<Opaque>,
    started: bool,
    ended: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum CallKind {
    /// Arguments are JSON and go out as they come.
    Function,
    /// Input is free text and goes out as it comes.
    Custom,
    /// A custom tool of the caller that went upstream as a function with one `input` string. It
    /// goes out when complete.
    Wrapped,
}

impl IncomingCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether there were more calls than there can be.
    pub(super) fn are_too_many(&self) -> bool {
        self.too_many
    }

    /// Whether there is a last call and its input is whole for sure.
    pub(super) fn last_is_complete(&self) -> bool {
        self.all
            .last()
            .is_some_and(|call| call.kind != CallKind::Custom && is_complete(&call.input))
    }

    /// Takes one entry of `tool_calls`; `place` is its place in a whole answer, where each entry
    /// is a call of its own.
    pub(super) fn take(
        &mut self,
        fragment: &ToolDelta<'_>,
        place: Option<usize>,
        choice: u32,
        context: &DecodeContext,
        out: &mut Vec<StreamEvent>,
    ) {
        let (name, input, custom) = match (&fragment.custom, &fragment.function) {
            (Some(custom), _) => (
                custom.name.get(),
                custom.input.get().map(str::to_owned),
                true,
            ),
            (None, Some(function)) => (function.name.get(), arguments(function), false),
            (None, None) => (None, None, false),
        };
        let id = fragment.id.get();
        let at = match place {
            Some(_) => None,
            None => self.find(fragment.index, id, name),
        };
        if at.is_none() && self.all.len() == MAX_CALLS {
            self.too_many = true;
            return;
        }
        let at = at.unwrap_or_else(|| {
            self.end_complete(choice, context, out);
            self.all.push(IncomingCall::new(fragment.index));
            self.all.len() - 1
        });
        let call = &mut self.all[at];
        if let Some(id) = id
            && call.id.is_empty()
        {
            id.clone_into(&mut call.id);
        }
        if let Some(name) = name
            && !call.started
        {
            context.original_tool_name(name).clone_into(&mut call.name);
            call.kind = match (custom, context.request.is_custom_tool(&call.name)) {
                (true, _) => CallKind::Custom,
                (false, true) => CallKind::Wrapped,
                (false, false) => CallKind::Function,
            };
        }
        if let Some(opaque) = fragment.extra_content.and_then(thought_signature) {
            call.opaque = Some(opaque);
        }
        call.start(at, choice, context, out);
        if let Some(input) = input {
            call.add(at, choice, &input, out);
        }
    }

    /// Takes a legacy `function_call`, of which a message has one.
    pub(super) fn take_legacy(
        &mut self,
        function: &FunctionDelta<'_>,
        choice: u32,
        context: &DecodeContext,
        out: &mut Vec<StreamEvent>,
    ) {
        if self.all.is_empty() {
            self.all.push(IncomingCall::new(None));
        }
        let call = &mut self.all[0];
        if let Some(name) = function.name.get()
            && !call.started
        {
            context.original_tool_name(name).clone_into(&mut call.name);
        }
        call.start(0, choice, context, out);
        if let Some(input) = arguments(function) {
            call.add(0, choice, &input, out);
        }
    }

    /// The call that a fragment goes on with; `None` when it begins a new one.
    fn find(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        match (index, id) {
            // A new id on a number that is taken is a new call; so small servers count that
            // number every call 0.
            (Some(_), Some(id)) => {
                self.last(|call| call.index == index && (call.id == id || call.id.is_empty()))
            }
            (Some(_), None) => self.last(|call| call.index == index),
            (None, Some(id)) => self.last(|call| call.id == id),
            (None, None) => {
                let last = self.all.len().checked_sub(1)?;
                // A second name means a second call.
                (name.is_none() || self.all[last].name.is_empty()).then_some(last)
            }
        }
    }

    fn last(&self, wanted: impl Fn(&IncomingCall) -> bool) -> Option<usize> {
        self.all.iter().rposition(wanted)
    }

    /// Ends calls whose arguments are whole before the next begins, so that encoders which hold
    /// one call open at a time need not buffer the next.
    fn end_complete(&mut self, choice: u32, context: &DecodeContext, out: &mut Vec<StreamEvent>) {
        for (number, call) in self.all.iter_mut().enumerate() {
            if call.started
                && !call.ended
                && call.kind != CallKind::Custom
                && is_complete(&call.input)
            {
                call.end(number, choice, context, out);
            }
        }
    }

    /// Ends all calls.
    pub(super) fn end_all(
        &mut self,
        choice: u32,
        context: &DecodeContext,
        out: &mut Vec<StreamEvent>,
    ) {
        for (number, call) in self.all.iter_mut().enumerate() {
            if !call.ended {
                call.end(number, choice, context, out);
            }
        }
    }
}

impl IncomingCall {
    fn new(index: Option<u64>) -> Self {
        Self {
            index,
            id: String::new(),
            name: String::new(),
            input: String::new(),
            kind: CallKind::Function,
            opaque: None,
            started: false,
            ended: false,
        }
    }

    /// Tells of the call once its name is known, with what came before the name.
    fn start(
        &mut self,
        number: usize,
        choice: u32,
        context: &DecodeContext,
        out: &mut Vec<StreamEvent>,
    ) {
        if self.started || self.name.is_empty() {
            return;
        }
        self.started = true;
        if self.id.is_empty() {
            self.id = format!("call_{}_{choice}_{number}", context.id_seed);
        }
        out.push(StreamEvent::ToolStart {
            choice,
            call: narrow(number),
            id: self.id.clone(),
            name: self.name.clone(),
            custom: self.kind != CallKind::Function,
            opaque: self.opaque.take(),
        });
        if !self.input.is_empty() && self.kind != CallKind::Wrapped {
            out.push(steps::tool_input(
                choice,
                narrow(number),
                self.input.clone(),
            ));
        }
    }

    fn add(&mut self, number: usize, choice: u32, input: &str, out: &mut Vec<StreamEvent>) {
        if input.is_empty() || self.ended {
            return;
        }
        self.input.push_str(input);
        if self.started && self.kind != CallKind::Wrapped {
            out.push(steps::tool_input(choice, narrow(number), input));
        }
    }

    fn end(
        &mut self,
        number: usize,
        choice: u32,
        context: &DecodeContext,
        out: &mut Vec<StreamEvent>,
    ) {
        if !self.started {
            // A call without a name is told all the same: its input was paid for.
            "unknown".clone_into(&mut self.name);
            self.start(number, choice, context, out);
        }
        self.ended = true;
        if self.kind == CallKind::Wrapped && !self.input.is_empty() {
            let fragment = unwrapped(&self.input).unwrap_or_else(|| self.input.clone());
            out.push(steps::tool_input(choice, narrow(number), fragment));
        }
        out.push(StreamEvent::ToolEnd {
            choice,
            call: narrow(number),
        });
    }
}

fn arguments(function: &FunctionDelta<'_>) -> Option<String> {
    let raw: &RawValue = function.arguments?;
    match text_of(raw) {
        Some(text) => Some(text.into_owned()),
        None => Some(raw.get().to_owned()),
    }
}

fn is_complete(input: &str) -> bool {
    input.trim_end().ends_with('}') && serde_json::from_str::<serde::de::IgnoredAny>(input).is_ok()
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

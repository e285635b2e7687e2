use super::Events;
use super::blocks::at;
use crate::kit::custom_tools::unwrapped;
use crate::kit::namespaces::Called;
use crate::responses::output;

/// How a call's input reaches the caller.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// JSON arguments, piece by piece.
    Function,
    /// Free text, piece by piece.
    Custom,
    /// Free text that comes wrapped in JSON and is handed on when it is complete.
    Wrapped,
}

impl Form {
    /// The form of a call that came as free text, or not, of a tool that was declared custom, or
    /// not.
    pub(super) fn of(free_text: bool, declared_custom: bool) -> Self {
        match (free_text, declared_custom) {
            (true, _) => Self::Custom,
            (false, true) => Self::Wrapped,
            (false, false) => Self::Function,
        }
    }
}

/// A call under way.
pub(super) struct OpenCall {
    number: u32,
    place: usize,
    item_id: String,
    call_id: String,
    called: Called,
    form: Form,
    input: String,
    over: bool,
}

impl OpenCall {
    pub(super) fn begin(
        number: u32,
        call_id: String,
        called: Called,
        form: Form,
        seed: &str,
        events: &mut Events,
        out: &mut Vec<u8>,
    ) -> Self {
        let prefix = if form == Form::Function { "fc" } else { "ctc" };
        let mut call = Self {
            number,
            place: 0,
            item_id: events.next_id(prefix, seed),
            call_id,
            called,
            form,
            input: String::new(),
            over: false,
        };
        let item = call.item("in_progress", "");
        call.place = events.add(&item, out);
        call
    }

    pub(super) fn is(&self, number: u32) -> bool {
        self.number == number && !self.over
    }

    fn item(&self, status: &str, input: &str) -> bardo_types::json::RawJson {
        if self.form == Form::Function {
            output::function_call(&self.item_id, status, &self.call_id, &self.called, input)
        } else {
            output::custom_call(
                &self.item_id,
                status,
                &self.call_id,
                &self.called.name,
                input,
            )
        }
    }

    pub(super) fn input(&mut self, fragment: &str, events: &mut Events, out: &mut Vec<u8>) {
        if fragment.is_empty() {
            return;
        }
        self.input.push_str(fragment);
        if self.form != Form::Wrapped {
            self.delta(fragment, events, out);
        }
    }

    fn delta(&self, fragment: &str, events: &mut Events, out: &mut Vec<u8>) {
        let kind = if self.form == Form::Function {
            "response.function_call_arguments.delta"
        } else {
            "response.custom_tool_call_input.delta"
        };
        events.write(kind, out, |event| {
            at(event, self.place, &self.item_id);
            event.set("delta", fragment);
        });
    }

    /// Closes the call; a second time changes nothing. `status` is for free text, which does not
    /// tell by itself whether it was cut off.
    pub(super) fn end(&mut self, status: &str, events: &mut Events, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        match self.form {
            Form::Function if self.input.trim().is_empty() => {
                self.input = output::arguments(&self.input).to_owned();
                self.delta(&self.input, events, out);
            }
            Form::Wrapped => {
                if let Some(text) = unwrapped(&self.input) {
                    self.input = text;
                }
                if !self.input.is_empty() {
                    self.delta(&self.input, events, out);
                }
            }
            Form::Function | Form::Custom => {}
        }
        let (kind, key) = if self.form == Form::Function {
            ("response.function_call_arguments.done", "arguments")
        } else {
            ("response.custom_tool_call_input.done", "input")
        };
        events.write(kind, out, |event| {
            at(event, self.place, &self.item_id);
            if self.form == Form::Function {
                event.set("name", &self.called.name);
            }
            event.set(key, &self.input);
        });
        let status = if self.form == Form::Function {
            output::call_status(&self.input)
        } else {
            status
        };
        let item = self.item(status, &self.input);
        events.done(self.place, item, out);
    }
}

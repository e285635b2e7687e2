//! The consumption of a request: what the provider reported, what the caller was handed, and what
//! the provider did unseen. What nobody reported is counted here: by the tokenizer where somebody
//! is charged for it, and roughly where nobody is.

use std::sync::Arc;

use bardo_types::chat::{ChatRequest, Part, ToolInput};
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_types::receipt::Outcome;
use bardo_types::usage::Usage;
use bardo_wire::codec::{DecodeContext, Target};
use bardo_wire::{json, table};
use bytes::Bytes;

use crate::call::Call;
use crate::meter::{Meter, prompt_tokens};
use crate::received::Task;
use crate::tokenizer::text_tokens;

/// Bytes of text that usually come to a token.
const TOKEN_BYTES: u64 = 4;
/// Smallest number of bytes of content per token, over a whole answer.
const TOKEN_BYTES_MIN: u64 = 3;

/// The work of a provider for one request, as far as it is known beside the reported usage.
pub(crate) struct Consumption {
    task: Task,
    dialect: Dialect,
    body: Bytes,
    /// A whole answer as it came, in the upstream's dialect.
    answer: Option<Bytes>,
    meter: Option<Meter>,
    /// The provider has said its last word on the usage.
    is_counted: bool,
    /// The provider did all of its work before the caller gets any of it: all of it is owed, and
    /// what is handed over now counts nothing.
    is_complete: bool,
    /// A stored answer is served; no provider works.
    is_served: bool,
    /// Nothing was generated, and the figures are exact.
    is_exact: bool,
    /// The caller was handed content.
    is_delivered: bool,
    /// Tokens that the provider made for a caller that disconnected, besides what was delivered;
    /// `None` where it is not known to have been at work.
    unseen: Option<u64>,
}

impl Consumption {
    /// Nothing so far.
    pub(crate) fn new(call: &Call) -> Self {
        Self {
            task: call.task(),
            dialect: call.dialect(),
            body: call.body().clone(),
            answer: None,
            meter: None,
            is_counted: false,
            is_complete: false,
            is_served: false,
            is_exact: false,
            is_delivered: false,
            unseen: None,
        }
    }

    /// The kind of work: an answer, a count of tokens, or vectors.
    pub(crate) fn task(&self) -> Task {
        self.task
    }

    /// The caller's bytes.
    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// Counts the answer with this meter from now on.
    pub(crate) fn meter_with(&mut self, meter: Option<Meter>) {
        self.meter = meter;
    }

    /// The meter of an answer that is being made.
    pub(crate) fn live_meter(&mut self) -> Option<&mut Meter> {
        self.meter.as_mut().filter(|_| !self.is_complete)
    }

    /// The meter, for what was handed over so far.
    pub(crate) fn take_meter(&mut self) -> Option<Meter> {
        self.meter.take()
    }

    /// Keeps a whole answer to be counted.
    pub(crate) fn keep(&mut self, answer: Bytes) {
        self.answer = Some(answer);
    }

    /// Notes that the caller was handed content.
    pub(crate) fn deliver(&mut self) {
        self.is_delivered = true;
    }

    /// Notes what the provider did for a caller that disconnects.
    pub(crate) fn left(&mut self, unseen: Option<u64>) {
        self.unseen = unseen;
    }

    /// Notes that the work is done, and whether the provider reported its usage.
    pub(crate) fn complete(&mut self, is_reported: bool, meter: Option<Meter>) {
        self.is_counted = is_reported;
        self.meter = meter;
        self.is_complete = true;
    }

    /// Notes whether the provider has said its last word on the usage.
    pub(crate) fn note_counted(&mut self, is_counted: bool) {
        if !self.is_complete {
            self.is_counted = is_counted;
        }
    }

    /// Notes that the figures are exact although there is no answer to count: nothing was generated.
    pub(crate) fn is_exact_without_answer(&mut self) {
        self.is_exact = true;
    }

    /// Notes that the answer has ended, and whether the provider reported its usage.
    pub(crate) fn ended(&mut self, is_reported: bool) {
        self.is_counted = is_reported;
    }

    /// Whether the provider's work is done; its figures do not change any more.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Notes that a stored answer is served, which consumes nothing.
    pub(crate) fn serve(&mut self) {
        self.is_served = true;
        self.is_complete = true;
    }

    /// Forgets an attempt of which nothing counts.
    pub(crate) fn forget(&mut self) {
        (self.meter, self.answer, self.is_counted) = (None, None, false);
    }

    /// Tokens of output so far: what the provider reported, or what the bytes come to at most.
    pub(crate) fn output_so_far(&mut self, reported: Option<&Usage>) -> u64 {
        let seen = self.meter.as_mut().map_or(0, |meter| {
            Meter::estimate_bytes(meter).div_ceil(TOKEN_BYTES_MIN)
        });
        seen.max(reported.map_or(0, |usage| usage.output))
    }

    /// Whether what the provider bills for a request that ended so is due.
    pub(crate) fn is_owed(&self, outcome: Outcome, usage: Option<&Usage>) -> bool {
        match outcome {
            Outcome::Finished => true,
            // It left before anything was there, but the provider had told what it counts, or was
            // at work.
            Outcome::Aborted => {
                self.is_delivered || self.is_complete || usage.is_some() || self.unseen.is_some()
            }
            Outcome::Failed => self.is_delivered || self.is_complete,
            Outcome::Unknown => false,
        }
    }

    /// Whether somebody has to count, because the provider did not.
    pub(crate) fn needs_count(&self, outcome: Outcome, usage: Option<&Usage>) -> bool {
        let answered = self.is_delivered
            || self.is_complete
            || self.unseen.is_some()
            || outcome == Outcome::Finished;
        let is_whole = |usage: &Usage| {
            let has_output = usage.output > 0 || self.task != Task::Generate;
            self.is_counted && usage.prompt() > 0 && has_output
        };
        !self.is_served
            && !self.is_exact
            && self.is_owed(outcome, usage)
            && answered
            && !usage.is_some_and(is_whole)
    }

    /// Counts by length alone: nobody is charged for it, so the tokenizer and its tables are not
    /// worth their while. `dialect` is the upstream's.
    pub(crate) fn estimate(&mut self, dialect: Dialect, usage: &mut Option<Usage>) {
        let written = self
            .handed_over(dialect)
            .estimate_bytes()
            .div_ceil(TOKEN_BYTES);
        let prompt = self.body.len() as u64 / TOKEN_BYTES;
        let usage = usage.get_or_insert_default();
        if usage.prompt() == 0 {
            usage.fresh_input = prompt.max(1);
        }
        if !self.is_counted || usage.output == 0 {
            usage.output = usage.output.max(written);
        }
        self.add_unseen(usage);
    }

    /// Counts by the tokenizer. `dialect` is the upstream's.
    pub(crate) fn count(&mut self, dialect: Dialect, usage: &mut Option<Usage>) {
        let meter = self.handed_over(dialect);
        let (mut counted, _) =
            meter.reckon(usage.take(), self.is_counted, || self.request_tokens());
        self.add_unseen(&mut counted);
        *usage = Some(counted);
    }

    /// Adds what nobody saw, unless the provider has told of it itself.
    fn add_unseen(&self, usage: &mut Usage) {
        let unseen = self.unseen.filter(|_| !self.is_counted).unwrap_or(0);
        if unseen == 0 || usage.reasoning.is_some_and(|told| told > 0) {
            return;
        }
        usage.output = usage.output.saturating_add(unseen);
        usage.reasoning = Some(unseen);
    }

    fn handed_over(&mut self, dialect: Dialect) -> Meter {
        match (self.task, self.meter.take(), self.answer.take()) {
            (Task::Generate, Some(meter), _) => meter,
            (Task::Generate, None, Some(answer)) => meter_of(dialect, &answer),
            _ => Meter::new(dialect),
        }
    }

    fn request_tokens(&self) -> u64 {
        let decoded = match self.task {
            Task::Generate | Task::CountTokens => {
                table::decode_request(self.dialect, &self.body).ok()
            }
            Task::Embeddings => None,
        };
        match decoded {
            Some(request) => prompt_tokens(&request),
            None => {
                let input = json::scan(&self.body)
                    .ok()
                    .and_then(|top| top.get("input").map(text_tokens));
                input.unwrap_or(self.body.len() as u64 / TOKEN_BYTES).max(1)
            }
        }
    }
}

/// A meter that has seen a whole answer.
fn meter_of(dialect: Dialect, body: &[u8]) -> Meter {
    let mut meter = Meter::new(dialect);
    let context = DecodeContext {
        target: Target {
            model: String::new(),
            service: Service::Local,
            capabilities: Arc::new(Capabilities::default()),
        },
        request: Arc::new(ChatRequest::new(dialect, "")),
        renamed_tools: Vec::new(),
        id_seed: String::new(),
    };
    let choices = table::decode_response(dialect, body, &context)
        .map(|response| response.choices)
        .unwrap_or_default();
    for part in choices.iter().flat_map(|choice| &choice.parts) {
        match part {
            Part::Text(text) => meter.text(&text.text),
            Part::Refusal(text) => meter.text(text),
            Part::Reasoning(reasoning) => meter.text(&reasoning.text),
            Part::ToolCall(call) => {
                meter.text(&call.name);
                match &call.input {
                    ToolInput::Json(text) | ToolInput::Text(text) => meter.text(text),
                }
            }
            Part::Server(block) if block.ends_message() => {}
            Part::Server(block) => meter.text(block.raw.as_str()),
            Part::Image(_)
            | Part::Audio(_)
            | Part::Document(_)
            | Part::SearchResult(_)
            | Part::ToolResult(_) => {}
        }
    }
    meter
}

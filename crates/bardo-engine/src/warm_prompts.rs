//! The prompts whose entries in providers' caches are kept by keepalive calls. Each is the
//! beginning of an agent's calls: tools and system prompt, and nothing of a conversation.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bardo_cache::prefix::{
    Affinity, CacheRates, DueCall, KeepaliveTerms, Millis, PrefixId, Stretch, WarmTable, Warming,
};
use bardo_cache::store::Flush;
use bardo_types::chat::{ChatRequest, MarkPlan, Message, OutputFormat, Role, Text, ToolChoice};
use bardo_types::ids::RequestId;
use bardo_types::model::Price;
use bardo_types::money::MicroUsd;

use crate::cache_policy::KeepalivePolicy;
use crate::call::Call;
use crate::prompt_owner::PromptOwner;

/// Prompts that are kept at the same time.
const PROMPTS: usize = 256;
/// Longest tools and system prompt that are kept, in bytes. They stay in memory between the calls.
const PROMPT_MAX: usize = 1 << 20;
/// The turn behind the prompt. Its answer is thrown away.
const TURN: &str = ".";

/// One kept prompt, and where it is kept.
pub(crate) struct WarmPrompt {
    /// The last call that began with it, with the keepalive request in place of its own.
    pub(crate) call: Call,
    /// Name of the backend.
    pub(crate) endpoint: String,
    /// Id of the model there.
    pub(crate) model: String,
    /// Marks behind tools and system prompt.
    pub(crate) marks: MarkPlan,
    /// The session that stays with the backend.
    pub(crate) affinity: Option<(PrefixId, Affinity)>,
    /// Whose prompt it is.
    pub(crate) owner: PromptOwner,
}

/// The kept prompts of a process.
pub(crate) struct WarmPrompts {
    table: Mutex<WarmTable<Arc<WarmPrompt>>>,
    /// Somebody makes the calls that are due.
    is_attended: AtomicBool,
    /// No more calls are made: the process ends.
    is_stopped: AtomicBool,
    made: AtomicU64,
}

impl Default for WarmPrompts {
    fn default() -> Self {
        Self {
            table: Mutex::new(WarmTable::new(PROMPTS)),
            is_attended: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            made: AtomicU64::new(0),
        }
    }
}

impl WarmPrompts {
    fn table(&self) -> MutexGuard<'_, WarmTable<Arc<WarmPrompt>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The terms of keepalive calls for a prompt, and its prefix; `None` where none may follow it now:
    /// a mark that relies on one would be paid for nothing.
    pub(crate) fn terms(
        &self,
        policy: &KeepalivePolicy,
        prefix: Stretch,
        (price, rates): (&Price, &CacheRates),
        now: Millis,
    ) -> Option<KeepaliveTerms> {
        let is_on =
            self.is_attended.load(Ordering::Relaxed) && !self.is_stopped.load(Ordering::Relaxed);
        let terms = KeepaliveTerms {
            in_row: policy.in_row,
            output: price.output,
        };
        let has_room = is_on && {
            let charge = terms.charge(rates, prefix.tokens);
            let table = self.table();
            table.has_room(prefix.id, charge, &policy.limits, now)
        };
        has_room.then_some(terms)
    }

    /// Keeps a prompt that a provider read at `asked`, unless a removal has meant it since.
    pub(crate) fn keep(
        &self,
        id: PrefixId,
        prompt: WarmPrompt,
        (warming, asked): (Warming, Millis),
        is_dropped: impl FnOnce(&PromptOwner) -> bool,
    ) {
        if self.is_stopped.load(Ordering::Relaxed) {
            return;
        }
        // A removal is noted before it looks into the table.
        let mut table = self.table();
        if is_dropped(&prompt.owner) {
            table.forget(id);
        } else {
            table.keep(id, Arc::new(prompt), warming, asked);
        }
    }

    /// Keeps a prompt no longer.
    pub(crate) fn forget(&self, id: PrefixId) {
        self.table().forget(id);
    }

    /// Keeps the prompts no longer whose answers a flush removes.
    pub(crate) fn drop_flushed(&self, flush: &Flush) {
        self.table()
            .forget_where(|prompt| prompt.owner.is_dropped_by(flush));
    }

    /// Takes the calls that are due; without a policy everything is forgotten.
    pub(crate) fn due(
        &self,
        policy: Option<&KeepalivePolicy>,
        now: Millis,
    ) -> Vec<DueCall<Arc<WarmPrompt>>> {
        self.is_attended.store(true, Ordering::Relaxed);
        let mut table = self.table();
        match policy.filter(|_| !self.is_stopped.load(Ordering::Relaxed)) {
            Some(policy) => table.due(&policy.limits, now),
            None => {
                table.clear();
                Vec::new()
            }
        }
    }

    /// Takes in how a call ended.
    pub(crate) fn ended(
        &self,
        call: &DueCall<Arc<WarmPrompt>>,
        is_warm: bool,
        cost: Option<MicroUsd>,
        at: Millis,
    ) {
        self.table().ended(call, is_warm, cost, at);
    }

    /// Makes no more calls, and forgets the prompts.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.table().clear();
    }

    /// Prompts that are kept now.
    pub(crate) fn len(&self) -> usize {
        self.table().len()
    }

    /// An id for the next keepalive call of a prompt; `None` where the id of the agent's call is too
    /// long for one.
    pub(crate) fn next_id(&self, prompt: &WarmPrompt) -> Option<RequestId> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        RequestId::parse(&format!("{}_keep{number}", prompt.call.request_id())).ok()
    }
}

/// The keepalive request for a request as it was sent: the tools and the system prompt with one
/// short turn and an answer of one token; `None` where they are too long to be kept in memory, and
/// where the choice of tools leaves some out of what is sent. The form of the answer stays: providers
/// keep a prompt with it.
pub(crate) fn keepalive_request(sent: &ChatRequest) -> Option<ChatRequest> {
    if !may_be_kept(sent) {
        return None;
    }
    let mut request = ChatRequest::new(sent.dialect, sent.model.clone());
    request.tools = sent.tools.clone();
    request.messages = sent.leading_system().to_vec();
    let turn = Message::new(Role::User, vec![Text::new(TURN.to_owned()).into()]);
    request.messages.push(turn);
    request.output = sent.output.clone();
    request.max_output_tokens = Some(1);
    Some(request)
}

/// Whether [`keepalive_request`] has a request for this one.
pub(crate) fn may_be_kept(sent: &ChatRequest) -> bool {
    let system = sent.leading_system();
    let tools = sent.tools.iter().map(bardo_types::chat::Tool::bytes);
    let form = match &sent.output {
        OutputFormat::JsonSchema { schema, .. } => schema.as_str().len(),
        OutputFormat::Text | OutputFormat::JsonObject => 0,
    };
    let bytes: usize = tools.chain(system.iter().map(Message::bytes)).sum();
    let leaves_tools_out = matches!(sent.tool_choice, Some(ToolChoice::Allowed { .. }));
    !leaves_tools_out && bytes.saturating_add(form) <= PROMPT_MAX
}

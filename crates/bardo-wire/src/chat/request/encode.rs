//! A neutral request in an upstream's words.

mod assistant;
mod call_id;
mod extras;
mod messages;
mod options;
pub(in crate::chat) mod pieces;
mod reasoning;
mod results;
mod sampling;
mod vendor;

use bardo_types::Losses;
use bardo_types::chat::ChatRequest;
use bardo_types::model::Dialect;

use crate::chat::tools::encode as tools;
use crate::codec::{BadRequest, Encoded, Target};
use crate::json::Object;
use crate::kit::size;
use crate::kit::tool_names::{NameRule, ToolNames};
use crate::quirks::Quirks;

/// Writes a request for an upstream of this dialect.
///
/// # Errors
/// When the target cannot meet a demand that must not be dropped, such as several answers.
pub fn encode_request(request: &ChatRequest, target: &Target) -> Result<Encoded, BadRequest> {
    let job = Job {
        request,
        target,
        names: ToolNames::plan(request, NameRule::of(Dialect::Chat)),
    };
    let mut lost = Losses::default();
    let mut body = Vec::with_capacity(size::of_request(request));
    {
        let mut object = Object::new(&mut body);
        object.set("model", &target.model);
        let notes = options::notes(&job, &mut lost);
        messages::write(&job, &notes, &mut lost, object.key("messages"));
        tools::write(&job, &mut lost, &mut object);
        options::write(&job, &mut lost, &mut object)?;
        sampling::write(&job, &mut lost, &mut object);
        extras::write(&job, &mut lost, &mut object);
    }
    Ok(Encoded {
        body,
        degraded: lost.into_list(),
        renamed_tools: job.names.into_renamed(),
    })
}

/// One request on its way to one target.
pub(in crate::chat) struct Job<'a> {
    pub(in crate::chat) request: &'a ChatRequest,
    pub(in crate::chat) target: &'a Target,
    pub(in crate::chat) names: ToolNames,
}

impl Job<'_> {
    /// The row of the target's service.
    pub(in crate::chat) fn quirks(&self) -> &'static Quirks {
        Quirks::of(self.target.service)
    }
}

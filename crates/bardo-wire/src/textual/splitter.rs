//! One splitter for every notation of calls.

use std::sync::Arc;

use bardo_types::chat::ChatRequest;
use bardo_types::model::ToolFormat;

use super::Ending;
use super::calls::{CallPiece, TagSplitter};
use super::objects::ObjectSplitter;

/// Parts calls from words, wherever the text is cut. A call that cannot be read stays what it is:
/// words. Space around calls is dropped.
#[derive(Debug)]
pub struct CallSplitter(Notated);

#[derive(Debug)]
enum Notated {
    Tags(TagSplitter),
    Objects(ObjectSplitter),
}

impl CallSplitter {
    /// A splitter for one answer to `request`, whose tools give values their types.
    #[must_use]
    pub fn new(request: Arc<ChatRequest>, format: ToolFormat) -> Self {
        Self(if format == ToolFormat::Json {
            Notated::Objects(ObjectSplitter::new(request))
        } else {
            Notated::Tags(TagSplitter::new(request, format))
        })
    }

    /// Takes the next text.
    pub fn push(&mut self, text: &str, out: &mut Vec<CallPiece>) {
        match &mut self.0 {
            Notated::Tags(tags) => tags.push(text, out),
            Notated::Objects(objects) => objects.push(text, out),
        }
    }

    /// The text is over. A call whose closing tag or braces are missing counts when the model was
    /// done, and is reported as incomplete when it was cut off; in bare JSON it is words then.
    pub fn finish(&mut self, ending: Ending, out: &mut Vec<CallPiece>) {
        match &mut self.0 {
            Notated::Tags(tags) => tags.finish(ending, out),
            Notated::Objects(objects) => objects.finish(ending, out),
        }
    }
}

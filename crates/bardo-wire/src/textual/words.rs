//! The words around calls.

use super::calls::CallPiece;

/// Hands words on, without the space around calls.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// White space that belongs to the words if more of them follow.
    space: String,
    /// Space before the next words is dropped.
    after_call: bool,
}

impl Words {
    pub(super) fn say(&mut self, words: &str, out: &mut Vec<CallPiece>) {
        let words = if self.after_call {
            words.trim_start()
        } else {
            words
        };
        let seen = words.trim_end();
        if !seen.is_empty() {
            self.after_call = false;
            push_words(&std::mem::take(&mut self.space), out);
            push_words(seen, out);
        }
        self.space.push_str(&words[seen.len()..]);
    }

    /// Hands on a call.
    pub(super) fn call(
        &mut self,
        name: String,
        arguments: String,
        complete: bool,
        out: &mut Vec<CallPiece>,
    ) {
        self.space.clear();
        self.after_call = true;
        out.push(CallPiece::Call {
            name,
            arguments,
            complete,
        });
    }

    /// The text is over.
    pub(super) fn end(&mut self, out: &mut Vec<CallPiece>) {
        let space = std::mem::take(&mut self.space);
        if !self.after_call {
            push_words(&space, out);
        }
    }
}

fn push_words(words: &str, out: &mut Vec<CallPiece>) {
    match out.last_mut() {
        _ if words.is_empty() => {}
        Some(CallPiece::Words(open)) => open.push_str(words),
        _ => out.push(CallPiece::Words(words.to_owned())),
    }
}

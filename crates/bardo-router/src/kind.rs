//! The kind of a request without hints, from cheap signs.

use crate::request::Kind;

/// Cheap signs of a request's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// Tools that it brings.
    pub tools: u32,
    /// Results of tools in its conversation.
    pub tool_results: u32,
    /// Characters of its prompt, tools and system text left out.
    pub prompt_chars: u64,
    /// Characters within code fences.
    pub code_chars: u64,
    /// Characters of its last user turn.
    pub last_chars: u64,
    /// Its last user turn asks something: a question mark, or it begins with a word that asks.
    pub asks: bool,
}

/// A prompt of so many characters is material, not talk.
const MATERIAL: u64 = 8_000;
/// The part of a prompt that is code, in thousandths, from which on it is about code.
const CODE_PERMILLE: u64 = 150;
/// The least code that counts, in characters.
const CODE_CHARS: u64 = 80;

impl Kind {
    /// The kind of a request: a tool loop once tools have answered, or several are at hand; code
    /// where much of it is fenced; analysis where it is long and a short turn of it asks; else
    /// talk.
    #[must_use]
    pub const fn of(shape: &Shape) -> Self {
        if shape.tools > 0 && (shape.tool_results > 0 || shape.tools >= 3) {
            return Self::AgentLoop;
        }
        let permille = match shape.prompt_chars {
            0 => 0,
            all => shape.code_chars.saturating_mul(1_000) / all,
        };
        if shape.code_chars >= CODE_CHARS && permille >= CODE_PERMILLE {
            return Self::Code;
        }
        let is_pointed = shape.asks || shape.last_chars.saturating_mul(4) < shape.prompt_chars;
        if shape.prompt_chars >= MATERIAL && is_pointed {
            return Self::Analysis;
        }
        Self::Conversation
    }

    /// Whether a turn asks something.
    #[must_use]
    pub fn asks(turn: &str) -> bool {
        const ASKING: [&str; 12] = [
            "what", "why", "how", "who", "when", "where", "which", "is ", "are ", "does", "can ",
            "summar",
        ];
        let start = turn.trim_start();
        let begins = |word: &&str| {
            start
                .get(..word.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(word))
        };
        turn.contains('?') || ASKING.iter().any(begins)
    }

    /// Characters of a text that stand within code fences.
    #[must_use]
    pub fn code_chars(text: &str) -> u64 {
        let fenced: usize = text.split("```").skip(1).step_by(2).map(str::len).sum();
        fenced as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_tools_code_and_length() {
        let talk = Shape {
            prompt_chars: 60,
            last_chars: 60,
            asks: true,
            ..Shape::default()
        };
        assert_eq!(Kind::of(&talk), Kind::Conversation);
        assert_eq!(Kind::of(&Shape::default()), Kind::Conversation);
        let looped = Shape {
            tools: 1,
            tool_results: 1,
            ..talk
        };
        assert_eq!(Kind::of(&looped), Kind::AgentLoop);
        assert_eq!(Kind::of(&Shape { tools: 1, ..talk }), Kind::Conversation);
        assert_eq!(Kind::of(&Shape { tools: 9, ..talk }), Kind::AgentLoop);
        let code = Shape {
            prompt_chars: 1_000,
            code_chars: 150,
            ..talk
        };
        assert_eq!(Kind::of(&code), Kind::Code);
        assert_eq!(
            Kind::of(&Shape {
                code_chars: 149,
                ..code
            }),
            Kind::Conversation
        );
        let long = Shape {
            prompt_chars: 8_000,
            last_chars: 7_900,
            ..talk
        };
        assert_eq!(Kind::of(&long), Kind::Analysis);
        assert_eq!(
            Kind::of(&Shape {
                asks: false,
                ..long
            }),
            Kind::Conversation
        );
    }

    #[test]
    fn questions_and_fences_are_found() {
        assert!(Kind::asks("  How so") && Kind::asks("Really?") && !Kind::asks("Do it. Ähm"));
        assert_eq!(Kind::code_chars("a ```let x``` b ```y"), 6);
        assert_eq!(Kind::code_chars("none"), 0);
    }
}

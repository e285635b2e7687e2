use super::*;
use crate::textual::{Ending, Opener, ThinkPiece, ThinkSplitter};

fn split(mut splitter: ThinkSplitter, texts: &[String], ending: Ending) -> Vec<ThinkPiece> {
    let mut out = Vec::new();
    for text in texts {
        splitter.push(text, &mut out);
    }
    splitter.finish(ending, &mut out);
    out
}

/// Thinking in brackets, words as they are.
fn shown(opener: Opener, text: &str) -> String {
    shown_by(ThinkSplitter::new(opener), text, Ending::Complete)
}

fn shown_by(splitter: ThinkSplitter, text: &str, ending: Ending) -> String {
    split(splitter, &[text.to_owned()], ending)
        .into_iter()
        .map(|piece| match piece {
            ThinkPiece::Thought(text) => format!("[{text}]"),
            ThinkPiece::Words(text) => text,
        })
        .collect()
}

#[test]
fn tags_part_thinking_from_words() {
    let rows = [
        ("<think>\nhm\n</think>\n\nYes", "[hm]Yes"),
        ("\n <think>hm</think>Yes", "[hm]Yes"),
        ("<think>\n\n</think>\n\nYes", "Yes"),
        ("<think></think>", ""),
        ("<think>a < b </ think</think>Yes", "[a < b </ think]Yes"),
        ("Yes", "Yes"),
        ("  Yes\n", "  Yes\n"),
        (
            "Use <think> tags </think> so",
            "Use <think> tags </think> so",
        ),
        ("One\n<think>hm</think>\nTwo", "One\n[hm]Two"),
        (
            "```\n<think>x</think>\n```\n",
            "```\n<think>x</think>\n```\n",
        ),
        (
            "~~~~\n```\n<think>x\n~~~~\n<think>y</think>z",
            "~~~~\n```\n<think>x\n~~~~\n[y]z",
        ),
        ("```\n```python\n<think>", "```\n```python\n<think>"),
        ("<thinking>x", "<thinking>x"),
        ("<thi", "<thi"),
        ("", ""),
    ];
    for (text, expected) in rows {
        assert_eq!(shown(Opener::Written, text), expected, "{text:?}");
    }
}

#[test]
fn the_opening_tag_may_be_missing() {
    let rows = [
        ("hm\nwell\n</think>\n\nYes", "[hm\nwell]Yes"),
        ("<think>hm</think>Yes", "[hm]Yes"),
        ("<tool_call>{}", "<tool_call>{}"),
        // No closing tag ever came, so it was the answer after all.
        ("Yes", "[Yes]Yes"),
    ];
    for (text, expected) in rows {
        assert_eq!(shown(Opener::MayBeMissing, text), expected, "{text:?}");
    }
    let cut = |text| {
        let splitter = ThinkSplitter::new(Opener::MayBeMissing);
        shown_by(splitter, text, Ending::Cut)
    };
    assert_eq!(cut("hm, well"), "[hm, well]");
}

#[test]
fn tags_in_json_are_data() {
    let json = |opener, text| {
        let splitter = ThinkSplitter::new(opener).before_json();
        shown_by(splitter, text, Ending::Complete)
    };
    let data = "{\"a\":\n<think>\"</think>\"}";
    assert_eq!(json(Opener::Written, data), data);
    assert_eq!(json(Opener::MayBeMissing, data), data);
    let after = format!("<think>hm</think>{data}");
    assert_eq!(json(Opener::Written, &after), format!("[hm]{data}"));
    let missing = format!("hm</think>{data}");
    assert_eq!(json(Opener::MayBeMissing, &missing), format!("[hm]{data}"));
}

#[test]
fn thinking_shows_before_it_is_over() {
    let mut splitter = ThinkSplitter::new(Opener::MayBeMissing);
    let mut out = Vec::new();
    splitter.push("first thoughts </thi", &mut out);
    assert_eq!(out, [ThinkPiece::Thought("first thoughts".into())]);
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_pieces(
        texts in cut_text(&[
            "<think>", "</think>", "<th", "ink>", "\n", " ", "ü", "words", "```", "~~~", "`",
            "{", "<tool_call>", "\n\n", "\n<think>",
        ]),
        may_be_missing in any::<bool>(),
        json in any::<bool>(),
        is_cut in any::<bool>(),
    ) {
        let splitter = || {
            let opener = if may_be_missing { Opener::MayBeMissing } else { Opener::Written };
            let splitter = ThinkSplitter::new(opener);
            if json { splitter.before_json() } else { splitter }
        };
        let ending = if is_cut { Ending::Cut } else { Ending::Complete };
        let whole = [texts.concat()];
        prop_assert_eq!(split(splitter(), &texts, ending), split(splitter(), &whole, ending));
    }
}

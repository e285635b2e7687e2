//! Which of two things: "which is better for programming, a Mac or a PC" is "which is better, a Mac or a PC for
//! programming".

use super::pattern::{clause_end, is_break, is_of_class, is_word, place_of};
use crate::guard::scan::Token;

/// The most words of both things together.
const THINGS: usize = 10;

/// Moves what stands between the comparison and the things behind them: "which is cheaper to use, Base or
/// Optimism" is "which is cheaper, Base or Optimism to use".
pub(super) fn rest_before_choice_to_end(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = is_word(tokens.first(), &["which", "what", "@what", "@which"]);
    let one = is_word(tokens.get(1), &["one", "option"]);
    let be = 1 + usize::from(one);
    let better = tokens
        .get(be + 1)
        .is_some_and(|word| is_of_class(word, "superlative") || is_comparative(&word.text));
    if !asks || !is_word(tokens.get(be), &["is", "are"]) || !better {
        return tokens;
    }
    let rest = be + 2;
    let cut = clause_end(&tokens, rest);
    // "Which is better with milk, tea or coffee" is not "tea or coffee with milk".
    let opens = is_word(tokens.get(rest), &["for", "to"]);
    let last = tokens
        .iter()
        .rposition(|token| !is_break(token) && token.text != "@is");
    let Some(end) = last.map(|last| last + 1) else {
        return tokens;
    };
    let chooses = tokens.get(cut).is_some_and(is_break)
        && cut + 3 < end
        && end - cut <= THINGS
        && place_of(&tokens, cut + 2..end - 1, &["or"]).is_some()
        && tokens[cut + 1..end].iter().all(|token| !is_break(token));
    if chooses && (opens || cut == rest) {
        let rest: Vec<Token> = tokens.drain(rest..cut).collect();
        let at = end - rest.len();
        tokens.splice(at..at, rest);
        if one {
            tokens.remove(1);
        }
    }
    tokens
}

/// "Is lead or gold the heavier one" is "is lead or gold heavier".
pub(super) fn the_better_one_to_better(mut tokens: Vec<Token>) -> Vec<Token> {
    let end = clause_end(&tokens, 1);
    let choice = place_of(&tokens, 2..end, &["or"]).is_some();
    let row = end.checked_sub(3).filter(|&at| {
        is_word(tokens.get(at), &["the"])
            && is_comparative(&tokens[at + 1].text)
            && matches!(
                tokens[at + 2].text.as_str(),
                "one" | "1" | "option" | "choice"
            )
    });
    if let Some(at) = row.filter(|_| choice && is_word(tokens.first(), &["is", "are"])) {
        tokens.remove(at + 2);
        tokens.remove(at);
    }
    tokens
}

/// Whether a word compares by its ending: "safer". Of nouns such as "user" too, which do not stand behind "is".
fn is_comparative(word: &str) -> bool {
    word.len() > 4 && word.ends_with("er") || matches!(word, "better" | "worse")
}

#[cfg(test)]
mod tests {
    use super::rest_before_choice_to_end;
    use crate::guard::scan;

    #[test]
    fn what_is_compared_for_stands_behind_the_things() {
        let moved = |text| {
            let words = rest_before_choice_to_end(scan::tokens(text)).into_iter();
            words.map(|token| token.text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            moved("which is better for programming, a mac or a pc"),
            "which is better , a mac or a pc for programming"
        );
        assert_eq!(moved("which one is better"), "which one is better");
    }
}

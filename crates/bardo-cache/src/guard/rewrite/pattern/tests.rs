//! Matchers that differ in detail.

use super::*;

fn tokens(text: &str) -> Vec<Token> {
    let pieces = text.split_whitespace();
    pieces
        .map(|piece| match piece {
            "," => Token::new(TokenKind::Break, ","),
            word => Token::word(word),
        })
        .collect()
}

#[test]
fn a_clause_ends_with_a_break_a_mark_or_the_text() {
    assert_eq!(clause_end(&tokens("how is it , then"), 0), 3);
    assert_eq!(clause_end(&tokens("price of it @is"), 1), 3);
    assert_eq!(clause_end(&tokens("price of it"), 1), 3);
    assert_eq!(clause_end(&tokens("price"), 9), 1);
}

#[test]
fn a_noun_has_no_preposition_and_a_name_may_have_one() {
    for (text, noun, named) in [
        ("red house", true, true),
        ("plan of bob", false, true),
        ("it", false, false),
        ("not it", false, false),
        ("is red", false, false),
        ("", false, false),
    ] {
        assert_eq!(is_noun(&tokens(text)), noun, "{text}");
        assert_eq!(is_named(&tokens(text)), named, "{text}");
    }
}

#[test]
fn a_participle_is_told_from_a_noun_where_it_matters() {
    for (word, participle, ends_so) in [
        ("deleted", true, true),
        ("written", true, true),
        ("speed", false, true),
        ("delete", false, false),
    ] {
        assert_eq!(is_participle(&Token::word(word)), participle, "{word}");
        assert_eq!(ends_as_participle(&Token::word(word)), ends_so, "{word}");
    }
}

#[test]
fn a_verb_is_known_bare_in_any_form_or_in_ing() {
    for (word, bare, form, gerund) in [
        ("delete", true, true, false),
        ("deletes", false, true, false),
        ("deleting", false, true, true),
        ("building", false, false, false),
    ] {
        let token = Token::word(word);
        assert_eq!(is_verb(Some(&token)), bare, "{word}");
        assert_eq!(is_form_of_verb(&token), form, "{word}");
        assert_eq!(is_gerund(&token), gerund, "{word}");
    }
}

#[test]
fn rows_of_words_are_found_at_a_place_or_before_an_end() {
    let found = tokens("what is in it , and in it");
    assert!(opens(&found, [&["which", "what"], &["is"]]));
    assert!(!opens_longer(&tokens("what is"), &["what", "is"]));
    assert_eq!(place_of_row(&found, 1..8, [&["in"], &["it"]]), Some(2));
    assert_eq!(row_before(&found, 8, [&["in"], &["it"]]), Some(6));
    assert_eq!(row_before(&found, 1, [&["in"], &["it"]]), None);
    assert_eq!(place_before_break(&found, 3..8, &["in"]), None);
}

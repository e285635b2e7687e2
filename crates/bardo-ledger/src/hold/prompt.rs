//! How many tokens a body is, before anybody has counted them.

/// Most tokens of an image, whatever its size: providers scale it down first.
const IMAGE_TOKENS: u64 = 1_600;
/// A string is looked at as an image from this length on.
const IMAGE_BYTES: usize = 1_024;
/// Text comes to about four bytes per token, code and numbers to less.
const BYTES_PER_TOKEN: u64 = 3;
/// Tokens that a provider wraps around the conversation.
const FRAME_TOKENS: u64 = 16;

/// The names under which the dialects carry an image's bytes.
const IMAGE_KEYS: [&[u8]; 3] = [b"\"data\"", b"\"url\"", b"\"image_url\""];
/// PNG, JPEG, GIF and WebP, as base64 begins with them.
const IMAGE_MAGIC: [&[u8]; 4] = [b"iVBORw0KGgo", b"/9j/", b"R0lGOD", b"UklGR"];

/// An estimate of a request's prompt that is rather too high than too low: its bytes as text,
/// but images at what an image costs.
///
/// Only what stands where an image stands, and begins as one, counts as one: a caller who could
/// pass text off as an image would be held too little for it. Documents and sound count as text,
/// because providers bill them by their content.
#[must_use]
pub fn prompt_tokens_upper(body: &[u8]) -> u64 {
    let mut text = body.len();
    let mut images = 0_u64;
    let mut at = 0;
    // Strings are quote-free, so of each window only the last quote matters: whatever begins
    // before it is too short.
    while let Some(window) = body.get(at..at + IMAGE_BYTES) {
        if let Some(quote) = memchr::memrchr(b'"', window) {
            at += quote + 1;
            continue;
        }
        let end = memchr::memchr(b'"', &body[at + IMAGE_BYTES..])
            .map_or(body.len(), |quote| at + IMAGE_BYTES + quote);
        if is_image(&body[..at], &body[at..end]) {
            let run = end - at;
            text -= run;
            images += IMAGE_TOKENS.min(tokens_of(run));
        }
        at = end.saturating_add(1);
    }
    tokens_of(text) + images + FRAME_TOKENS
}

fn tokens_of(bytes: usize) -> u64 {
    u64::try_from(bytes)
        .unwrap_or(u64::MAX)
        .div_ceil(BYTES_PER_TOKEN)
}

/// Whether a string is an image, by the name before it and by how it begins.
fn is_image(before: &[u8], string: &[u8]) -> bool {
    let Some(name) = before
        .strip_suffix(b"\"")
        .map(<[u8]>::trim_ascii_end)
        .and_then(|rest| rest.strip_suffix(b":"))
        .map(<[u8]>::trim_ascii_end)
    else {
        return false;
    };
    let data = match string.strip_prefix(b"data:") {
        Some(url) => {
            let head = &url[..url.len().min(64)];
            match head.iter().position(|byte| *byte == b',') {
                Some(comma) if head[..comma].ends_with(b";base64") => &url[comma + 1..],
                Some(_) | None => return false,
            }
        }
        None => string,
    };
    // Some write `/` as `\/`.
    let is_escaped = data.starts_with(b"\\/9j");
    IMAGE_KEYS.iter().any(|key| name.ends_with(key))
        && (is_escaped || IMAGE_MAGIC.iter().any(|magic| data.starts_with(magic)))
        && memchr::memchr(b' ', data).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(bytes: usize) -> String {
        let mut data = String::from("iVBORw0KGgo");
        data.extend(std::iter::repeat_n("Ab9+", bytes / 4));
        data.truncate(bytes);
        data
    }

    #[track_caller]
    fn check(body: &str, expected: u64) {
        assert_eq!(prompt_tokens_upper(body.as_bytes()), expected);
    }

    fn as_text(body: &str) -> u64 {
        tokens_of(body.len()) + FRAME_TOKENS
    }

    #[test]
    fn text_is_a_third_of_its_bytes() {
        check("", 16);
        check("abcd", 18);
        let long = format!(r#"{{"text":"{}"}}"#, "word ".repeat(100_000));
        check(&long, as_text(&long));
        let unbroken = format!(r#"{{"text":"{}"}}"#, "字".repeat(100_000));
        check(&unbroken, as_text(&unbroken));
    }

    #[test]
    fn an_image_is_what_an_image_costs_in_every_dialect() {
        let image = png(300_000);
        for (before, after) in [
            (
                r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,"#,
                r#""}}"#,
            ),
            (
                r#"{"type":"input_image","image_url" : "data:image/png;base64,"#,
                r#""}"#,
            ),
            (
                r#"{"source":{"type":"base64","media_type":"image/png","data":"#,
                "",
            ),
            (
                r#"{"inlineData":{"mimeType":"image/png","data": ""#,
                r#""}}"#,
            ),
        ] {
            let quoted = if before.ends_with(':') { "\"" } else { "" };
            let body = format!("{before}{quoted}{image}{quoted}{after}");
            let around = body.len() - image.len();
            let expected = tokens_of(around) + 1_600 + 16;
            let tokens = prompt_tokens_upper(body.as_bytes());
            // A data URL's own head counts to the image.
            assert!(
                (expected - 10..=expected).contains(&tokens),
                "{before}: {tokens}"
            );
        }
    }

    #[test]
    fn each_image_counts_and_a_small_one_costs_no_more_than_its_bytes() {
        let image = |bytes| format!(r#"{{"data":"{}"}}"#, png(bytes));
        let one = prompt_tokens_upper(image(2_000).as_bytes());
        assert_eq!(one, tokens_of(11) + tokens_of(2_000) + 16);
        let two = format!("[{},{}]", image(90_000), image(50_000));
        check(&two, tokens_of(11 + 11 + 3) + 2 * 1_600 + 16);
        let escaped = format!(r#"{{"data":"\/9j\/{}"}}"#, "A\\/b".repeat(5_000));
        check(&escaped, tokens_of(11) + 1_600 + 16);
    }

    #[test]
    fn text_cannot_pass_for_an_image() {
        let image = png(300_000);
        for body in [
            format!(r#"{{"text":"data:image/png;base64,{image}"}}"#),
            format!(r#"{{"content":"{image}"}}"#),
            format!(r#"{{"arguments":"{{\"data\":\"{image}\"}}"}}"#),
            format!(r#"{{"data":"{}"}}"#, "a".repeat(300_000)),
            format!(r#"{{"data":"{image} and then some words"}}"#),
            format!(r#"{{"data":"JVBERi0{image}"}}"#),
            format!(r#"{{"url":"data:text/plain,{image}"}}"#),
            image.clone(),
            format!("\"{image}"),
        ] {
            check(&body, as_text(&body));
        }
    }

    #[test]
    fn an_image_is_found_wherever_it_stands() {
        for padding in 0..1_100 {
            let before = format!(r#"{{"text":"{}","data":""#, "x".repeat(padding));
            let body = format!("{before}{}\"}}", png(9_000));
            let around = before.len() + 2;
            check(&body, tokens_of(around) + 1_600 + 16);
        }
    }

    #[test]
    fn a_body_that_ends_within_an_image_is_measured_all_the_same() {
        let body = format!(r#"{{"data":"{}"#, png(9_000));
        check(&body, tokens_of(9) + 1_600 + 16);
    }
}

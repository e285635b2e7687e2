use super::*;
use crate::textual::{CallPiece, CallSplitter, Ending};

fn split(texts: &[String], format: ToolFormat, ending: Ending) -> Vec<CallPiece> {
    let mut splitter = CallSplitter::new(Arc::new(request()), format);
    let mut out = Vec::new();
    for text in texts {
        splitter.push(text, &mut out);
    }
    splitter.finish(ending, &mut out);
    out
}

/// Calls as `name(arguments)`, with a `…` when incomplete; words in quotes.
fn shown(text: &str, format: ToolFormat, ending: Ending) -> Vec<String> {
    split(&[text.to_owned()], format, ending)
        .into_iter()
        .map(|piece| match piece {
            CallPiece::Words(words) => format!("{words:?}"),
            CallPiece::Call {
                name,
                arguments,
                complete,
            } => format!("{name}({arguments}){}", if complete { "" } else { "…" }),
        })
        .collect()
}

#[track_caller]
fn check(rows: &[(&str, &[&str])], format: ToolFormat, ending: Ending) {
    for (text, expected) in rows {
        assert_eq!(shown(text, format, ending), *expected, "{text}");
    }
}

#[test]
fn calls_as_json() {
    let f = r#"f({"a":1})"#;
    let rows: [(&str, &[&str]); 15] = [
        (
            "<tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":1}}\n</tool_call>",
            &[f],
        ),
        (
            "Let me see.\n\n<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>\n",
            &["\"Let me see.\"", f],
        ),
        (
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>\n<tool_call>{\"name\":\"g\"}</tool_call> Done.",
            &[f, "g({})", "\"Done.\""],
        ),
        // The closing tag, a brace too few, a brace too many.
        ("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}", &[f]),
        ("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}", &[f]),
        (
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}</tool_call>",
            &[f],
        ),
        (
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}}</tool_call>ok",
            &[f, "\"ok\""],
        ),
        (
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}\n<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}",
            &[f, f],
        ),
        // Arguments as a string, and other names for them.
        (
            "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}</tool_call>",
            &[f],
        ),
        (
            "<tool_call>{\"name\":\"f\",\"parameters\":{\"a\":1}}</tool_call>",
            &[f],
        ),
        (
            "<tool_call>{\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}</tool_call>",
            &[f],
        ),
        // A tag within a string is data.
        (
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"</tool_call> {\"}}</tool_call>",
            &[r#"f({"a":"</tool_call> {"})"#],
        ),
        // What is no call stays words.
        (
            "Write <tool_call> and </tool_call>.",
            &["\"Write <tool_call> and </tool_call>.\""],
        ),
        (
            "```\n<tool_call>{\"name\":\"f\"}</tool_call>\n```",
            &["\"```\\n<tool_call>{\\\"name\\\":\\\"f\\\"}</tool_call>\\n```\""],
        ),
        (
            "<tool_call>{broken: yes}</tool_call>",
            &["\"<tool_call>{broken: yes}</tool_call>\""],
        ),
    ];
    check(&rows, ToolFormat::Hermes, Ending::Complete);
}

#[test]
fn calls_in_the_notation_of_python() {
    let rows: [(&str, &[&str]); 4] = [
        (
            "<tool_call>{'name': 'f', 'arguments': {'a': 'it\\'s \"x\"', 'b': True, 'c': None,}}</tool_call>",
            &[r#"f({"a": "it's \"x\"", "b": true, "c": null})"#],
        ),
        (
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"two\nlines\", \"n\": -1.5e3}}</tool_call>",
            &[r#"f({"a": "two\nlines", "n": -1.5e3})"#],
        ),
        (
            "<tool_call>{'name': 'f', 'arguments': \"{'a': '\\u00fc\\ud83c\\udf0d\\x41'}\"}</tool_call>",
            &[r#"f({"a": "ü🌍A"})"#],
        ),
        (
            "<tool_call>{'name': f}</tool_call>",
            &["\"<tool_call>{'name': f}</tool_call>\""],
        ),
    ];
    check(&rows, ToolFormat::Hermes, Ending::Complete);
}

#[test]
fn calls_that_were_cut_never_parse() {
    let rows: [(&str, &[&str]); 5] = [
        (
            "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"lo",
            &["f({\"a\":\"lo)…"],
        ),
        ("<tool_call>{\"name\":\"f\",\"argum", &["f({)…"]),
        ("<tool_call>{\"na", &["\"<tool_call>{\\\"na\""]),
        (
            "<tool_call><function=weather><parameter=city>Bern</parameter><parameter=days>1",
            &["weather({\"city\":\"Bern\",\"days\":1)…"],
        ),
        ("Words <tool", &["\"Words <tool\""]),
    ];
    check(&rows, ToolFormat::Hermes, Ending::Cut);
}

#[test]
fn calls_as_tags_have_the_types_of_the_schema() {
    let call = |key: &str, value: &str| {
        let text = format!(
            "<tool_call>\n<function=weather>\n<parameter={key}>\n{value}\n</parameter>\n</function>\n</tool_call>"
        );
        shown(&text, ToolFormat::QwenXml, Ending::Complete).concat()
    };
    let rows = [
        ("city", "5", r#""5""#),
        ("city", "two\n\nlines\n", r#""two\n\nlines\n""#),
        ("city", "<b>\"x\"</b>", r#""<b>\"x\"</b>""#),
        ("days", "5", "5"),
        ("days", "12345678901234567890123", "12345678901234567890123"),
        ("days", "five", r#""five""#),
        ("days", "1.5", r#""1.5""#),
        ("scale", "1.50", "1.50"),
        ("scale", "2", "2"),
        ("hourly", "True", "true"),
        ("hourly", "false", "false"),
        ("tags", r#"["a", "b"]"#, r#"["a", "b"]"#),
        ("tags", "['a']", r#"["a"]"#),
        ("place", r#"{"x": 1.0}"#, r#"{"x": 1.0}"#),
        ("point", "{'x': 1}", r#"{"x": 1}"#),
        ("note", "null", "null"),
        ("note", "none", r#""none""#),
        ("either", "7", "7"),
        ("either", "seven", r#""seven""#),
        ("pick", "5", r#""5""#),
        ("unknown", "5", r#""5""#),
    ];
    for (key, value, expected) in rows {
        assert_eq!(
            call(key, value),
            format!("weather({{\"{key}\":{expected}}})"),
            "{key} {value}"
        );
    }
}

#[test]
fn calls_as_tags_with_tags_missing() {
    let bern = r#"weather({"city":"Bern","days":2})"#;
    let rows: [(&str, &[&str]); 6] = [
        (
            "<tool_call><function=weather><parameter=city>Bern</parameter><parameter=days>2</parameter></function>",
            &[bern],
        ),
        (
            "<tool_call><function=weather><parameter=city>Bern<parameter=days>2</tool_call>",
            &[bern],
        ),
        (
            "<function=weather>\n<parameter=city>\nBern\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>\nOK",
            &[bern, "\"OK\""],
        ),
        (
            "<tool_call><function=weather></function><function=weather></function></tool_call>",
            &["weather({})", "weather({})"],
        ),
        (
            "<tool_call><function=weather",
            &["\"<tool_call><function=weather\""],
        ),
        ("a < b <function> c", &["\"a < b <function> c\""]),
    ];
    check(&rows, ToolFormat::QwenXml, Ending::Complete);
}

#[test]
fn calls_as_invocations() {
    let bern = r#"weather({"city":"Bern","days":2})"#;
    let rows: [(&str, &[&str]); 12] = [
        (
            "Let me see.\n\n<function_calls>\n<invoke name=\"weather\">\n<parameter name=\"city\">Bern</parameter>\n<parameter name=\"days\">2</parameter>\n</invoke>\n</function_calls>\nDone.",
            &["\"Let me see.\"", bern, "\"Done.\""],
        ),
        (
            "<function_calls><invoke name=\"weather\"><parameter name=\"city\">\nBern\n</parameter></invoke>\n<invoke name='f'></invoke></function_calls>",
            &[r#"weather({"city":"Bern"})"#, "f({})"],
        ),
        // The oldest form.
        (
            "<function_calls>\n<invoke>\n<tool_name>weather</tool_name>\n<parameters>\n<city>Bern</city>\n<days>2</days>\n</parameters>\n</invoke>\n</function_calls>",
            &[bern],
        ),
        // A stop text took the closing tags away.
        (
            "<function_calls><invoke name=\"weather\"><parameter name=\"city\">Bern</parameter></invoke>",
            &[r#"weather({"city":"Bern"})"#],
        ),
        (
            "<function_calls><invoke name=\"weather\"><parameter name=\"city\">Bern</parameter>",
            &[r#"weather({"city":"Bern"})"#],
        ),
        // Tags within a value are data.
        (
            "<function_calls><invoke name=\"weather\"><parameter name=\"city\">a</invoke></function_calls></parameter></invoke></function_calls>",
            &[r#"weather({"city":"a</invoke></function_calls>"})"#],
        ),
        // All arguments at once.
        (
            "<function_calls><invoke name=\"f\">{\"a\": 1}</invoke></function_calls>",
            &[r#"f({"a": 1})"#],
        ),
        // What is no call stays words.
        (
            "Write <function_calls> and <invoke name=\"f\"></invoke>.",
            &["\"Write <function_calls> and <invoke name=\\\"f\\\"></invoke>.\""],
        ),
        (
            "<function_calls><invoke>oops</invoke></function_calls>",
            &["\"<function_calls><invoke>oops</invoke></function_calls>\""],
        ),
        (
            "<function_calls><invoke name=\"f\">words<parameter name=\"a\">1</parameter></invoke></function_calls>",
            &[
                "\"<function_calls><invoke name=\\\"f\\\">words<parameter name=\\\"a\\\">1</parameter></invoke></function_calls>\"",
            ],
        ),
        (
            "<function_calls><invoke name=\"f\"><parameter name=\"a\">1",
            &["\"<function_calls><invoke name=\\\"f\\\"><parameter name=\\\"a\\\">1\""],
        ),
        (
            "```\n<function_calls><invoke name=\"f\"></invoke></function_calls>\n```",
            &["\"```\\n<function_calls><invoke name=\\\"f\\\"></invoke></function_calls>\\n```\""],
        ),
    ];
    check(&rows, ToolFormat::Anthropic, Ending::Complete);
    check(
        &[(
            "<function_calls><invoke name=\"weather\"><parameter name=\"days\">2</parameter><parameter name=\"city\">Be",
            &["weather({\"days\":2,\"city\":\"Be\")…"],
        )],
        ToolFormat::Anthropic,
        Ending::Cut,
    );
}

#[test]
fn calls_as_bare_json() {
    let bern = r#"weather({"city":"Bern"})"#;
    let rows: [(&str, &[&str]); 20] = [
        (
            " {\"name\":\"weather\",\"arguments\":{\"city\":\"Bern\"}}\n",
            &[bern],
        ),
        (
            "{\"arguments\":\"{\\\"city\\\":\\\"Bern\\\"}\",\"name\":\"weather\"}",
            &[bern],
        ),
        (
            "{\"name\":\"weather\",\"parameters\":{\"city\":\"Bern\"}}",
            &[bern],
        ),
        (
            "{\"tool_calls\":[{\"name\":\"weather\",\"arguments\":{\"city\":\"Bern\"}},{\"id\":\"x\",\"type\":\"function\",\"function\":{\"name\":\"patch\",\"arguments\":\"{}\"}}]}",
            &[bern, "patch({})"],
        ),
        (
            "[{\"name\":\"weather\",\"arguments\":{}},{\"name\":\"weather\",\"arguments\":{}}]",
            &["weather({})", "weather({})"],
        ),
        (
            "Let me see.\n```json\n{\"name\":\"weather\",\"arguments\":{\"city\":\"Bern\"}}\n```\nDone.",
            &["\"Let me see.\"", bern, "\"Done.\""],
        ),
        (
            "```JSON\n{\"name\":\"weather\",\n\"arguments\":{\"city\":\"Bern\"}}\n```",
            &[bern],
        ),
        (
            "```json\n{\"name\":\"weather\",\"arguments\":{}}\n```\n\n```json\n{\"name\":\"patch\",\"arguments\":{}}\n```",
            &["weather({})", "patch({})"],
        ),
        // A tool that nobody declared, members that no call has, and JSON that is none.
        (
            "{\"name\":\"Bob\",\"arguments\":{}}",
            &["\"{\\\"name\\\":\\\"Bob\\\",\\\"arguments\\\":{}}\""],
        ),
        (
            "{\"name\":\"weather\"}",
            &["\"{\\\"name\\\":\\\"weather\\\"}\""],
        ),
        (
            "{\"name\":\"weather\",\"arguments\":{},\"age\":7}",
            &["\"{\\\"name\\\":\\\"weather\\\",\\\"arguments\\\":{},\\\"age\\\":7}\""],
        ),
        (
            "{\"name\":\"weather\",\"arguments\":{},}",
            &["\"{\\\"name\\\":\\\"weather\\\",\\\"arguments\\\":{},}\""],
        ),
        (
            "{\"name\":\"weather\",\"name\":\"patch\",\"arguments\":{}}",
            &["\"{\\\"name\\\":\\\"weather\\\",\\\"name\\\":\\\"patch\\\",\\\"arguments\\\":{}}\""],
        ),
        (
            "[{\"name\":\"weather\",\"arguments\":{}},{\"name\":\"Bob\",\"arguments\":{}}]",
            &[
                "\"[{\\\"name\\\":\\\"weather\\\",\\\"arguments\\\":{}},{\\\"name\\\":\\\"Bob\\\",\\\"arguments\\\":{}}]\"",
            ],
        ),
        ("{\"tool_calls\":[]}", &["\"{\\\"tool_calls\\\":[]}\""]),
        ("{\"answer\": 42}", &["\"{\\\"answer\\\": 42}\""]),
        ("[1, 2]", &["\"[1, 2]\""]),
        (
            "{\"name\":\"weather\",\"arguments\":{}} is what I would send.",
            &["\"{\\\"name\\\":\\\"weather\\\",\\\"arguments\\\":{}} is what I would send.\""],
        ),
        (
            "```\n{\"name\":\"weather\",\"arguments\":{}}\n```",
            &["\"```\\n{\\\"name\\\":\\\"weather\\\",\\\"arguments\\\":{}}\\n```\""],
        ),
        (
            "````\n```json\n{\"name\":\"weather\",\"arguments\":{}}\n```\n````",
            &[
                "\"````\\n```json\\n{\\\"name\\\":\\\"weather\\\",\\\"arguments\\\":{}}\\n```\\n````\"",
            ],
        ),
    ];
    check(&rows, ToolFormat::Json, Ending::Complete);
    let open = "```json\n{\"name\":\"weather\",\"arguments\":{}}";
    assert_eq!(
        shown(open, ToolFormat::Json, Ending::Complete),
        ["weather({})"]
    );
    for cut in [open, "{\"name\":\"weather\",\"arguments\":{}}"] {
        let pieces = split(&[cut.to_owned()], ToolFormat::Json, Ending::Cut);
        assert_eq!(pieces, [CallPiece::Words(cut.to_owned())]);
    }
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_pieces(
        texts in cut_text(&[
            "<tool_call>", "</tool_call>", "{\"name\":\"f\",", "\"arguments\":{\"a\":\"", "\"}}", "}",
            "<function=weather>", "<parameter=days>", "5", "</parameter>", "</function>", "```",
            "\n", " ", "<", "words", "ü", "'", "{'name': 'g'}",
        ]),
        is_xml in any::<bool>(),
        is_cut in any::<bool>(),
    ) {
        let format = if is_xml { ToolFormat::QwenXml } else { ToolFormat::Hermes };
        let ending = if is_cut { Ending::Cut } else { Ending::Complete };
        let whole = [texts.concat()];
        prop_assert_eq!(split(&texts, format, ending), split(&whole, format, ending));
    }

    #[test]
    fn words_without_tags_are_untouched(text in "[a-zäß \n`<>/{}\"'-]{0,60}") {
        prop_assume!(!text.contains("<tool_call>"));
        for format in [ToolFormat::Hermes, ToolFormat::Anthropic, ToolFormat::Json] {
            let pieces = split(std::slice::from_ref(&text), format, Ending::Complete);
            let words = if text.is_empty() { vec![] } else { vec![CallPiece::Words(text.clone())] };
            prop_assert_eq!(pieces, words);
        }
    }

    #[test]
    fn nothing_that_a_model_writes_panics(
        opening in proptest::sample::select(vec![
            "<tool_call>{", "<tool_call>{'name': '", "<tool_call>{\"name\":\"f\",\"arguments\":",
            "<tool_call><function=weather><parameter=place>", "<tool_call><function=",
            "<function_calls><invoke", "<function_calls><invoke name=\"weather\"><parameter name=",
            "<function_calls><invoke><tool_name>f</tool_name><parameters><", "```json\n{", "{\"name\":",
        ]),
        text in any::<String>(),
        is_cut in any::<bool>(),
    ) {
        let ending = if is_cut { Ending::Cut } else { Ending::Complete };
        split(&[format!("{opening}{text}")], ToolFormat::QwenXml, ending);
        split(&[format!("{opening}{text}</tool_call>")], ToolFormat::Hermes, ending);
        split(&[format!("{opening}\\{text}'}}}}")], ToolFormat::Hermes, ending);
        split(&[format!("{opening}{text}</parameter></invoke>")], ToolFormat::Anthropic, ending);
        split(&[format!("{opening}{text}\n```\n")], ToolFormat::Json, ending);
    }
}

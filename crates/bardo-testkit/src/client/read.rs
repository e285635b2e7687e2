//! A stream as its caller reads it.

use bardo_types::model::Dialect;
use serde_json::Value;

/// How a stream ended, to a strict reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With the terminal event of its dialect and nothing after it.
    Clean,
    /// With an error event of its dialect and nothing after it; the code in it.
    Failed(String),
    /// Neither a terminal event nor an error event.
    Open,
}

/// The content and the faults of a stream, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The text so far.
    pub text: String,
    /// How it ended.
    pub ending: Ending,
    /// Output tokens as the stream reports them.
    pub output_tokens: Option<u64>,
    /// The rules that a strict reader would see broken.
    pub damage: Vec<String>,
}

impl Reading {
    /// Reads all the bytes of a stream that is over, or that was left.
    #[must_use]
    pub fn of(dialect: Dialect, bytes: &[u8]) -> Self {
        let mut reading = Self {
            text: String::new(),
            ending: Ending::Open,
            output_tokens: None,
            damage: Vec::new(),
        };
        let Ok(stream) = std::str::from_utf8(bytes) else {
            reading.damage.push("it is not UTF-8".into());
            return reading;
        };
        let stream = stream.replace("\r\n", "\n").replace('\r', "\n");
        if !stream.is_empty() && !stream.ends_with("\n\n") {
            reading.damage.push("its last event is torn".into());
        }
        let mut starts = 0;
        for block in stream.split("\n\n").filter(|block| !block.is_empty()) {
            if block.starts_with(':') {
                continue;
            }
            if reading.ending != Ending::Open {
                reading.damage.push(format!("after its end: {block}"));
            }
            reading.block(dialect, block, &mut starts);
        }
        if starts > 1 {
            reading.damage.push(format!("it begins {starts} times"));
        }
        reading
    }

    fn block(&mut self, dialect: Dialect, block: &str, starts: &mut usize) {
        let mut data = String::new();
        for line in block.lines() {
            match line.split_once(':') {
                Some(("data", value)) => data.push_str(value.strip_prefix(' ').unwrap_or(value)),
                Some(("event" | "id" | "retry", _)) => {}
                _ => self.damage.push(format!("no field: {line}")),
            }
        }
        if data == "[DONE]" && matches!(dialect, Dialect::Chat | Dialect::Completions) {
            self.ending = Ending::Clean;
            return;
        }
        let Ok(event) = serde_json::from_str::<Value>(&data) else {
            self.damage.push(format!("no JSON: {data}"));
            return;
        };
        match dialect {
            Dialect::Chat | Dialect::Completions | Dialect::Gemini => self.chat(&event),
            Dialect::Anthropic => self.anthropic(&event, starts),
            Dialect::Responses => self.responses(&event, starts),
        }
    }

    fn chat(&mut self, event: &Value) {
        if let Some(error) = event.get("error") {
            self.fail(error, &["message", "type", "param", "code"]);
            return;
        }
        let said = event.pointer("/choices/0/delta/content");
        if let Some(text) = said.or_else(|| event.pointer("/choices/0/text")) {
            self.text.push_str(text.as_str().unwrap_or_default());
        }
        if let Some(tokens) = event.pointer("/usage/completion_tokens") {
            self.output_tokens = tokens.as_u64();
        }
    }

    fn anthropic(&mut self, event: &Value, starts: &mut usize) {
        match event["type"].as_str() {
            Some("message_start") => *starts += 1,
            Some("content_block_delta") => {
                let text = event.pointer("/delta/text").and_then(Value::as_str);
                self.text.push_str(text.unwrap_or_default());
            }
            Some("message_delta") => {
                let tokens = event.pointer("/usage/output_tokens");
                self.output_tokens = tokens.and_then(Value::as_u64).or(self.output_tokens);
            }
            Some("message_stop") => self.ending = Ending::Clean,
            Some("error") => self.fail(&event["error"], &["type", "message"]),
            _ => {}
        }
    }

    fn responses(&mut self, event: &Value, starts: &mut usize) {
        match event["type"].as_str() {
            Some("response.created") => *starts += 1,
            Some("response.output_text.delta") => {
                self.text
                    .push_str(event["delta"].as_str().unwrap_or_default());
            }
            Some("response.completed") => {
                let tokens = event.pointer("/response/usage/output_tokens");
                self.output_tokens = tokens.and_then(Value::as_u64);
                self.ending = Ending::Clean;
            }
            Some("response.failed") => {
                if event["response"]["status"] != "failed" {
                    self.damage.push(format!("a failure that is none: {event}"));
                }
                self.fail(&event["response"]["error"], &["code", "message"]);
            }
            _ => {}
        }
    }

    fn fail(&mut self, error: &Value, keys: &[&str]) {
        for key in keys {
            if error.get(*key).is_none() {
                self.damage.push(format!("no `{key}` in the error {error}"));
            }
        }
        let code = error.get("bardo_code").or_else(|| error.get("code"));
        let code = code.and_then(Value::as_str).unwrap_or_default().to_owned();
        self.ending = Ending::Failed(code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;

    #[test]
    fn what_providers_say_reads_as_said_and_a_cut_is_seen() {
        for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Responses] {
            let answer = Answer::new(dialect, "m", 1, 2, 9);
            let events = answer.events();
            let join = |until: usize| {
                let mut bytes = Vec::new();
                for event in &events[..until] {
                    bytes.extend_from_slice(&event.bytes);
                }
                Reading::of(dialect, &bytes)
            };
            let whole = join(events.len());
            assert_eq!(whole.text, answer.text());
            assert_eq!(whole.ending, Ending::Clean, "{dialect:?}");
            assert_eq!(whole.output_tokens, Some(answer.output()));
            assert_eq!(whole.damage, [""; 0]);
            let cut = join(events.len() - 1);
            assert_eq!(cut.ending, Ending::Open, "{dialect:?}");
            let failed = Reading::of(dialect, &crate::answer::error_event(dialect));
            assert!(matches!(failed.ending, Ending::Failed(_)), "{dialect:?}");
        }
    }

    #[test]
    fn a_torn_event_and_words_after_the_end_are_damage() {
        let torn = Reading::of(Dialect::Chat, b"data: {\"choices\"");
        assert_eq!(torn.damage.len(), 2, "{:?}", torn.damage);
        let more = Reading::of(Dialect::Chat, b"data: [DONE]\n\ndata: [DONE]\n\n");
        assert_eq!(more.damage.len(), 1, "{:?}", more.damage);
    }
}

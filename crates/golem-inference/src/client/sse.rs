//! Server-sent events, as the gateway writes them: `data` lines, and the comment that closes a
//! stream. Bytes may arrive cut anywhere.

/// One line that says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SseLine {
    /// Text after `data: `.
    Data(String),
    /// Text after `: bardo `, the final figures.
    Figures(String),
}

/// Frames bytes into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    held: Vec<u8>,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// Bytes that wait for the end of their line.
    pub(super) fn waiting(&self) -> usize {
        self.held.len()
    }

    /// The next line that says something.
    pub(super) fn next(&mut self) -> Option<SseLine> {
        loop {
            let end = self.held.iter().position(|byte| *byte == b'\n')?;
            let line: Vec<u8> = self.held.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\r', '\n']);
            if let Some(figures) = text.strip_prefix(": bardo ") {
                return Some(SseLine::Figures(figures.to_owned()));
            }
            if let Some(data) = text.strip_prefix("data:") {
                return Some(SseLine::Data(data.trim_start().to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_gives_the_same_lines() {
        let stream = ": heartbeat\n\ndata: {\"a\":\"é\"}\r\n\r\n: bardo {\"cost\":\"1\"}\n\ndata: [DONE]\n\n";
        let expected = [
            SseLine::Data("{\"a\":\"é\"}".into()),
            SseLine::Figures("{\"cost\":\"1\"}".into()),
            SseLine::Data("[DONE]".into()),
        ];
        for cut in 0..stream.len() {
            let (first, second) = stream.as_bytes().split_at(cut);
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for part in [first, second] {
                lines.push(part);
                while let Some(line) = lines.next() {
                    found.push(line);
                }
            }
            assert_eq!(found, expected, "cut at {cut}");
            assert_eq!(lines.waiting(), 0);
        }
    }
}

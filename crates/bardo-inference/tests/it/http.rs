//! Plain HTTP/1.1 over a socket, for clients and sellers of these tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// The head of a request or an answer, and its body.
#[derive(Debug, Clone, Default)]
pub(crate) struct HttpMessage {
    /// The first line.
    pub(crate) start: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl HttpMessage {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Status of an answer.
    pub(crate) fn status(&self) -> u16 {
        self.word(1).parse().expect("a status")
    }

    /// Path of a request.
    pub(crate) fn path(&self) -> &str {
        self.word(1)
    }

    fn word(&self, at: usize) -> &str {
        self.start.split(' ').nth(at).unwrap_or_default()
    }
}

/// Reads a head; `None` where the connection ended before it.
pub(crate) fn read_head(stream: &mut BufReader<TcpStream>) -> Option<HttpMessage> {
    let mut line = || {
        let mut text = String::new();
        let read = stream.read_line(&mut text).ok()?;
        (read > 0).then(|| text.trim_end().to_owned())
    };
    let start = line()?;
    let mut headers = Vec::new();
    loop {
        let text = line()?;
        let Some((name, value)) = text.split_once(':') else {
            break;
        };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    Some(HttpMessage {
        start,
        headers,
        body: Vec::new(),
    })
}

/// Reads one piece of a body: a chunk, or all of it; empty at the end.
pub(crate) fn read_piece(stream: &mut BufReader<TcpStream>, head: &HttpMessage) -> Vec<u8> {
    if let Some(length) = head.header("content-length") {
        let mut body = vec![0; length.parse().expect("a length")];
        stream.read_exact(&mut body).expect("a whole body");
        return body;
    }
    if head.header("transfer-encoding").is_none() {
        return Vec::new();
    }
    let mut size = String::new();
    stream.read_line(&mut size).expect("the size of a chunk");
    let size = usize::from_str_radix(size.trim(), 16).expect("a chunk");
    let mut chunk = vec![0; size + 2];
    stream.read_exact(&mut chunk).expect("a whole chunk");
    chunk.truncate(size);
    chunk
}

/// Reads a message to its end.
pub(crate) fn read_message(stream: &mut BufReader<TcpStream>) -> Option<HttpMessage> {
    let mut message = read_head(stream)?;
    if message.header("content-length").is_some() {
        message.body = read_piece(stream, &message);
        return Some(message);
    }
    loop {
        let piece = read_piece(stream, &message);
        if piece.is_empty() {
            return Some(message);
        }
        message.body.extend(piece);
    }
}

/// Sends a request on a new connection; the answer is still on its way.
pub(crate) fn send(
    port: u16,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the proxy listens");
    let mut head = format!("POST {path} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "host") {
        head.push_str(&format!("host: 127.0.0.1:{port}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let sent = stream.write_all(format!("{head}\r\n{body}").as_bytes());
    sent.expect("the proxy reads");
    BufReader::new(stream)
}

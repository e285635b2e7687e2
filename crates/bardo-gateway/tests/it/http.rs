//! A client that sees every byte: one request per connection, written and read by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// No test may wait longer than this for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A request as it goes over the wire.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn get(path: &str) -> Self {
        Self {
            method: "GET".into(),
            path: path.into(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn post(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            method: "POST".into(),
            path: path.into(),
            headers: vec![("content-type".into(), "application/json".into())],
            body: body.into(),
        }
    }

    pub(crate) fn json(path: &str, body: &Value) -> Self {
        Self::post(path, body.to_string())
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn method(mut self, method: &str) -> Self {
        self.method = method.into();
        self
    }

    pub(crate) fn head(&self, host: SocketAddr) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\nhost: {host}\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let framed = self.headers.iter().any(|(name, _)| {
            name.eq_ignore_ascii_case("content-length")
                || name.eq_ignore_ascii_case("transfer-encoding")
        });
        if !framed && (self.method == "POST" || !self.body.is_empty()) {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head.push_str("connection: close\r\n\r\n");
        head
    }

    /// Sends everything and leaves the answer to be read.
    pub(crate) fn open(&self, to: SocketAddr) -> Exchange {
        self.try_open(to).expect("somebody listens")
    }

    /// Sends everything, unless the connection is refused.
    pub(crate) fn try_open(&self, to: SocketAddr) -> Option<Exchange> {
        let mut stream = try_connect(to).ok()?;
        // A server that refuses early may close while this still writes; its answer counts.
        let _ = stream
            .write_all(self.head(to).as_bytes())
            .and_then(|()| stream.write_all(&self.body));
        Some(Exchange::new(stream))
    }

    /// Sends everything and reads the whole answer.
    pub(crate) fn send(&self, to: SocketAddr) -> Answer {
        self.open(to).answer()
    }
}

pub(crate) fn connect(to: SocketAddr) -> TcpStream {
    try_connect(to).expect("somebody listens")
}

fn try_connect(to: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// The head of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    /// Without its transfer coding.
    pub(crate) body: Vec<u8>,
    /// The body ended as its framing promised.
    pub(crate) complete: bool,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.get(name)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error}: {} {:?}", self.text(), self.head);
        })
    }
}

/// An answer that is being read.
pub(crate) struct Exchange {
    reader: BufReader<TcpStream>,
    head: Option<Head>,
    framing: Framing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Chunked,
    Length(usize),
    Close,
    Over { complete: bool },
}

impl Exchange {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            reader: BufReader::new(stream),
            head: None,
            framing: Framing::Close,
        }
    }

    /// Sends more on the same connection, and gets ready for the next answer.
    pub(crate) fn again(&mut self, bytes: &[u8]) {
        self.head = None;
        self.framing = Framing::Close;
        let _ = self.reader.get_mut().write_all(bytes);
    }

    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        match self.reader.read_until(b'\n', &mut line) {
            Ok(_) if line.ends_with(b"\r\n") => {
                line.truncate(line.len() - 2);
                Some(String::from_utf8_lossy(&line).into_owned())
            }
            Ok(_) => None,
            Err(error) => {
                in_time(&error);
                None
            }
        }
    }

    /// The head; `None` when the connection ended without one.
    pub(crate) fn try_head(&mut self) -> Option<Head> {
        if let Some(head) = &self.head {
            return Some(head.clone());
        }
        let status_line = self.line()?;
        let status: u16 = status_line
            .split(' ')
            .nth(1)?
            .parse()
            .expect("a status is a number");
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').expect("a header has a colon");
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if status == 100 {
            return self.try_head();
        }
        let head = Head { status, headers };
        self.framing = if head.get("transfer-encoding") == Some("chunked") {
            Framing::Chunked
        } else if let Some(length) = head.get("content-length") {
            Framing::Length(length.parse().expect("a length is a number"))
        } else {
            Framing::Close
        };
        self.head = Some(head.clone());
        Some(head)
    }

    #[track_caller]
    pub(crate) fn head(&mut self) -> Head {
        self.try_head().expect("an answer begins")
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) fn piece(&mut self) -> Option<Vec<u8>> {
        self.try_head()?;
        match self.framing {
            Framing::Over { .. } => None,
            Framing::Chunked => {
                let size = self
                    .line()
                    .and_then(|line| usize::from_str_radix(line.trim(), 16).ok());
                let mut piece = vec![0; size.unwrap_or(0) + 2];
                if let Some(size) = size
                    && self.fill(&mut piece)
                {
                    piece.truncate(size);
                    if size > 0 {
                        return Some(piece);
                    }
                    self.framing = Framing::Over { complete: true };
                } else {
                    self.framing = Framing::Over { complete: false };
                }
                None
            }
            Framing::Length(0) => {
                self.framing = Framing::Over { complete: true };
                None
            }
            Framing::Length(length) => {
                let mut piece = vec![0; length];
                let complete = self.fill(&mut piece);
                self.framing = Framing::Over { complete };
                complete.then_some(piece)
            }
            Framing::Close => {
                let mut rest = Vec::new();
                let complete = match self.reader.read_to_end(&mut rest) {
                    Ok(_) => true,
                    Err(error) => {
                        in_time(&error);
                        false
                    }
                };
                self.framing = Framing::Over { complete };
                (!rest.is_empty()).then_some(rest)
            }
        }
    }

    fn fill(&mut self, piece: &mut [u8]) -> bool {
        match self.reader.read_exact(piece) {
            Ok(()) => true,
            Err(error) => {
                in_time(&error);
                false
            }
        }
    }

    /// Reads until the body so far holds `text`.
    #[track_caller]
    pub(crate) fn until(&mut self, seen: &mut Vec<u8>, text: &str) {
        self.until_it(seen, text, |seen| contains(seen, text.as_bytes()));
    }

    /// Reads until the body so far is enough.
    #[track_caller]
    pub(crate) fn until_it(
        &mut self,
        seen: &mut Vec<u8>,
        what: &str,
        is_enough: impl Fn(&[u8]) -> bool,
    ) {
        let since = Instant::now();
        while !is_enough(seen) {
            // Heartbeats keep a stream alive on which nothing else comes.
            assert!(
                since.elapsed() < PATIENCE,
                "not in {PATIENCE:?}: {what:?} {}",
                String::from_utf8_lossy(seen)
            );
            match self.piece() {
                Some(piece) => seen.extend_from_slice(&piece),
                None => panic!(
                    "ended before {what:?}: {:?} {}",
                    self.head,
                    String::from_utf8_lossy(seen)
                ),
            }
        }
    }

    /// What is left of the body, and whether it ended as its framing promised.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        while let Some(piece) = self.piece() {
            body.extend_from_slice(&piece);
        }
        let complete = matches!(self.framing, Framing::Over { complete: true });
        (body, complete)
    }

    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        let head = self.head();
        let (body, complete) = self.rest();
        Answer {
            head,
            body,
            complete,
        }
    }
}

/// A reset is an ending like others; a wait without end is a failed test.
#[track_caller]
fn in_time(error: &std::io::Error) {
    let late = matches!(
        error.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
    );
    assert!(!late, "nothing came for {PATIENCE:?}");
}

pub(crate) fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

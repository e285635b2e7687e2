//! A provider that says and does exactly what a test tells it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::net::TcpSocket;

use crate::http::PATIENCE;

/// A request that it got.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Got {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }
}

/// One connection on which a request has arrived.
pub(crate) struct Turn {
    pub(crate) got: Got,
    stream: TcpStream,
}

impl Turn {
    pub(crate) fn write(&mut self, text: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(text.as_ref());
        let _ = self.stream.flush();
    }

    /// Writes this again and again until the other side has had enough, or `most` bytes are
    /// written; answers how many were.
    pub(crate) fn flood(&mut self, text: impl AsRef<[u8]>, most: usize) -> usize {
        let text = text.as_ref();
        let mut written = 0;
        while written < most && self.stream.write_all(text).is_ok() {
            written += text.len();
        }
        written
    }

    /// A whole answer.
    pub(crate) fn answer(&mut self, status: u16, kind: &str, body: &str) {
        self.write(format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
    }

    pub(crate) fn json(&mut self, body: &str) {
        self.answer(200, "application/json", body);
    }

    /// The head of a stream whose end is the end of the connection.
    pub(crate) fn stream_head(&mut self) {
        self.write(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
        );
    }

    /// One chunk of a stream, wherever events begin or end.
    pub(crate) fn chunk(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        self.write(format!("{:x}\r\n", text.len()));
        self.write(text);
        self.write("\r\n");
    }

    pub(crate) fn end(&mut self) {
        self.write("0\r\n\r\n");
    }

    /// A second handle of this connection, to read while writing.
    pub(crate) fn twin(&self) -> Self {
        Self {
            got: self.got.clone(),
            stream: self.stream.try_clone().expect("a descriptor"),
        }
    }

    /// Waits for the first bytes of another request on the same connection.
    pub(crate) fn more(&mut self) -> bool {
        let mut bytes = [0; 1024];
        matches!(self.stream.read(&mut bytes), Ok(read) if read > 0)
    }

    /// Waits until the other side closes, and says when that was.
    pub(crate) fn closed(&mut self) -> Instant {
        let mut rest = [0; 1024];
        while matches!(self.stream.read(&mut rest), Ok(n) if n > 0) {}
        Instant::now()
    }
}

/// A listening provider.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
    connections: Arc<Mutex<usize>>,
}

impl Scripted {
    pub(crate) fn start(script: impl Fn(Turn) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let got = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(Mutex::new(0));
        let (script, seen, count) = (Arc::new(script), Arc::clone(&got), Arc::clone(&connections));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                *locked(&count) += 1;
                let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
                std::thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    let _ = stream.set_read_timeout(Some(PATIENCE));
                    if let Some(turn) = receive(stream) {
                        locked(&seen).push(turn.got.clone());
                        script(turn);
                    }
                });
            }
        });
        Self {
            address,
            got,
            connections,
        }
    }

    /// Answers everything with this JSON.
    pub(crate) fn always(body: &'static str) -> Self {
        Self::start(move |mut turn| turn.json(body))
    }

    /// Streams these bytes in one go.
    pub(crate) fn streams(events: impl Into<Vec<u8>>) -> Self {
        let events = events.into();
        Self::start(move |mut turn| {
            turn.stream_head();
            turn.chunk(&events);
            turn.end();
        })
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        locked(&self.got).clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *locked(&self.connections)
    }

    #[track_caller]
    pub(crate) fn only(&self) -> Got {
        let mut got = self.got();
        assert_eq!(got.len(), 1);
        got.remove(0)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn receive(stream: TcpStream) -> Option<Turn> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, length)| length.parse().expect("a number"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let got = Got {
        line: lines.swap_remove(0),
        headers,
        body,
    };
    Some(Turn { got, stream })
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

/// An address that refuses connections. Its port stays bound until the process ends, so that no
/// server of another test gets it.
pub(crate) fn nobody() -> SocketAddr {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket
        .bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
        .expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    std::mem::forget(socket);
    address
}

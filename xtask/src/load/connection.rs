//! The least HTTP/1.1 that measures: one connection, one message at a time.
//!
//! Hand-written so that the load costs little beside what it measures. It
//! reads what well-behaved peers on loopback send and refuses the rest.

use std::{net::SocketAddr, ops::Range};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const BUFFER: usize = 64 * 1024;

/// How long a message's body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
}

/// The parts of a message head that matter here.
#[derive(Debug)]
pub(crate) struct Head {
    /// The status line or the request line.
    pub(crate) first_line: String,
    pub(crate) framing: Framing,
    /// The peer will close after this message.
    pub(crate) last: bool,
}

impl Head {
    pub(crate) fn status(&self) -> Result<u16> {
        let code = self
            .first_line
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok());
        code.with_context(|| format!("not a status line: `{}`", self.first_line))
    }

    /// The target of a request line.
    pub(crate) fn target(&self) -> &str {
        self.first_line.split(' ').nth(1).unwrap_or_default()
    }
}

/// Bytes that have arrived and are not consumed yet.
pub(crate) struct Reader {
    buffer: Vec<u8>,
    unread: Range<usize>,
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; BUFFER],
            unread: 0..0,
        }
    }

    /// Waits for more bytes; false at the end of the stream.
    async fn fill(&mut self, source: &mut (impl AsyncRead + Unpin)) -> Result<bool> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.end == self.buffer.len() {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
            if self.unread.end == self.buffer.len() {
                bail!("a line longer than {BUFFER} bytes");
            }
        }
        let count = source.read(&mut self.buffer[self.unread.end..]).await?;
        self.unread.end += count;
        Ok(count > 0)
    }

    /// The next line without its ending, or `None` at the end of the stream.
    async fn line(
        &mut self,
        source: &mut (impl AsyncRead + Unpin),
    ) -> Result<Option<Range<usize>>> {
        let mut seen = 0;
        loop {
            let unread = &self.buffer[self.unread.clone()];
            if let Some(length) = memchr::memchr(b'\n', &unread[seen..]).map(|at| at + seen) {
                let start = self.unread.start;
                self.unread.start += length + 1;
                let text = length - usize::from(unread[..length].ends_with(b"\r"));
                return Ok(Some(start..start + text));
            }
            seen = unread.len();
            if !self.fill(source).await? {
                if seen == 0 {
                    return Ok(None);
                }
                bail!("the peer closed within a line");
            }
        }
    }

    async fn required_line(&mut self, source: &mut (impl AsyncRead + Unpin)) -> Result<&[u8]> {
        let line = self.line(source).await?;
        let line = line.context("the peer closed within a message")?;
        Ok(&self.buffer[line])
    }

    /// The next message head, or `None` when the peer closed between messages.
    pub(crate) async fn head(
        &mut self,
        source: &mut (impl AsyncRead + Unpin),
    ) -> Result<Option<Head>> {
        let Some(line) = self.line(source).await? else {
            return Ok(None);
        };
        let mut head = Head {
            first_line: String::from_utf8_lossy(&self.buffer[line]).into_owned(),
            framing: Framing::Length(0),
            last: false,
        };
        loop {
            let line = self.required_line(source).await?;
            if line.is_empty() {
                return Ok(Some(head));
            }
            read_header(&mut head, line)?;
        }
    }

    /// Appends the whole body to `into`.
    pub(crate) async fn body(
        &mut self,
        source: &mut (impl AsyncRead + Unpin),
        framing: Framing,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        match framing {
            Framing::Length(length) => self.exactly(source, length, into).await,
            Framing::Chunked => {
                while self.chunk(source, into).await? {}
                while !self.required_line(source).await?.is_empty() {}
                Ok(())
            }
        }
    }

    /// Appends one chunk of a chunked body; false after the last one.
    pub(crate) async fn chunk(
        &mut self,
        source: &mut (impl AsyncRead + Unpin),
        into: &mut Vec<u8>,
    ) -> Result<bool> {
        let length = chunk_length(self.required_line(source).await?)?;
        if length == 0 {
            return Ok(false);
        }
        self.exactly(source, length, into).await?;
        if !self.required_line(source).await?.is_empty() {
            bail!("a chunk longer than it said");
        }
        Ok(true)
    }

    async fn exactly(
        &mut self,
        source: &mut (impl AsyncRead + Unpin),
        length: usize,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        let mut missing = length;
        while missing > 0 {
            let ready = missing.min(self.unread.len());
            let range = self.unread.start..self.unread.start + ready;
            into.extend_from_slice(&self.buffer[range]);
            self.unread.start += ready;
            missing -= ready;
            if missing > 0 && !self.fill(source).await? {
                bail!("the peer closed with {missing} bytes to come");
            }
        }
        Ok(())
    }
}

fn read_header(head: &mut Head, line: &[u8]) -> Result<()> {
    let colon = memchr::memchr(b':', line).context("a header without a colon")?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    if name.eq_ignore_ascii_case(b"content-length") {
        let value = std::str::from_utf8(value)?;
        head.framing = Framing::Length(value.parse().context("content-length")?);
    } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
        if !value.eq_ignore_ascii_case(b"chunked") {
            bail!("unknown transfer-encoding");
        }
        head.framing = Framing::Chunked;
    } else if name.eq_ignore_ascii_case(b"connection") && value.eq_ignore_ascii_case(b"close") {
        head.last = true;
    }
    Ok(())
}

fn chunk_length(line: &[u8]) -> Result<usize> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let digits = std::str::from_utf8(digits.trim_ascii())?;
    usize::from_str_radix(digits, 16).with_context(|| format!("chunk length `{digits}`"))
}

/// A client connection that opens itself when needed.
pub(crate) struct Client {
    address: SocketAddr,
    open: Option<(TcpStream, Reader)>,
    body: Vec<u8>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            open: None,
            body: Vec::new(),
        }
    }

    pub(crate) async fn connect(&mut self) -> Result<()> {
        if self.open.is_none() {
            let stream = TcpStream::connect(self.address)
                .await
                .with_context(|| format!("connect to {}", self.address))?;
            stream.set_nodelay(true)?;
            self.open = Some((stream, Reader::new()));
        }
        Ok(())
    }

    /// Sends one request and reads its whole answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        self.body.clear();
        let head = self.begin(request).await?;
        if let Some((stream, reader)) = &mut self.open
            && let Err(error) = reader.body(stream, head.framing, &mut self.body).await
        {
            self.open = None;
            return Err(error);
        }
        if head.last {
            self.open = None;
        }
        Ok((head.status()?, &self.body))
    }

    /// Sends one request and reads the head and the first chunk of a streamed
    /// answer, which stays open as long as this client lives.
    pub(crate) async fn open_stream(&mut self, request: &[u8]) -> Result<u16> {
        self.body.clear();
        let head = self.begin(request).await?;
        let status = head.status()?;
        if status == 200 && head.framing != Framing::Chunked {
            bail!("the answer is not a stream");
        }
        if let (200, Some((stream, reader))) = (status, &mut self.open) {
            reader.chunk(stream, &mut self.body).await?;
        }
        Ok(status)
    }

    /// Sends one request, reads the head and what comes with it, and goes away.
    pub(crate) async fn leave_early(&mut self, request: &[u8]) -> Result<()> {
        let left = self.begin(request).await.map(drop);
        self.open = None;
        left
    }

    async fn begin(&mut self, request: &[u8]) -> Result<Head> {
        self.connect().await?;
        let mut open = self.open.take().context("connected above")?;
        let (stream, reader) = &mut open;
        stream.write_all(request).await?;
        let head = reader.head(stream).await?;
        let head = head.context("the peer closed instead of answering")?;
        self.open = Some(open);
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// Reads `message` arriving in pieces of `piece` bytes.
    fn read(message: &[u8], piece: usize) -> Result<(Head, Vec<u8>)> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (first, rest) = message.split_at(piece.min(message.len()));
            let mut source = first.chain(rest);
            let mut reader = Reader::new();
            let head = reader.head(&mut source).await?.context("no message")?;
            let mut body = Vec::new();
            reader.body(&mut source, head.framing, &mut body).await?;
            anyhow::ensure!(
                reader.head(&mut source).await?.is_none(),
                "bytes are left over"
            );
            Ok((head, body))
        })
    }

    #[test]
    fn bodies_of_both_framings_arrive_whole_however_they_are_split() {
        let plain = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let chunked =
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\na: b\r\n\r\n";
        for message in [&plain[..], &chunked[..]] {
            for piece in 0..=message.len() {
                let (head, body) = read(message, piece).unwrap();
                assert_eq!(head.status().unwrap(), 200);
                assert_eq!(body, b"hello", "split at {piece}");
            }
        }
    }

    #[test]
    fn a_cut_answer_is_an_error() {
        let chunked =
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
        for length in 1..chunked.len() {
            assert!(read(&chunked[..length], 1).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn a_body_longer_than_the_buffer_arrives_whole() {
        let mut message = b"POST /x HTTP/1.1\r\ncontent-length: 200000\r\n\r\n".to_vec();
        message.resize(message.len() + 200_000, b'y');
        let (head, body) = read(&message, 70_000).unwrap();
        assert_eq!((head.target(), body.len()), ("/x", 200_000));
    }

    #[test]
    fn an_announced_close_is_seen() {
        let message = b"HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 0\r\n\r\n";
        assert!(read(message, 3).unwrap().0.last);
    }
}

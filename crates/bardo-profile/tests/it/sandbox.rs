//! The simulated providers over loopback, as strict as the real ones are documented to be.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use bardo_sandbox::{Sandbox, SandboxConfig};
use serde_json::Value;

/// One connection to simulated providers, which run on a thread of their own.
pub(crate) struct Connection {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open() -> Self {
        let sandbox = Sandbox::bind(SandboxConfig::default()).expect("a free port");
        let address = sandbox.local_addr();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(sandbox.run(std::future::pending()))
        });
        let stream = TcpStream::connect(address).expect("the sandbox listens");
        stream.set_nodelay(true).expect("a socket");
        let stream = BufReader::new(stream);
        Self { address, stream }
    }

    /// Sends one request and reads its answer: the status and the body.
    pub(crate) fn send(&mut self, line: &str, body: &[u8]) -> (u16, String) {
        let (address, length) = (self.address, body.len());
        let head = format!(
            "{line} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer brk_test\r\n\
             x-api-key: brk_test\r\nx-goog-api-key: brk_test\r\n\
             anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n"
        );
        let sent = [head.as_bytes(), body].concat();
        self.stream
            .get_mut()
            .write_all(&sent)
            .expect("the sandbox reads");
        self.answer().expect("the sandbox answers")
    }

    fn answer(&mut self) -> std::io::Result<(u16, String)> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                None => break,
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().expect("a length");
                }
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok((status.expect("a status"), body))
    }

    /// A list that a service publishes.
    pub(crate) fn list(&mut self, path: &str) -> Vec<Value> {
        let (status, body) = self.send(&format!("GET {path}"), b"");
        assert_eq!(status, 200, "{body}");
        let list: Value = serde_json::from_str(&body).expect("JSON");
        list["data"].as_array().expect("a list").clone()
    }
}

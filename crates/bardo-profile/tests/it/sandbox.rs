//! The simulated providers over loopback, as strict as the real ones are documented to be.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use bardo_sandbox::{Sandbox, SandboxConfig};
use serde_json::Value;

/// Simulated providers on a thread of their own, for as long as the tests run.
pub(crate) fn start() -> SocketAddr {
    let sandbox = Sandbox::bind(SandboxConfig::default()).expect("a free port");
    let address = sandbox.local_addr();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(sandbox.run(std::future::pending()))
    });
    address
}

/// One request and its answer: the status and the body.
pub(crate) fn send(address: SocketAddr, head: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("the sandbox listens");
    let length = body.len();
    let head = format!(
        "{head} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         authorization: Bearer brk_test\r\nx-api-key: brk_test\r\nx-goog-api-key: brk_test\r\n\
         anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    );
    let mut sent = head.into_bytes();
    sent.extend_from_slice(body);
    stream.write_all(&sent).expect("the sandbox reads");
    let mut answer = Vec::new();
    stream
        .read_to_end(&mut answer)
        .expect("the sandbox answers");
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").expect("a whole head");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// A list that a service publishes.
pub(crate) fn list(address: SocketAddr, path: &str) -> Vec<Value> {
    let (status, body) = send(address, &format!("GET {path}"), b"");
    assert_eq!(status, 200, "{body}");
    let list: Value = serde_json::from_str(&body).expect("JSON");
    list["data"].as_array().expect("a list").clone()
}

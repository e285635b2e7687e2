//! The figures of a stream behind it, for callers who take trailers.

use std::io::{Read as _, Write as _};

use serde_json::json;

use crate::http::{Request, connect};
use crate::rig::{Gateway, Sandbox, everything};
use crate::sse::Caller;

/// A streamed answer byte by byte, its transfer coding included.
fn raw(gateway: &Gateway, headers: &[(&str, &str)]) -> String {
    let caller = Caller::ALL[0];
    let body = caller.request("openrouter/gpt-5.5", "Hello", true);
    let mut request = Request::json(caller.path(), &body);
    for (name, value) in headers {
        request = request.with(name, value);
    }
    let mut stream = connect(gateway.address);
    let head = request.head(gateway.address);
    stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&request.body))
        .expect("the gateway reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text to the end");
    answer
}

#[test]
fn final_figures_come_as_trailers_where_the_caller_takes_them() {
    let mut settings = everything(&Sandbox::start());
    settings["providers"]["openrouter"]["price"] =
        json!({ "input_per_million": 1.25, "output_per_million": 10 });
    let gateway = Gateway::start(&settings);
    let answer = raw(&gateway, &[("te", "trailers")]);
    let (head, rest) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("trailer: x-bardo-cost"), "{head}");
    assert!(!head.contains("x-bardo-cost:"), "{head}");
    let (_, trailers) = rest.split_once("\r\n0\r\n").expect("a last chunk");
    let cost = trailers
        .lines()
        .find_map(|line| line.strip_prefix("x-bardo-cost: "))
        .expect(trailers);
    assert!(rest.contains(&format!("\"cost\":\"{cost}\"")), "{rest}");
    let plain = raw(&gateway, &[]);
    assert!(plain.ends_with("\r\n0\r\n\r\n"), "{plain}");
    assert!(!plain.contains("trailer:"), "{plain}");
}

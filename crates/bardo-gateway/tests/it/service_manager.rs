//! What a service manager is told: systemd with `Type=notify`.

use std::os::unix::net::UnixDatagram;

use serde_json::{Value, json};

use crate::http::{PATIENCE, Request};
use crate::rig::{BINARY, Folder, Gateway, config, direct};
use crate::scripted::Scripted;

/// The lines of the next message, without the words for people.
#[track_caller]
fn told(socket: &UnixDatagram) -> Vec<String> {
    let mut bytes = [0; 512];
    let length = socket.recv(&mut bytes).expect("a message");
    let message = String::from_utf8_lossy(&bytes[..length]).into_owned();
    let lines = message.lines().filter(|line| !line.starts_with("STATUS="));
    lines.map(str::to_owned).collect()
}

fn health(gateway: &Gateway) -> (Option<i32>, Value) {
    let output = std::process::Command::new(BINARY)
        .args(["health", "--json", "--url"])
        .arg(format!("http://{}", gateway.address))
        .output()
        .expect("it starts");
    let printed = match output.status.success() {
        true => output.stdout,
        false => output.stderr,
    };
    let printed = serde_json::from_slice(&printed).expect("JSON");
    (output.status.code(), printed)
}

#[test]
fn the_manager_hears_of_the_start_each_reload_and_the_stop() {
    let folder = Folder::new();
    let path = folder.0.join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    let upstream = Scripted::always("{}");
    let mut settings = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    settings["server"] = json!({ "drain": "7s" });
    let path = path.display().to_string();
    let mut gateway = Gateway::start_with(&settings, &[("NOTIFY_SOCKET", &path)]);
    assert_eq!(told(&socket), ["READY=1"]);
    gateway.signal("HUP");
    assert_eq!(told(&socket), ["RELOADING=1"]);
    assert_eq!(told(&socket), ["READY=1"], "the reload is done");
    gateway.signal("TERM");
    assert_eq!(
        told(&socket),
        ["STOPPING=1", "EXTEND_TIMEOUT_USEC=37000000"],
        "the drain, and thirty seconds for its end"
    );
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn a_health_check_says_whether_the_gateway_is_ready() {
    let upstream = Scripted::always("{}");
    let mut settings = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    let gateway = Gateway::start(&settings);
    let (code, said) = health(&gateway);
    assert_eq!((code, &said["ok"]), (Some(0), &json!(true)), "{said}");
    // A store that was never reached: the gateway runs, and is not ready.
    settings["store"] = json!({ "url": "postgres://nobody@127.0.0.1:9/none" });
    let waiting = Gateway::start(&settings);
    assert_eq!(
        Request::get("/health/ready").send(waiting.admin).status(),
        503
    );
    let (code, said) = health(&waiting);
    assert_eq!(
        (code, &said["error"]["code"]),
        (Some(1), &json!("not_ready")),
        "{said}"
    );
}

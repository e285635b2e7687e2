//! A data folder, the verbs on it, and a gateway that charges.

use std::process::Command;

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Folder, Gateway, command};
use crate::sse::Caller;

/// Keys are made with it where a test asks more often than the usual limit allows.
pub(crate) const OFTEN: [&str; 2] = ["--scope", "rpm=1000000"];

/// What a verb did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) lines: Vec<Value>,
    pub(crate) errors: String,
}

/// An API key with its account.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) account: String,
}

impl Key {
    #[track_caller]
    pub(crate) fn of(made: &Value) -> Self {
        let text = |name: &str| {
            let text = made[name].as_str();
            text.unwrap_or_else(|| panic!("no {name} in {made}"))
                .to_owned()
        };
        Self {
            id: text("id"),
            key: text("key"),
            account: text("account"),
        }
    }

    /// The request with this key.
    pub(crate) fn sign(&self, request: Request) -> Request {
        request.with("authorization", &format!("Bearer {}", self.key))
    }

    pub(crate) fn get(&self, path: &str) -> Request {
        self.sign(Request::get(path))
    }

    pub(crate) fn ask(&self, caller: Caller, body: &Value) -> Request {
        self.sign(Request::json(caller.path(), body))
    }
}

/// Where an account stands, in micro-USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) deposited: u64,
    pub(crate) spent: u64,
    pub(crate) held: u64,
    pub(crate) available: u64,
}

impl Stand {
    #[track_caller]
    pub(crate) fn of(shown: &Value) -> Self {
        let micro = |name: &str| {
            let amount = shown["micro"][name].as_u64();
            amount.unwrap_or_else(|| panic!("no {name} in {shown}"))
        };
        let stand = Self {
            deposited: micro("deposited"),
            spent: micro("spent"),
            held: micro("held"),
            available: micro("available"),
        };
        assert_eq!(
            stand.deposited,
            stand.spent + stand.held + stand.available,
            "{shown}"
        );
        for name in ["deposited", "spent", "held", "available"] {
            assert_eq!(micro_of(&shown[name]), micro(name), "{shown}");
        }
        stand
    }
}

/// A data folder, and a gateway's configuration.
pub(crate) struct Till {
    pub(crate) data: Folder,
    config: Value,
    /// URL of the ledger, where it is not in the folder.
    store: Option<String>,
}

impl Till {
    pub(crate) fn new(config: Value) -> Self {
        Self {
            data: Folder::new(),
            config,
            store: None,
        }
    }

    /// This till with the ledger at a URL, for several gateways.
    pub(crate) fn sharing(mut self, url: String) -> Self {
        self.store = Some(url);
        self
    }

    pub(crate) fn folder(&self) -> String {
        self.data.0.display().to_string()
    }

    pub(crate) fn verb(&self, verb: &[&str]) -> Done {
        let folder = Folder::new();
        let mut command = self.binary(&folder);
        command.args(verb);
        command.args(["--json", "--data-dir", &self.folder()]);
        done(command)
    }

    /// The lines of a verb that succeeds.
    #[track_caller]
    pub(crate) fn told(&self, verb: &[&str]) -> Vec<Value> {
        let done = self.verb(verb);
        assert_eq!(done.code, Some(0), "{verb:?}: {done:?}");
        done.lines
    }

    /// The only line of a verb that succeeds.
    #[track_caller]
    pub(crate) fn one(&self, verb: &[&str]) -> Value {
        let mut lines = self.told(verb);
        assert_eq!(lines.len(), 1, "{verb:?}: {lines:?}");
        lines.remove(0)
    }

    #[track_caller]
    pub(crate) fn key(&self, more: &[&str]) -> Key {
        Key::of(&self.one(&[&["keys", "create"], more].concat()))
    }

    /// A key with money that may be used as often as one likes.
    #[track_caller]
    pub(crate) fn rich(&self, usd: &str) -> Key {
        self.key(&[&["--deposit-usd", usd][..], &OFTEN].concat())
    }

    pub(crate) fn config(&self) -> Value {
        self.config.clone()
    }

    pub(crate) fn open(&self) -> Gateway {
        self.open_with(&self.config)
    }

    pub(crate) fn open_with(&self, config: &Value) -> Gateway {
        let (folder, command) = self.server(config);
        Gateway::run(folder, command, &[])
    }

    /// A folder with the configuration, and the command that serves it.
    pub(crate) fn server(&self, config: &Value) -> (Folder, Command) {
        let folder = Folder::new();
        let file = folder.write("config.yaml", &config.to_string());
        let mut command = self.binary(&folder);
        command.arg("serve").arg("--config").arg(file);
        command.args(["--data-dir", &self.folder()]);
        (folder, command)
    }

    fn binary(&self, folder: &Folder) -> Command {
        let mut command = command(folder);
        if let Some(url) = &self.store {
            command.env("BARDO_STORE__URL", url);
        }
        command
    }

    #[track_caller]
    pub(crate) fn stand(&self, key: &Key) -> Stand {
        Stand::of(&self.one(&["balance", "show", "--key", &key.id]))
    }

    /// What the account was charged for a request.
    #[track_caller]
    pub(crate) fn charged(&self, key: &Key, request: &str) -> u64 {
        let charges: Vec<u64> = self
            .told(&["balance", "ledger", "--key", &key.id])
            .iter()
            .filter(|posting| posting["kind"] == "charge" && posting["reference"] == request)
            .filter(|posting| posting["book"] == format!("customer:{}", key.account))
            .map(|posting| {
                let amount = posting["amount_micro"].as_i64().expect("an amount");
                u64::try_from(-amount).expect("it is taken off")
            })
            .collect();
        assert!(charges.len() < 2, "charged twice: {charges:?}");
        charges.first().copied().unwrap_or(0)
    }

    #[track_caller]
    pub(crate) fn verify(&self) {
        let found = self.one(&["balance", "verify"]);
        assert_eq!(found["ok"], true, "{found}");
        assert_eq!(found["problems"], json!([]));
    }
}

/// Runs the binary in a folder of its own.
pub(crate) fn run(arguments: &[&str]) -> Done {
    run_in(&Folder::new(), arguments)
}

pub(crate) fn run_in(folder: &Folder, arguments: &[&str]) -> Done {
    let mut command = command(folder);
    command.args(arguments);
    done(command)
}

fn done(mut command: Command) -> Done {
    let output = command.output().expect("the binary starts");
    let text = String::from_utf8(output.stdout).expect("JSON is text");
    let line =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    Done {
        code: output.status.code(),
        lines: text.lines().map(line).collect(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// `"0.002256"` as 2256.
#[track_caller]
pub(crate) fn micro(text: &str) -> u64 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    assert!(fraction.len() <= 6, "{text}");
    format!("{whole}{fraction:0<6}")
        .parse()
        .unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

#[track_caller]
pub(crate) fn micro_of(value: &Value) -> u64 {
    let text = value.as_str();
    micro(text.unwrap_or_else(|| panic!("no amount: {value}")))
}

#[track_caller]
pub(crate) fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    let value = answer.header(name);
    value.unwrap_or_else(|| panic!("no {name}: {:?} {}", answer.head, answer.text()))
}

//! A store that fails, fills up, is locked, slow or gone: money work is refused or carried out,
//! nothing is corrupt, reads go on, and a valid key is never called invalid.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::http::{Answer, Request};
use crate::money::shim::{EIO, ENOSPC, EROFS, Shim};
use crate::money::shop::{CHARGE, Key, Shop, completed, provider, question};
use crate::rig::{Gateway, eventually};

fn environment(shim: &Shim) -> Vec<(String, String)> {
    shim.environment()
}

fn borrowed(environment: &[(String, String)]) -> Vec<(&str, &str)> {
    environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// What anybody may hear while the store has its troubles.
#[track_caller]
fn check_honest(answer: &Answer, when: &str) {
    match answer.status() {
        200 => {}
        503 => {
            assert!(
                answer.header("retry-after").is_some(),
                "{when}: {:?}",
                answer.head
            );
            let error = answer.json();
            assert_eq!(
                error["error"]["bardo_code"], "store_unavailable",
                "{when}: {error}"
            );
        }
        other => panic!("{when}: {other} {}", answer.text()),
    }
}

fn balance(key: &Key) -> Request {
    Request::get("/v1/balance").with("x-api-key", &key.key)
}

fn models(key: &Key) -> Request {
    Request::get("/v1/models").with("x-api-key", &key.key)
}

/// A gateway before a store with a shim in between, and a key that is known already.
struct Trouble {
    shop: Shop,
    key: Key,
    shim: Shim,
    gateway: Gateway,
    answered: Vec<String>,
    _upstream: crate::scripted::Scripted,
}

impl Trouble {
    fn start() -> Self {
        let upstream = provider();
        let shop = Shop::selling(&upstream);
        let key = shop.key("10");
        let shim = Shim::before(&shop.files());
        let gateway = shop.open(&borrowed(&environment(&shim)));
        let mut trouble = Self {
            shop,
            key,
            shim,
            gateway,
            answered: Vec::new(),
            _upstream: upstream,
        };
        assert_eq!(trouble.ask("before").status(), 200);
        trouble
    }

    #[track_caller]
    fn ask(&mut self, when: &str) -> Answer {
        let stream = self.answered.len() % 2 == 1;
        let answer = self.gateway.send(&question(&self.key, stream));
        check_honest(&answer, when);
        self.answered.extend(completed(&answer));
        answer
    }

    #[track_caller]
    fn read(&self, when: &str) {
        let listed = self.gateway.send(&models(&self.key));
        assert_eq!(listed.status(), 200, "{when}: {}", listed.text());
        check_honest(&self.gateway.send(&balance(&self.key)), when);
    }

    /// What health says of the store; the gateway itself is ready all the same.
    #[track_caller]
    fn ready(&self) -> String {
        let answer = Request::get("/health/ready").send(self.gateway.admin);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let shown = answer.json();
        shown["store"].as_str().expect("it is said").to_owned()
    }

    #[track_caller]
    fn recovers(&mut self) {
        eventually("it sells again", || {
            (self.ask("after").status() == 200).then_some(())
        });
    }

    /// Stops in good order and looks at the books.
    #[track_caller]
    fn close(mut self) {
        self.gateway.signal("TERM");
        self.gateway.wait();
        check_books(&self.shop, &self.key, &self.answered, "at the end");
    }
}

/// Each answer has one charge, and all adds up.
#[track_caller]
fn check_books(shop: &Shop, key: &Key, answered: &[String], when: &str) {
    shop.verify();
    let books = shop.books(key);
    books.check();
    for request in answered {
        let charged = books.charges.get(request);
        assert_eq!(
            charged.map(Vec::as_slice),
            Some(&[CHARGE][..]),
            "{when}: {request}"
        );
    }
}

/// Which writes fail: a sample, or each of the first 300.
fn failing() -> Vec<i64> {
    if let Ok(number) = std::env::var("BARDO_SEED") {
        return vec![number.parse().expect("BARDO_SEED is a number")];
    }
    if std::env::var("BARDO_LONG").is_ok_and(|value| value == "1") {
        return (1..=300).collect();
    }
    (1..=12).chain((15..=60).step_by(9)).collect()
}

#[test]
fn each_of_the_first_writes_fails_once_and_the_books_stay_whole() {
    let upstream = provider();
    let (mut refused, mut refused_to_start) = (0, 0);
    for number in failing() {
        for error in [EIO, ENOSPC] {
            let when = format!("write {number} fails with {error} (BARDO_SEED={number})");
            let shop = Shop::selling(&upstream);
            let key = shop.key("10");
            let shim = Shim::before(&shop.files());
            shim.fail_once(number, error);
            let mut answered = Vec::new();
            if let Some(mut gateway) = shop.try_open(&borrowed(&environment(&shim))) {
                for round in 0..120 {
                    let answer = gateway.send(&question(&key, round % 2 == 0));
                    check_honest(&answer, &when);
                    refused += usize::from(answer.status() != 200);
                    answered.extend(completed(&answer));
                    let listed = gateway.send(&models(&key));
                    assert_eq!(listed.status(), 200, "{when}: {}", listed.text());
                    if shim.count() > number + 12 {
                        break;
                    }
                }
                assert!(
                    shim.count() >= number,
                    "{when}: only {} writes",
                    shim.count()
                );
                gateway.signal("TERM");
                gateway.wait();
            } else {
                refused_to_start += 1;
            }
            let mut gateway = shop.open(&[]);
            let answer = gateway.send(&question(&key, false));
            assert_eq!(answer.status(), 200, "{when}: {}", answer.text());
            answered.extend(completed(&answer));
            gateway.signal("TERM");
            gateway.wait();
            check_books(&shop, &key, &answered, &when);
        }
    }
    println!("{refused} requests refused, {refused_to_start} starts refused");
}

#[test]
fn a_full_disk_stops_sales_and_nothing_else() {
    let mut trouble = Trouble::start();
    for error in [ENOSPC, EROFS, EIO] {
        trouble.shim.fail(error);
        let mut refused = 0;
        for _ in 0..6 {
            refused += usize::from(trouble.ask("full").status() == 503);
            trouble.read("full");
        }
        assert!(refused > 0, "something was sold without being written down");
        trouble.shim.heal();
        trouble.recovers();
    }
    trouble.close();
}

#[test]
fn a_slow_store_is_waited_for_or_refused() {
    let mut trouble = Trouble::start();
    trouble.shim.delay(40_000);
    for _ in 0..4 {
        trouble.ask("slow");
        trouble.read("slow");
    }
    trouble.shim.heal();
    trouble.recovers();
    trouble.close();
}

/// Another process that has the books to itself until it is dropped.
struct Lock(std::process::Child);

impl Lock {
    fn on(shop: &Shop) -> Self {
        let program = "import sqlite3, sys\n\
            books = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)\n\
            books.execute('BEGIN IMMEDIATE')\n\
            print('held', flush=True)\n\
            sys.stdin.read()\n";
        let mut child = Command::new("python3")
            .args(["-c", program])
            .arg(shop.file())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python is there, for the clients");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        assert_eq!(line.trim(), "held");
        Self(child)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_locked_store_is_no_answer_and_never_a_wrong_key() {
    let mut trouble = Trouble::start();
    let lock = Lock::on(&trouble.shop);
    trouble.read("locked");
    // What is sold until it is noticed is in the journal.
    eventually("nothing more is sold", || {
        (trouble.ask("locked").status() == 503).then_some(())
    });
    assert_eq!(trouble.ready(), "unavailable");
    drop(lock);
    trouble.recovers();
    assert_eq!(trouble.ready(), "ok");
    trouble.close();
}

#[test]
fn a_deleted_store_is_never_a_wrong_key() {
    let mut trouble = Trouble::start();
    let file = trouble.shop.file();
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", file.display()));
    }
    for _ in 0..5 {
        trouble.ask("deleted");
        trouble.read("deleted");
    }
}

//! Environment variables of the cargo calls, so that they do less.

use std::{env, ffi::OsString, num::NonZero, path::Path, thread};

use crate::workspace::cargo_program;

/// Twice as many tests at once as there are processors, unless the caller says how many. Many tests
/// wait for a gateway, a server or a clock.
pub(super) fn test_threads() -> Option<(&'static str, String)> {
    const THREADS: &str = "RUST_TEST_THREADS";
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    env::var_os(THREADS)
        .is_none()
        .then(|| (THREADS, (2 * processors).to_string()))
}

/// Variables with which `cargo doc` takes the crates that `cargo clippy -- -D warnings` has just
/// checked, and does not check them once more. `cargo-clippy` sets the same ones. If it sets
/// others, cargo checks again and nothing else changes. A lint that fails clippy fails `cargo doc`
/// as well.
pub(super) fn checked_by_clippy() -> Vec<(&'static str, OsString)> {
    let driver = Path::new(&cargo_program())
        .with_file_name(format!("clippy-driver{}", env::consts::EXE_SUFFIX));
    if !driver.is_file() {
        return Vec::new();
    }
    let mark = "__CLIPPY_HACKERY__";
    vec![
        ("RUSTC_WORKSPACE_WRAPPER", driver.into()),
        ("CLIPPY_ARGS", format!("-D{mark}warnings{mark}").into()),
    ]
}

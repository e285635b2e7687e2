//! Requests and answers as real services and clients wrote them.

use std::fs;
use std::path::PathBuf;

use bardo_types::chat::ChatRequest;
use bardo_types::model::Dialect;

/// The request fixtures of every dialect: name, dialect and body.
pub(crate) fn requests() -> Vec<(String, Dialect, Vec<u8>)> {
    let mut found = Vec::new();
    for (folder, dialect) in [
        ("anthropic/requests", Dialect::Anthropic),
        ("chat/requests", Dialect::Chat),
        ("responses/requests", Dialect::Responses),
    ] {
        for (name, body) in files(folder, "json") {
            found.push((format!("{folder}/{name}"), dialect, body));
        }
    }
    assert!(found.len() >= 12, "the fixtures moved");
    found
}

/// The files of a folder below the fixtures of the wire, by name.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<(String, Vec<u8>)> {
    let root = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../bardo-wire/fixtures"
    ));
    let mut paths: Vec<PathBuf> = fs::read_dir(root.join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(path).unwrap())
        })
        .collect()
}

pub(crate) fn decode(dialect: Dialect, body: &[u8]) -> Option<ChatRequest> {
    bardo_wire::table::decode_request(dialect, body).ok()
}

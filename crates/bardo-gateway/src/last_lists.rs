//! The last good list of models of each backend, stored in the data folder. A gateway that starts
//! while a provider is unreachable knows its models and prices.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bardo_providers::Endpoint;
use bardo_router::Catalog;

use crate::assemble::{AssembledBackend, LiveLists};

/// The folder within the data folder.
const FOLDER: &str = "models";

/// The file of one backend. Its name may hold a slash (`direct/openai`).
fn file(folder: &Path, backend: &str) -> PathBuf {
    let plain: String = backend
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    folder.join(FOLDER).join(format!("{plain}.list"))
}

/// The origin of a list: the first line of its file. Another address, or another backend of a
/// similar name, has another list.
fn origin(endpoint: &Endpoint) -> String {
    let authority = endpoint.origin.authority();
    format!("{} {authority}{}", endpoint.name, endpoint.base.path)
}

/// Stores a list as it was sent. A failure is logged; it matters at the next start.
pub(crate) fn keep(folder: &Path, endpoint: &Endpoint, body: &[u8]) {
    let path = file(folder, &endpoint.name);
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(path.with_file_name(""))?;
        let fresh = path.with_extension("new");
        let mut out = fs::File::create(&fresh)?;
        writeln!(out, "{}", origin(endpoint))?;
        out.write_all(body)?;
        // Not synced: a list that is cut by a loss of power does not parse.
        fs::rename(&fresh, &path)
    };
    if let Err(error) = write() {
        tracing::info!(provider = endpoint.name, %error, "cannot store the list of models");
    }
}

/// The stored lists of these backends.
pub(crate) fn load(folder: &Path, backends: &[AssembledBackend], catalog: &Catalog) -> LiveLists {
    let mut lists = LiveLists::new();
    for backend in backends.iter().filter(|backend| !backend.closed) {
        let endpoint = &backend.endpoint;
        let path = file(folder, &endpoint.name);
        let Ok(text) = fs::read(&path) else {
            continue;
        };
        let Some(end) = text.iter().position(|&byte| byte == b'\n') else {
            continue;
        };
        if text[..end] != *origin(endpoint).as_bytes() {
            continue;
        }
        match endpoint.provider().parse_list(&text[end + 1..], catalog) {
            Ok(list) => {
                tracing::debug!(
                    provider = endpoint.name,
                    models = list.models.len(),
                    "stored list of models loaded"
                );
                lists.insert(endpoint.name.clone(), list.models);
            }
            Err(error) => {
                tracing::info!(provider = endpoint.name, %error, "the stored list of models is invalid");
            }
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{assemble, config};

    const LIST: &[u8] = br#"{"data":[{"id":"gpt-5.4"},{"id":"gpt-6-sol"}]}"#;

    /// A folder of one test, gone when it ends.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Self {
            let name = format!("bardo-lists-{test}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn backends(port: u16) -> Vec<AssembledBackend> {
        let key = json!({
            "provider": "openai",
            "api_key": "k",
            "base_url": format!("http://127.0.0.1:{port}/v1"),
        });
        let tree = json!({ "providers": { "direct": { "keys": [key] } } });
        let loaded = config::embedded("test", tree).unwrap();
        assemble::backends(&loaded.config).unwrap()
    }

    #[test]
    fn a_list_is_found_again_by_the_backend_that_gave_it_and_by_no_other() {
        let folder = Scratch::new("found");
        let catalog = Catalog::embedded();
        let given = backends(1);
        keep(&folder.0, &given[0].endpoint, b"{\"data\":[]}");
        keep(&folder.0, &given[0].endpoint, LIST);
        let lists = load(&folder.0, &given, &catalog);
        assert_eq!(lists["direct/openai"].len(), 2);
        assert!(load(&folder.0, &backends(2), &catalog).is_empty());
    }

    #[test]
    fn a_broken_file_is_no_list() {
        let folder = Scratch::new("broken");
        let given = backends(1);
        assert!(load(&folder.0, &given, &Catalog::embedded()).is_empty());
        keep(&folder.0, &given[0].endpoint, &LIST[..20]);
        assert!(load(&folder.0, &given, &Catalog::embedded()).is_empty());
    }
}

//! The secret of this installation under which keys of prompt caches are made. It comes from the
//! configuration, else from a file in the data folder that the first start writes.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::OnceLock;

use bardo_types::secret::Secret;

use crate::config::Config;

/// The file, in the data folder.
const FILE: &str = "cache.secret";

/// Sets `inference.caching.secret` if the owner did not. If the folder cannot store one, the secret
/// lasts as long as the process: prompt caches are cold after a restart.
pub(crate) fn complete(config: &mut Config, folder: &Path) {
    let secret = &mut config.inference.caching.secret;
    if !secret.is_empty() {
        return;
    }
    match read_or_write(folder) {
        Ok(stored) => *secret = stored,
        Err(error) => {
            let file = folder.join(FILE);
            tracing::warn!(file = %file.display(), %error, "the secret of prompt-cache keys is not stored; providers' caches are cold after a restart");
            *secret = process_secret();
        }
    }
}

/// The stored secret of `folder`, if it has one: for verbs that write nothing.
pub(crate) fn complete_if_stored(config: &mut Config, folder: &Path) {
    let secret = &mut config.inference.caching.secret;
    if secret.is_empty()
        && let Ok(stored) = read(folder)
    {
        *secret = stored;
    }
}

fn read(folder: &Path) -> std::io::Result<Secret> {
    let text = fs::read_to_string(folder.join(FILE))?;
    let secret = Secret::new(text.trim().to_owned());
    match secret.is_empty() {
        true => Err(std::io::Error::other("the file is empty")),
        false => Ok(secret),
    }
}

fn read_or_write(folder: &Path) -> std::io::Result<Secret> {
    match read(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        known => return known,
    }
    fs::create_dir_all(folder)?;
    let fresh = fresh()?;
    let draft = folder.join(format!("{FILE}.new"));
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    writeln!(file, "{}", fresh.expose())?;
    file.sync_all()?;
    fs::rename(&draft, folder.join(FILE))?;
    Ok(fresh)
}

/// 256 random bits.
fn fresh() -> std::io::Result<Secret> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    let hex = random.iter().map(|byte| format!("{byte:02x}"));
    Ok(Secret::new(hex.collect()))
}

/// The secret of a process whose folder stores none; a reload keeps it.
fn process_secret() -> Secret {
    static SECRET: OnceLock<Secret> = OnceLock::new();
    // Without randomness there is no secret, and then no key is sent.
    let none = |_| Secret::new(String::new());
    SECRET.get_or_init(|| fresh().unwrap_or_else(none)).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        crate::config::embedded("test", serde_json::json!({}))
            .unwrap()
            .config
    }

    fn secret_in(folder: &Path) -> Secret {
        let mut config = config();
        complete(&mut config, folder);
        config.inference.caching.secret
    }

    #[test]
    fn a_folder_keeps_its_secret_and_another_has_another() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = std::env::temp_dir().join(crate::operator::fresh_name());
        let (one, two) = (folder.join("one"), folder.join("two"));
        let first = secret_in(&one);
        assert_eq!(first.expose().len(), 64);
        assert!(first == secret_in(&one));
        assert!(first != secret_in(&two));
        let mode = fs::metadata(one.join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut own = config();
        own.inference.caching.secret = Secret::new("of the owner's own".into());
        complete(&mut own, &one);
        assert_eq!(own.inference.caching.secret.expose(), "of the owner's own");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_stores_nothing_has_a_secret_for_the_process() {
        let nowhere = Path::new("/proc/self/none");
        let first = secret_in(nowhere);
        assert!(!first.is_empty());
        assert!(first == secret_in(nowhere));
    }
}

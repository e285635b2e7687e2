//! The evidence of the semantic cache in the data folder, so that a stopped domain stays stopped
//! after a restart.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bardo_engine::AnswerCache;

const FILE: &str = "semantic-audits";

/// Writes the evidence of a cache where it changed.
pub(crate) struct EvidenceFile {
    path: PathBuf,
    written: String,
    /// The file cannot be read and is still in its place, so it is not replaced.
    blocked: bool,
}

impl EvidenceFile {
    /// Gives a cache the evidence of an earlier process. Without a file there is none yet; one that
    /// cannot be read is kept beside, and all domains stop.
    pub(crate) fn restore(cache: &AnswerCache, folder: &Path) -> Self {
        let mut file = Self {
            path: folder.join(FILE),
            written: String::new(),
            blocked: false,
        };
        match read(&file.path) {
            Ok(evidence) => {
                cache.meaning().restore(&evidence);
                file.written = evidence;
            }
            Err(error) => {
                cache.meaning().distrust();
                file.set_aside(&error);
                // A crash before the first sweep must not leave a clean record.
                file.store(cache);
            }
        }
        file
    }

    /// Writes the evidence, unless the file has it.
    pub(crate) fn store(&mut self, cache: &AnswerCache) {
        let evidence = cache.meaning().evidence();
        if self.blocked || evidence == self.written {
            return;
        }
        match replace(&self.path, &evidence) {
            Ok(()) => self.written = evidence,
            Err(error) => tracing::warn!(
                file = %self.path.display(),
                %error,
                "cannot store the audits of the semantic cache; a restart forgets them"
            ),
        }
    }

    fn set_aside(&mut self, error: &io::Error) {
        let kept = self.path.with_extension("unreadable");
        let moved = fs::rename(&self.path, &kept);
        self.blocked = moved.is_err();
        let kept = if self.blocked { &self.path } else { &kept };
        tracing::error!(
            file = %self.path.display(),
            kept = %kept.display(),
            %error,
            "cannot read the audits of the semantic cache; all its domains are stopped"
        );
    }
}

/// The evidence in a file; nothing where there is no file.
fn read(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        // Evidence has a line for each domain: what is empty was cut off.
        Ok(text) if text.trim().is_empty() => Err(io::Error::other("the file is empty")),
        done => done,
    }
}

/// Replaces a file as a whole, so that a crash leaves the old text or the new one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use bardo_cache::store::Limits;

    use super::*;

    fn cache() -> AnswerCache {
        AnswerCache::new(Limits::default(), || None, None)
    }

    /// Whether all domains serve, and whether none does.
    fn serving(cache: &AnswerCache) -> (bool, bool) {
        let domains = cache.meaning().counts().domains;
        let serves = || domains.iter().map(|one| one.report.serves);
        (
            serves().any(|serves| serves),
            serves().all(|serves| !serves),
        )
    }

    #[test]
    fn evidence_that_cannot_be_read_stops_all_domains_and_is_kept() {
        let folder = std::env::temp_dir().join(format!("bardo-evidence-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let fresh = cache();
        EvidenceFile::restore(&fresh, &folder).store(&fresh);
        assert_eq!(serving(&fresh), (true, false));
        let path = folder.join(FILE);
        for damaged in [&b"reference 1 \xff"[..], b"", b"\n"] {
            fs::write(&path, damaged).expect("a file");
            let stopped = cache();
            let _ = EvidenceFile::restore(&stopped, &folder);
            assert_eq!(serving(&stopped), (false, true), "{damaged:?}");
            let kept = fs::read(folder.join("semantic-audits.unreadable"));
            assert_eq!(kept.expect("a file"), damaged);
            let after = cache();
            let _ = EvidenceFile::restore(&after, &folder);
            assert_eq!(serving(&after), (false, true), "{damaged:?}");
        }
        fs::remove_dir_all(&folder).expect("it goes");
    }
}

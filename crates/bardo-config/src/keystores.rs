//! Private keys that are keystores: opened with their passphrase once the settings are read.

use bardo_types::secret::Secret;

use super::raw::Config;

impl Config {
    /// Puts the key of each keystore in the place of the keystore. Takes up to a second for each.
    /// Answers the keystores that do not open.
    pub(super) fn open_keystores(&mut self) -> Vec<String> {
        let payments = &mut self.payments;
        let mut problems = Vec::new();
        problems.extend(opened(
            "payments.settlement",
            &mut payments.settlement_key,
            payments.settlement_passphrase.as_ref(),
        ));
        if let Some(blockrun) = &mut self.providers.blockrun {
            problems.extend(opened(
                "providers.blockrun.wallet",
                &mut blockrun.wallet_key,
                blockrun.wallet_passphrase.as_ref(),
            ));
        }
        problems
    }
}

/// Opens the key of the settings that begin with `name`, if it is a keystore. Answers the problem
/// where it does not open.
fn opened(name: &str, key: &mut Option<Secret>, passphrase: Option<&Secret>) -> Option<String> {
    let keystore = key.as_ref().map(Secret::expose);
    let keystore = keystore.filter(|text| text.trim_start().starts_with('{'));
    let passphrase = passphrase.map_or("", Secret::expose);
    let problem = match keystore {
        None if passphrase.is_empty() => return None,
        None => format!("`{name}_passphrase` needs a keystore in `{name}_key`"),
        Some(_) if passphrase.is_empty() => {
            format!("`{name}_passphrase` is required, because `{name}_key` is a keystore")
        }
        Some(json) => match bardo_keystore::open(json.as_bytes(), passphrase) {
            Ok(opened) => {
                *key = Some(Secret::new(bardo_keystore::hex(&*opened)));
                return None;
            }
            Err(error) => format!("`{name}_key`: {error}"),
        },
    };
    // Nothing may be signed with a text that is no key.
    *key = None;
    Some(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keystore_opens_with_its_passphrase_and_nothing_else_is_touched() {
        let sealed = bardo_keystore::seal(&[7; 32], "correct horse").unwrap();
        let open = |key: &str, passphrase: Option<&str>| {
            let mut key = Some(Secret::new(key.to_owned()));
            let passphrase = passphrase.map(|text| Secret::new(text.to_owned()));
            let problem = opened("payments.settlement", &mut key, passphrase.as_ref());
            (key.map(|key| key.expose().to_owned()), problem)
        };
        let hex = "07".repeat(32);
        assert_eq!(
            open(&sealed, Some("correct horse")),
            (Some(hex.clone()), None)
        );
        assert_eq!(open(&hex, None), (Some(hex.clone()), None));
        for (key, passphrase, told) in [
            (
                &*sealed,
                Some("wrong"),
                "`payments.settlement_key`: the passphrase is wrong",
            ),
            (
                &sealed,
                None,
                "`payments.settlement_passphrase` is required",
            ),
            (
                "{}",
                Some("x"),
                "`payments.settlement_key`: the file is no keystore",
            ),
            (&hex, Some("x"), "needs a keystore"),
        ] {
            let (key, problem) = open(key, passphrase);
            let problem = problem.expect("a problem");
            assert!(key.is_none() && problem.contains(told), "{problem}");
        }
    }
}

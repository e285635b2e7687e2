//! Where the private key comes from, and where it is kept.

use std::fs::{self, OpenOptions};
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use bardo_keystore::{self as keystore, KeystoreError};
use bardo_types::secret::Secret;
use bardo_x402::evm::Signer;
use zeroize::Zeroizing;

use crate::settings::ProxySettings;

/// Variable with a private key as 64 hex digits, for machines without a person.
pub(crate) const KEY_VARIABLE: &str = "BARDO_INFERENCE_KEY";

/// Opens the wallet: the key in the environment, else the keystore file.
///
/// # Errors
/// When there is none, or it does not open.
pub(crate) fn open(settings: &ProxySettings) -> Result<Signer> {
    if let Some(key) = key_in_environment() {
        return Signer::from_hex(key.expose()).with_context(|| format!("read {KEY_VARIABLE}"));
    }
    let file = &settings.wallet;
    let json = fs::read(file).with_context(|| {
        let file = file.display();
        format!("read the wallet {file}; create one: `bardo-inference wallet new`")
    })?;
    check_mode(file)?;
    let passphrase = passphrase(settings, PassphrasePrompt::Once)?;
    opened(&json, &passphrase).with_context(|| format!("open {}", file.display()))
}

fn opened(json: &[u8], passphrase: &Secret) -> Result<Signer, KeystoreError> {
    let key = keystore::open(json, passphrase.expose())?;
    Ok(Signer::from_bytes(*key)?)
}

/// The address of the wallet, without its passphrase where the keystore has the address.
///
/// # Errors
/// As [`open`].
pub(crate) fn address(settings: &ProxySettings) -> Result<String> {
    if key_in_environment().is_none()
        && let Ok(json) = fs::read(&settings.wallet)
        && let Some(address) = keystore::address(&json)
    {
        return Ok(address);
    }
    Ok(open(settings)?.address().to_string())
}

/// Makes a key and stores it. Answers its address.
///
/// # Errors
/// When there is a wallet already, or it cannot be written.
pub(crate) fn make(settings: &ProxySettings) -> Result<String> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(key.as_mut()).context("get random bytes")?;
    store(settings, &key)
}

/// Stores a key from a keystore file, or from standard input. Answers its address.
///
/// # Errors
/// As [`make`], and when the key cannot be read.
pub(crate) fn import(settings: &ProxySettings, file: Option<&Path>) -> Result<String> {
    if let Some(file) = file {
        let json = fs::read(file).with_context(|| format!("read {}", file.display()))?;
        let passphrase = passphrase(settings, PassphrasePrompt::Once)?;
        let signer =
            opened(&json, &passphrase).with_context(|| format!("open {}", file.display()))?;
        write(&settings.wallet, &json)?;
        return Ok(signer.address().to_string());
    }
    let mut text = Zeroizing::new(String::new());
    if std::io::stdin().is_terminal() {
        *text = rpassword::prompt_password("Private key (64 hex digits, not shown): ")?;
    } else {
        std::io::stdin().take(1024).read_to_string(&mut text)?;
    }
    let key = key_of(&text)?;
    store(settings, &key)
}

/// The bytes of a key in hexadecimal digits; the text is never shown.
fn key_of(text: &str) -> Result<Zeroizing<[u8; 32]>> {
    Signer::from_hex(text)?;
    let digits = text.trim().trim_start_matches("0x").as_bytes();
    let mut key = Zeroizing::new([0; 32]);
    for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair)?, 16)?;
    }
    Ok(key)
}

fn store(settings: &ProxySettings, key: &[u8; 32]) -> Result<String> {
    if settings.wallet.exists() {
        bail!("there is a wallet already: {}", settings.wallet.display());
    }
    let passphrase = passphrase(settings, PassphrasePrompt::Twice)?;
    write(
        &settings.wallet,
        keystore::seal(key, passphrase.expose())?.as_bytes(),
    )?;
    Ok(Signer::from_bytes(*key)?.address().to_string())
}

/// Writes a new file that its owner alone can read.
fn write(file: &Path, json: &[u8]) -> Result<()> {
    let failed = || format!("write {}", file.display());
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut new = options.open(file).with_context(failed)?;
    new.write_all(json).with_context(failed)?;
    new.sync_all().with_context(failed)
}

fn check_mode(file: &Path) -> Result<()> {
    let mode = fs::metadata(file)?.permissions().mode();
    if mode & 0o077 != 0 {
        let file = file.display();
        bail!("other users can read the wallet {file}; run `chmod 600 {file}`");
    }
    Ok(())
}

fn key_in_environment() -> Option<Secret> {
    let key = std::env::var(KEY_VARIABLE).ok()?;
    Some(Secret::new(key)).filter(|key| !key.is_empty())
}

enum PassphrasePrompt {
    Once,
    Twice,
}

fn passphrase(settings: &ProxySettings, asking: PassphrasePrompt) -> Result<Secret> {
    if let Some(file) = &settings.passphrase_file {
        let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        let text = Zeroizing::new(text);
        return Ok(Secret::new(text.trim_end_matches(['\r', '\n']).to_owned()));
    }
    if !std::io::stderr().is_terminal() {
        bail!(
            "the wallet needs a passphrase: set BARDO_INFERENCE_PASSPHRASE_FILE, or {KEY_VARIABLE}"
        );
    }
    let first = Secret::new(rpassword::prompt_password("Passphrase of the wallet: ")?);
    if matches!(asking, PassphrasePrompt::Twice) {
        let second = Secret::new(rpassword::prompt_password("Passphrase again: ")?);
        if first != second {
            bail!("the two passphrases differ");
        }
        if first.is_empty() {
            bail!("an empty passphrase protects nothing");
        }
    }
    Ok(first)
}

//! Private keys in files, as other wallets write them: Web3 Secret Storage, version 3
//! <https://ethereum.org/developers/docs/data-structures-and-encoding/web3-secret-storage/>, with
//! scrypt and AES-128-CTR.

use aes::Aes128;
use bardo_x402::evm::{InvalidSigningKey, Signer, keccak256};
use ctr::cipher::{KeyIvInit as _, StreamCipher as _};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Exponent of the cost of scrypt for new files: 128 MiB, less than a second.
const COST_LOG2: u8 = 17;
/// Most memory that a file may ask for, in bytes.
const MEMORY_MAX: u64 = 1 << 30;

/// Why a keystore gives no key.
#[derive(Debug, thiserror::Error)]
pub enum KeystoreError {
    /// The text is no keystore, or a damaged one.
    #[error("the file is no keystore of version 3: {0}")]
    Malformed(String),
    /// The keystore is encrypted in another way.
    #[error("the keystore uses {0}; only scrypt with aes-128-ctr is supported")]
    Unsupported(String),
    /// The passphrase is wrong, or the key was changed.
    #[error("the passphrase is wrong")]
    Passphrase,
    /// The bytes inside are no private key.
    #[error(transparent)]
    Key(#[from] InvalidSigningKey),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

#[derive(Serialize, Deserialize)]
struct WireKeystore {
    version: u64,
    id: String,
    #[serde(default)]
    address: Option<String>,
    #[serde(alias = "Crypto")]
    crypto: WireCrypto,
}

#[derive(Serialize, Deserialize)]
struct WireCrypto {
    cipher: String,
    cipherparams: WireCipher,
    ciphertext: String,
    kdf: String,
    kdfparams: serde_json::Value,
    mac: String,
}

#[derive(Serialize, Deserialize)]
struct WireCipher {
    iv: String,
}

#[derive(Serialize, Deserialize)]
struct WireScrypt {
    dklen: usize,
    n: u64,
    p: u32,
    r: u32,
    salt: String,
}

/// Reads the private key of a keystore. Takes up to a second, and as much memory as the file asks for,
/// at most 1 GiB.
///
/// # Errors
/// See [`KeystoreError`].
pub fn open(json: &[u8], passphrase: &str) -> Result<Zeroizing<[u8; 32]>, KeystoreError> {
    let malformed = |error: serde_json::Error| KeystoreError::Malformed(error.to_string());
    let file: WireKeystore = serde_json::from_slice(json).map_err(malformed)?;
    if file.version != 3 {
        let reason = format!("its version is {}", file.version);
        return Err(KeystoreError::Malformed(reason));
    }
    let crypto = file.crypto;
    if crypto.kdf != "scrypt" || crypto.cipher != "aes-128-ctr" {
        let used = format!("{} with {}", crypto.kdf, crypto.cipher);
        return Err(KeystoreError::Unsupported(used));
    }
    let cost: WireScrypt = serde_json::from_value(crypto.kdfparams).map_err(malformed)?;
    let derived = derive(passphrase, &cost)?;
    let sealed = bytes(&crypto.ciphertext, "ciphertext")?;
    let mac = bytes(&crypto.mac, "mac")?;
    if !bool::from(mac_of(&derived, &sealed).ct_eq(&mac)) {
        return Err(KeystoreError::Passphrase);
    }
    let iv: [u8; 16] = fixed(&crypto.cipherparams.iv, "iv")?;
    let mut key = Zeroizing::new([0; 32]);
    if sealed.len() != key.len() {
        return Err(KeystoreError::Malformed("the key is not 32 bytes".into()));
    }
    key.copy_from_slice(&sealed);
    cipher(&derived, &iv, key.as_mut());
    Signer::from_bytes(*key)?;
    Ok(key)
}

/// Writes a key as a keystore; answers its JSON.
///
/// # Errors
/// When the bytes are no key, or the system gives no random bytes.
pub fn seal(key: &[u8; 32], passphrase: &str) -> Result<String, KeystoreError> {
    let signer = Signer::from_bytes(*key)?;
    let (mut salt, mut iv, mut id) = ([0; 32], [0; 16], [0; 16]);
    for random in [&mut salt[..], &mut iv, &mut id] {
        getrandom::fill(random).map_err(KeystoreError::Random)?;
    }
    let cost = WireScrypt {
        dklen: 32,
        n: 1 << COST_LOG2,
        p: 1,
        r: 8,
        salt: hex(&salt),
    };
    let derived = derive(passphrase, &cost)?;
    let mut sealed = *key;
    cipher(&derived, &iv, &mut sealed);
    let file = WireKeystore {
        version: 3,
        id: uuid(id),
        address: Some(hex(signer.address().as_slice())),
        crypto: WireCrypto {
            cipher: "aes-128-ctr".into(),
            cipherparams: WireCipher { iv: hex(&iv) },
            ciphertext: hex(&sealed),
            kdf: "scrypt".into(),
            mac: hex(&mac_of(&derived, &sealed)),
            kdfparams: serde_json::to_value(&cost).expect("numbers and text are JSON"),
        },
    };
    Ok(serde_json::to_string_pretty(&file).expect("text is JSON"))
}

/// The address in the head of a keystore, which is readable without its passphrase.
#[must_use]
pub fn address(json: &[u8]) -> Option<String> {
    let file: WireKeystore = serde_json::from_slice(json).ok()?;
    let address = file.address?;
    let digits = address.trim_start_matches("0x");
    (digits.len() == 40).then(|| format!("0x{digits}"))
}

fn derive(passphrase: &str, cost: &WireScrypt) -> Result<Zeroizing<[u8; 32]>, KeystoreError> {
    let refused = || KeystoreError::Malformed("its scrypt parameters are out of range".into());
    let memory = cost
        .n
        .checked_mul(u64::from(cost.r))
        .and_then(|blocks| blocks.checked_mul(128));
    let fits = memory.is_some_and(|memory| memory <= MEMORY_MAX) && (1..=16).contains(&cost.p);
    if !fits || !cost.n.is_power_of_two() || cost.dklen != 32 {
        return Err(refused());
    }
    let log_n = u8::try_from(cost.n.trailing_zeros()).map_err(|_| refused())?;
    let params = scrypt::Params::new(log_n, cost.r, cost.p).map_err(|_| refused())?;
    let salt = bytes(&cost.salt, "salt")?;
    let mut derived = Zeroizing::new([0; 32]);
    scrypt::scrypt(passphrase.as_bytes(), &salt, &params, derived.as_mut())
        .map_err(|_| refused())?;
    Ok(derived)
}

fn mac_of(derived: &[u8; 32], sealed: &[u8]) -> [u8; 32] {
    keccak256([&derived[16..], sealed].concat()).0
}

fn cipher(derived: &[u8; 32], iv: &[u8; 16], data: &mut [u8]) {
    let mut key = Zeroizing::new([0; 16]);
    key.copy_from_slice(&derived[..16]);
    ctr::Ctr128BE::<Aes128>::new(&(*key).into(), &(*iv).into()).apply_keystream(data);
}

fn uuid(mut random: [u8; 16]) -> String {
    random[6] = random[6] & 0x0f | 0x40;
    random[8] = random[8] & 0x3f | 0x80;
    let digits = hex(&random);
    let part = |from: usize, to: usize| &digits[from..to];
    [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-")
}

/// Lower-case hexadecimal digits without a prefix.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(digits: &str, member: &str) -> Result<Vec<u8>, KeystoreError> {
    let digits = digits.trim_start_matches("0x").as_bytes();
    let pair = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    let read: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
    read.filter(|_| digits.len().is_multiple_of(2))
        .ok_or_else(|| KeystoreError::Malformed(format!("`{member}` is not hexadecimal")))
}

fn fixed<const N: usize>(digits: &str, member: &str) -> Result<[u8; N], KeystoreError> {
    let wrong = |_| KeystoreError::Malformed(format!("`{member}` is not {N} bytes"));
    bytes(digits, member)?.try_into().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vector for scrypt of the definition of Web3 Secret Storage.
    const VECTOR: &str = r#"{"crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":"83dbcc02d8ccb40e466191a123791e0e"},
        "ciphertext":"d172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c","kdf":"scrypt",
        "kdfparams":{"dklen":32,"n":262144,"p":8,"r":1,"salt":"ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19"},
        "mac":"2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097"},
        "id":"3198bc9c-6672-5ab3-d995-4942343ae5b6","version":3}"#;

    #[test]
    fn the_published_vector_opens() {
        let key = open(VECTOR.as_bytes(), "testpassword").unwrap();
        let expected = "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d";
        assert_eq!(hex(&*key), expected);
    }

    #[test]
    fn a_sealed_key_opens_with_its_passphrase_alone() {
        let json = seal(&[7; 32], "correct horse").unwrap();
        let expected = Signer::from_bytes([7; 32]).unwrap().address();
        assert_eq!(*open(json.as_bytes(), "correct horse").unwrap(), [7; 32]);
        assert_eq!(
            address(json.as_bytes()).unwrap().to_lowercase(),
            expected.to_string().to_lowercase()
        );
        let wrong = open(json.as_bytes(), "correct horse ").err();
        assert!(
            matches!(wrong, Some(KeystoreError::Passphrase)),
            "{wrong:?}"
        );
        assert!(!json.contains(&hex(&[7; 32])));
    }

    #[test]
    fn a_file_that_asks_for_too_much_or_is_damaged_is_refused() {
        for (from, to) in [
            ("\"n\":262144", "\"n\":1073741824"),
            ("\"n\":262144", "\"n\":262143"),
            ("\"p\":8", "\"p\":4096"),
            ("\"dklen\":32", "\"dklen\":64"),
            ("\"version\":3", "\"version\":1"),
            ("d172bf", "d172b"),
            ("83dbcc", "83db"),
        ] {
            let json = VECTOR.replace(from, to);
            let refused = open(json.as_bytes(), "testpassword").err();
            let known = matches!(
                refused,
                Some(KeystoreError::Malformed(_) | KeystoreError::Passphrase)
            );
            assert!(known, "{from} {to}: {refused:?}");
        }
        let other = VECTOR.replace("scrypt", "pbkdf2");
        let refused = open(other.as_bytes(), "testpassword").err();
        assert!(matches!(refused, Some(KeystoreError::Unsupported(_))));
    }
}

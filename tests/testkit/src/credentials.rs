//! What a throw-away cluster needs to know its users: an admin token and the key that
//! signs service account tokens. Owns their making from the system's random numbers, so
//! that no key lies in the repository and no other tool is needed.

use std::fs::File;
use std::io::Read as _;

use anyhow::{Context as _, Result};

/// A token of 32 hexadecimal digits.
///
/// # Errors
/// If the system gives no random numbers.
pub(crate) fn token() -> Result<String> {
    Ok(random::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A private key on the curve P-256 in PEM form (SEC 1); the API server finds the public
/// half by itself.
///
/// # Errors
/// If the system gives no random numbers.
pub(crate) fn signing_key() -> Result<String> {
    let mut scalar = random::<32>()?;
    // Keeps the number below the order of the curve, whose first four bytes are 0xff.
    if let Some(first) = scalar.first_mut() {
        *first &= 0x7f;
    }
    // SEQUENCE { INTEGER 1, OCTET STRING scalar, [0] OID prime256v1 }
    let mut der = vec![0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20];
    der.extend(scalar);
    der.extend([0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]);
    Ok(format!("-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----\n", base64(&der)))
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).context("read random numbers")?;
    Ok(bytes)
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_usize, |group, byte| group << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let digit = ALPHABET.get(group >> (18 - 6 * i) & 63).map_or('=', |byte| char::from(*byte));
            text.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_known_texts() {
        for (text, want) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), want);
        }
    }

    #[test]
    fn tokens_differ() {
        assert_ne!(token().unwrap(), token().unwrap());
        assert_eq!(token().unwrap().len(), 32);
    }
}

//! Hashes of passwords and of the secrets of tokens.
//!
//! The service generates random passwords, so a modest number of rounds is enough. A token's secret has 256 random
//! bits, so a plain hash is enough. Comparisons take constant time.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::ids::{from_hex, hex, random_name};

const ROUNDS: u32 = 50_000;

/// The salted hash of a password: `pbkdf2-sha256$<rounds>$<salt>$<hash>`.
pub fn hash_password(password: &str) -> String {
    let salt = random_name();
    let hash = hex(&pbkdf2(password, &salt, ROUNDS));
    format!("pbkdf2-sha256${ROUNDS}${salt}${hash}")
}

/// Whether `password` has the hash `stored`.
pub fn password_matches(password: &str, stored: &str) -> bool {
    let mut parts = stored.split('$');
    let (Some("pbkdf2-sha256"), Some(rounds), Some(salt), Some(hash), None) = (
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
    ) else {
        return false;
    };
    let (Ok(rounds), Some(hash)) = (rounds.parse(), from_hex(hash)) else {
        return false;
    };
    same(&pbkdf2(password, salt, rounds), &hash)
}

/// The hash of a token's secret.
pub fn hash_secret(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

/// Whether `secret` has the hash `stored`.
pub fn secret_matches(secret: &str, stored: &str) -> bool {
    same(hash_secret(secret).as_bytes(), stored.as_bytes())
}

/// PBKDF2 with HMAC-SHA-256, its first block.
fn pbkdf2(password: &str, salt: &str, rounds: u32) -> [u8; 32] {
    let keyed = Hmac::<Sha256>::new_from_slice(password.as_bytes())
        .expect("HMAC takes a key of any length");
    let mut mac = keyed.clone();
    mac.update(salt.as_bytes());
    mac.update(&1_u32.to_be_bytes());
    let mut block: [u8; 32] = mac.finalize().into_bytes().into();
    let mut sum = block;
    for _ in 1..rounds {
        let mut mac = keyed.clone();
        mac.update(&block);
        block = mac.finalize().into_bytes().into();
        for (sum, byte) in sum.iter_mut().zip(block) {
            *sum ^= byte;
        }
    }
    sum
}

/// Constant-time equality for two texts of the same length.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |diff, (a, b)| diff | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_password_matches() {
        let stored = hash_password("correct horse");
        assert!(password_matches("correct horse", &stored));
        assert!(!password_matches("correct horsf", &stored));
        assert!(!password_matches("correct horse", "nonsense"));
        assert!(!password_matches("", "pbkdf2-sha256$x$y$z"));
    }

    #[test]
    fn the_derivation_is_the_published_one() {
        // RFC 7914, section 11: PBKDF2-HMAC-SHA-256 of "passwd" and "salt", one round.
        let expected = "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc";
        assert_eq!(hex(&pbkdf2("passwd", "salt", 1)), expected);
    }
}

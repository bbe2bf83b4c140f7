//! Hashes of passwords and of the secrets of tokens.
//!
//! The service generates random passwords, so a modest number of rounds is enough. A token's secret has 256 random
//! bits, so a plain hash is enough. Comparisons take constant time.

use std::num::NonZeroU32;

use ring::pbkdf2::{self, PBKDF2_HMAC_SHA256};
use sha2::{Digest as _, Sha256};

use super::ids::{from_hex, hex, random_name};

const HASH_LEN: usize = ring::digest::SHA256_OUTPUT_LEN;
const ROUNDS: NonZeroU32 = NonZeroU32::new(50_000).expect("not zero");

/// The salted hash of a password: `pbkdf2-sha256$<rounds>$<salt>$<hash>`.
pub fn hash_password(password: &str) -> String {
    let salt = random_name();
    let mut hash = [0; HASH_LEN];
    pbkdf2::derive(
        PBKDF2_HMAC_SHA256,
        ROUNDS,
        salt.as_bytes(),
        password.as_bytes(),
        &mut hash,
    );
    let hash = hex(&hash);
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
    // A part of a hash would match, too.
    if hash.len() != HASH_LEN {
        return false;
    }
    pbkdf2::verify(
        PBKDF2_HMAC_SHA256,
        rounds,
        salt.as_bytes(),
        password.as_bytes(),
        &hash,
    )
    .is_ok()
}

/// The hash of a token's secret.
pub fn hash_secret(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

/// Whether `secret` has the hash `stored`.
pub fn secret_matches(secret: &str, stored: &str) -> bool {
    same(hash_secret(secret).as_bytes(), stored.as_bytes())
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
        let part_of_the_hash = &stored[..stored.len() - 2];
        assert!(!password_matches("correct horse", part_of_the_hash));
    }

    #[test]
    fn the_derivation_is_the_published_one() {
        // RFC 7914, section 11: PBKDF2-HMAC-SHA-256 of "passwd" and "salt", one round.
        let hash = "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc";
        assert!(password_matches(
            "passwd",
            &format!("pbkdf2-sha256$1$salt${hash}")
        ));
    }
}

//! Encrypts signed URLs for the journal, so that an upload can continue after a restart.
//!
//! The key is in the same directory as the journal. So this protects a copied journal or a log, but not against the
//! owner of the directory. If a text cannot be decrypted, the upload starts over.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::durable::write_atomic;

const KEY_LEN: usize = 32;
const NONCE_LEN: usize = 16;
const TAG_LEN: usize = 16;
/// Bytes of the key stream per round.
const ROUND_LEN: usize = 32;

/// Encrypts and decrypts texts with its own key.
pub struct Seal {
    key: [u8; KEY_LEN],
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    /// Reads the key from the file, or makes one. A key that cannot be stored works for this run.
    pub fn open(path: &Path) -> Seal {
        if let Ok(bytes) = std::fs::read(path)
            && let Ok(key) = bytes.try_into()
        {
            return Seal { key };
        }
        let key: [u8; KEY_LEN] = rand::random();
        if let Err(error) = write_atomic(path, &key) {
            tracing::warn!(%error, "the key cannot be stored; uploads that a restart interrupts will start over");
        }
        Seal { key }
    }

    /// Encrypts and authenticates a text.
    pub fn close(&self, text: &str) -> String {
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut sealed = nonce.to_vec();
        sealed.extend(self.crypt(&nonce, text.as_bytes()));
        let tag = self.mac(b"tag", &sealed);
        sealed.extend(&tag[..TAG_LEN]);
        STANDARD.encode(sealed)
    }

    /// Decrypts a text; `None` if it was changed or encrypted with another key.
    pub fn reveal(&self, sealed: &str) -> Option<String> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (body, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_LEN)?)?;
        let mut mac = self.hmac();
        mac.update(b"tag");
        mac.update(body);
        mac.verify_truncated_left(tag).ok()?;
        let (nonce, text) = body.split_at_checked(NONCE_LEN)?;
        String::from_utf8(self.crypt(nonce, text)).ok()
    }

    /// XORs bytes with the key stream of key and nonce; applied twice, it returns the original bytes.
    fn crypt(&self, nonce: &[u8], bytes: &[u8]) -> Vec<u8> {
        let mut mixed = bytes.to_vec();
        for (round, block) in mixed.chunks_mut(ROUND_LEN).enumerate() {
            let counter = (round as u64).to_le_bytes();
            let stream = self.mac(b"stream", &[nonce, &counter].concat());
            for (byte, mask) in block.iter_mut().zip(stream) {
                *byte ^= mask;
            }
        }
        mixed
    }

    fn mac(&self, purpose: &[u8], bytes: &[u8]) -> [u8; ROUND_LEN] {
        let mut mac = self.hmac();
        mac.update(purpose);
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    }

    fn hmac(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(&self.key).expect("a key of any length is taken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_comes_back_and_shows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let text = "https://storage.example/a?signature=".repeat(20);
        let sealed = Seal::open(&path).close(&text);
        assert!(!sealed.contains("signature"));
        let again = Seal::open(&path);
        assert_eq!(again.reveal(&sealed).as_deref(), Some(text.as_str()));
        assert_ne!(again.close(&text), sealed, "two seals of one text differ");
    }

    #[test]
    fn a_changed_seal_or_another_key_gives_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let seal = Seal::open(&dir.path().join("a"));
        let mut bytes = STANDARD.decode(seal.close("secret")).unwrap();
        bytes[NONCE_LEN] ^= 1;
        assert_eq!(seal.reveal(&STANDARD.encode(bytes)), None);
        let other = Seal::open(&dir.path().join("b"));
        assert_eq!(other.reveal(&seal.close("secret")), None);
        for junk in ["", "AAAA", "not base64"] {
            assert_eq!(seal.reveal(junk), None);
        }
    }
}

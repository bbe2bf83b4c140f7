//! One-time codes that sign in to the page. A link carries one after `#`, where no server and no log sees it.
//!
//! A code is random, works once and for some minutes, and is only in the memory of this process, as its hash. What it is
//! exchanged for is a new token, so the token of the account's file is in no link.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::ids::random_name;
use super::secrets::{hash_secret, secret_matches};
use crate::locks::Locked as _;
use crate::wire::{SignInCode, UserId};

/// How long a code works.
const LIFETIME: Duration = Duration::from_secs(600);

/// Codes that are kept. When there are more, the oldest stops working.
const MAX_CODES: usize = 64;

/// The result of the exchange of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redeemed {
    /// The code was valid. It cannot be used again.
    By(UserId),
    Used,
    /// It has expired, or this process did not make it.
    Unknown,
}

#[derive(Debug, Default)]
pub struct SignInCodes(Mutex<Vec<HeldCode>>);

#[derive(Debug)]
struct HeldCode {
    hash: String,
    user: UserId,
    until: Instant,
    is_used: bool,
}

impl SignInCodes {
    /// A new code, which signs in `user`.
    pub fn make(&self, user: UserId) -> SignInCode {
        let code = random_name();
        let mut codes = self.0.locked();
        forget_expired(&mut codes);
        if codes.len() >= MAX_CODES {
            codes.remove(0);
        }
        codes.push(HeldCode {
            hash: hash_secret(&code),
            user,
            until: Instant::now() + LIFETIME,
            is_used: false,
        });
        SignInCode {
            code,
            expires_in: LIFETIME.as_secs(),
        }
    }

    /// Uses a code.
    pub fn redeem(&self, code: &str) -> Redeemed {
        let mut codes = self.0.locked();
        forget_expired(&mut codes);
        let mut codes = codes.iter_mut();
        match codes.find(|known| secret_matches(code, &known.hash)) {
            None => Redeemed::Unknown,
            Some(known) if known.is_used => Redeemed::Used,
            Some(known) => {
                known.is_used = true;
                Redeemed::By(known.user)
            }
        }
    }
}

fn forget_expired(codes: &mut Vec<HeldCode>) {
    let now = Instant::now();
    codes.retain(|code| code.until > now);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_code_works_once_and_for_ten_minutes() {
        let codes = SignInCodes::default();
        let (one, other) = (codes.make(UserId(1)).code, codes.make(UserId(2)).code);
        assert_eq!(codes.redeem(&one), Redeemed::By(UserId(1)));
        assert_eq!(codes.redeem(&one), Redeemed::Used);
        assert_eq!(codes.redeem("0"), Redeemed::Unknown);
        tokio::time::advance(LIFETIME).await;
        assert_eq!(codes.redeem(&other), Redeemed::Unknown);
        assert_eq!(codes.redeem(&one), Redeemed::Unknown);
    }

    #[test]
    fn the_oldest_of_too_many_codes_stops_working_and_no_text_shows_one() {
        let codes = SignInCodes::default();
        let first = codes.make(UserId(1)).code;
        assert!(!format!("{codes:?}").contains(&first));
        for _ in 0..MAX_CODES {
            codes.make(UserId(1));
        }
        assert_eq!(codes.redeem(&first), Redeemed::Unknown);
    }
}

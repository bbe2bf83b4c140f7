//! Decides when a copy into a draft has ended. The rule ([`rule`], [`readiness`]) and the gathering of
//! its facts ([`facts`]) are pure; [`inspect`] reads staged files; [`watch`] is the task that applies it.

pub mod facts;
pub mod inspect;
pub mod look;
pub mod readiness;
pub mod rule;
pub mod several;
pub mod watch;

//! When a copy has ended, and what tells. The rule itself is pure ([`rule`], [`readiness`]), and so
//! is gathering what it asks ([`facts`]); looking into files for their ends ([`wholeness`]) and the files they
//! name ([`references`]) reads staged bytes only. [`watch`] is the task that applies it all.

pub mod facts;
pub mod inspect;
pub mod readiness;
pub mod references;
pub mod rule;
pub mod watch;
pub mod wholeness;

//! Sending drafts: what is sent ([`manifest`]), its bytes ([`body`], [`zip`]), the executor that does
//! what the planner says ([`run`], with its steps in [`start`], [`put`] and [`import`]), comparing
//! afterwards ([`verify`]), deleting what nobody wants ([`discard`]) or somebody deletes ([`deletion`]), and what a person asks for
//! ([`ops`], [`drain`], [`orphans`]), how fast it goes ([`rate`]). URLs outlive a restart under a seal ([`seal`]).

pub mod begin;
pub mod body;
pub mod deletion;
pub mod discard;
pub mod drain;
mod import;
pub mod info;
pub mod manifest;
pub mod ops;
pub mod orphans;
pub mod plan;
mod put;
pub mod rate;
mod run;
pub mod seal;
mod start;
mod verify;
pub mod zip;

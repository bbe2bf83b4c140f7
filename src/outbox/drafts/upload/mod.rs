//! Sending drafts: the files to send ([`manifest`]), their bytes ([`body`]), the planner ([`plan`]), the executor
//! ([`run`]) with its steps ([`start`], which needs [`room`] in the account or can [`join`] a model that is there, [`put`] and [`import`]), its link to the draft ([`link`]) and the signed URLs
//! ([`urls`]), the comparison at the end ([`verify`]), deleting unwanted assets ([`discard`]) and assets that the user
//! deletes ([`deletion`]), commands ([`ops`], [`drain`], [`orphans`], [`version`]), new versions that equal the old one ([`unchanged`]), and the speed ([`rate`]). The
//! journal stores URLs encrypted ([`seal`]).

pub mod begin;
pub mod body;
pub mod deletion;
pub mod discard;
pub mod drain;
mod import;
pub mod info;
mod join;
mod link;
pub mod manifest;
pub mod note;
pub mod ops;
pub mod orphans;
pub mod plan;
mod put;
pub mod rate;
mod room;
mod run;
pub mod seal;
mod start;
pub mod unchanged;
mod urls;
mod verify;
pub mod version;

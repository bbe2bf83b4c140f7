//! Messages of refused operations: the operation, the reason, and what to do instead. Paths are given from the top of the
//! drive; messages name them by [`shown_path`].

use std::ffi::OsStr;

use crate::drive::error::DriveError;
use crate::drive::values::names::{shown_name, shown_path};
use crate::wire::RapidId;

pub fn read_only_mount() -> DriveError {
    DriveError::ReadOnly(
        "the drive is mounted with --read-only; mount it without that option to change anything"
            .into(),
    )
}

pub fn frozen_asset(path: &str) -> DriveError {
    let path = shown_path(path);
    DriveError::ReadOnly(format!(
        "{path} belongs to a model that has been uploaded, and the service cannot change or add files of a model; \
         copy the model in under another name, or as its next version with `assetfs replace`"
    ))
}

pub fn failed_import(path: &str) -> DriveError {
    let path = shown_path(path);
    DriveError::ReadOnly(format!(
        "{path} belongs to a model whose import failed, and is not changed in parts; copy a whole file over it, and the model \
         is sent again"
    ))
}

pub fn read_by_others(path: &str) -> DriveError {
    let path = shown_path(path);
    DriveError::Busy(format!(
        "{path} is open in another program, which reads it from the cache; close it there, and copy again"
    ))
}

pub fn not_complete_yet(path: &str) -> DriveError {
    let path = shown_path(path);
    DriveError::ReadOnly(format!(
        "{path} is being imported; it can be replaced once the model is complete and its files were checked"
    ))
}

pub fn inside_zip(path: &str) -> DriveError {
    let path = shown_path(path);
    DriveError::ReadOnly(format!(
        "{path} is inside a zip that is sent unchanged; replace the zip, or remove it and copy the files in"
    ))
}

pub fn made_by_service(path: &str) -> DriveError {
    let path = shown_path(path);
    DriveError::ReadOnly(format!(
        "{path} is made by the service and cannot be written to"
    ))
}

/// The text of a result is on no path of this machine, and the service does not tell it.
pub fn no_text(rapid: RapidId) -> DriveError {
    DriveError::Invalid(format!(
        "the service does not say how the result {rapid} was made; copy its text into optimize/ of the model"
    ))
}

pub fn no_place(path: &str) -> DriveError {
    let path = shown_path(path);
    DriveError::ReadOnly(format!(
        "nothing can be made in {path}; models are copied into rawmodels/, presets into presets/, jobs into \
         the optimize folder of a model"
    ))
}

pub fn no_rapid_by_hand() -> DriveError {
    DriveError::ReadOnly(
        "optimized models are made by the service; copy a preset into the optimize folder of a model".into(),
    )
}

pub fn no_rename(path: &str) -> DriveError {
    let path = shown_path(path);
    DriveError::NotPermitted(format!(
        "{path} cannot be renamed, because the service cannot rename models; copy it in again under the other name"
    ))
}

pub fn only_files_and_folders() -> DriveError {
    DriveError::NotPermitted(
        "links, pipes and devices cannot be made here, because the service has only files; copy the file itself".into(),
    )
}

/// A name that is not text: the service, and the paths of the drive, know only text.
pub fn not_text(name: &OsStr) -> DriveError {
    DriveError::NotText(format!(
        "the name {} is not valid UTF-8, which the service needs; rename it, all such names of a folder for example with \
         `convmv -f latin1 -t utf8 -r --notest FOLDER`, and copy it again",
        shown_name(name)
    ))
}

pub fn no_trash() -> DriveError {
    DriveError::NotPermitted(
        "the drive has no trash, because a trashed model would still take room in the account; delete it for good".into(),
    )
}

pub fn no_move_between() -> DriveError {
    DriveError::NotPermitted("this cannot be moved there; copy it, then remove the original".into())
}

/// Without a confirmation a drive deletes so many models within a minute, and `count` more are asked for.
pub fn delete_limit(limit: u32, count: usize) -> DriveError {
    if count > 1 {
        return DriveError::NotPermitted(format!(
            "this would delete {count} models; without a confirmation a drive deletes at most {limit} within a minute, and those \
             already deleted count. If that is intended, repeat the command with --yes (`assetfs rm --yes`), or run \
             `assetfs allow-delete` before it"
        ));
    }
    DriveError::NotPermitted(format!(
        "more than {limit} models were deleted within a minute; if that is intended, run `assetfs allow-delete` and repeat the command"
    ))
}

/// A program that makes one folder equal to another would delete a model and send it again.
pub fn looked_for(model: &str, loose: &str) -> DriveError {
    let model = shown_path(model);
    DriveError::NotPermitted(format!(
        "{model} was not deleted: this program looked for its file {loose} just before, so it may be making the folder equal \
         to another one, and would send the model again; `rm -r` or `assetfs rm` deletes it, or this program after a minute"
    ))
}

/// Tags belong to a model of the service; kept with a draft they would be lost when it is uploaded.
pub fn tags_of_a_draft() -> DriveError {
    DriveError::Unsupported(
        "a model has tags from its upload on: wait until it is complete, then set them".into(),
    )
}

pub fn no_delete() -> DriveError {
    DriveError::NotPermitted(
        "the drive is mounted with --no-delete, so nothing on the service is deleted; mount it without that option to delete".into(),
    )
}

pub fn stale_delete() -> DriveError {
    DriveError::NotPermitted(
        "the service cannot be reached, so the listing may be old; nothing is deleted until the service answers again".into(),
    )
}

pub fn not_permitted_here(path: &str) -> DriveError {
    let path = shown_path(path);
    DriveError::NotPermitted(format!(
        "{path} is part of the drive and cannot be removed or renamed"
    ))
}

pub fn unsupported_xattr() -> DriveError {
    DriveError::Unsupported("this extended attribute cannot be set here".into())
}

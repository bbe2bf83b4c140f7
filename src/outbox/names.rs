//! Classifies the names in a draft: files to send, junk, temporary files, version control folders, service folders.
//! Pure.

use crate::outbox::error::OutboxError;
use assetfs_formats as formats;
use assetfs_formats::junk::is_system_name;

pub use assetfs_formats::extension;

/// Longest name of one file, in bytes.
const NAME_MAX_BYTES: usize = 255;

/// Names of the folders in which the drive shows files of the service.
const SERVICE_FOLDERS: &[&str] = &[
    "analysis",
    "renders",
    "converted",
    "pbr",
    "optimize",
    "embeds",
    "rapidmodels",
];

/// The class of a file by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileName {
    /// To be sent.
    Plain,
    /// Kept and never sent.
    Junk,
    /// A temporary name of a copy: the draft waits.
    InFlight,
}

/// The class of a folder by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FolderName {
    Plain,
    /// Junk with everything in it.
    Junk,
    /// Files of an unfinished copy: the draft waits.
    InFlight,
    /// Version control: never sent, and its draft is only sent by command.
    VersionControl,
}

/// Classifies a file.
pub fn judge_file(name: &str) -> FileName {
    // Checked first, because some temporary names have an ending of junk, such as `.tmp`.
    if is_in_flight(name) {
        FileName::InFlight
    } else if is_junk_file(name) {
        FileName::Junk
    } else {
        FileName::Plain
    }
}

/// Classifies a folder.
pub fn judge_folder(name: &str) -> FolderName {
    match name {
        ".git" | ".hg" | ".svn" => FolderName::VersionControl,
        _ if is_system_name(name) || name.starts_with(".fuse_hidden") => FolderName::Junk,
        // rsync with --delay-updates and --partial-dir, and the downloads of Safari, which are folders.
        ".~tmp~" | ".rsync-partial" => FolderName::InFlight,
        _ if name.ends_with(".download") => FolderName::InFlight,
        _ => FolderName::Plain,
    }
}

/// True for the name of a folder in which the drive shows files of the service.
pub fn is_service_folder(name: &str) -> bool {
    SERVICE_FOLDERS.contains(&name)
}

/// The topmost folder of a path, if it has the name of a service folder.
pub fn service_folder_of(path: &str) -> Option<&str> {
    let (top, _) = path.split_once('/')?;
    is_service_folder(top).then_some(top)
}

/// The name without its extension.
pub fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// The first of `name~id`, `name~id~id` and so on that is free. It is shortened so that `ending` fits behind it; the ids
/// never are, so each is another name.
pub fn with_free_id(name: &str, id: u64, ending: &str, is_free: impl Fn(&str) -> bool) -> String {
    let mut suffix = String::new();
    loop {
        suffix.push_str(&format!("~{id}"));
        let room = NAME_MAX_BYTES.saturating_sub(suffix.len() + ending.len());
        let end = name.floor_char_boundary(room.min(name.len()));
        let found = format!("{}{suffix}", &name[..end]);
        if is_free(&found) {
            return found;
        }
    }
}

/// The name of a file with another stem, shortened to fit.
pub fn with_stem(name: &str, new_stem: &str) -> String {
    let ending = &name[stem(name).len()..];
    let room = NAME_MAX_BYTES.saturating_sub(ending.len());
    let end = new_stem.floor_char_boundary(room.min(new_stem.len()));
    format!("{}{ending}", &new_stem[..end])
}

/// True if a file of this name is a model.
pub fn is_model(name: &str) -> bool {
    formats::of_name(name).is_some()
}

/// True if a single file of this name may be a complete model.
pub fn is_self_contained(name: &str) -> bool {
    formats::of_name(name).is_some_and(|format| format.can_stand_alone())
}

/// The name of the model that a loose file becomes; `None` if it is never sent alone.
pub fn model_of_loose_file(name: &str) -> Option<&str> {
    is_self_contained(name).then(|| stem(name))
}

/// The name of the model that `assetfs sync`, `build` or `watch` makes of this one file; `None` if it has no model format. These
/// commands have checked that no other file belongs to the model. Of a loose file the drive cannot know that in every format: see
/// [`model_of_loose_file`].
pub fn model_of_only_file(name: &str) -> Option<&str> {
    formats::of_name(name).map(|_| stem(name))
}

/// True for the path of a file that file managers leave behind, or that is in a folder of such files.
pub fn is_junk_path(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut folders = folders.split('/');
    judge_file(name) == FileName::Junk
        || folders.any(|folder| judge_folder(folder) == FolderName::Junk)
}

/// True for the path of a file that is never sent, because of its name or that of a folder above it.
pub fn is_never_sent(path: &str) -> bool {
    let mut folders = path.split('/').rev().skip(1);
    is_junk_path(path) || folders.any(|folder| judge_folder(folder) == FolderName::VersionControl)
}

/// True if a file of this format refers to the other files of its model.
pub fn has_references(name: &str) -> bool {
    formats::of_name(name).is_some_and(|format| format.names_its_files())
}

/// Refuses invalid and forbidden names.
pub fn check_new(name: &str) -> Result<(), OutboxError> {
    let refuse = |reason| {
        Err(OutboxError::BadName {
            name: name.to_owned(),
            reason,
        })
    };
    if name.len() > NAME_MAX_BYTES {
        return Err(OutboxError::NameTooLong);
    }
    if name.starts_with(".Trash") {
        return Err(OutboxError::NotPermitted(
            "the drive keeps no trash folder: delete for good, or move the file elsewhere first"
                .to_owned(),
        ));
    }
    match name {
        "" => refuse("it is empty"),
        "." | ".." => refuse("it means a folder itself or its parent"),
        _ if name.contains('/') || name.contains('\0') => refuse("it contains a slash or a NUL"),
        _ => Ok(()),
    }
}

fn is_junk_file(name: &str) -> bool {
    const EXACT: &[&str] = &[".hidden", "4913"];
    const PREFIXES: &[&str] = &["~$", ".fuse_hidden", ".nfs"];
    const SUFFIXES: &[&str] = &[".swp", ".swx", "~", ".tmp"];
    is_system_name(name)
        || EXACT.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
        || (name.starts_with(".~lock.") && name.ends_with('#'))
        || (name.len() > 1 && name.starts_with('#') && name.ends_with('#'))
}

/// Prefix of the temporary name of a file that is being written in place.
pub const SAVE_START: &str = ".assetfs-save-";

/// Beginnings and endings, in lower case, of the names that programs give to files that they have not finished. One of the two is
/// empty if only the other counts.
const IN_FLIGHT: &[(&str, &str)] = &[
    // Firefox, KDE, Chromium, rclone
    ("", ".part"),
    ("", ".partial"),
    ("", ".crdownload"),
    // Safari, Opera
    ("", ".download"),
    ("", ".opdownload"),
    // WinSCP, aria2, qBittorrent, µTorrent, Resilio Sync, BitComet, Thunder, DC++, gsutil, lftp
    ("", ".filepart"),
    ("", ".aria2"),
    ("", ".!qb"),
    ("", ".!ut"),
    ("", ".!sync"),
    ("", ".bc!"),
    ("", ".td"),
    ("", ".xltd"),
    ("", ".dctmp"),
    ("", ".gstmp"),
    ("", ".lftp-pget-status"),
    // GLib
    (".goutputstream-", ""),
    // The drive itself, for files that are written in place
    (SAVE_START, ""),
    // ProFTPD, Pure-FTPd
    (".in.", "."),
    (".pureftpd-upload.", ""),
    // Syncthing, here and on Windows; Unison
    (".syncthing.", ".tmp"),
    ("~syncthing~", ".tmp"),
    (".unison.", ".tmp"),
    ("", ".unison.tmp"),
];

fn is_in_flight(name: &str) -> bool {
    // Some servers of files for Windows change the case of names.
    let lower = name.to_ascii_lowercase();
    let is_named = |(start, end): &(&str, &str)| {
        lower.len() > start.len() + end.len() && lower.starts_with(start) && lower.ends_with(end)
    };
    IN_FLIGHT.iter().any(is_named) || is_rsync_temporary(name) || is_atomic_save_temporary(name)
}

/// `.name.XXXXXX`: a hidden name whose last dot is followed by exactly six characters.
fn is_rsync_temporary(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('.') else {
        return false;
    };
    match rest.rsplit_once('.') {
        Some((_, ending)) => ending.chars().count() == 6,
        None => false,
    }
}

/// `sedXXXXXX` and `tmpXXXXXXXX`. Python's random names may contain an underscore.
fn is_atomic_save_temporary(name: &str) -> bool {
    ["sed", "tmp"].iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_judged_as_promised() {
        let table = [
            ("chair.glb", FileName::Plain),
            ("sedan.obj", FileName::Plain),
            ("tmp_car.obj", FileName::Plain),
            ("README", FileName::Plain),
            (".chair.bin.x8Gf3q", FileName::InFlight),
            (".goutputstream-8K2LZ3", FileName::InFlight),
            (".assetfs-save-0a1b2c.chair.glb", FileName::InFlight),
            ("chair.glb.part", FileName::InFlight),
            ("chair.glb.partial", FileName::InFlight),
            ("chair.glb.crdownload", FileName::InFlight),
            ("chair.glb.filepart", FileName::InFlight),
            ("chair.glb.aria2", FileName::InFlight),
            ("chair.glb.!qB", FileName::InFlight),
            ("CHAIR.GLB.FILEPART", FileName::InFlight),
            ("chair.glb.!sync", FileName::InFlight),
            ("chair.glb.bc!", FileName::InFlight),
            ("chair.glb.td", FileName::InFlight),
            ("chair.glb.xltd", FileName::InFlight),
            ("chair.glb.dctmp", FileName::InFlight),
            ("chair.glb_.gstmp", FileName::InFlight),
            ("chair.glb.download", FileName::InFlight),
            ("chair.glb.opdownload", FileName::InFlight),
            ("chair.glb.lftp-pget-status", FileName::InFlight),
            (".in.chair.glb.", FileName::InFlight),
            (".pureftpd-upload.5f3c", FileName::InFlight),
            (".syncthing.chair.glb.tmp", FileName::InFlight),
            ("~syncthing~chair.glb.tmp", FileName::InFlight),
            (".unison.chair.glb.1f.unison.tmp", FileName::InFlight),
            ("download", FileName::Plain),
            ("sedq3Xw1b", FileName::InFlight),
            ("tmpab_12cd3", FileName::InFlight),
            (".DS_Store", FileName::Junk),
            ("._chair.glb", FileName::Junk),
            ("Thumbs.db", FileName::Junk),
            ("desktop.ini", FileName::Junk),
            (".directory", FileName::Junk),
            (".hidden", FileName::Junk),
            (".chair.gltf.swp", FileName::Junk),
            (".chair.gltf.swx", FileName::Junk),
            ("4913", FileName::Junk),
            ("chair.gltf~", FileName::Junk),
            ("~$chair.max", FileName::Junk),
            (".~lock.chair.csv#", FileName::Junk),
            ("#chair.mtl#", FileName::Junk),
            ("chair.tmp", FileName::Junk),
            (".fuse_hidden0000000a00000001", FileName::Junk),
            (".nfs000000000123", FileName::Junk),
        ];
        for (name, expected) in table {
            assert_eq!(judge_file(name), expected, "{name}");
        }
    }

    #[test]
    fn folders_are_judged_by_their_own_rule() {
        assert_eq!(judge_folder(".git"), FolderName::VersionControl);
        assert_eq!(judge_folder("__MACOSX"), FolderName::Junk);
        assert_eq!(judge_folder("tmp1"), FolderName::Plain);
        assert_eq!(judge_folder(".~tmp~"), FolderName::InFlight);
        assert_eq!(judge_folder(".rsync-partial"), FolderName::InFlight);
        assert_eq!(judge_folder("chair.glb.download"), FolderName::InFlight);
        assert_eq!(judge_folder("textures"), FolderName::Plain);
    }

    #[test]
    fn a_free_name_is_found_also_for_the_longest_names() {
        for name in ["x".repeat(255), "ü".repeat(127), "椅".repeat(85)] {
            for ending in ["", ".glb"] {
                let mut taken: Vec<String> = Vec::new();
                for _ in 0..5 {
                    let is_free = |found: &str| !taken.iter().any(|it| it == found);
                    let found = with_free_id(&name, 1042, ending, is_free);
                    assert!(found.len() + ending.len() <= NAME_MAX_BYTES, "{found}");
                    assert!(found.ends_with("~1042"), "{found}");
                    assert!(name.starts_with(found.trim_end_matches("~1042")), "{found}");
                    assert!(is_free(&found), "{found}");
                    // The file of a loose draft keeps the whole id.
                    let file = with_stem(&format!("x{ending}"), &found);
                    assert_eq!(file, format!("{found}{ending}"));
                    taken.push(found);
                }
            }
        }
        assert_eq!(with_free_id("chair", 7, "", |_| true), "chair~7");
        let second = with_free_id("chair", 7, "", |found| found != "chair~7");
        assert_eq!(second, "chair~7~7");
    }

    #[test]
    fn a_trash_folder_cannot_be_made() {
        assert!(matches!(
            check_new(".Trash-1000"),
            Err(OutboxError::NotPermitted(_))
        ));
        assert!(check_new("chair").is_ok());
        assert!(matches!(
            check_new(&"x".repeat(256)),
            Err(OutboxError::NameTooLong)
        ));
    }

    #[test]
    fn a_hidden_file_has_no_extension() {
        assert_eq!(extension(".glb"), "");
        assert_eq!(extension("Chair.GLB"), "glb");
        assert_eq!(stem("chair.old.glb"), "chair.old");
        assert_eq!(stem(".glb"), ".glb");
    }
}

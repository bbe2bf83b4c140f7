//! The source of a mount: the word for its account in the table of mounts and in fstab. The table keeps it when the process
//! of the drive is killed, so it says how to mount the drive again.

use std::path::Path;

use super::account::{Account, AccountArgs};
use crate::fuse::{self, shell_quoted};

const LOCAL: &str = "local";

/// The account that a source names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    Nothing,
    Local,
    Service,
    Profile,
}

pub(super) fn chosen_by(source: &str) -> Chosen {
    match source {
        "assetfs" | "none" | "" => Chosen::Nothing,
        LOCAL => Chosen::Local,
        source if source.contains("://") => Chosen::Service,
        _ => Chosen::Profile,
    }
}

/// The source of a mount by `assetfs mount`. A profile is named, because it has more than the address.
pub(super) fn source_of(args: &AccountArgs, account: &Account) -> String {
    let profile = args.profile.as_ref();
    match (profile, account) {
        (Some(name), _) if chosen_by(name) == Chosen::Profile => name.clone(),
        (_, Account::Local { .. }) => LOCAL.to_owned(),
        (_, Account::Remote { base_url, .. }) => base_url.to_string(),
    }
}

/// The command that mounts the drive at `root` again, with the account that it had.
pub(super) fn command_again(root: &Path) -> String {
    command_for(root, &source_at(root))
}

/// Why no drive of the account `own` can be mounted at the folder that a drive without one gets: which drive is there, and what
/// to type. `is_free` tells whether a folder can be suggested.
pub(super) fn usual_drive_is_taken(
    root: &Path,
    own: &str,
    is_free: impl Fn(&Path) -> bool,
) -> String {
    taken_by(root, &source_at(root), own, is_free)
}

fn taken_by(root: &Path, there: &str, own: &str, is_free: impl Fn(&Path) -> bool) -> String {
    let shown = shell_quoted(root);
    if there == own {
        return format!(
            "{} is already mounted at {shown}; `assetfs unmount {shown}` ends it",
            in_words(there)
        );
    }
    let beside = |end: String| {
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        root.with_file_name(format!("{name}-{end}"))
    };
    let named = match chosen_by(own) {
        Chosen::Local => Some(beside("local".to_owned())),
        Chosen::Profile => Some(beside(own.to_owned())),
        Chosen::Nothing | Chosen::Service => None,
    };
    let numbered = (2..).map(|number| beside(number.to_string()));
    let mut folders = named.into_iter().chain(numbered);
    let folder = folders.find(|it| is_free(it)).expect("numbers do not end");
    format!(
        "a drive that is given no folder is mounted at {shown}, and {} is mounted there already. Give this one a folder of its \
         own: `{}`; or end the other one first: `assetfs unmount {shown}`",
        in_words(there),
        command_for(&folder, own)
    )
}

fn source_at(root: &Path) -> String {
    fuse::mount_source(root).ok().flatten().unwrap_or_default()
}

/// The account of a source, for a sentence.
fn in_words(source: &str) -> String {
    match chosen_by(source) {
        Chosen::Nothing => "another drive".to_owned(),
        Chosen::Local => "the local service".to_owned(),
        Chosen::Service => format!("the account at {source}"),
        Chosen::Profile => format!("the profile {source}"),
    }
}

fn command_for(root: &Path, source: &str) -> String {
    let flags = match chosen_by(source) {
        Chosen::Nothing => String::new(),
        Chosen::Local => " --local".to_owned(),
        Chosen::Service => format!(" --base-url {}", shell_quoted(Path::new(source))),
        Chosen::Profile => format!(" --profile {}", shell_quoted(Path::new(source))),
    };
    format!("assetfs mount {}{flags}", shell_quoted(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_says_which_account() {
        assert_eq!(chosen_by("assetfs"), Chosen::Nothing);
        assert_eq!(chosen_by("local"), Chosen::Local);
        assert_eq!(chosen_by("https://a.example/x"), Chosen::Service);
        assert_eq!(chosen_by("studio"), Chosen::Profile);
    }

    #[test]
    fn a_second_drive_without_a_folder_is_told_which_is_there_and_what_to_type() {
        let root = Path::new("/home/me/assets");
        let said = |there: &str, own: &str, taken: &str| {
            taken_by(root, there, own, |folder| folder != Path::new(taken))
        };
        for (own, command) in [
            ("local", "assetfs mount /home/me/assets-local --local"),
            (
                "studio",
                "assetfs mount /home/me/assets-studio --profile studio",
            ),
            (
                "https://b.example/",
                "assetfs mount /home/me/assets-2 --base-url https://b.example/",
            ),
        ] {
            let said = said("https://a.example/", own, "");
            assert!(
                said.contains("the account at https://a.example/ is mounted"),
                "{said}"
            );
            assert!(said.contains(&format!("`{command}`")), "{said}");
        }
        let second = said("local", "https://b.example/", "/home/me/assets-2");
        assert!(second.contains("/home/me/assets-3 --base-url"), "{second}");
        let same = said("local", "local", "");
        assert!(
            same.starts_with("the local service is already mounted at"),
            "{same}"
        );
    }

    #[test]
    fn the_source_of_a_mount_chooses_the_same_account_again() {
        let local = Account::Local {
            data_dir: "/x".into(),
        };
        let args = |profile: Option<&str>| AccountArgs {
            profile: profile.map(str::to_owned),
            ..AccountArgs::default()
        };
        assert_eq!(source_of(&args(None), &local), "local");
        assert_eq!(source_of(&args(Some("here")), &local), "here");
        // A profile of this name could not be told from the word.
        assert_eq!(source_of(&args(Some("local")), &local), "local");
    }
}

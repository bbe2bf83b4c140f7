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
    let source = fuse::mount_source(root).ok().flatten().unwrap_or_default();
    let flags = match chosen_by(&source) {
        Chosen::Nothing => String::new(),
        Chosen::Local => " --local".to_owned(),
        Chosen::Service => format!(" --base-url {}", shell_quoted(Path::new(&source))),
        Chosen::Profile => format!(" --profile {}", shell_quoted(Path::new(&source))),
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

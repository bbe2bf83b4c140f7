//! The options of `-o`: our own options, which set flags; options of the kernel, which are passed on; and options of
//! mount(8), which are ignored. Names and values are checked, and a wrong option is refused with its name.

use anyhow::Result;

use super::args::{MountArgs, SetFlag, parse_as};
use crate::cli::exit::WrongUse;

/// Options for mount(8), systemd or file managers, and options that always apply.
const WITHOUT_EFFECT: &[&str] = &[
    "_netdev",
    "async",
    "atime",
    "auto",
    "default_permissions",
    "defaults",
    "dev",
    "diratime",
    "exec",
    "group",
    "iversion",
    "lazytime",
    "loud",
    "mand",
    "noatime",
    "noauto",
    "nodev",
    "nodiratime",
    "noexec",
    "nofail",
    "nogroup",
    "noiversion",
    "nolazytime",
    "nomand",
    "noowner",
    "norelatime",
    "nostrictatime",
    "nosuid",
    "nouser",
    "nousers",
    "owner",
    "relatime",
    "silent",
    "strictatime",
    "suid",
    "user",
    "users",
];
/// The same with a value.
const VALUES_WITHOUT_EFFECT: &[&str] = &["comment", "user"];
/// Mount options of the kernel.
const OF_THE_KERNEL: &[&str] = &[
    "context",
    "dirsync",
    "fscontext",
    "max_read",
    "rootcontext",
    "sync",
];
/// Options of other file systems that are not possible here, and why.
const IMPOSSIBLE: &[(&str, &str)] = &[
    ("allow_root", "use allow_other"),
    (
        "auto_unmount",
        "a mount whose process died is cleared by the next mount",
    ),
    ("bind", "mount a folder of the drive with `mount --bind`"),
    ("remount", "unmount it and mount it again"),
];
/// Those that name an account, and so cannot be used for the local service.
const OF_OTHER_ACCOUNTS: &[&str] = &["base_url", "profile", "token_file"];

/// The options that are not flags.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FstabOptions {
    /// Passed on to the kernel.
    pub(super) kernel: Vec<String>,
}

impl FstabOptions {
    /// Parses options and sets their flags. The last one wins, as with mount(8).
    pub(super) fn read(options: &[String], args: &mut MountArgs) -> Result<FstabOptions> {
        let mut read = FstabOptions::default();
        let options = options.iter().map(|option| option.trim());
        let options: Vec<&str> = options.filter(|option| !option.is_empty()).collect();
        for option in &options {
            read.take(option, args)
                .map_err(|why| WrongUse(format!("-o {option}: {why}")))?;
        }
        let names_an_account = |option: &&&str| {
            let name = option.split_once('=').map(|(name, _)| name);
            name.is_some_and(|name| OF_OTHER_ACCOUNTS.contains(&name))
        };
        if args.account.local
            && let Some(option) = options.iter().find(names_an_account)
        {
            let why = "the local service needs no account; leave out this option or `local`";
            return Err(WrongUse(format!("-o {option}: {why}")).into());
        }
        Ok(read)
    }

    /// Whether `-s` of mount(8) may drop an option, because its name is unknown.
    pub(super) fn is_unknown(option: &str) -> bool {
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        !is_for_others(name)
            && !WITHOUT_EFFECT.contains(&name)
            && !VALUES_WITHOUT_EFFECT.contains(&name)
            && !OF_THE_KERNEL.contains(&name)
            && SetFlag::of_option(name).is_none()
            && IMPOSSIBLE.iter().all(|(known, _)| *known != name)
    }

    fn take(&mut self, option: &str, args: &mut MountArgs) -> Result<(), String> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if is_for_others(name) {
            return Ok(());
        }
        if let Some((_, instead)) = IMPOSSIBLE.iter().find(|(known, _)| *known == name) {
            return Err(format!("this is not possible; {instead}"));
        }
        match (SetFlag::of_option(name), value) {
            (_, None) if WITHOUT_EFFECT.contains(&name) => {}
            (_, Some(_)) if VALUES_WITHOUT_EFFECT.contains(&name) => {}
            (Some(SetFlag::Switch(set)), None) => set(args),
            (Some(SetFlag::Value(set)), Some(value)) if !value.is_empty() => set(args, value)?,
            (Some(SetFlag::Value(_)), _) => {
                return Err(format!("this needs a value, as in {name}=VALUE"));
            }
            (None, _) if OF_THE_KERNEL.contains(&name) => self.pass_on(option, name, value)?,
            (Some(SetFlag::Switch(_)), Some(_)) => return Err(format!("{name} takes no value")),
            (None, _) if WITHOUT_EFFECT.contains(&name) => {
                return Err(format!("{name} takes no value"));
            }
            (None, _) => {
                let known = SetFlag::options_in_words();
                return Err(format!(
                    "there is no such option; the options of assetfs are {known}"
                ));
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, option: &str, name: &str, value: Option<&str>) -> Result<(), String> {
        match (name, value) {
            ("sync" | "dirsync", None) => {}
            ("max_read", Some(value)) => {
                parse_as::<u32>(value, "a number of bytes, like 131072")?;
            }
            ("context" | "fscontext" | "rootcontext", Some(value)) if !value.is_empty() => {}
            ("sync" | "dirsync", Some(_)) => return Err(format!("{name} takes no value")),
            _ => return Err(format!("this needs a value, as in {name}=VALUE")),
        }
        self.kernel.push(option.to_owned());
        Ok(())
    }
}

/// Options for the tools that read fstab: `x-gvfs-show`, `x-systemd.automount` (mount(8)).
fn is_for_others(name: &str) -> bool {
    name.starts_with("x-") || name.starts_with("X-")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::FLAG_OPTIONS;
    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: MountArgs,
    }

    fn read(text: &str) -> Result<(FstabOptions, MountArgs)> {
        let mut args = Line::parse_from(["mount"]).args;
        let options: Vec<String> = text.split(',').map(str::to_owned).collect();
        FstabOptions::read(&options, &mut args).map(|read| (read, args))
    }

    #[test]
    fn words_for_mount_and_the_desktop_change_nothing() {
        let all = format!(
            "x-gvfs-show,x-systemd.automount,x-gvfs-name=My drive,rw,user=me,comment=mine,{}",
            WITHOUT_EFFECT.join(",")
        );
        let (rest, args) = read(&all).unwrap();
        assert_eq!(rest, FstabOptions::default());
        let plain = Line::parse_from(["mount"]).args;
        assert_eq!(format!("{args:?}"), format!("{plain:?}"));
    }

    #[test]
    fn options_set_the_flags_of_their_names_and_the_last_one_wins() {
        let text = "ro,max_read=65536,profile=studio,nonempty,cache_size=1G,cache_size=2G,sync,allow_other";
        let (rest, args) = read(text).unwrap();
        assert_eq!(rest.kernel, ["max_read=65536", "sync"]);
        assert!(args.cover_files && args.read_only && args.allow_other);
        assert_eq!(args.account.profile.as_deref(), Some("studio"));
        assert_eq!(args.cache_size.unwrap().0, 2_000_000_000);
        assert!(!read("ro,rw").unwrap().1.read_only);
    }

    #[test]
    fn the_local_service_takes_no_option_that_names_an_account() {
        for option in ["base_url=banana", "profile=studio", "token_file=/etc/token"] {
            for options in [format!("local,{option}"), format!("{option},local")] {
                let error = read(&options).unwrap_err().to_string();
                assert!(error.starts_with(&format!("-o {option}: ")), "{error}");
            }
            read(option).unwrap();
        }
    }

    #[test]
    fn every_option_of_ours_is_taken() {
        for (name, set) in FLAG_OPTIONS {
            let value = match *name {
                "webhook_listen" => "127.0.0.1:9100",
                "limit_down" | "limit_up" => "1M",
                _ => "5",
            };
            match set {
                SetFlag::Switch(_) => read(name).unwrap(),
                SetFlag::Value(_) => read(&format!("{name}={value}")).unwrap(),
            };
        }
    }

    #[test]
    fn a_wrong_option_is_refused_with_its_name() {
        for wrong in [
            "frobnicate",
            "frobnicate=1",
            "cache_size=banana",
            "cache_size",
            "cache_size=",
            "settle=soon",
            "limit_up=1K",
            "delete_limit=-1",
            "webhook_listen=here",
            "uid=anna",
            "gid=-1",
            "umask=9",
            "dmask=",
            "max_read=much",
            "max_read",
            "allow_other=yes",
            "noauto=1",
            "remount",
            "auto_unmount",
            "allow_root",
            "cache_sise=1G",
            "delete_limit=many",
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.starts_with(&format!("-o {wrong}: ")), "{error}");
        }
        let error = read("webhook_listen=here").unwrap_err().to_string();
        assert!(error.ends_with("like 127.0.0.1:9100"), "{error}");
        assert!(FstabOptions::is_unknown("frobnicate=1"));
        assert!(!FstabOptions::is_unknown("cache_size=banana"));
    }
}

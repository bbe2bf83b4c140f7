//! The options of `-o`: our own options, which set flags; options of the kernel, which are passed on; and options of
//! mount(8), which are ignored. Names and values are checked, and a wrong option is refused with its name.

use std::fmt::Display;
use std::str::FromStr;

use anyhow::Result;

use super::args::MountArgs;
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
/// Our options without a value.
const SWITCHES: &[&str] = &[
    "allow_insecure",
    "allow_other",
    "local",
    "no_delete",
    "no_inotify",
    "nonempty",
    "ro",
    "rw",
];
/// Our options with a value: the flags of the same names.
const VALUES: &[&str] = &[
    "base_url",
    "cache_dir",
    "cache_size",
    "data_dir",
    "delete_limit",
    "dmask",
    "fmask",
    "gid",
    "limit_down",
    "limit_up",
    "log_file",
    "profile",
    "refresh",
    "settle",
    "shared_cache",
    "shared_cache_size",
    "state_dir",
    "token_file",
    "uid",
    "umask",
    "webhook_listen",
    "webhook_url",
];

/// Those that name an account, and so cannot be used for the local service.
const OF_OTHER_ACCOUNTS: &[&str] = &["base_url", "profile", "token_file"];

/// The options that are not flags.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FstabOptions {
    /// Passed on to the kernel.
    pub(super) kernel: Vec<String>,
    /// Allows a mount point that contains files.
    pub(super) cover_files: bool,
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
            && !SWITCHES.contains(&name)
            && !VALUES.contains(&name)
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
        match value {
            None if WITHOUT_EFFECT.contains(&name) => Ok(()),
            None if SWITCHES.contains(&name) => {
                self.switch(name, args);
                Ok(())
            }
            Some(_) if VALUES_WITHOUT_EFFECT.contains(&name) => Ok(()),
            Some(value) if VALUES.contains(&name) && !value.is_empty() => {
                set_flag(name, value, args)
            }
            _ if OF_THE_KERNEL.contains(&name) => self.pass_on(option, name, value),
            _ if VALUES.contains(&name) => Err(format!("this needs a value, as in {name}=VALUE")),
            _ if SWITCHES.contains(&name) || WITHOUT_EFFECT.contains(&name) => {
                Err(format!("{name} takes no value"))
            }
            _ => Err(format!(
                "there is no such option; the options of assetfs are {} and {}",
                SWITCHES.join(", "),
                VALUES.join(", ")
            )),
        }
    }

    fn switch(&mut self, name: &str, args: &mut MountArgs) {
        match name {
            "allow_insecure" => args.allow_insecure = true,
            "allow_other" => args.allow_other = true,
            "local" => args.account.local = true,
            "no_delete" => args.no_delete = true,
            "no_inotify" => args.no_inotify = true,
            "nonempty" => self.cover_files = true,
            "ro" => args.read_only = true,
            "rw" => args.read_only = false,
            _ => unreachable!("every switch is listed here"),
        }
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

fn set_flag(name: &str, value: &str, args: &mut MountArgs) -> Result<(), String> {
    match name {
        "base_url" => args.account.base_url = Some(parse(value)?),
        "cache_dir" => args.cache_dir = Some(parse(value)?),
        "cache_size" => args.cache_size = Some(parse(value)?),
        "data_dir" => args.data_dir = Some(parse(value)?),
        "delete_limit" => args.delete_limit = Some(parse_as(value, "a whole number, like 20")?),
        "dmask" => args.owner.dmask = Some(parse(value)?),
        "fmask" => args.owner.fmask = Some(parse(value)?),
        "gid" => args.owner.gid = Some(parse_as(value, "the number of a group, like 1000")?),
        "limit_down" => args.limit_down = Some(parse(value)?),
        "limit_up" => args.limit_up = Some(parse(value)?),
        "log_file" => args.log_file = Some(parse(value)?),
        "profile" => args.account.profile = Some(parse(value)?),
        "refresh" => args.refresh = Some(parse(value)?),
        "settle" => args.settle = Some(parse(value)?),
        "shared_cache" => args.shared_cache = Some(value.to_owned()),
        "shared_cache_size" => args.shared_cache_size = Some(parse(value)?),
        "state_dir" => args.state_dir = Some(parse(value)?),
        "token_file" => args.account.token_file = Some(parse(value)?),
        "uid" => args.owner.uid = Some(parse_as(value, "the number of a user, like 1000")?),
        "umask" => args.owner.umask = Some(parse(value)?),
        "webhook_listen" => {
            let address = parse_as(value, "an address with a port, like 127.0.0.1:9100")?;
            args.webhook_listen = Some(address);
        }
        "webhook_url" => args.webhook_url = Some(parse(value)?),
        _ => unreachable!("every option with a value is listed here"),
    }
    Ok(())
}

fn parse<T: FromStr<Err: Display>>(value: &str) -> Result<T, String> {
    value.parse().map_err(|error: T::Err| error.to_string())
}

/// Parses values of types whose own errors do not say how to write them.
fn parse_as<T: FromStr>(value: &str, form: &str) -> Result<T, String> {
    // Such an error has nothing to add to the form.
    value
        .parse()
        .map_err(|_| format!("`{value}` is not {form}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

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
        assert!(rest.cover_files && args.read_only && args.allow_other);
        assert_eq!(args.account.profile.as_deref(), Some("studio"));
        assert_eq!(args.cache_size.unwrap().0, 2 << 30);
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
        for name in SWITCHES {
            read(name).unwrap();
        }
        for name in VALUES {
            let value = match *name {
                "webhook_listen" => "127.0.0.1:9100",
                "limit_down" | "limit_up" => "1M",
                _ => "5",
            };
            read(&format!("{name}={value}")).unwrap();
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

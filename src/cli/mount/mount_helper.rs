//! The helper of mount(8). `mount -t fuse.assetfs SOURCE DIR -o …` and fstab start it as `/sbin/mount.fuse.assetfs`
//! (a link to the binary), or through libfuse's `mount.fuse` as `assetfs SOURCE DIR -o …`.
//!
//! SOURCE is the account: `local`, the address of a service, the name of a profile, or `assetfs` for the account of
//! options and configuration. Exit codes are those of mount(8).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args as _, CommandFactory, FromArgMatches as _, Parser};

use super::args::MountArgs;
use super::options::FstabOptions;
use crate::cli::Cli;
use crate::cli::exit::{Exit, WrongUse, sentence};
use crate::cli::mount_source::{Chosen, chosen_by};

/// The names by which mount(8) starts a helper.
const NAMES: &[&str] = &["mount.fuse.assetfs", "mount.fuse3.assetfs", "mount.assetfs"];
/// mount(8): incorrect invocation or permissions.
const WRONG_USE: u8 = 1;
/// mount(8): mount failure.
const FAILED: u8 = 32;

/// Mount a drive for mount(8)
#[derive(Debug, Parser)]
#[command(name = "mount.fuse.assetfs", disable_version_flag = true)]
pub(in crate::cli) struct Helper {
    /// Account: `local`, the address of a service, a profile, or `assetfs` for the account of the options
    source: String,
    /// Folder to mount at
    dir: PathBuf,
    /// Options, separated by commas
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    options: Vec<String>,
    /// Ignore unknown options
    #[arg(short = 's')]
    sloppy: bool,
    /// Check everything and mount nothing
    #[arg(short = 'f')]
    fake: bool,
    /// Print what was mounted
    #[arg(short = 'v')]
    verbose: bool,
    /// Write no mtab; there is none
    #[arg(short = 'n')]
    no_mtab: bool,
    /// The file system's type, as mount(8) passes it
    #[arg(short = 't', value_name = "TYPE")]
    kind: Option<String>,
    /// Not possible here
    #[arg(short = 'N', value_name = "NAMESPACE")]
    namespace: Option<String>,
}

impl Helper {
    /// The arguments, if the process was started as a helper.
    pub(in crate::cli) fn called_with(line: Vec<OsString>) -> Option<Vec<OsString>> {
        let name = line.first().map(Path::new).and_then(Path::file_name)?;
        let is_helper = NAMES.iter().any(|known| name == *known);
        (is_helper || is_from_mount_fuse(&line)).then_some(line)
    }

    pub(in crate::cli) fn run(line: Vec<OsString>) -> ExitCode {
        let helper = match Helper::try_parse_from(line) {
            Ok(helper) => helper,
            Err(error) => {
                let _ = error.print();
                return ExitCode::from(if error.use_stderr() { WRONG_USE } else { 0 });
            }
        };
        let code = match helper.mount() {
            Ok(Exit::Done) => 0,
            Ok(_) => FAILED,
            Err(error) => {
                eprintln!("assetfs: {}", sentence(&error));
                if error.is::<WrongUse>() {
                    WRONG_USE
                } else {
                    FAILED
                }
            }
        };
        ExitCode::from(code)
    }

    fn mount(self) -> Result<Exit> {
        if self.namespace.is_some() {
            let text = "-N: use `nsenter --mount` to mount in another namespace";
            return Err(WrongUse(text.to_owned()).into());
        }
        let defaults = MountArgs::augment_args(clap::Command::new("assetfs mount"));
        let mut args = MountArgs::from_arg_matches(&defaults.try_get_matches_from(["mount"])?)?;
        match chosen_by(&self.source) {
            Chosen::Nothing => {}
            Chosen::Local => args.account.local = true,
            Chosen::Service => args.account.base_url = Some(self.source.clone()),
            Chosen::Profile => args.account.profile = Some(self.source.clone()),
        }
        args.options = self.options;
        if self.sloppy {
            args.options
                .retain(|option| !FstabOptions::is_unknown(option.trim()));
        }
        args.dir = Some(self.dir);
        args.source = Some(self.source);
        args.only_check = self.fake;
        args.quiet = !self.verbose;
        super::run(args)
    }
}

/// True for `assetfs SOURCE DIR -o OPTIONS`, the form of mount.fuse(8), in which the first word is not a command.
fn is_from_mount_fuse(line: &[OsString]) -> bool {
    let [_, source, dir, rest @ ..] = line else {
        return false;
    };
    let is_command = Cli::command()
        .get_subcommands()
        .any(|command| command.get_name() == source.as_os_str())
        || source == "help";
    let is_flag = source.as_encoded_bytes().starts_with(b"-");
    let has_options = rest.first().is_some_and(|option| option == "-o");
    !is_command && !is_flag && has_options && Path::new(dir).is_absolute()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn it_is_known_by_its_name_and_by_how_mount_fuse_calls_it() {
        for called in [
            "/sbin/mount.fuse.assetfs local /mnt -o rw",
            "mount.assetfs local /mnt",
            "assetfs local /mnt -o rw,dev,suid",
            "/usr/bin/assetfs https://a.example /mnt -o rw",
        ] {
            assert!(Helper::called_with(line(called)).is_some(), "{called}");
        }
        for called in [
            "assetfs mount /mnt -o rw",
            "assetfs status /mnt",
            "assetfs wiat /mnt/rawmodels/chair --timeout 5s",
            "assetfs wiat /mnt/rawmodels/chair",
            "assetfs help mount",
            "assetfs --help",
        ] {
            assert!(Helper::called_with(line(called)).is_none(), "{called}");
        }
    }

    #[test]
    fn what_mount_passes_is_understood() {
        let called = "mount.fuse.assetfs local /mnt -s -f -n -v -o rw,noexec -t fuse.assetfs";
        let helper = Helper::try_parse_from(line(called)).unwrap();
        assert!(helper.sloppy && helper.fake && helper.verbose && helper.no_mtab);
        assert_eq!(helper.options, ["rw", "noexec"]);
        assert_eq!(helper.kind.as_deref(), Some("fuse.assetfs"));
    }
}

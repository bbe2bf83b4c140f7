//! `assetfs doctor`: checks the requirements of this machine, and explains how to meet them.

use std::path::Path;

use anyhow::Result;

use crate::fuse::FuseDevice;

use super::exit::{Exit, sentence};
use super::finding::{Finding, Verdict};
use super::{doctor_passthrough, dying, indexers, keyring, local_findings, output, settings};

/// Check what this machine has and lacks for mounting a drive
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs doctor")]
pub(super) struct DoctorArgs {
    /// Give assetfs-passthrough the capability cap_sys_admin, so that drives of ordinary users read cached files at the speed of
    /// the disk; needs root
    #[arg(long)]
    fix: bool,
}

pub(super) fn run(args: &DoctorArgs) -> Result<Exit> {
    if args.fix {
        show(&doctor_passthrough::repair()?);
        return Ok(Exit::Done);
    }
    if let Err(error) = dying::free_before_use() {
        eprintln!("assetfs: {}", sentence(&error));
    }
    let mut findings = vec![
        fuse_device(),
        fuse_helper(),
        other_users(),
        doctor_passthrough::finding(),
        folders(),
        open_files(),
        search(),
    ];
    findings.extend(local_findings::all());
    findings.push(tokens());
    findings.iter().for_each(show);
    let is_missing = |finding: &Finding| matches!(finding.verdict, Verdict::Missing(_));
    let (exit, summary) = match findings.iter().any(is_missing) {
        true => (
            Exit::Failed,
            "No drive can be mounted on this machine yet: see the lines that begin with ✗.",
        ),
        false => (Exit::Done, "A drive can be mounted on this machine."),
    };
    if !output::is_json() {
        println!("{summary}");
    }
    Ok(exit)
}

fn show(finding: &Finding) {
    match output::is_json() {
        true => output::line(finding.json()),
        false => println!("{}", finding.line()),
    }
}

fn fuse_device() -> Finding {
    let device = FuseDevice::of_this_machine();
    let verdict = match device {
        FuseDevice::Ready => Verdict::Good(device.to_string()),
        _ => Verdict::Missing(device.to_string()),
    };
    Finding {
        what: "FUSE device",
        verdict,
    }
}

/// The table of mounts in which fusermount3 counts the drives of a user, and looks whose drive it unmounts.
const MOUNT_TABLE: &str = "/etc/mtab";

fn fuse_helper() -> Finding {
    let is_here = settings::program("fusermount3").is_some();
    let table = std::fs::File::open(MOUNT_TABLE);
    Finding {
        what: "FUSE helper",
        verdict: helper_verdict(is_here, table, rustix::process::geteuid().is_root()),
    }
}

/// Root mounts without fusermount3, which everybody else needs.
fn helper_verdict(is_here: bool, table: std::io::Result<std::fs::File>, is_root: bool) -> Verdict {
    let lack = match (is_here, table) {
        (true, Ok(_)) => return Verdict::Good("fusermount3 is here".to_owned()),
        (true, Err(error)) => format!(
            "fusermount3 needs {MOUNT_TABLE}, which cannot be read ({error}): run `sudo ln -sf /proc/self/mounts {MOUNT_TABLE}`"
        ),
        (false, _) => "fusermount3 is missing: run `apt install fuse3`".to_owned(),
    };
    match is_root {
        true => Verdict::Advice(format!("for other users than root, {lack}")),
        false => Verdict::Missing(lack),
    }
}

fn other_users() -> Finding {
    let allowed = rustix::process::geteuid().is_root()
        || std::fs::read_to_string("/etc/fuse.conf")
            .is_ok_and(|text| text.lines().any(|line| line.trim() == "user_allow_other"));
    let verdict = if allowed {
        Verdict::Good("--allow-other can be used".to_owned())
    } else {
        Verdict::Advice(
            "--allow-other needs a line `user_allow_other` in /etc/fuse.conf".to_owned(),
        )
    };
    Finding {
        what: "Other users",
        verdict,
    }
}

/// Where `assetfs login` keeps a token.
fn tokens() -> Finding {
    let verdict = match keyring::check() {
        Ok(()) => Verdict::Good("`assetfs login` keeps them in the keyring".to_owned()),
        Err(why) => Verdict::Advice(format!(
            "`assetfs login` keeps them in files of mode 0600, because {why}"
        )),
    };
    Finding {
        what: "Tokens",
        verdict,
    }
}

fn folders() -> Finding {
    let checked = [
        settings::state_dir(),
        settings::cache_dir(),
        settings::local_service_dir(),
    ]
    .into_iter()
    .try_for_each(|dir| can_hold_files(&dir?));
    let verdict = match checked {
        Ok(()) => {
            Verdict::Good("the folders for state, cache and local service are writable".to_owned())
        }
        Err(error) => Verdict::Missing(super::exit::sentence(&error)),
    };
    Finding {
        what: "Folders",
        verdict,
    }
}

/// The nearest ancestor that exists must be writable.
fn can_hold_files(dir: &Path) -> Result<()> {
    let existing = dir
        .ancestors()
        .find(|ancestor| ancestor.exists())
        .unwrap_or(Path::new("/"));
    rustix::fs::access(existing, rustix::fs::Access::WRITE_OK).map_err(|_| {
        anyhow::anyhow!(
            "{} cannot be written to; choose others with --state-dir and --cache-dir",
            existing.display()
        )
    })
}

fn open_files() -> Finding {
    const ENOUGH: u64 = 1024;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let verdict = match limit {
        Some(limit) if limit < ENOUGH => Verdict::Advice(format!(
            "only {limit} files can be open at a time; `ulimit -n 4096` helps large copies"
        )),
        _ => Verdict::Good("the limit of open files is high enough".to_owned()),
    };
    Finding {
        what: "Open files",
        verdict,
    }
}

fn search() -> Finding {
    let advice = indexers::advice();
    let verdict = if advice.is_empty() {
        Verdict::Good("no indexer reads drives".to_owned())
    } else {
        Verdict::Advice(advice.join("; "))
    };
    Finding {
        what: "Indexers",
        verdict,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_helper_without_its_table_of_mounts_is_named_with_the_command_that_mends_it() {
        let missing = || Err(io::ErrorKind::NotFound.into());
        let there = || std::fs::File::open("/dev/null");
        let Verdict::Missing(said) = helper_verdict(true, missing(), false) else {
            panic!("a user cannot mount without it");
        };
        assert!(
            said.contains("sudo ln -sf /proc/self/mounts /etc/mtab"),
            "{said}"
        );
        assert!(matches!(
            helper_verdict(true, missing(), true),
            Verdict::Advice(_)
        ));
        assert!(matches!(
            helper_verdict(true, there(), false),
            Verdict::Good(_)
        ));
        assert!(matches!(
            helper_verdict(false, there(), false),
            Verdict::Missing(_)
        ));
    }
}

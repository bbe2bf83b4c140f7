//! `assetfs doctor`: checks the requirements of this machine, and explains how to meet them.

use std::path::Path;

use anyhow::Result;

use crate::fuse::{FuseDevice, shell_quoted};
use crate::service::{MissingProtection, Protection, Sandbox};
use assetfs_engine::import::{cad_reader, check_cad_reader};

use super::{Exit, dying, indexers, keyring, sentence, settings, thumbnail};

/// Check what this machine has and lacks for mounting a drive
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs doctor")]
pub(super) struct DoctorArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The result of one check.
struct Finding {
    what: &'static str,
    verdict: Verdict,
}

enum Verdict {
    Good(String),
    /// Optional, but recommended.
    Advice(String),
    Missing(String),
}

pub(super) fn run(args: &DoctorArgs) -> Result<Exit> {
    if let Err(error) = dying::free_before_use() {
        eprintln!("assetfs: {}", sentence(&error));
    }
    let findings = [
        fuse_device(),
        fuse_helper(),
        other_users(),
        passthrough(),
        folders(),
        open_files(),
        search(),
        pictures(),
        cad_files(),
        sandbox(),
        tokens(),
    ];
    let missing = findings
        .iter()
        .any(|finding| matches!(finding.verdict, Verdict::Missing(_)));
    for Finding { what, verdict } in &findings {
        let (mark, state, text) = match verdict {
            Verdict::Good(text) => ("✓", "good", text),
            Verdict::Advice(text) => ("·", "advice", text),
            Verdict::Missing(text) => ("✗", "missing", text),
        };
        if args.json {
            println!(
                "{}",
                serde_json::json!({"what": what, "state": state, "text": text})
            );
        } else {
            println!("{mark} {what}: {text}");
        }
    }
    Ok(if missing { Exit::Failed } else { Exit::Done })
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

fn fuse_helper() -> Finding {
    let verdict = if settings::program("fusermount3").is_some() {
        Verdict::Good("fusermount3 is here".to_owned())
    } else if rustix::process::geteuid().is_root() {
        Verdict::Advice(
            "fusermount3 is missing; root does not need it; other users need `apt install fuse3`"
                .to_owned(),
        )
    } else {
        Verdict::Missing("fusermount3 is missing: run `apt install fuse3`".to_owned())
    };
    Finding {
        what: "FUSE helper",
        verdict,
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

fn passthrough() -> Finding {
    let verdict = if !kernel_at_least(6, 9) {
        Verdict::Advice("this kernel has no FUSE passthrough (6.9 and later do); cached files are read through the page cache".to_owned())
    } else if rustix::process::geteuid().is_root() {
        Verdict::Good("cached files are read at the speed of the disk".to_owned())
    } else {
        Verdict::Advice(
            "passthrough needs root; cached files are read through the page cache".to_owned(),
        )
    };
    Finding {
        what: "Passthrough",
        verdict,
    }
}

fn cad_files() -> Finding {
    let verdict = match cad_reader() {
        Some(program) => match Sandbox::trial(|| check_cad_reader(&program)).0 {
            Ok(()) => Verdict::Good(format!(
                "step, iges and brep files are read by {}",
                shell_quoted(&program)
            )),
            Err(why) => Verdict::Advice(format!(
                "step, iges and brep files cannot be read on this machine: {} does not start in the sandbox of worker \
                 processes ({why}); install Open CASCADE below /usr, where they may read it",
                shell_quoted(&program)
            )),
        },
        None => Verdict::Advice(
            "step, iges and brep files cannot be read on this machine; install the package `assetfs-cad`"
                .to_owned(),
        ),
    };
    Finding {
        what: "CAD files",
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

fn kernel_at_least(major: u32, minor: u32) -> bool {
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
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
        Err(error) => Verdict::Missing(super::sentence(&error)),
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

fn pictures() -> Finding {
    let verdict = match (
        thumbnail::setup::missing(),
        thumbnail::setup::not_for_nautilus(),
    ) {
        (None, None) => Verdict::Good("file managers show pictures of models".to_owned()),
        (None, Some(why)) => {
            Verdict::Advice(format!("Nautilus shows no pictures of models: {why}"))
        }
        (Some(missing), _) => Verdict::Advice(format!(
            "file managers show no pictures of models ({missing} are missing); run `assetfs thumbnail --setup`, or install the package"
        )),
    };
    Finding {
        what: "Pictures",
        verdict,
    }
}

/// What protects this machine from models of strangers.
fn sandbox() -> Finding {
    let missing: Vec<String> = Protection::missing()
        .iter()
        .map(MissingProtection::to_string)
        .collect();
    let verdict = match missing.is_empty() {
        true => Verdict::Good(
            "a model's worker process reaches no network and no file but its own".to_owned(),
        ),
        false => Verdict::Advice(missing.join("; ")),
    };
    Finding {
        what: "Sandbox",
        verdict,
    }
}

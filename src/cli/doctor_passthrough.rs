//! What `assetfs doctor` says about passthrough, and its repair: the capability of the program `assetfs-passthrough`.

use anyhow::{Result, anyhow, bail};

use crate::fuse::{Distrust, HelperProblem, HelperProgram, shell_quoted};

use super::finding::{Finding, Verdict};

pub(super) fn finding() -> Finding {
    let verdict = match () {
        () if !kernel_at_least(6, 9) => Verdict::Advice("this kernel has no FUSE passthrough (6.9 and later do); cached files are read through the page cache".to_owned()),
        () if rustix::process::geteuid().is_root() => of_root(),
        () => match HelperProgram::find().and_then(|program| program.check()) {
            Ok(()) => Verdict::Good("cached files are read at the speed of the disk".to_owned()),
            Err(problem) => Verdict::Advice(format!(
                "cached files are read through the page cache, because {problem}{}",
                advice(&problem)
            )),
        },
    };
    Finding {
        what: "Passthrough",
        verdict,
    }
}

/// Root needs no program, but others may: nothing is said of one that is missing.
fn of_root() -> Verdict {
    match HelperProgram::find() {
        Ok(program) if !program.is_capable() => Verdict::Advice(format!(
            "cached files are read at the speed of the disk on drives of root; for drives of other users run `{}`",
            fix()
        )),
        _ => Verdict::Good("cached files are read at the speed of the disk".to_owned()),
    }
}

/// What to do, after a semicolon; empty if only an installation by other means helps.
fn advice(problem: &HelperProblem) -> String {
    match problem {
        HelperProblem::Missing(folder) => format!(
            "; the packages have it, and `cargo install --locked --root DIR --path crates/passthrough-helper` makes it: it belongs into {}",
            folder.display()
        ),
        HelperProblem::NoCapability(_) => format!("; run `sudo {}`", fix()),
        HelperProblem::Untrusted(path, Distrust::OfAnother(_) | Distrust::WritableByOthers) => {
            let path = shell_quoted(path);
            format!(
                "; run `sudo chown root {path} && sudo chmod 755 {path} && sudo {}`",
                fix()
            )
        }
        HelperProblem::OtherVersion(_) => "; install both from one version".to_owned(),
        HelperProblem::Untrusted(..)
        | HelperProblem::Withheld(_)
        | HelperProblem::NotStarted(..) => String::new(),
    }
}

/// The command that repairs this, with the whole path, because `sudo` does not search the user's folders.
fn fix() -> String {
    let program = std::env::current_exe().unwrap_or_else(|_| "assetfs".into());
    format!("{} doctor --fix", shell_quoted(&program))
}

/// Gives the program its capability.
pub(super) fn repair() -> Result<Finding> {
    if !rustix::process::geteuid().is_root() {
        bail!(
            "only root can give a program a capability; run `sudo {}`",
            fix()
        );
    }
    let program = match HelperProgram::find() {
        Ok(program) => program,
        Err(HelperProblem::Untrusted(path, why @ Distrust::OfAnother(_))) => {
            let quoted = shell_quoted(&path);
            bail!(
                "{} {why}, who could put another program in its place: run `chown root {quoted}` if you trust it, then again",
                path.display()
            );
        }
        Err(problem) => return Err(anyhow!(problem)),
    };
    let path = program.path().display();
    let text = match program.is_capable() {
        true => format!("{path} has the capability cap_sys_admin already"),
        false => {
            program.make_capable().map_err(|error| {
                anyhow!("{path} cannot get the capability cap_sys_admin: {error}")
            })?;
            format!("{path} has the capability cap_sys_admin now")
        }
    };
    Ok(Finding {
        what: "Passthrough",
        verdict: Verdict::Good(text),
    })
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

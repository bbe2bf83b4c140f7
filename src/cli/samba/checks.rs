//! What a drive needs to be shared by Samba, and whether it is there.

use std::fs;
use std::io::{self, Read as _, Seek as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use super::config::{MODULES, Share};
use crate::cli::finding::{Finding, Verdict};
use crate::cli::settings;
use crate::fuse::shell_quoted;

/// What installs Samba.
const INSTALL: &str = "`apt install samba samba-vfs-modules` (Fedora: `dnf install samba`)";
/// How long a Samba on this machine may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// How long a program may take. A system may ask a directory on another machine for its users.
const PROGRAM_DEADLINE: Duration = Duration::from_secs(10);
/// How often it is seen whether a program has ended.
const POLL_PERIOD: Duration = Duration::from_millis(10);
/// The exit code of getent for a name that the system does not know.
const NO_SUCH_NAME: i32 = 2;
/// Where programs of the system are that the `PATH` of users may lack.
const SYSTEM_PROGRAMS: &str = "/usr/sbin";

/// The name of the user of that name or number, if the system knows one.
pub(super) fn system_user(key: &str) -> Result<Option<String>> {
    const FAILED: &str = "cannot ask for the users of this machine";
    let asked = run(Command::new("getent").args(["passwd", key]));
    let (status, said) = asked.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            anyhow!("{FAILED}, because getent is not installed: install it (Debian: libc-bin)")
        }
        io::ErrorKind::TimedOut => anyhow!(
            "{FAILED}, because getent does not answer: see whether the directory of users (LDAP, SSSD) can be reached"
        ),
        _ => anyhow::Error::new(error).context(FAILED),
    })?;
    if status.code() == Some(NO_SUCH_NAME) {
        return Ok(None);
    }
    if !status.success() {
        bail!("{FAILED}: `getent passwd {key}` failed ({status})");
    }
    let name = said.split(':').next().unwrap_or_default();
    Ok((!name.is_empty()).then(|| name.to_owned()))
}

/// Samba itself and its modules.
pub(super) fn samba() -> Finding {
    let verdict = match program("smbd") {
        None => Verdict::Missing(format!("smbd is not installed: {INSTALL}")),
        Some(smbd) => match missing_modules(&smbd) {
            Some(missing) if !missing.is_empty() => Verdict::Missing(format!(
                "Samba lacks its modules {}, which macOS needs: {INSTALL}",
                missing.join(", ")
            )),
            Some(_) => Verdict::Good("smbd and its modules for macOS are here".to_owned()),
            None => Verdict::Advice(format!(
                "smbd is here; where its modules are it does not say, so look for {}",
                MODULES.join(", ")
            )),
        },
    };
    Finding {
        what: "Samba",
        verdict,
    }
}

/// The modules that are not beside the others; `None` if smbd does not say where that is.
fn missing_modules(smbd: &Path) -> Option<Vec<&'static str>> {
    let built = said_by(Command::new(smbd).arg("-b"))?;
    let of_line = |line: &str| Some(line.trim().strip_prefix("MODULESDIR: ")?.to_owned());
    let folder = PathBuf::from(built.lines().find_map(of_line)?).join("vfs");
    let lacks = |name: &&str| !folder.join(format!("{name}.so")).is_file();
    Some(MODULES.into_iter().filter(lacks).collect())
}

/// Whether Samba reads from `file` what was meant. `written` is the same configuration in a file that stays.
pub(super) fn configuration(share: &Share, file: &Path, written: Option<&Path>) -> Finding {
    let verdict = match program("testparm") {
        None => Verdict::Advice("testparm is not installed, so it was not checked".to_owned()),
        Some(testparm) => match differs(&testparm, share, file) {
            None => Verdict::Good("testparm reads it as it is meant".to_owned()),
            Some(why) => {
                let more = match written {
                    Some(written) => format!("`testparm {}` says more", shell_quoted(written)),
                    None => "write it into a file with --out, and run testparm on that".to_owned(),
                };
                Verdict::Missing(format!("{why}; {more}"))
            }
        },
    };
    Finding {
        what: "Configuration",
        verdict,
    }
}

/// The first setting that Samba reads differently from what was meant, as a sentence.
fn differs(testparm: &Path, share: &Share, file: &Path) -> Option<String> {
    let read_only = match share.read_only {
        true => "Yes",
        false => "No",
    };
    let wanted = [
        ("path", share.path.as_str()),
        ("force user", share.owner.as_str()),
        ("read only", read_only),
        ("vfs objects", &MODULES.join(" ")),
        ("fruit:metadata", "stream"),
    ];
    wanted.iter().find_map(|(setting, value)| {
        let section = format!("--section-name={}", share.name);
        let parameter = format!("--parameter-name={setting}");
        let mut asked = Command::new(testparm);
        asked
            .args(["--suppress-prompt", &section, &parameter])
            .arg(file);
        let Some(read) = said_by(&mut asked) else {
            return Some("testparm does not accept the configuration".to_owned());
        };
        let read = read.trim().trim_matches('"');
        (read != *value)
            .then(|| format!("Samba reads `{setting} = {read}` where `{value}` is meant"))
    })
}

/// Whether the users exist. Samba has passwords of its own, but only for users of the machine.
pub(super) fn users(share: &Share) -> Result<Finding> {
    let mut unknown = Vec::new();
    for name in share.users.iter().filter(|name| !name.starts_with('@')) {
        if system_user(name)?.is_none() {
            unknown.push(name.as_str());
        }
    }
    let verdict = match unknown.is_empty() {
        true => Verdict::Good(share.users.join(", ")),
        false => Verdict::Missing(format!(
            "this machine has no user {}: `useradd --no-create-home --shell /usr/sbin/nologin {}` makes one who can \
             only connect",
            unknown.join(", "),
            shell_quoted(Path::new(unknown[0]))
        )),
    };
    Ok(Finding {
        what: "Users",
        verdict,
    })
}

/// Whether Samba gets into the drive: FUSE asks for all ids of a process, and Samba changes only those that files need.
/// `lets_in` says whether the drive lets in the user that Samba asks as, `own_name` is the user of a Samba without root, which cannot become another one.
pub(super) fn access(lets_in: bool, share: &Share, own_name: Option<&str>) -> Finding {
    let owner = &share.owner;
    let verdict = if let Some(own) = own_name.filter(|own| owner != own) {
        Verdict::Missing(format!(
            "a Samba without root works only as {own}, and the drive belongs to {owner}: mount it without --uid, or run \
             Samba as root"
        ))
    } else if let Some(own) = own_name.filter(|own| share.users.iter().any(|user| user != own)) {
        Verdict::Missing(format!(
            "to a Samba without root only {own} can connect: leave out --user, or run Samba as root"
        ))
    } else if !lets_in && own_name.is_none() {
        Verdict::Missing(
            "the drive lets in only who mounted it, so not Samba: unmount it, and mount it again with --allow-other"
                .to_owned(),
        )
    } else if owner == "root" {
        Verdict::Advice(
            "the drive belongs to root, so all that is done through the network is done as root: mount it with --uid and \
             --gid of a user"
                .to_owned(),
        )
    } else {
        Verdict::Good(format!("Samba works in the drive as {owner}"))
    };
    Finding {
        what: "Access",
        verdict,
    }
}

/// Whether something answers at the port, and whether a Samba without root can listen at it.
pub(super) fn port(port: u16, is_rootless: bool) -> Finding {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let first = first_open_port();
    let verdict = if is_rootless && port < first {
        Verdict::Missing(format!(
            "a port below {first} needs root: name another with --port, as 4450"
        ))
    } else {
        match TcpStream::connect_timeout(&address, ANSWERS_WITHIN) {
            Ok(_) => Verdict::Good(format!("something listens at port {port}")),
            Err(_) => Verdict::Advice(format!("nothing listens at port {port} yet")),
        }
    };
    Finding {
        what: "Port",
        verdict,
    }
}

/// The first port at which users without root may listen.
fn first_open_port() -> u16 {
    let set = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    set.ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(1024)
}

/// How to open the port in the firewall of this machine, if it has one that this program knows.
pub(super) fn firewall(port: u16) -> Option<Finding> {
    let open = if program("ufw").is_some() {
        format!("`ufw allow {port}/tcp`")
    } else if program("firewall-cmd").is_some() {
        format!("`firewall-cmd --permanent --add-port={port}/tcp && firewall-cmd --reload`")
    } else {
        return None;
    };
    Some(Finding {
        what: "Firewall",
        verdict: Verdict::Advice(format!(
            "other machines reach TCP port {port} if the firewall lets them: {open}"
        )),
    })
}

fn program(name: &str) -> Option<PathBuf> {
    let of_system = Path::new(SYSTEM_PROGRAMS).join(name);
    settings::program(name).or_else(|| of_system.is_file().then_some(of_system))
}

/// What a program prints, if it succeeds.
fn said_by(command: &mut Command) -> Option<String> {
    let (status, said) = run(command).ok()?;
    status.success().then_some(said)
}

/// How a program ended, and what it printed. One that takes too long is killed.
fn run(command: &mut Command) -> io::Result<(ExitStatus, String)> {
    // A file takes all that is printed while nobody reads.
    let mut printed = tempfile::tempfile()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(printed.try_clone()?)
        .stderr(Stdio::null())
        .spawn()?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() >= PROGRAM_DEADLINE {
            child.kill()?;
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(POLL_PERIOD);
    };
    printed.rewind()?;
    let mut said = Vec::new();
    printed.read_to_end(&mut said)?;
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_that_lets_nobody_else_in_cannot_be_shared_by_samba_of_the_system() {
        let share = |owner: &str| Share {
            name: "assets".to_owned(),
            path: "/mnt/assets".to_owned(),
            users: vec!["anna".to_owned()],
            owner: owner.to_owned(),
            read_only: false,
        };
        let refused = access(false, &share("anna"), None);
        assert!(matches!(refused.verdict, Verdict::Missing(why) if why.contains("--allow-other")));
        assert!(matches!(
            access(true, &share("anna"), None).verdict,
            Verdict::Good(_)
        ));
        assert!(matches!(
            access(true, &share("root"), None).verdict,
            Verdict::Advice(_)
        ));
    }

    #[test]
    fn a_samba_without_root_works_only_as_its_own_user() {
        let share = |owner: &str, user: &str| Share {
            name: "assets".to_owned(),
            path: "/mnt/assets".to_owned(),
            users: vec![user.to_owned()],
            owner: owner.to_owned(),
            read_only: false,
        };
        let verdict = |share: Share| access(false, &share, Some("anna")).verdict;
        assert!(matches!(verdict(share("anna", "anna")), Verdict::Good(_)));
        for other in [share("ben", "anna"), share("anna", "ben")] {
            assert!(
                matches!(verdict(other), Verdict::Missing(why) if why.contains("without root"))
            );
        }
    }

    #[test]
    fn users_are_those_of_the_system() {
        let Ok(root) = system_user("0") else {
            crate::skip::skipped("getent is not installed");
            return;
        };
        assert_eq!(root.as_deref(), Some("root"));
        assert_eq!(system_user("nobody-of-this-name").unwrap(), None);
    }
}

//! What a drive needs to be shared by Samba, and whether it is there.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::config::{MODULES, Share};
use crate::cli::finding::{Finding, Verdict};
use crate::cli::settings;

/// What installs Samba.
const INSTALL: &str = "`apt install samba samba-vfs-modules` (Fedora: `dnf install samba`)";
/// How long a Samba on this machine may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// Where programs of the system are that the `PATH` of users may lack.
const SYSTEM_PROGRAMS: &str = "/usr/sbin";

/// The name of the user of that name or number, if the system knows one.
pub(super) fn system_user(key: &str) -> Option<String> {
    let line = said_by(Command::new("getent").args(["passwd", key]))?;
    let name = line.split(':').next()?;
    (!name.is_empty()).then(|| name.to_owned())
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

/// Whether Samba reads from `file` what was meant.
pub(super) fn configuration(share: &Share, file: &Path) -> Finding {
    let verdict = match program("testparm") {
        None => Verdict::Advice("testparm is not installed, so it was not checked".to_owned()),
        Some(testparm) => match differs(&testparm, share, file) {
            None => Verdict::Good("testparm reads it as it is meant".to_owned()),
            Some(why) => Verdict::Missing(why),
        },
    };
    Finding {
        what: "Configuration",
        verdict,
    }
}

/// What Samba reads otherwise than it is meant, as a sentence.
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
        asked.args(["--suppress-prompt", &section, &parameter]).arg(file);
        let read = said_by(&mut asked).unwrap_or_default();
        let read = read.trim().trim_matches('"');
        (read != *value).then(|| {
            let file = file.display();
            format!("Samba reads `{setting} = {read}` where `{value}` is meant; `testparm {file}` says more")
        })
    })
}

/// Whether the users exist. Samba has passwords of its own, but only for users of the machine.
pub(super) fn users(share: &Share) -> Finding {
    let is_unknown = |name: &&String| !name.starts_with('@') && system_user(name).is_none();
    let unknown: Vec<&str> = share
        .users
        .iter()
        .filter(is_unknown)
        .map(String::as_str)
        .collect();
    let verdict = match unknown.is_empty() {
        true => Verdict::Good(share.users.join(", ")),
        false => Verdict::Missing(format!(
            "this machine has no user {}: `useradd --no-create-home --shell /usr/sbin/nologin NAME` makes one who can \
             only connect",
            unknown.join(", ")
        )),
    };
    Finding {
        what: "Users",
        verdict,
    }
}

/// Whether Samba gets into the drive: FUSE asks for all ids of a process, and Samba changes only those that files need.
pub(super) fn access(lets_others_in: bool, share: &Share, is_own_samba: bool) -> Finding {
    let owner = &share.owner;
    let verdict = if !lets_others_in && !is_own_samba {
        Verdict::Missing(
            "the drive lets in only who mounted it, so not Samba: unmount it and mount it with --allow-other".to_owned(),
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

/// Whether something answers at the port.
pub(super) fn port(port: u16) -> Finding {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let verdict = match TcpStream::connect_timeout(&address, ANSWERS_WITHIN) {
        Ok(_) => Verdict::Good(format!("something listens at port {port}")),
        Err(_) => Verdict::Advice(format!("nothing listens at port {port} yet")),
    };
    Finding {
        what: "Port",
        verdict,
    }
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
    let output = command.stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(said)
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
        let refused = access(false, &share("anna"), false);
        assert!(matches!(refused.verdict, Verdict::Missing(why) if why.contains("--allow-other")));
        assert!(matches!(
            access(true, &share("anna"), false).verdict,
            Verdict::Good(_)
        ));
        assert!(matches!(
            access(false, &share("anna"), true).verdict,
            Verdict::Good(_)
        ));
        assert!(matches!(
            access(true, &share("root"), false).verdict,
            Verdict::Advice(_)
        ));
    }

    #[test]
    fn users_are_those_of_the_system() {
        let Some(root) = system_user("0") else {
            crate::skip::skipped("getent is not installed");
            return;
        };
        assert_eq!(root, "root");
        assert_eq!(system_user("nobody-of-this-name"), None);
    }
}

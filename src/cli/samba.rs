//! `assetfs samba`: a Samba configuration that shows a mounted drive to Windows and macOS, and whether it can work on this
//! machine. It writes the files that it is told to and changes nothing else.

mod checks;
mod config;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use self::checks::system_user;
use self::config::{FOLDERS, MARK, Share, share_name, unusable_path, user_name};
use super::exit::{Exit, WrongUse};
use super::finding::{Finding, Verdict};
use super::mounted::MountedDrive;
use super::output;
use crate::durable::{PrivateDir, is_foreign, write_atomic};
use crate::fuse::{self, shell_quoted};
use crate::given_files;

/// The port that Windows and macOS use if no other is named.
const SMB_PORT: u16 = 445;
/// The configuration in the folder of a Samba of its own.
const CONFIGURATION: &str = "smb.conf";

/// Make a mounted drive a network folder for Windows and macOS
///
/// Prints a section for smb.conf, checks what this machine lacks for it, and says what to type in Explorer and Finder.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs samba ~/assets --user anna\n\
    Example: assetfs samba ~/assets --user anna --out assets.conf\n\
    Example: assetfs samba ~/assets --private ~/assets-samba --port 4450")]
pub(super) struct SambaArgs {
    /// The drive [default: the only one that you mounted]
    dir: Option<PathBuf>,
    /// Who may connect: a user of this machine, or @GROUP; may be repeated [default: the owner of the drive]
    #[arg(long = "user", value_name = "NAME", value_parser = user_name)]
    users: Vec<String>,
    /// Let nobody change anything through the network folder
    #[arg(long)]
    read_only: bool,
    /// Name of the network folder [default: that of the drive's folder]
    #[arg(long, value_name = "NAME", value_parser = share_name)]
    share: Option<String>,
    /// TCP port of Samba; Windows and macOS look at 445 unless they are told another
    #[arg(long, value_name = "PORT", default_value_t = SMB_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Write the section into this file instead of printing it
    #[arg(long, value_name = "FILE", conflicts_with = "private")]
    out: Option<PathBuf>,
    /// Make this folder for a Samba of its own: a complete configuration, which uses nothing of /etc
    #[arg(long, value_name = "DIR")]
    private: Option<PathBuf>,
}

pub(super) fn run(args: &SambaArgs) -> Result<Exit> {
    let drive = MountedDrive::at_or_only(args.dir.as_deref(), "samba")?;
    let access = fuse::mount_access(drive.root())?;
    let share = share_of(args, &drive, &access)?;
    let (text, file) = write(args, &share)?;
    // Of a private Samba. It works in the drive as its owner, so if that is this user, nobody else has to be let in.
    let own_name = args.private.as_ref().map(|_| own_name()).transpose()?;
    let lets_in = access.lets_others_in || own_name.as_ref() == Some(&share.owner);
    let is_rootless = own_name.is_some() && !rustix::process::geteuid().is_root();
    let mut findings = vec![
        checks::samba(),
        checked(&share, &text, file.as_deref())?,
        checks::users(&share)?,
        checks::access(lets_in, &share, own_name.as_deref().filter(|_| is_rootless)),
        checks::port(args.port, is_rootless),
    ];
    findings.extend(checks::firewall(args.port));
    let steps = steps(args, &share, file.as_deref());
    let is_missing = |finding: &Finding| matches!(finding.verdict, Verdict::Missing(_));
    let exit = match findings.iter().any(is_missing) {
        true => Exit::Failed,
        false => Exit::Done,
    };
    if output::is_json() {
        let findings: Vec<_> = findings.iter().map(Finding::json).collect();
        let steps: serde_json::Map<_, _> = steps
            .into_iter()
            .map(|(what, text)| (what.to_lowercase(), text.into()))
            .collect();
        output::line(serde_json::json!({
            "share": share.name, "path": share.path, "port": args.port, "users": share.users, "owner": share.owner,
            "read_only": share.read_only, "configuration": text, "file": file.as_deref().map(Path::to_string_lossy), "findings": findings, "steps": steps,
            "exit": exit.code(),
        }));
    } else {
        report(&text, file.is_some(), &findings, &steps);
    }
    Ok(exit)
}

/// The user of this process, by name if the system knows one.
fn own_name() -> Result<String> {
    let own = rustix::process::geteuid().as_raw().to_string();
    Ok(system_user(&own)?.unwrap_or(own))
}

/// What is shared, from the arguments and the drive.
fn share_of(args: &SambaArgs, drive: &MountedDrive, access: &fuse::MountAccess) -> Result<Share> {
    let root = drive.root();
    let own = rustix::process::geteuid().as_raw();
    if let Some(user) = access
        .user
        .filter(|user| !access.lets_others_in && *user != own)
    {
        let (root, user) = (shell_quoted(root), user.to_string());
        let user = system_user(&user)?.unwrap_or(user);
        bail!(
            "the drive at {root} lets in only {user}, who mounted it; Samba needs it mounted with --allow-other, so \
             unmount it, and mount it again with that option"
        );
    }
    let status = drive.status()?;
    if let Some(why) = unusable_path(root) {
        let root = shell_quoted(root);
        bail!("{root} cannot be shared, because {why}; mount the drive at another folder");
    }
    let name = match &args.share {
        Some(name) => name.clone(),
        None => {
            let folder = root.file_name().unwrap_or_default().to_string_lossy();
            share_name(&folder).map_err(|why| WrongUse(format!("{why}; name it with --share")))?
        }
    };
    let owner = root.metadata().map_err(|error| drive.explain(error))?.uid();
    let Some(owner) = system_user(&owner.to_string())? else {
        bail!(
            "the drive belongs to the user with the number {owner}, whom this machine does not know; mount it with --uid \
             and --gid of a user"
        );
    };
    let users = match args.users.is_empty() {
        true => vec![owner.clone()],
        false => args.users.clone(),
    };
    Ok(Share {
        name,
        path: root.to_string_lossy().into_owned(),
        users,
        owner,
        read_only: args.read_only || status.read_only,
    })
}

/// The configuration, and the file that it was written into.
fn write(args: &SambaArgs, share: &Share) -> Result<(String, Option<PathBuf>)> {
    if let Some(dir) = &args.private {
        let dir = std::path::absolute(dir)?;
        if let Some(why) = unusable_path(&dir) {
            bail!("{} cannot be used, because {why}", shell_quoted(&dir));
        }
        let file = dir.join(CONFIGURATION);
        check_own(&file)?;
        make_folders(&dir)?;
        let text = share.complete(&dir, args.port);
        write_own(&file, &text)?;
        return Ok((text, Some(file)));
    }
    let text = format!("{MARK}\n{}", share.section());
    let file = args.out.as_deref().map(std::path::absolute).transpose()?;
    if let Some(file) = &file {
        write_own(file, &text)?;
    }
    Ok((text, file))
}

/// Makes the folders of a Samba of its own.
fn make_folders(dir: &Path) -> Result<()> {
    let usual = FOLDERS.map(|(_, folder)| folder);
    if is_foreign(dir, |name| name == CONFIGURATION, &usual) {
        bail!(
            "{} has other files; give --private a folder that is empty or new",
            shell_quoted(dir)
        );
    }
    let own = PrivateDir::open(dir)?;
    for folder in usual {
        own.open_dir(folder)?;
    }
    Ok(())
}

/// Refuses a file that exists and was not made by this program.
fn check_own(file: &Path) -> Result<()> {
    let shown = shell_quoted(file);
    match given_files::read_text(file) {
        Ok(there) if !there.starts_with(MARK) => bail!(
            "{shown} was not made by `assetfs samba`, so it stays as it is; name another file, and include that one"
        ),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).context(shown),
        _ => Ok(()),
    }
}

/// Writes a file that is new or was written by this program.
fn write_own(file: &Path, text: &str) -> Result<()> {
    check_own(file)?;
    let shown = || shell_quoted(file);
    write_atomic(file, text.as_bytes()).with_context(shown)?;
    // Samba's programs read it as other users too; it has no secret.
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).with_context(shown)
}

/// Has testparm read the configuration from a temporary file. `written` is the file that stays, if there is one.
fn checked(share: &Share, text: &str, written: Option<&Path>) -> Result<Finding> {
    let scratch = tempfile::Builder::new()
        .prefix("assetfs-samba")
        .suffix(".conf")
        .tempfile()?;
    fs::write(scratch.path(), text)?;
    Ok(checks::configuration(share, scratch.path(), written))
}

/// What to do next: a word and a sentence each.
fn steps(args: &SambaArgs, share: &Share, file: Option<&Path>) -> Vec<(&'static str, String)> {
    let mut steps = Vec::new();
    let add_user = match (&args.private, file) {
        (Some(dir), Some(file)) => {
            let (dir, file) = (shell_quoted(dir), shell_quoted(file));
            steps.push((
                "Start",
                format!(
                    "smbd --foreground --no-process-group --log-basename {dir} --configfile {file}"
                ),
            ));
            // Unlike smbpasswd it needs no root.
            format!("pdbedit -s {file} -a")
        }
        (_, file) => {
            steps.push(("Include", include(file)));
            steps.push(("Reload", "smbcontrol smbd reload-config".to_owned()));
            "smbpasswd -a".to_owned()
        }
    };
    let command = |user: &String| match user.strip_prefix('@') {
        Some(group) => format!("for each member of {group}: {add_user} NAME"),
        None => format!("{add_user} {}", shell_quoted(Path::new(user))),
    };
    let commands: Vec<String> = share.users.iter().map(command).collect();
    steps.push(("Password", commands.join("; ")));
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let name = &share.name;
    let url_name = name.replace(' ', "%20");
    let (windows, url) = match args.port {
        SMB_PORT => (
            format!("\\\\{host}\\{name} in the address bar of Explorer"),
            format!("smb://{host}/{url_name}"),
        ),
        port => (
            format!(
                "net use Z: \"\\\\{host}\\{name}\" /TCPPORT:{port} (Windows 11 24H2 and later; others use port 445 only)"
            ),
            format!("smb://{host}:{port}/{url_name}"),
        ),
    };
    steps.push(("Windows", windows));
    steps.push((
        "macOS",
        format!("{url} in Finder, Go, Connect to Server (Cmd-K)"),
    ));
    steps.push(("Linux", format!("{url} in the file manager")));
    steps
}

/// Where the section has to be named. Whoever may write an included file can run commands as root.
fn include(file: Option<&Path>) -> String {
    let last = "as the last line of /etc/samba/smb.conf";
    match file {
        None => "append it to /etc/samba/smb.conf, or write it into a file of its own by --out"
            .to_owned(),
        Some(file) if rustix::process::geteuid().is_root() => {
            format!("include = {} {last}", file.display())
        }
        Some(file) => {
            let shown = shell_quoted(file);
            format!(
                "sudo install -m 644 {shown} /etc/samba/assetfs.conf, and include = /etc/samba/assetfs.conf {last}"
            )
        }
    }
}

/// The configuration goes to standard output, unless it was written into a file; the rest beside it.
fn report(text: &str, is_written: bool, findings: &[Finding], steps: &[(&'static str, String)]) {
    let mut lines: Vec<String> = findings.iter().map(Finding::line).collect();
    lines.push(String::new());
    lines.extend(steps.iter().map(|(what, text)| format!("{what:<9} {text}")));
    let lines = lines.join("\n");
    if is_written {
        println!("{lines}");
    } else {
        print!("{text}");
        eprintln!("\n{lines}");
    }
}

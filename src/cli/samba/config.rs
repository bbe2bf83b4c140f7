//! The text of a Samba configuration. Pure.

use std::path::Path;

/// The first line of what this program writes. It replaces no other file.
pub(super) const MARK: &str = "# Made by `assetfs samba`";
/// Modules of Samba that macOS needs: its characters in names, its extensions of SMB, and the named streams of its files.
pub(super) const MODULES: [&str; 3] = ["catia", "fruit", "streams_xattr"];
/// The folders of a Samba of its own, with the settings that name them.
pub(super) const FOLDERS: [(&str, &str); 6] = [
    ("private dir", "private"),
    ("state directory", "state"),
    ("cache directory", "cache"),
    ("lock directory", "lock"),
    ("pid directory", "pid"),
    ("ncalrpc dir", "ncalrpc"),
];
/// Sections with a meaning of their own.
const RESERVED: [&str; 6] = ["global", "homes", "printers", "print$", "ipc$", "admin$"];

/// A drive as a network folder.
#[derive(Debug, Clone)]
pub(super) struct Share {
    pub(super) name: String,
    /// The mount point.
    pub(super) path: String,
    /// Who may connect.
    pub(super) users: Vec<String>,
    /// The owner of the drive, as whom Samba works in it.
    pub(super) owner: String,
    pub(super) read_only: bool,
}

impl Share {
    /// The section of the network folder.
    pub(super) fn section(&self) -> String {
        let users: Vec<String> = self.users.iter().map(|user| quoted(user)).collect();
        let Share { name, path, .. } = self;
        let owner = quoted(&self.owner);
        let read_only = yes_or_no(self.read_only);
        format!(
            "[{name}]\n\
             \x20  comment = 3D models: copy them into rawmodels\n\
             \x20  path = {path}\n\
             \x20  read only = {read_only}\n\
             \x20  valid users = {users}\n\
             \x20  # Everything belongs to the owner of the drive, whoever copied it in.\n\
             \x20  force user = {owner}\n\
             \x20  # What macOS keeps beside a file becomes a named stream of it.\n\
             \x20  vfs objects = {modules}\n\
             \x20  fruit:metadata = stream\n\
             \x20  fruit:resource = stream\n",
            users = users.join(", "),
            modules = MODULES.join(" "),
        )
    }

    /// A complete configuration, for a Samba that keeps everything in `dir`.
    pub(super) fn complete(&self, dir: &Path, port: u16) -> String {
        let dir = dir.display();
        let folders = FOLDERS.map(|(setting, folder)| format!("   {setting} = {dir}/{folder}\n"));
        format!(
            "{MARK}\n\
             [global]\n\
             \x20  server role = standalone server\n\
             \x20  smb ports = {port}\n\
             \x20  disable netbios = yes\n\
             \x20  passdb backend = tdbsam:{dir}/private/passdb.tdb\n\
             {folders}\
             \x20  log file = {dir}/log.smbd\n\
             \x20  max log size = 1000\n\
             \x20  load printers = no\n\
             \x20  printcap name = /dev/null\n\
             \x20  disable spoolss = yes\n\
             \n{section}",
            folders = folders.concat(),
            section = self.section(),
        )
    }
}

/// A name of a network folder as it was typed, or why Samba or Windows would not take it.
pub(super) fn share_name(text: &str) -> Result<String, String> {
    let taken = |why: &str| Err(format!("`{text}` cannot name a network folder: {why}"));
    let is_bad = |c: char| c.is_control() || "\"\\/[]:|<>+=;,*?%".contains(c);
    if RESERVED.iter().any(|name| name.eq_ignore_ascii_case(text)) {
        taken("Samba uses this name itself")
    } else if text.is_empty() || text.trim() != text || text.chars().count() > 80 {
        taken("give 1 to 80 characters, without a space at either end")
    } else if text.contains(is_bad) {
        taken("leave out \" \\ / [ ] : | < > + = ; , * ? and %")
    } else {
        Ok(text.to_owned())
    }
}

/// A user or `@group` as it was typed, or why it cannot be one.
pub(super) fn user_name(text: &str) -> Result<String, String> {
    let name = text.strip_prefix('@').unwrap_or(text);
    let is_bad = |c: char| c.is_control() || c.is_whitespace() || "\"%,;/:".contains(c);
    if name.is_empty() || name.starts_with(['-', '@', '+', '&']) || name.contains(is_bad) {
        return Err(format!(
            "`{text}` is no name of a user; give one user, or @GROUP, and repeat --user for more"
        ));
    }
    Ok(text.to_owned())
}

/// Why a path cannot be written into a configuration, which expands `%` and takes no line breaks; `None` if it can be.
pub(super) fn unusable_path(path: &Path) -> Option<&'static str> {
    let Some(text) = path.to_str() else {
        return Some("its name is not UTF-8");
    };
    if text.contains('%') {
        return Some("Samba replaces the % in its name by something else");
    }
    let is_plain = text.trim() == text && !text.contains(['\n', '\r', '"', ';', '#']);
    (!is_plain || text.ends_with('\\'))
        .then_some("Samba's configuration cannot hold the characters of its name")
}

fn yes_or_no(is_so: bool) -> &'static str {
    match is_so {
        true => "yes",
        false => "no",
    }
}

/// A name in a list of names.
fn quoted(name: &str) -> String {
    match name.contains([' ', '\\']) {
        true => format!("\"{name}\""),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share() -> Share {
        Share {
            name: "assets".to_owned(),
            path: "/mnt/my assets".to_owned(),
            users: vec!["anna".to_owned(), "@studio".to_owned()],
            owner: "anna".to_owned(),
            read_only: false,
        }
    }

    #[test]
    fn a_section_says_who_may_do_what_where() {
        let text = share().section();
        for line in [
            "[assets]",
            "path = /mnt/my assets",
            "read only = no",
            "valid users = anna, @studio",
            "force user = anna",
            "vfs objects = catia fruit streams_xattr",
            "fruit:metadata = stream",
        ] {
            assert!(text.lines().any(|it| it.trim() == line), "{line}: {text}");
        }
        let text = Share {
            read_only: true,
            ..share()
        };
        assert!(text.section().contains("read only = yes"));
    }

    #[test]
    fn a_samba_of_its_own_keeps_everything_in_its_folder() {
        let text = share().complete(Path::new("/home/anna/samba"), 4450);
        assert!(
            text.starts_with(MARK) && text.contains("smb ports = 4450"),
            "{text}"
        );
        for (setting, folder) in FOLDERS {
            let line = format!("{setting} = /home/anna/samba/{folder}");
            assert!(text.contains(&line), "{line}: {text}");
        }
        assert!(!text.contains("/etc/") && !text.contains("/var/"), "{text}");
        assert!(text.ends_with(&share().section()));
    }

    #[test]
    fn names_and_paths_that_would_mean_something_else_to_samba_are_refused() {
        for good in ["assets", "My Assets 3", "größe", "hidden$"] {
            assert_eq!(share_name(good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "a]b",
            "a/b",
            "Global",
            "IPC$",
            " a",
            "a\nb",
            "%U",
            &"x".repeat(81),
        ] {
            assert!(share_name(bad).is_err(), "{bad:?}");
        }
        for good in ["anna", "@studio", "STUDIO\\anna", "anna.b@example.com"] {
            assert_eq!(user_name(good).as_deref(), Ok(good));
        }
        for bad in ["", "@", "a b", "a,b", "a\nroot preexec = x", "-a", "%U"] {
            assert!(user_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(unusable_path(Path::new("/mnt/my assets")), None);
        for bad in ["/mnt/%U", "/mnt/a\nb", "/mnt/a ", "/mnt/a;b", "/mnt/a\\"] {
            assert!(unusable_path(Path::new(bad)).is_some(), "{bad:?}");
        }
    }
}

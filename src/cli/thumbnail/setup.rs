//! `assetfs thumbnail --setup`: what a package installs for file managers, for one user. The files are those of the
//! package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::fuse::shell_quoted;

use super::super::exit::Exit;
use super::super::settings;

/// The program in the files of the package.
const PACKAGED_PROGRAM: &str = "/usr/bin/assetfs";
/// Files of `.thumbnailer` programs: model files, and folders of models.
const MODELS: &str = include_str!("../../../packaging/desktop/assetfs.thumbnailer");
const FOLDERS: &str = include_str!("../../../packaging/desktop/assetfs-folders.thumbnailer");
/// Media types of models.
const MEDIA_TYPES: &str = include_str!("../../../packaging/desktop/assetfs.xml");

const MODELS_FILE: &str = "thumbnailers/assetfs.thumbnailer";
const FOLDERS_FILE: &str = "thumbnailers/assetfs-folders.thumbnailer";
const MEDIA_TYPES_FILE: &str = "mime/packages/assetfs.xml";
/// All of them, below a data folder.
const FILES: [&str; 3] = [MODELS_FILE, FOLDERS_FILE, MEDIA_TYPES_FILE];

pub(super) fn run() -> Result<Exit> {
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let dir = user_data_dir()?;
    for (name, text) in files(&program) {
        let path = dir.join(name);
        let parent = path.parent().unwrap_or(&dir);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    update_media_types(&dir)?;
    if !is_in_sandbox(&program) {
        eprintln!("{}", outside_of_sandbox(&program));
    }
    eprintln!("Sign out and in again, so that the file managers read it.");
    Ok(Exit::Done)
}

/// Removes the files of [`run`]. Those of a package stay: they are in the folders of the system.
pub(super) fn remove() -> Result<Exit> {
    let dir = user_data_dir()?;
    let mut is_any = false;
    for name in FILES {
        let path = dir.join(name);
        match fs::remove_file(&path) {
            Ok(()) => {
                is_any = true;
                println!("{}", path.display());
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let context = format!("cannot remove {}", path.display());
                return Err(anyhow::Error::new(error).context(context));
            }
        }
    }
    // Also if nothing was removed: an earlier run may have failed here.
    if dir.join("mime").is_dir() {
        update_media_types(&dir)?;
    }
    eprintln!(
        "{}",
        match is_any {
            true => "Sign out and in again, so that the file managers read it.",
            false => "Nothing is set up for this user.",
        }
    );
    Ok(Exit::Done)
}

/// Lets the desktop read the media types of a data folder again.
fn update_media_types(dir: &Path) -> Result<()> {
    let mime = dir.join("mime");
    let updated = Command::new("update-mime-database").arg(&mime).status();
    match updated {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("update-mime-database {} failed: {status}", mime.display()),
        Err(error) => bail!(
            "cannot start update-mime-database ({error}); install it with `apt install shared-mime-info`, then repeat this command"
        ),
    }
}

/// What is not set up on this machine for this user; `None` if everything is.
pub(in crate::cli) fn missing() -> Option<String> {
    let dirs: Vec<PathBuf> = data_dirs().collect();
    let is_there = |name: &str| dirs.iter().any(|dir| dir.join(name).is_file());
    let missing = FILES.into_iter().filter(|name| !is_there(name));
    let missing: Vec<&str> = missing.collect();
    let target = user_data_dir().unwrap_or_default();
    (!missing.is_empty()).then(|| {
        format!(
            "{} and the folders of the system lack {}; run `assetfs thumbnail --setup`, which writes them there, or \
             install the Debian package of assetfs (`scripts/package` makes it)",
            shell_quoted(&target),
            missing.join(", ")
        )
    })
}

/// The folder that has the setup for file managers.
pub(in crate::cli) fn set_up_in() -> Option<PathBuf> {
    data_dirs().find(|dir| dir.join(MODELS_FILE).is_file())
}

fn data_dirs() -> impl Iterator<Item = PathBuf> {
    user_data_dir().into_iter().chain(system_data_dirs())
}

/// Why Nautilus cannot start the program that draws models; `None` if it can, or if nothing is set up.
pub(in crate::cli) fn not_for_nautilus() -> Option<String> {
    let mut files = data_dirs().map(|dir| dir.join(MODELS_FILE));
    let text = files.find_map(|file| fs::read_to_string(file).ok())?;
    let program = text
        .lines()
        .find_map(|line| line.strip_prefix("TryExec="))?;
    let program = Path::new(program);
    if !program.exists() {
        return Some(format!(
            "{} is not there any more; run `assetfs thumbnail --setup` again",
            shell_quoted(program)
        ));
    }
    (!is_in_sandbox(program)).then(|| outside_of_sandbox(program))
}

/// Whether the sandbox in which Nautilus draws has a program: it has only /usr. A link that leads out of it is broken
/// there.
fn is_in_sandbox(program: &Path) -> bool {
    let is_below_usr = |path: &Path| path.starts_with("/usr");
    is_below_usr(program) && program.canonicalize().is_ok_and(|path| is_below_usr(&path))
}

fn outside_of_sandbox(program: &Path) -> String {
    let program = shell_quoted(program);
    format!(
        "Nautilus draws in a sandbox that has only /usr, so it cannot start {program}; run `sudo cp {program} /usr/local/bin/assetfs`, then `/usr/local/bin/assetfs thumbnail --setup`"
    )
}

/// The files by their paths below a data folder, with this program in them.
fn files(program: &Path) -> [(&'static str, String); 3] {
    let with_program = |text: &str| {
        let tried = format!("TryExec={PACKAGED_PROGRAM}\n");
        let run = format!("Exec={PACKAGED_PROGRAM} ");
        text.replace(&tried, &format!("TryExec={}\n", program.display()))
            .replace(&run, &format!("Exec={} ", shell_quoted(program)))
    };
    [
        (MODELS_FILE, with_program(MODELS)),
        (FOLDERS_FILE, with_program(FOLDERS)),
        (MEDIA_TYPES_FILE, MEDIA_TYPES.to_owned()),
    ]
}

fn user_data_dir() -> Result<PathBuf> {
    let set = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    match set.filter(|dir| dir.is_absolute()) {
        Some(dir) => Ok(dir),
        None => Ok(settings::home_dir()?.join(".local/share")),
    }
}

fn system_data_dirs() -> Vec<PathBuf> {
    let set = std::env::var_os("XDG_DATA_DIRS").filter(|dirs| !dirs.is_empty());
    let dirs = set.unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    std::env::split_paths(&dirs).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use assetfs_formats::{self as formats, MODELS as FORMATS};

    /// The values between `before` and the next quotation mark.
    fn values<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
        let parts = text.split(before).skip(1);
        parts.filter_map(|part| part.split('"').next()).collect()
    }

    /// The media types of a `.thumbnailer` file.
    fn asked_types(thumbnailer: &str) -> impl Iterator<Item = &str> {
        let mut lines = thumbnailer.lines();
        let line = lines.find_map(|line| line.strip_prefix("MimeType="));
        line.unwrap().split_terminator(';')
    }

    #[test]
    fn the_media_types_of_file_managers_are_those_of_the_table_of_formats() {
        let mut described = BTreeSet::new();
        for entry in MEDIA_TYPES.split("<mime-type ").skip(1) {
            let media_type = values(entry, "type=\"")[0];
            let globs = values(entry, "pattern=\"*.");
            assert!(!globs.is_empty(), "{media_type} has no file name");
            for extension in globs {
                let name = format!("x.{extension}");
                assert_eq!(formats::media_type(&name), Some(media_type), "{extension}");
                described.insert(extension.to_owned());
            }
        }
        let known = FORMATS
            .iter()
            .filter(|format| format.is_read() || format.is_written())
            .filter(|format| format.media_type.is_some());
        let known = known.map(|format| format.extension).chain(["mtl", "rpdx"]);
        for extension in known {
            assert!(described.contains(extension), "{extension} is missing");
        }
    }

    #[test]
    fn file_managers_ask_for_pictures_of_all_models_that_are_read_or_written() {
        let asked: BTreeSet<&str> = asked_types(MODELS).collect();
        let known = FORMATS
            .iter()
            .filter(|format| format.is_read() || format.is_written());
        let known: BTreeSet<&str> = known.filter_map(|format| format.media_type).collect();
        assert_eq!(asked, known);
        assert!(asked_types(FOLDERS).eq(["inode/directory"]));
    }

    #[test]
    fn the_plugin_for_dolphin_is_asked_for_the_same_pictures() {
        let described = include_str!("../../../packaging/kde/assetfsthumbnail.json");
        let described: serde_json::Value = serde_json::from_str(described).unwrap();
        let asked = described["KPlugin"]["MimeTypes"].as_array().unwrap();
        let asked: BTreeSet<&str> = asked.iter().filter_map(|name| name.as_str()).collect();
        let others = asked_types(MODELS).chain(asked_types(FOLDERS));
        assert_eq!(asked, others.collect::<BTreeSet<&str>>());
    }

    #[test]
    fn the_files_of_a_user_start_this_program() {
        for (name, text) in files(Path::new("/home/me/my bin/assetfs")) {
            assert!(!text.contains(PACKAGED_PROGRAM), "{name}");
            if name.ends_with(".thumbnailer") {
                assert!(text.contains("TryExec=/home/me/my bin/assetfs\n"), "{text}");
                let run = "Exec='/home/me/my bin/assetfs' thumbnail -s %s %u %o\n";
                assert!(text.contains(run), "{text}");
            }
        }
    }
}

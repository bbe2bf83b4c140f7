//! `assetfs man` and `assetfs completions`: manual pages and shell completions for packages, generated from the texts
//! of `--help`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_complete::env::Shells;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use serde_json::json;

use super::exit::Exit;
use super::{Cli, completers, output, printing};

/// Print the manual, or write a page for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs man | man -l -\n\
    Example: assetfs man --dir /usr/local/share/man/man1")]
pub(super) struct ManArgs {
    /// Write assetfs.1 and a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Print shell completions
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: source <(assetfs completions bash)\n\
    Example: source <(assetfs completions zsh)\n\
    The first line loads them into this bash; in ~/.bashrc, into every new one. The second belongs into ~/.zshrc, after compinit.\n\
    For fish: assetfs completions fish > ~/.config/fish/completions/assetfs.fish\n\
    They complete commands, options, presets, and the models of mounted drives. The packages install them for all shells.")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn man(args: &ManArgs) -> Result<Exit> {
    match &args.dir {
        None => print_text(&page(Cli::command())?),
        Some(dir) => write_pages(dir)?,
    }
    Ok(Exit::Done)
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit> {
    print_text(&completion_script(args.shell)?);
    Ok(Exit::Done)
}

/// The script asks this program for each completion, so that it knows what is there now.
fn completion_script(shell: Shell) -> Result<Vec<u8>> {
    let name = "assetfs";
    let shells = Shells::builtins();
    let writer = shells.completer(&shell.to_string());
    let writer = writer.context("there are no completions for this shell")?;
    let mut script = Vec::new();
    writer.write_registration(completers::VARIABLE, name, name, name, &mut script)?;
    if shell != Shell::Bash {
        return Ok(script);
    }
    // Names of presets have spaces: with this, bash quotes what it inserts.
    let script = String::from_utf8(script).context("the script for bash is no text")?;
    Ok(script
        .replace("complete -o nospace", "complete -o filenames -o nospace")
        .into_bytes())
}

/// Prints a text that is the result of a command.
fn print_text(text: &[u8]) {
    match output::is_json() {
        true => output::line(json!({ "text": String::from_utf8_lossy(text) })),
        false => printing::write(text),
    }
}

/// One page for the program and one for each visible command, with the file names that `man` expects.
fn write_pages(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
    let write = |path: &Path, text: Vec<u8>| {
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let mut whole = Cli::command();
    write(&dir.join("assetfs.1"), page(whole.clone())?)?;
    // Gives each command the options of all.
    whole.build();
    for command in whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        let name = format!("assetfs-{}", command.get_name());
        let path = dir.join(format!("{name}.1"));
        let command = command
            .clone()
            .bin_name(name.replacen('-', " ", 1))
            .display_name(name);
        write(&path, page(command)?)?;
    }
    Ok(())
}

fn page(command: Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let help = command.get_after_long_help().or(command.get_after_help());
    let examples = help.map(|help| examples(&help.to_string()));
    // The generator would join its lines into one paragraph.
    let command = command
        .after_help(Resettable::Reset)
        .after_long_help(Resettable::Reset);
    let name = command.get_name().to_owned();
    let variables = environment(&command);
    let synopsis = synopsis(command.clone());
    let mut generated = Vec::new();
    Man::new(command).render(&mut generated)?;
    text.extend(with_synopsis(&generated, &synopsis));
    if let Some(examples) = examples {
        examples.to_writer(&mut text)?;
    }
    for (_, title, entries) in SECTIONS.iter().filter(|(of, ..)| *of == name) {
        entry_section(title, entries.iter().copied()).to_writer(&mut text)?;
    }
    if let Some(variables) = variables {
        variables.to_writer(&mut text)?;
    }
    exit_status().to_writer(&mut text)?;
    see_also(&name).to_writer(&mut text)?;
    Ok(text)
}

/// The usage lines of `--help`, and what mount(8) is called with.
fn synopsis(mut command: Command) -> Roff {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").lines().map(str::trim);
    let more: &[&str] = match command.get_name() {
        "mount" => &[
            "mount -t fuse.assetfs [-o OPTION[,OPTION…]] SOURCE DIR",
            "mount.assetfs SOURCE DIR [-sfnv] [-o OPTION[,OPTION…]]",
        ],
        _ => &[],
    };
    let mut section = Roff::default();
    section.control("SH", ["SYNOPSIS"]);
    for line in usage.chain(more.iter().copied()) {
        section.text([bold(line)]);
        section.control("br", []);
    }
    section
}

/// The generator lists each option without its value, so its synopsis is replaced.
fn with_synopsis(page: &[u8], synopsis: &Roff) -> Vec<u8> {
    let page = String::from_utf8_lossy(page);
    let whole = page.split_once(".SH SYNOPSIS").and_then(|(before, rest)| {
        let (_, after) = rest.split_once("\n.SH ")?;
        let (before, synopsis) = (before.trim_end(), synopsis.render());
        Some(format!("{before}\n{}\n.SH {after}", synopsis.trim_end()))
    });
    whole.unwrap_or_else(|| page.into_owned()).into_bytes()
}

/// A term and its text.
type Entry = (&'static str, &'static str);

/// Sections of a command's page that `--help` has no room for: the command, the title, and the entries.
const SECTIONS: &[(&str, &str, &[Entry])] = &[
    (
        "mount",
        "THE DRIVE",
        &[
            (
                "rawmodels/",
                "Your models. Copy a folder or a file here to upload it.",
            ),
            (
                "rawmodels/NAME/optimize/",
                "Copy a preset here to optimize the model; the result is the folder with the name of the preset.",
            ),
            ("rapidmodels/", "The optimized models."),
            (
                "presets/",
                "Your presets, and those of the service in presets/factory/.",
            ),
            (
                "embeds/, jobs/, account/",
                "Viewers for web pages, running optimizations, points and storage.",
            ),
        ],
    ),
    (
        "mount",
        "FILES",
        &[
            ("~/.config/assetfs/config.toml", "Settings and profiles."),
            (
                "~/.local/state/assetfs/",
                "Drafts and journals, which no upload may lose; see --state-dir.",
            ),
            (
                "~/.cache/assetfs/",
                "What was read; it may be deleted. See --cache-dir.",
            ),
            (
                "~/.local/share/assetfs/service/",
                "Records, files and token of the local service; see --data-dir.",
            ),
        ],
    ),
    (
        "mount",
        "IN /ETC/FSTAB",
        &[
            (
                "SOURCE",
                "local, the address of a service, assetfs for what options and configuration say, or the name of a profile.",
            ),
            (
                "OPTION",
                "An option of assetfs mount, with _ for - (allow_other, token_file=FILE), nonempty, or one of mount(8) such as \
                 noauto, nofail, _netdev. Any other is refused with its name, unless -s is given.",
            ),
            (
                "local /mnt/assets fuse.assetfs allow_other,uid=1000,gid=1000 0 0",
                "Mounts the local service for the user 1000.",
            ),
            (
                "https://assets.example.com /mnt/assets fuse.assetfs _netdev,allow_other,token_file=/etc/assetfs.token 0 0",
                "Mounts an account. For mount(8), /sbin/mount.fuse.assetfs must be a link to assetfs; the packages make it.",
            ),
        ],
    ),
];

/// The variables that options are read from.
fn environment(command: &Command) -> Option<Roff> {
    let options = command.get_arguments().filter(|it| !it.is_hide_set());
    let mut entries = Vec::new();
    for option in options {
        if let (Some(variable), Some(long)) = (option.get_env(), option.get_long()) {
            entries.push((
                variable.to_string_lossy().into_owned(),
                format!("The same as --{long}."),
            ));
        }
    }
    if entries.is_empty() {
        return None;
    }
    let entries = entries
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()));
    Some(entry_section("ENVIRONMENT", entries))
}

fn entry_section<'t>(title: &str, entries: impl Iterator<Item = (&'t str, &'t str)>) -> Roff {
    let mut section = Roff::default();
    section.control("SH", [title]);
    for (term, text) in entries {
        section.control("TP", []);
        section.text([bold(term)]);
        section.text([roman(text)]);
    }
    section
}

fn see_also(name: &str) -> Roff {
    let mut section = Roff::default();
    section.control("SH", ["SEE ALSO"]);
    section.text([roman(match name {
        "assetfs" => "assetfs-mount(1), assetfs-status(1), assetfs-wait(1), assetfs-why(1)",
        "mount" => {
            "assetfs(1), assetfs-unmount(1), assetfs-status(1), assetfs-page(1), assetfs-login(1), mount(8)"
        }
        _ => "assetfs(1), assetfs-mount(1)",
    })]);
    section
}

/// The text after the options of `--help`, line by line, so that commands can be copied.
fn examples(help: &str) -> Roff {
    let mut section = Roff::default();
    section.control("SH", ["EXAMPLES"]);
    for line in help.lines().map(str::trim).filter(|line| !line.is_empty()) {
        section.text([roman(line)]);
        section.control("br", []);
    }
    section
}

/// The exit codes, which are the same for all commands.
fn exit_status() -> Roff {
    let mut section = Roff::default();
    section.control("SH", ["EXIT STATUS"]);
    for exit in Exit::ALL {
        section.control("TP", []);
        section.text([bold(exit.code().to_string())]);
        section.text([roman(exit.meaning())]);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_each_command_with_its_example() {
        let dir = tempfile::tempdir().unwrap();
        write_pages(dir.path()).unwrap();
        let whole = fs::read_to_string(dir.path().join("assetfs.1")).unwrap();
        assert!(whole.contains(".TH") && whole.contains("mount"));
        for command in Cli::command().get_subcommands() {
            let path = dir.path().join(format!("assetfs-{}.1", command.get_name()));
            assert_eq!(path.exists(), !command.is_hide_set(), "{}", path.display());
            if !command.is_hide_set() {
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.contains("Example"), "{}", path.display());
                for exit in Exit::ALL {
                    assert!(text.contains(exit.meaning()), "{}", path.display());
                }
            }
        }
    }

    #[test]
    fn the_page_of_mount_has_its_sections() {
        let dir = tempfile::tempdir().unwrap();
        write_pages(dir.path()).unwrap();
        let text = fs::read_to_string(dir.path().join("assetfs-mount.1")).unwrap();
        let titles = text.lines().filter_map(|line| line.strip_prefix(".SH "));
        let titles: Vec<&str> = titles.map(|title| title.trim_matches('"')).collect();
        assert_eq!(
            titles,
            [
                "NAME",
                "SYNOPSIS",
                "DESCRIPTION",
                "OPTIONS",
                "EXAMPLES",
                "THE DRIVE",
                "FILES",
                "IN /ETC/FSTAB",
                "ENVIRONMENT",
                "EXIT STATUS",
                "SEE ALSO"
            ]
        );
        let (_, synopsis) = text.split_once(".SH SYNOPSIS\n").unwrap();
        let (synopsis, _) = synopsis.split_once(".SH").unwrap();
        let usage = [
            "assetfs mount [OPTIONS] [DIR]",
            "mount \\-t fuse.assetfs [\\-o OPTION",
            "mount.assetfs SOURCE DIR",
        ];
        for line in usage {
            assert!(synopsis.contains(line), "{line} is not in {synopsis}");
        }
        assert_eq!(synopsis.lines().count(), 2 * usage.len(), "{synopsis}");
        assert!(text.contains("ASSETFS\\_CACHE\\_SIZE") || text.contains("ASSETFS_CACHE_SIZE"));
    }

    #[test]
    fn the_examples_of_a_page_are_lines_of_their_own() {
        let command = Command::new("x").after_help("Example: x one\nExample: x two\nAnd more");
        let text = String::from_utf8(page(command).unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| *line == ".SH EXAMPLES");
        let section = &lines[at.unwrap()..];
        assert_eq!(
            section[1..7],
            [
                "Example: x one",
                ".br",
                "Example: x two",
                ".br",
                "And more",
                ".br"
            ]
        );
        assert!(!text.contains("EXTRA"), "{text}");
    }

    #[test]
    fn every_shell_completes_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(completion_script(shell).unwrap()).unwrap();
            assert!(script.contains(completers::VARIABLE), "{shell}: {script}");
        }
        let words = ["assetfs", "allow-d"].map(Into::into).to_vec();
        let mut command = Cli::command();
        command.build();
        let found = clap_complete::engine::complete(&mut command, words, 1, None).unwrap();
        let found: Vec<_> = found.iter().map(|it| it.get_value()).collect();
        assert_eq!(found, ["allow-delete"]);
    }

    #[test]
    fn bash_quotes_the_spaces_of_presets() {
        let script = String::from_utf8(completion_script(Shell::Bash).unwrap()).unwrap();
        assert_eq!(
            script.matches("complete -o filenames -o nospace").count(),
            2,
            "{script}"
        );
    }
}

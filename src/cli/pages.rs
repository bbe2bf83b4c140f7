//! `assetfs man` and `assetfs completions`: manual pages and shell completions for packages, generated from the texts
//! of `--help`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::exit::Exit;
use super::{Cli, printing};

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
    Example: mkdir -p ~/.zfunc && assetfs completions zsh > ~/.zfunc/_assetfs\n\
    The first line loads them into this shell; in ~/.bashrc, into every new one. zsh needs ~/.zfunc in its fpath before compinit.\n\
    The packages install them for all shells.")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn man(args: &ManArgs) -> Result<Exit> {
    match &args.dir {
        None => printing::write(&page(Cli::command())?),
        Some(dir) => write_pages(dir)?,
    }
    Ok(Exit::Done)
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "assetfs", &mut script);
    printing::write(&script);
    Ok(Exit::Done)
}

/// One page for the program and one for each visible command, with the file names that `man` expects.
fn write_pages(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
    let write = |path: &Path, text: Vec<u8>| {
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let whole = Cli::command();
    write(&dir.join("assetfs.1"), page(whole.clone())?)?;
    for command in whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
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
    Man::new(command).render(&mut text)?;
    if let Some(examples) = examples {
        examples.to_writer(&mut text)?;
    }
    exit_status().to_writer(&mut text)?;
    Ok(text)
}

/// The text after the options of `--help`, line by line.
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
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "assetfs", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("allow-delete"), "{shell}");
        }
    }
}

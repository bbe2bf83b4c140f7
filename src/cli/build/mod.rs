//! `assetfs build`: keeps a folder of results up to date, as `assetfs.toml` says. What is done and what is missing is known
//! from the records of [`watch`](super::watch); this room gives the results their names, judges budgets and reports.
//!
//! The records and the logs of the results are in `.assetfs-build` in the folder of results. A kill at any moment loses no
//! result and makes none twice: results are moved to their names after they are recorded, and an interrupted move is finished
//! by the next run.

mod args;
mod build_file;
mod output_name;
mod publish;
mod report;
mod run;

use anyhow::Result;

pub(super) use args::BuildArgs;

use super::exit::Exit;

pub(super) fn run(args: &BuildArgs) -> Result<Exit> {
    let (all, pruned) = run::build(args)?;
    report::print(&all, args.quiet);
    if let Some(path) = &args.junit {
        report::write_junit(&all, path)?;
    }
    // GitHub Actions sets it, and reads its workflow commands from both outputs.
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|it| it == "true") {
        report::annotations(&all)
            .iter()
            .for_each(|line| eprintln!("{line}"));
    }
    pruned?;
    Ok(report::exit_of(&all))
}

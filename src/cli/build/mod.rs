//! `assetfs build`: keeps a folder of results up to date, as `assetfs.toml` says. What is done and what is missing is known
//! from the records of [`watch`](super::watch); this room gives the results their names, judges budgets and reports.
//!
//! The records and the logs of the results are in `.assetfs-build` in the folder of results. A kill at any moment loses no
//! result and makes none twice: results are moved to their names after they are recorded, and an interrupted move is finished
//! by the next run.

mod args;
mod build_file;
mod dry;
mod output_name;
mod publish;
mod published;
mod report;
mod run;

use std::collections::BTreeSet;

use anyhow::Result;

pub(super) use args::BuildArgs;

use self::run::BuildEnd;
use super::exit::{Exit, sentence};
use super::output;

pub(super) fn run(args: &BuildArgs) -> Result<Exit> {
    if args.dry_run {
        return dry::run(args);
    }
    let end = run::build(args).unwrap_or_else(|error| BuildEnd {
        built: Vec::new(),
        printed: BTreeSet::new(),
        doubles: Vec::new(),
        points: None,
        ended: Err(error),
    });
    let (all, ended) = (end.built, end.ended);
    let ended = ended.and_then(|()| report::check_not_empty(&all, &args.file));
    if !all.is_empty() {
        report::print(&all, &end.printed, args.quiet);
        report::print_doubles(&end.doubles, args.quiet);
        let exit = ended
            .as_ref()
            .map_or(Exit::Failed, |()| report::exit_of(&all));
        report::print_sum(&all, end.points, false, exit);
    }
    let why = ended.as_ref().err().map(sentence);
    let written = match &args.junit {
        Some(path) => report::write_junit(&all, why.as_deref(), path),
        None => Ok(()),
    };
    // GitHub Actions sets it, and reads its workflow commands from both outputs.
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|it| it == "true") {
        let whys = [&ended, &written].map(|it| it.as_ref().err().map(sentence));
        let whys: Vec<String> = whys.into_iter().flatten().collect();
        let lines = report::annotations(&all, &whys);
        lines.iter().for_each(|line| eprintln!("{line}"));
    }
    match (ended, written) {
        (Err(why), Err(report)) => {
            output::failed(None, &report);
            Err(why)
        }
        (ended, written) => ended.and(written).map(|()| report::exit_of(&all)),
    }
}

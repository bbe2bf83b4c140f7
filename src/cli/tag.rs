//! `assetfs tag`: adds and removes tags of many models, with a request for each model that has not all of them.

use std::path::PathBuf;

use anyhow::Result;
use clap_complete::engine::ArgValueCompleter;

use super::at_once::for_each;
use super::completers;
use super::exit::{Exit, WrongUse};
use super::given_paths::{self, ListForm};
use super::mounted::{command_at, own_target};

/// Add and remove tags of models
///
/// A model that has its tags already costs no request of its own.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs tag --add oak --remove draft ~/assets/rawmodels/chair*\n\
    Example: assetfs list --results --json | jq -c 'select(.similarity<90)' | assetfs tag --add check -"
)]
pub(super) struct TagArgs {
    /// Source or optimized models; `-` reads paths, names of source models or lines of `assetfs list --json` from standard
    /// input; a folder below rawmodels/.assetfs/search/ stands for the models in it
    #[arg(required = true, add = ArgValueCompleter::new(completers::models))]
    paths: Vec<PathBuf>,
    /// Add this tag; can be given several times
    #[arg(
        long = "add",
        short,
        value_name = "TAG",
        add = ArgValueCompleter::new(completers::tags),
        required_unless_present = "removed"
    )]
    added: Vec<String>,
    /// Remove this tag; can be given several times
    #[arg(
        long = "remove",
        short,
        id = "removed",
        value_name = "TAG",
        add = ArgValueCompleter::new(completers::tags)
    )]
    removed: Vec<String>,
    #[command(flatten)]
    form: ListForm,
}

pub(super) fn run(args: &TagArgs) -> Result<Exit> {
    let order = order(&args.added, &args.removed)?;
    let paths = given_paths::all(&args.paths, args.form)?;
    Ok(for_each("tagging", paths, |path| {
        command_at(&own_target(path)?, &order)
    }))
}

/// The command of the models' `ctl` files.
fn order(added: &[String], removed: &[String]) -> Result<String> {
    let added = added.iter().map(|tag| ('+', tag));
    let removed = removed.iter().map(|tag| ('-', tag));
    let mut changes = Vec::new();
    for (sign, tag) in added.chain(removed) {
        if tag.trim().is_empty() || tag.contains('\n') {
            return Err(WrongUse(format!("{tag:?} cannot be a tag")).into());
        }
        changes.push(format!("{sign}{}", tag.trim().replace(',', "%2C")));
    }
    Ok(format!("tag {}", changes.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_written_as_the_drive_reads_them() {
        let texts = |tags: &[&str]| -> Vec<String> { tags.iter().map(|it| (*it).into()).collect() };
        assert_eq!(
            order(&texts(&["red oak", "a,b"]), &texts(&["-x"])).unwrap(),
            "tag +red oak,+a%2Cb,--x"
        );
        assert!(order(&texts(&[" "]), &[]).unwrap_err().is::<WrongUse>());
    }
}

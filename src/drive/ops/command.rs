//! Parses the commands of `ctl` files, which are the same words as on the command line. Pure.

use std::str::FromStr;

use crate::drive::error::{DriveError, DriveResult};
use crate::wire::{AssetId, ModelId, RapidId, SCALES};

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Command {
    Commit {
        force: bool,
    },
    Cancel,
    CancelOrphan(AssetId),
    Retry,
    Convert(Vec<String>),
    Scale(f64),
    Run(String),
    RunStale,
    /// The draft of that name is a new version of the model.
    Replace {
        draft: String,
        remove_old: bool,
    },
    Refresh,
    Drain {
        ready_only: bool,
    },
    AllowDelete,
    ClearCache,
    VerifyCache,
    Pin(String),
    Unpin(String),
    Delete {
        subjects: Vec<ModelId>,
        /// A user has confirmed their number: the limit of deletions does not hold for them.
        is_confirmed: bool,
    },
    Tag(TagChange),
    EndEvents,
}

/// Tags that a model gets and loses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TagChange {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
}

impl TagChange {
    /// Parses `+one tag,-another`: as in `user.xdg.tags`, a comma in a tag is `%2C`.
    fn parse(text: &str) -> DriveResult<TagChange> {
        let mut change = TagChange::default();
        for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let (tags, tag) = match part.split_at_checked(1) {
                Some(("+", tag)) => (&mut change.added, tag),
                Some(("-", tag)) => (&mut change.removed, tag),
                _ => {
                    return Err(DriveError::Invalid(format!(
                        "{part:?} is no change of a tag; write +TAG or -TAG"
                    )));
                }
            };
            tags.push(tag_of(tag)?);
        }
        Ok(change)
    }
}

/// Maximum length of a tag in characters.
const MAX_TAG_CHARS: usize = 255;

/// One tag of a list in which commas separate tags.
pub(super) fn tag_of(text: &str) -> DriveResult<String> {
    let tag = text.replace("%2C", ",").replace("%2c", ",");
    if tag.chars().count() > MAX_TAG_CHARS {
        return Err(DriveError::Invalid(format!(
            "a tag has at most {MAX_TAG_CHARS} characters"
        )));
    }
    Ok(tag)
}

impl Command {
    /// False for commands that only affect the mount itself.
    pub(super) fn changes_something(&self) -> bool {
        !matches!(
            self,
            Command::Refresh
                | Command::Drain { .. }
                | Command::ClearCache
                | Command::VerifyCache
                | Command::Pin(_)
                | Command::Unpin(_)
                | Command::EndEvents
        )
    }
}

impl FromStr for Command {
    type Err = DriveError;

    fn from_str(line: &str) -> DriveResult<Command> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["commit"] => Ok(Command::Commit { force: false }),
            ["commit", "--force" | "force"] => Ok(Command::Commit { force: true }),
            ["cancel"] => Ok(Command::Cancel),
            ["cancel", "--orphan", id] => match id.parse() {
                Ok(id) => Ok(Command::CancelOrphan(id)),
                Err(_) => Err(DriveError::Invalid(format!(
                    "{id} is not the id of a model"
                ))),
            },
            ["retry"] => Ok(Command::Retry),
            ["convert", formats @ ..] if !formats.is_empty() => Ok(Command::Convert(
                formats.iter().map(|format| (*format).to_owned()).collect(),
            )),
            ["scale", factor] => match factor.parse::<f64>() {
                Ok(factor) if SCALES.contains(&factor) => Ok(Command::Scale(factor)),
                _ => Err(DriveError::Invalid(format!(
                    "{factor} is not a scale; write a number such as 0.01, from 1e-9 to 1e9"
                ))),
            },
            ["run-stale"] => Ok(Command::RunStale),
            ["run", ..] => {
                let name = line.trim().strip_prefix("run").unwrap_or_default().trim();
                if name.is_empty() {
                    return Err(DriveError::Invalid(
                        "name the job to run, such as `run web.json`".into(),
                    ));
                }
                Ok(Command::Run(name.to_owned()))
            }
            ["replace", "--remove-old", _, ..] => Ok(Command::Replace {
                draft: rest_of(&rest_of(line, "replace"), "--remove-old"),
                remove_old: true,
            }),
            ["replace", _, ..] => Ok(Command::Replace {
                draft: rest_of(line, "replace"),
                remove_old: false,
            }),
            ["refresh"] => Ok(Command::Refresh),
            ["drain"] => Ok(Command::Drain { ready_only: false }),
            ["drain", "--ready" | "ready"] => Ok(Command::Drain { ready_only: true }),
            ["end-events"] => Ok(Command::EndEvents),
            ["allow-delete"] => Ok(Command::AllowDelete),
            ["cache", "clear"] => Ok(Command::ClearCache),
            ["cache", "verify"] => Ok(Command::VerifyCache),
            ["pin", _, ..] => Ok(Command::Pin(rest_of(line, "pin"))),
            ["unpin", _, ..] => Ok(Command::Unpin(rest_of(line, "unpin"))),
            ["tag", _, ..] => TagChange::parse(&rest_of(line, "tag")).map(Command::Tag),
            ["delete", "--confirmed", rest @ ..] => deletion(rest, true),
            ["delete", rest @ ..] => deletion(rest, false),
            _ => Err(unknown(line)),
        }
    }
}

fn unknown(line: &str) -> DriveError {
    DriveError::Invalid(format!(
        "{:?} is not a command; read this file for the commands",
        line.trim()
    ))
}

/// The kind of the models and their ids.
fn deletion(words: &[&str], is_confirmed: bool) -> DriveResult<Command> {
    let subjects = match words {
        ["rawmodels", ids @ ..] if !ids.is_empty() => {
            ids_of(ids, |id| ModelId::Asset(AssetId(id)))?
        }
        ["rapidmodels", ids @ ..] if !ids.is_empty() => {
            ids_of(ids, |id| ModelId::Rapid(RapidId(id)))?
        }
        _ => return Err(unknown(&format!("delete {}", words.join(" ")))),
    };
    Ok(Command::Delete {
        subjects,
        is_confirmed,
    })
}

/// The rest of the line after the word, with its spaces.
fn rest_of(line: &str, word: &str) -> String {
    let rest = line.trim().strip_prefix(word).unwrap_or_default();
    rest.trim().to_owned()
}

fn ids_of(ids: &[&str], subject: impl Fn(u64) -> ModelId) -> DriveResult<Vec<ModelId>> {
    ids.iter()
        .map(|id| match id.parse() {
            Ok(id) => Ok(subject(id)),
            Err(_) => Err(DriveError::Invalid(format!(
                "{id} is not the id of a model"
            ))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_words_of_the_command_line() {
        for (line, command) in [
            ("commit", Command::Commit { force: false }),
            ("commit --force", Command::Commit { force: true }),
            (
                "convert fbx usdz",
                Command::Convert(vec!["fbx".into(), "usdz".into()]),
            ),
            ("scale 0.01", Command::Scale(0.01)),
            ("run my web.json", Command::Run("my web.json".into())),
            ("cancel --orphan 1042", Command::CancelOrphan(AssetId(1042))),
            (
                "replace --remove-old my chair~new",
                Command::Replace {
                    draft: "my chair~new".into(),
                    remove_old: true,
                },
            ),
            ("drain", Command::Drain { ready_only: false }),
            ("pin rawmodels/a  b", Command::Pin("rawmodels/a  b".into())),
            (
                "delete rapidmodels 7 8",
                Command::Delete {
                    subjects: vec![ModelId::Rapid(RapidId(7)), ModelId::Rapid(RapidId(8))],
                    is_confirmed: false,
                },
            ),
            (
                "delete --confirmed rawmodels 7",
                Command::Delete {
                    subjects: vec![ModelId::Asset(AssetId(7))],
                    is_confirmed: true,
                },
            ),
            (
                "tag +red oak, -a%2C b,+-x",
                Command::Tag(TagChange {
                    added: vec!["red oak".into(), "-x".into()],
                    removed: vec!["a, b".into()],
                }),
            ),
        ] {
            assert_eq!(line.parse::<Command>().unwrap(), command, "{line}");
        }
        for bad in [
            "",
            "commmit",
            "scale",
            "scale big",
            "scale -1",
            "scale inf",
            "convert",
            "run",
            "cancel --orphan x",
            "delete rawmodels",
            "delete rawmodels chair",
            "delete --confirmed",
            "tag",
            "tag red",
        ] {
            assert!(bad.parse::<Command>().is_err(), "{bad}");
        }
    }
}

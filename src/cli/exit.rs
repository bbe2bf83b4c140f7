//! How a command ends: the exit codes of all commands, the errors that stand for one, and the text of an error.

use std::process::ExitCode;

use crate::client::without_error_numbers;
use assetfs_formats::printable::printable_lines;

/// How a command ended, as its exit code says it; the worse is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exit {
    Done,
    TimedOut,
    Failed,
    WrongUse,
}

impl Exit {
    /// By code.
    pub(super) const ALL: [Exit; 4] = [Exit::Done, Exit::Failed, Exit::WrongUse, Exit::TimedOut];

    pub(super) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::WrongUse => 2,
            Exit::TimedOut => 3,
        }
    }

    /// For the manual.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "Done.",
            Exit::Failed => {
                "Failed, for one path at least. Standard error says what, why and what to do."
            }
            Exit::WrongUse => "Wrong use: the arguments or the settings cannot work.",
            Exit::TimedOut => {
                "Timed out. What was begun goes on, and the same command waits for it again."
            }
        }
    }

    /// The exit of a command that failed with `error`.
    pub(super) fn of(error: &anyhow::Error) -> Exit {
        if error.is::<WrongUse>() {
            Exit::WrongUse
        } else if error.is::<TimedOut>() {
            Exit::TimedOut
        } else {
            Exit::Failed
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// A command used in a way that cannot work.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WrongUse(pub(super) String);

/// Something took too long, and goes on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct TimedOut(pub(super) String);

/// The text of an error and its causes. Repeated texts and the error numbers of the system are left out.
pub(super) fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = without_error_numbers(&cause.to_string());
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    printable_lines(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_its_exit_also_with_a_context() {
        let errors = [
            (anyhow::Error::new(WrongUse("w".into())), Exit::WrongUse),
            (anyhow::Error::new(TimedOut("t".into())), Exit::TimedOut),
            (anyhow::anyhow!("else"), Exit::Failed),
        ];
        for (error, exit) in errors {
            assert_eq!(Exit::of(&error), exit);
            assert_eq!(Exit::of(&error.context("doing it")), exit);
        }
        assert_eq!(Exit::Done.max(Exit::TimedOut).max(Exit::Failed).code(), 1);
        assert_eq!(Exit::ALL.map(Exit::code), [0, 1, 2, 3]);
    }

    #[test]
    fn the_page_has_every_exit_code() {
        let page = include_str!("../../docs/semantics.md");
        for exit in Exit::ALL {
            let row = format!("| {} | {} |", exit.code(), exit.meaning());
            assert!(page.contains(&row), "{row}");
        }
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::anyhow!("no room")
            .context("cannot write: no room")
            .context("copy");
        assert_eq!(sentence(&error), "copy: cannot write: no room");
    }

    #[test]
    fn error_numbers_are_left_out() {
        let missing = std::io::Error::from_raw_os_error(libc::ENOENT);
        let error = anyhow::anyhow!("cannot read a: {missing}; name another file");
        assert_eq!(
            sentence(&error.context(missing)),
            "No such file or directory: cannot read a: No such file or directory; name another file"
        );
    }
}

//! Questions before something is deleted or paid for.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::Result;

/// Whether somebody can answer: standard input is a terminal.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Asks on the terminal; anything but yes is no.
pub(super) fn agreed(question: &str) -> Result<bool> {
    eprint!("{question} [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

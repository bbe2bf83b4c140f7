//! Standard output of all commands. When its reader has ended (`assetfs doctor | head -n 1`), the command ends as well,
//! without an error. The macros of the standard library panic then; those of the same names here are used in all of `cli`.

use std::fmt::Arguments;
use std::io::{self, Write as _};

use super::Exit;

macro_rules! print {
    ($($text:tt)*) => {
        $crate::cli::stdout::print(format_args!($($text)*))
    };
}

macro_rules! println {
    () => {
        $crate::cli::stdout::print(format_args!("\n"))
    };
    ($($text:tt)*) => {
        $crate::cli::stdout::print(format_args!("{}\n", format_args!($($text)*)))
    };
}

/// Prints a text; ends the process if that is not possible.
pub(super) fn print(text: Arguments<'_>) {
    check(io::stdout().lock().write_fmt(text));
}

/// The same for text that is made already.
pub(super) fn write(text: &[u8]) {
    let mut out = io::stdout().lock();
    check(out.write_all(text).and_then(|()| out.flush()));
}

fn check(written: io::Result<()>) {
    let Err(error) = written else { return };
    let exit = match error.kind() {
        io::ErrorKind::BrokenPipe => Exit::Done,
        _ => {
            let error = anyhow::Error::new(error).context("cannot write to standard output");
            eprintln!("assetfs: {}", super::sentence(&error));
            Exit::Failed
        }
    };
    std::process::exit(exit.code().into())
}

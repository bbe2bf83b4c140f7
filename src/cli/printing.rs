//! Standard output and standard error of all commands. The macros of the standard library panic when a text cannot be
//! written; those of the same names here are used in all of `cli`.
//!
//! When the reader of standard output has ended (`assetfs doctor | head -n 1`), the command ends as well, without an error.
//! Standard error has only messages about the work, so without a reader the work goes on.

use std::fmt::Arguments;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use super::exit::Exit;

macro_rules! print {
    ($($text:tt)*) => {
        $crate::cli::printing::print(format_args!($($text)*))
    };
}

macro_rules! println {
    () => {
        $crate::cli::printing::print(format_args!("\n"))
    };
    ($($text:tt)*) => {
        $crate::cli::printing::print(format_args!("{}\n", format_args!($($text)*)))
    };
}

macro_rules! eprint {
    ($($text:tt)*) => {
        $crate::cli::printing::report(format_args!($($text)*))
    };
}

macro_rules! eprintln {
    () => {
        $crate::cli::printing::report(format_args!("\n"))
    };
    ($($text:tt)*) => {
        $crate::cli::printing::report(format_args!("{}\n", format_args!($($text)*)))
    };
}

static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Called once, before the command runs.
pub(super) fn choose_json(is_json: bool) {
    IS_JSON.store(is_json, Ordering::Relaxed);
}

/// True with `--json`.
pub(super) fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Prints a text; ends the process if that is not possible. With `--json`, text is for standard error.
pub(super) fn print(text: Arguments<'_>) {
    match is_json() {
        true => report(text),
        false => check(io::stdout().lock().write_fmt(text)),
    }
}

/// The same for text that is made already.
pub(super) fn write(text: &[u8]) {
    let mut out = io::stdout().lock();
    check(out.write_all(text).and_then(|()| out.flush()));
}

/// Writes a text to standard error. A failure is ignored, because there is nowhere to report it.
pub(super) fn report(text: Arguments<'_>) {
    // In one call, so that lines of several processes do not mix.
    let _ = io::stderr().write_all(text.to_string().as_bytes());
}

fn check(written: io::Result<()>) {
    let Err(error) = written else { return };
    let exit = match error.kind() {
        io::ErrorKind::BrokenPipe => Exit::Done,
        _ => {
            let error = anyhow::Error::new(error).context("cannot write to standard output");
            eprintln!("assetfs: {}", super::exit::sentence(&error));
            Exit::Failed
        }
    };
    std::process::exit(exit.code().into())
}

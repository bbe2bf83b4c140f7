//! The binary: everything is in [`assetfs::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    assetfs::cli::run()
}

//! The binary: everything is in [`assetfs::cli`].

use std::process::ExitCode;

#[cfg(feature = "local-service")]
#[global_allocator]
static ALLOCATOR: assetfs::cli::ProgramAllocator = assetfs::cli::ProgramAllocator;

fn main() -> ExitCode {
    assetfs::cli::run()
}

//! The binary: everything is in [`assetfs::cli`].

use std::process::ExitCode;

use assetfs::cli::ProgramAllocator;

#[global_allocator]
static ALLOCATOR: ProgramAllocator = ProgramAllocator;

fn main() -> ExitCode {
    assetfs::cli::run()
}

//! Keeps the token out of core dumps and out of other processes' sight.

/// No core file, and no other process of the user may look into this one's memory.
pub(super) fn protect_memory() {
    use rustix::process::{DumpableBehavior, Resource, Rlimit};
    let no_core = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Neither can fail in a way that a person could act on; the mount works without.
    let _ = rustix::process::setrlimit(Resource::Core, no_core);
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

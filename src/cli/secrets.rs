//! Protects tokens and database logins from core dumps and from other processes.

/// Disables core files, and access to this process's memory by other processes of the user.
pub(super) fn protect_memory() {
    use rustix::process::{DumpableBehavior, Resource, Rlimit};
    let no_core = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // An error is ignored: users cannot fix it, and the mount works without this protection.
    let _ = rustix::process::setrlimit(Resource::Core, no_core);
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

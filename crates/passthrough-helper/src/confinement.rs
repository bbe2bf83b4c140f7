//! What this process gives up at its start: inherited descriptors, its environment, and all capabilities but `CAP_SYS_ADMIN`.
//! After the check of the first request also all system calls that it does not need to serve requests.
//!
//! The capability is in the effective set only while [`with_capability`] runs, so that files are opened without it.

use std::collections::BTreeMap;

use assetfs_passthrough::Check;
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal,
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::kernel;

const NEEDED: CapabilitySet = CapabilitySet::SYS_ADMIN;

/// The system calls that serving needs, besides `ioctl` for two commands.
const ALLOWED: &[i64] = &[
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_openat2,
    libc::SYS_close,
    libc::SYS_capset,
    // Memory, and the end of the process.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_write,
    libc::SYS_futex,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_exit_group,
];

/// Whether this process was started with the capability.
pub fn check() -> Check {
    match capabilities(None) {
        Ok(sets) if sets.permitted.contains(NEEDED) => Check::Ready,
        _ => Check::NoCapability,
    }
}

/// Forgets environment and descriptors. Fails if the program is setuid or setgid: its rights come from the capability alone.
pub fn forget_inherited() -> Result<(), Errno> {
    let is_setuid = rustix::process::getuid() != rustix::process::geteuid();
    if is_setuid || rustix::process::getgid() != rustix::process::getegid() {
        return Err(Errno::PERM);
    }
    kernel::forget_environment();
    kernel::close_others()
}

/// Keeps `CAP_SYS_ADMIN`, in the permitted set alone, and ends with the drive.
pub fn drop_rights() -> Result<(), Errno> {
    if check() == Check::NoCapability {
        return Err(Errno::PERM);
    }
    rustix::thread::set_no_new_privs(true)?;
    set_effective(CapabilitySet::empty())?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Also ends a stopped process, which would keep the FUSE device of a killed drive open. The end of the socket does the rest.
    set_parent_process_death_signal(Some(Signal::KILL))
}

/// Runs `work` with the capability in the effective set.
pub fn with_capability<T>(work: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    set_effective(NEEDED)?;
    let result = work();
    set_effective(CapabilitySet::empty())?;
    result
}

fn set_effective(effective: CapabilitySet) -> Result<(), Errno> {
    let sets = CapabilitySets {
        effective,
        permitted: NEEDED,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets)
}

/// From now on all system calls but those of [`ALLOWED`] fail.
pub fn allow_only_needed() -> Result<(), Errno> {
    let program = filter().map_err(|_| Errno::NOSYS)?;
    seccompiler::apply_filter(&program).map_err(|_| Errno::NOSYS)
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let command = |code: u32| {
        let is_code = SeccompCondition::new(
            1,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Eq,
            u64::from(code),
        )?;
        SeccompRule::new(vec![is_code])
    };
    rules.insert(
        libc::SYS_ioctl,
        vec![
            command(kernel::BACKING_OPEN)?,
            command(kernel::BACKING_CLOSE)?,
        ],
    );
    let arch = std::env::consts::ARCH.try_into()?;
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?.try_into()
}

//! The system calls that a worker process and the programs that it starts may make. All others are refused. The list
//! names allowed calls and not dangerous ones, because each kernel adds new calls.
//!
//! Landlock decides which files the allowed calls reach. It does not restrict changes of file attributes (mode, owner,
//! times) or of limits and priorities of processes, so those calls are not allowed here.

use std::collections::BTreeMap;

use landlock::{CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, Scope};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that are allowed with all arguments: memory, threads, open files, time, and starting programs.
const ALLOWED: &[i64] = &[
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_msync,
    libc::SYS_membarrier,
    // Open files.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_flock,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_getdents64,
    libc::SYS_fchdir,
    // Files by name, which landlock restricts.
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_umask,
    // Waiting.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_futex,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_restart_syscall,
    // Time and random numbers.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getrusage,
    libc::SYS_getrandom,
    // Threads and signals of this process.
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigpending,
    libc::SYS_sigaltstack,
    libc::SYS_setitimer,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Starting programs, in this sandbox.
    libc::SYS_clone3,
    libc::SYS_execve,
    libc::SYS_wait4,
    libc::SYS_waitid,
    // What a process asks about itself and the machine.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getpgid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getgroups,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrlimit,
    // Restricting itself more.
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];

/// Older forms of the same calls.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_getdents,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_getpgrp,
    libc::SYS_time,
    libc::SYS_alarm,
    libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[i64] = &[];

/// What `fcntl` may do: everything but choosing who gets a signal.
const FCNTL: &[i32] = &[
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_GETLK,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
    libc::F_GETPIPE_SZ,
    libc::F_SETPIPE_SZ,
];

/// What `ioctl` may do: ask about a terminal, and change flags of an open file.
const IOCTL: &[u64] = &[
    libc::TCGETS,
    libc::TIOCGWINSZ,
    libc::FIONREAD,
    libc::FIONBIO,
    libc::FIOCLEX,
];

/// What `prctl` may do: names, the end with the parent, and the preparation of a sandbox.
const PRCTL: &[i32] = &[
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_SET_PDEATHSIG,
    libc::PR_SET_NO_NEW_PRIVS,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_GET_DUMPABLE,
    libc::PR_CAPBSET_READ,
    libc::PR_SET_VMA,
];

/// The flags of `clone` that make namespaces.
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32 as u64;

/// From now on this thread, and the threads and processes that it starts, can make only the calls that a worker needs.
pub fn allow_only_needed() -> Result<(), seccompiler::Error> {
    // The flags of `clone3` are in memory, where no filter sees them. Programs then use `clone`.
    let missing = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    apply(
        missing,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
    )?;
    apply(
        rules()?,
        SeccompAction::Errno(libc::EACCES as u32),
        SeccompAction::Allow,
    )
}

fn apply(
    rules: Rules,
    others: SeccompAction,
    matching: SeccompAction,
) -> Result<(), seccompiler::Error> {
    let arch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, others, matching, arch)?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)
}

fn rules() -> Result<Rules, seccompiler::Error> {
    let all = ALLOWED.iter().chain(OLDER);
    let mut rules: Rules = all.map(|call| (*call, Vec::new())).collect();
    let numbers = |numbers: &[i32]| {
        numbers
            .iter()
            .map(|it| *it as u32 as u64)
            .collect::<Vec<_>>()
    };
    for (call, argument, values) in [
        (libc::SYS_fcntl, 1, numbers(FCNTL)),
        (libc::SYS_ioctl, 1, IOCTL.to_vec()),
        (libc::SYS_prctl, 0, numbers(PRCTL)),
    ] {
        let values = values.into_iter();
        let allowed = values.map(|value| rule(&[number(argument, value)]));
        rules.insert(call, allowed.collect::<Result<_, _>>()?);
    }
    let no_namespace = (
        0,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::MaskedEq(NAMESPACES),
        0,
    );
    rules.insert(libc::SYS_clone, vec![rule(&[no_namespace])?]);
    // Reads a limit of this process, or sets its limit of CPU time, as the reader of CAD files does.
    let no_limits = (2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0);
    let cpu_time = number(1, u64::from(libc::RLIMIT_CPU));
    rules.insert(
        libc::SYS_prlimit64,
        vec![
            rule(&[number(0, 0), no_limits])?,
            rule(&[number(0, 0), cpu_time])?,
        ],
    );
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        let own = u64::from(std::process::id());
        let allowed = match landlock_restricts_signals() {
            true => Vec::new(),
            false => vec![rule(&[number(0, own)])?],
        };
        rules.insert(call, allowed);
    }
    Ok(rules)
}

/// The number of an argument, its length, and what it must be.
type Condition = (u8, SeccompCmpArgLen, SeccompCmpOp, u64);

/// A 32-bit argument that is `value`.
fn number(argument: u8, value: u64) -> Condition {
    (argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn rule(conditions: &[Condition]) -> Result<SeccompRule, seccompiler::Error> {
    let conditions = conditions
        .iter()
        .map(|(argument, length, comparison, value)| {
            SeccompCondition::new(*argument, length.clone(), comparison.clone(), *value)
        });
    let conditions = conditions.collect::<Result<_, _>>()?;
    Ok(SeccompRule::new(conditions)?)
}

/// Whether landlock of this kernel keeps signals in the sandbox.
fn landlock_restricts_signals() -> bool {
    let needed = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::Signal);
    needed.and_then(Ruleset::create).is_ok()
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::io;

    use super::super::sandbox::Sandbox;
    use crate::skip::skipped;

    /// The error of a system call with at most four arguments; none if it succeeds.
    #[expect(unsafe_code, reason = "there is no safe face of most of these calls")]
    fn error_of(call: i64, arguments: [i64; 4]) -> Option<i32> {
        let [a, b, c, d] = arguments;
        // SAFETY: the filter refuses the call before the kernel reads an argument; without it, each pointer is null, or
        // to a text that ends with NUL and outlives the call.
        let result = unsafe { libc::syscall(call, a, b, c, d, 0, 0) };
        (result < 0).then(|| io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }

    #[test]
    fn calls_that_a_worker_does_not_need_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "secret").unwrap();
        let path = CString::new(file.to_str().unwrap()).unwrap();
        let name = path.as_ptr() as i64;
        let service = i64::from(std::process::id());
        let here = i64::from(libc::AT_FDCWD);
        let calls = [
            ("fchmodat", libc::SYS_fchmodat, [here, name, 0o644, 0]),
            ("fchmod", libc::SYS_fchmod, [0, 0o644, 0, 0]),
            ("fchownat", libc::SYS_fchownat, [here, name, 0, 0]),
            ("setxattr", libc::SYS_setxattr, [name, name, name, 1]),
            ("utimensat", libc::SYS_utimensat, [here, name, 0, 0]),
            ("truncate", libc::SYS_truncate, [name, 0, 0, 0]),
            ("linkat", libc::SYS_linkat, [here, name, here, name]),
            ("symlinkat", libc::SYS_symlinkat, [name, here, name, 0]),
            ("mknodat", libc::SYS_mknodat, [here, name, 0, 0]),
            ("prlimit64", libc::SYS_prlimit64, [service, 7, 0, 0]),
            ("setrlimit", libc::SYS_setrlimit, [7, 0, 0, 0]),
            ("setpriority", libc::SYS_setpriority, [0, service, 19, 0]),
            (
                "sched_setaffinity",
                libc::SYS_sched_setaffinity,
                [service, 0, 0, 0],
            ),
            (
                "sched_setscheduler",
                libc::SYS_sched_setscheduler,
                [service, 0, 0, 0],
            ),
            ("ioprio_set", libc::SYS_ioprio_set, [1, service, 0, 0]),
            ("pidfd_open", libc::SYS_pidfd_open, [service, 0, 0, 0]),
            (
                "pidfd_send_signal",
                libc::SYS_pidfd_send_signal,
                [0, 0, 0, 0],
            ),
            ("pidfd_getfd", libc::SYS_pidfd_getfd, [0, 0, 0, 0]),
            ("ptrace", libc::SYS_ptrace, [16, service, 0, 0]),
            (
                "process_vm_readv",
                libc::SYS_process_vm_readv,
                [service, 0, 0, 0],
            ),
            ("chroot", libc::SYS_chroot, [name, 0, 0, 0]),
            ("pivot_root", libc::SYS_pivot_root, [name, name, 0, 0]),
            ("mount", libc::SYS_mount, [name, name, 0, 0]),
            ("fsopen", libc::SYS_fsopen, [name, 0, 0, 0]),
            ("open_tree", libc::SYS_open_tree, [here, name, 0, 0]),
            ("move_mount", libc::SYS_move_mount, [here, name, here, name]),
            (
                "open_by_handle_at",
                libc::SYS_open_by_handle_at,
                [here, 0, 0, 0],
            ),
            ("fanotify_init", libc::SYS_fanotify_init, [0, 0, 0, 0]),
            ("inotify_init1", libc::SYS_inotify_init1, [0, 0, 0, 0]),
            ("unshare", libc::SYS_unshare, [0, 0, 0, 0]),
            ("setns", libc::SYS_setns, [0, 0, 0, 0]),
            (
                "clone with a user namespace",
                libc::SYS_clone,
                [0x1000_0000, 0, 0, 0],
            ),
            ("shmget", libc::SYS_shmget, [0, 4096, 0o600, 0]),
            ("semget", libc::SYS_semget, [0, 1, 0o600, 0]),
            ("msgget", libc::SYS_msgget, [0, 0o600, 0, 0]),
            ("mq_open", libc::SYS_mq_open, [name, 0, 0, 0]),
            ("socket", libc::SYS_socket, [1, 1, 0, 0]),
            ("socketpair", libc::SYS_socketpair, [1, 1, 0, 0]),
            ("io_uring_setup", libc::SYS_io_uring_setup, [1, 0, 0, 0]),
            ("bpf", libc::SYS_bpf, [0, 0, 0, 0]),
            ("perf_event_open", libc::SYS_perf_event_open, [0, 0, 0, 0]),
            ("userfaultfd", libc::SYS_userfaultfd, [0, 0, 0, 0]),
            ("add_key", libc::SYS_add_key, [0, 0, 0, 0]),
            ("keyctl", libc::SYS_keyctl, [0, 0, 0, 0]),
            ("memfd_create", libc::SYS_memfd_create, [name, 0, 0, 0]),
            ("personality", libc::SYS_personality, [0xffff_ffff, 0, 0, 0]),
            ("setuid", libc::SYS_setuid, [0, 0, 0, 0]),
            ("sethostname", libc::SYS_sethostname, [name, 0, 0, 0]),
            ("reboot", libc::SYS_reboot, [0, 0, 0, 0]),
            ("quotactl", libc::SYS_quotactl, [0, 0, 0, 0]),
            ("fcntl F_SETOWN", libc::SYS_fcntl, [0, 8, service, 0]),
            ("ioctl TIOCSTI", libc::SYS_ioctl, [0, 0x5412, 0, 0]),
            ("prctl PR_SET_DUMPABLE", libc::SYS_prctl, [4, 1, 0, 0]),
            ("a call of a later kernel", 4000, [0, 0, 0, 0]),
        ];
        let (errors, missing) = Sandbox::trial(|| {
            let errors = calls.map(|(name, call, arguments)| (name, error_of(call, arguments)));
            let clone3 = error_of(libc::SYS_clone3, [0, 0, 0, 0]);
            (errors, clone3)
        });
        if !missing.is_empty() {
            return skipped("this kernel has no landlock or no seccomp");
        }
        let (errors, clone3) = errors;
        for (name, error) in errors {
            assert_eq!(error, Some(libc::EACCES), "{name}");
        }
        assert_eq!(clone3, Some(libc::ENOSYS), "programs use clone then");
    }

    #[test]
    fn threads_memory_time_and_programs_work_in_the_sandbox() {
        let ((), _) = Sandbox::trial(|| {
            let numbers: Vec<u64> = (0..1_000_000).collect();
            let sum = std::thread::scope(|scope| {
                let sums = numbers
                    .chunks(250_000)
                    .map(|part| scope.spawn(move || part.iter().sum::<u64>()));
                let sums: Vec<_> = sums.collect();
                sums.into_iter().map(|sum| sum.join().unwrap()).sum::<u64>()
            });
            assert_eq!(sum, 499_999_500_000);
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert!(std::thread::available_parallelism().is_ok());
            let program = std::process::Command::new("/bin/sh")
                .args(["-c", "echo out; echo err >&2; exit 3"])
                .output()
                .unwrap();
            assert_eq!(program.status.code(), Some(3));
            assert_eq!(
                (program.stdout, program.stderr),
                (b"out\n".to_vec(), b"err\n".to_vec())
            );
        });
    }
}

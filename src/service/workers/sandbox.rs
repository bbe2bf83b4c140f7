//! What a worker process cannot do while it reads a model from a stranger: read files other than its task's, write
//! outside its output folder, reach the network, look into other processes. Its child processes have the same limits.
//!
//! The process enters the sandbox itself, after it has read its task, or the folders of its tasks, and before it opens a
//! model.
//! Landlock restricts files, and access to the memory and environment of other processes. A seccomp filter refuses all
//! system calls but those that a worker needs. What the kernel lacks or refuses is left out and reported by [`Protection::missing`].

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use serde::{Deserialize, Serialize};

use super::system_calls;
use assetfs_engine::cad;
use assetfs_engine::job::Task;

/// The folders that a kept worker can reach: those of its tasks are in them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TaskFolders {
    /// Only read.
    pub input_dir: PathBuf,
    pub output_dir: PathBuf,
}

/// The oldest usable landlock: the one before cannot rename a file into another folder.
const OLDEST: ABI = ABI::V2;

/// The newest landlock whose restrictions are used, if the kernel has it.
const NEWEST: ABI = ABI::V6;

/// The actions that seccomp filters of this kernel may have.
const SECCOMP_ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";

/// Programs and libraries, for the child processes of a worker.
const PROGRAMS: &[&str] = &["/usr", "/bin", "/lib", "/lib64", "/nix/store", "/gnu/store"];

/// What programs and libraries read at start.
const SYSTEM: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/fonts",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
    // The number of processors that this process may use.
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
];

/// A feature of the kernel that the sandbox is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Restricts files, and access to other processes.
    Landlock,
    /// Refuses sockets, and all other system calls that a worker does not need.
    Seccomp,
}

/// A protection that worker processes do not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingProtection {
    pub protection: Protection,
    /// Why the kernel refused it; `None` if the kernel does not have it.
    refusal: Option<String>,
}

impl MissingProtection {
    fn refused(protection: Protection, why: impl fmt::Display) -> MissingProtection {
        MissingProtection {
            protection,
            refusal: Some(why.to_string()),
        }
    }
}

impl Protection {
    /// The protections that workers do not have on this machine, found by trying.
    pub fn missing() -> Vec<MissingProtection> {
        Sandbox::trial(|| ()).1
    }
}

impl fmt::Display for MissingProtection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, danger) = match self.protection {
            Protection::Landlock => (
                "landlock",
                "a worker process that a model takes over can read and write all files of its user",
            ),
            Protection::Seccomp => (
                "seccomp filters",
                "a worker process that a model takes over can reach the network, and change attributes of files and limits of \
                 processes of its user",
            ),
        };
        match (&self.refusal, self.protection) {
            (Some(why), _) => write!(f, "this system refuses {name} ({why}): {danger}"),
            (None, Protection::Landlock) => write!(
                f,
                "this kernel has no {name} (Linux 5.19 and later have it, unless it is switched off or a container \
                 refuses it): {danger}"
            ),
            (None, Protection::Seccomp) => write!(f, "this kernel has no {name}: {danger}"),
        }
    }
}

/// The sandbox of this process.
#[derive(Debug)]
pub struct Sandbox {
    /// A rule for a folder of `/proc` holds as long as the folder is open.
    _own_process: Option<File>,
}

impl Sandbox {
    /// Restricts this thread, and the threads and processes that it starts, to what `task` needs. There is no way
    /// back. A part that the kernel lacks or refuses is left out; [`Protection::missing`] reports it.
    pub fn enter(task: &Task) -> Sandbox {
        let linked: Vec<PathBuf> = linked_files(task).collect();
        Sandbox::enter_for(task.input_dir(), &linked, task.output_dir())
    }

    /// As [`Sandbox::enter`], for all tasks of a kept worker.
    pub fn enter_folders(folders: &TaskFolders) -> Sandbox {
        Sandbox::enter_for(&folders.input_dir, &[], &folders.output_dir)
    }

    fn enter_for(input_dir: &Path, linked: &[PathBuf], output_dir: &Path) -> Sandbox {
        // An error is ignored: the task can be done without this protection.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let own_process = File::open("/proc/self").ok();
        let files = AllowedFiles {
            input_dir: Some(input_dir),
            linked,
            output_dir: Some(output_dir),
            own_process: own_process.as_ref(),
        };
        restrict(&files);
        Sandbox {
            _own_process: own_process,
        }
    }

    /// Does `work` on a thread that is in the sandbox of a task without files, and returns what protections that
    /// thread did not get.
    pub fn trial<T: Send>(work: impl FnOnce() -> T + Send) -> (T, Vec<MissingProtection>) {
        std::thread::scope(|scope| {
            let trial = scope.spawn(|| {
                let missing = restrict(&AllowedFiles::default());
                (work(), missing)
            });
            match trial.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

/// The files of a task, which its worker may use.
#[derive(Default)]
struct AllowedFiles<'t> {
    input_dir: Option<&'t Path>,
    linked: &'t [PathBuf],
    output_dir: Option<&'t Path>,
    own_process: Option<&'t File>,
}

/// Restricts this thread, and returns the protections that it did not get.
fn restrict(files: &AllowedFiles<'_>) -> Vec<MissingProtection> {
    let absent = |protection| MissingProtection {
        protection,
        refusal: None,
    };
    let mut missing = Vec::new();
    // With landlock, the features of the kernel cannot be read any more.
    let has_landlock = has_landlock();
    if !has_seccomp() {
        missing.push(absent(Protection::Seccomp));
    } else if let Err(error) = system_calls::allow_only_needed() {
        missing.push(MissingProtection::refused(Protection::Seccomp, error));
    }
    if !has_landlock {
        missing.push(absent(Protection::Landlock));
    } else if let Err(error) = restrict_files(files) {
        missing.push(MissingProtection::refused(Protection::Landlock, error));
    }
    missing
}

fn has_landlock() -> bool {
    let needed = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(OLDEST));
    needed.and_then(Ruleset::create).is_ok()
}

fn has_seccomp() -> bool {
    std::fs::read_to_string(SECCOMP_ACTIONS)
        .is_ok_and(|actions| actions.split_whitespace().any(|action| action == "errno"))
}

fn restrict_files(files: &AllowedFiles<'_>) -> Result<(), RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let run = AccessFs::from_read(NEWEST);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let programs = PROGRAMS.iter().map(PathBuf::from).chain(cad::reader());
    let own = std::env::current_exe().ok();
    let readable = SYSTEM.iter().map(Path::new).chain(own.as_deref());
    let null: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::WriteFile;
    Ruleset::default()
        .handle_access(all)?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(programs, run))?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(["/dev/null"], null))?
        .add_rules(path_beneath_rules(files.input_dir, read))?
        .add_rules(path_beneath_rules(
            files.linked,
            BitFlags::from(AccessFs::ReadFile),
        ))?
        .add_rules(path_beneath_rules(files.output_dir, all))?
        .add_rules(
            files
                .own_process
                .into_iter()
                .map(|folder| Ok::<_, RulesetError>(PathBeneath::new(folder, read))),
        )?
        .restrict_self()?;
    Ok(())
}

/// The files that links among the files of the task point to. Only the command line has such tasks: the service lays
/// out the files themselves.
fn linked_files(task: &Task) -> impl Iterator<Item = PathBuf> {
    let paths = task.files().iter().map(|file| task.input_dir().join(file));
    paths
        .filter(|path| path.is_symlink())
        .filter_map(|path| path.canonicalize().ok())
}

//! Random histories of several users, compared with a naive model of `docs/semantics.md`.
//!
//! Each test is a front: the ways on which the users of its histories work. A history is made from a seed. One that fails
//! is made shorter, and printed with the command that runs it again. `ASSETFS_MODEL_TRACE=1` prints each operation before it is done. `scripts/check/model` runs many.

#![allow(clippy::print_stdout, reason = "what is measured is printed")]
#![allow(clippy::print_stderr, reason = "a history that fails is printed")]

#[path = "../support/skip.rs"]
mod skip;
#[path = "../support/smbd.rs"]
mod smbd;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/tmpfs.rs"]
mod tmpfs;

mod compare;
mod content;
mod files;
mod fronts;
mod history;
mod model;
mod results;
mod world;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use compare::{Difference, MakeFronts};
use content::Content;
use fronts::api::ApiFront;
use fronts::calls::Calls as _;
use fronts::core::CoreFront;
use fronts::kernel::KernelFront;
use fronts::smb::SmbFront;
use fronts::{Front, drive};
use history::{Generator, Op, Plan, Step, shrunk};
use world::{ALONE, Machine, TOGETHER, World};

/// Operations of a history.
const OPERATIONS: usize = 100;
/// Operations of each front in the tests of the project.
const FEW: usize = 200;
/// Histories that run at the same time: they mostly wait.
const AT_ONCE: usize = 2;
/// How often a history that fails is run again to make it shorter.
const SHRINKING: usize = 60;

/// How long pictures may take to become equal, at first and while a history that fails is made shorter. A busy machine takes
/// long, and a drive asks how far a job is only every 10 s by then.
const PATIENCE: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_secs(3);

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
    )
}

/// Runs histories with so many operations together, and fails with the shortest one that fails.
fn check(front: &str, plan: Plan, make: MakeFronts, operations: usize) {
    let begun = Instant::now();
    let operations = setting("ASSETFS_MODEL_OPERATIONS").map_or(operations, |it| it as usize);
    let seed = setting("ASSETFS_MODEL_SEED");
    let next = AtomicU64::new(seed.unwrap_or(1));
    let done = AtomicUsize::new(0);
    let failed = std::thread::scope(|scope| {
        let histories = || -> Option<(u64, Difference)> {
            while done.load(Ordering::Relaxed) < operations {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                let steps = kept(Generator::history(seed, plan));
                done.fetch_add(steps.len(), Ordering::Relaxed);
                if let Err(different) = compare::run(make, &steps, PATIENCE) {
                    return Some((seed, different));
                }
            }
            None
        };
        let threads = AT_ONCE.min(operations.div_ceil(OPERATIONS));
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(histories)).collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().expect("a history"));
        ended.flatten().collect::<Vec<_>>()
    });
    let operations = done.into_inner();
    println!(
        "{front}: {operations} operations in {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    if let Some((seed, different)) = failed.into_iter().next() {
        report(front, plan, make, seed, &different);
    }
}

/// Only the steps that `ASSETFS_MODEL_KEEP` names, if it is set.
fn kept(steps: Vec<Step>) -> Vec<Step> {
    let Ok(text) = std::env::var("ASSETFS_MODEL_KEEP") else {
        return steps;
    };
    let number = |it: &str| it.parse().expect("numbers of operations");
    let numbers: Vec<usize> = text.split(',').map(number).collect();
    numbers
        .iter()
        .map(|&number| steps[number].clone())
        .collect()
}

fn report(front: &str, plan: Plan, make: MakeFronts, seed: u64, different: &Difference) -> ! {
    eprintln!("seed {seed}: {}\nIt is made shorter.", different.text);
    let all: Vec<(usize, Step)> = kept(Generator::history(seed, plan))
        .into_iter()
        .enumerate()
        .collect();
    let plain = |steps: &[(usize, Step)]| -> Vec<Step> {
        steps.iter().map(|(_, step)| step.clone()).collect()
    };
    let short = shrunk(all, SHRINKING, |steps| {
        let again = compare::run(make, &plain(steps), SHORT);
        again.is_err_and(|again| again.kind == different.kind)
    });
    for (number, step) in &short {
        eprintln!("{number:4} actor {}: {:?}", step.actor, step.op);
    }
    if let Err(Difference { text, .. }) = compare::run(make, &plain(&short), SHORT) {
        eprintln!("{text}");
    }
    let numbers: Vec<String> = short.iter().map(|(number, _)| number.to_string()).collect();
    panic!(
        "the drive and the model differ. Again: scripts/check/model 1 --front {front} --seed {seed} --keep {}",
        numbers.join(",")
    );
}

const fn plan(actors: usize, drives: usize) -> Plan {
    Plan {
        operations: OPERATIONS,
        actors,
        drives,
        has_kills: false,
        has_faults: false,
        has_stops: false,
        has_full_disks: false,
        user: 0,
    }
}

fn a_drive_on_a_small_disk(world: &World) -> Vec<Box<dyn Front>> {
    let drive = CoreFront::on_small_disk(world, 0).expect("a disk");
    vec![Box::new(drive), Box::new(ApiFront::new(world))]
}

#[test]
fn a_drive_on_a_full_disk_does_what_the_model_says() {
    let probe = tempfile::tempdir().expect("a folder");
    if tmpfs::SmallDisk::mount(probe.path(), 1 << 20).is_some() {
        let plan = Plan {
            has_full_disks: true,
            ..plan(1, 1)
        };
        check("full", plan, a_drive_on_a_small_disk, FEW);
    }
}

/// What the service holds is compared as well.
fn one_drive(world: &World) -> Vec<Box<dyn Front>> {
    vec![
        Box::new(CoreFront::new(world, 0, ALONE)),
        Box::new(ApiFront::new(world)),
    ]
}

#[test]
fn a_drive_does_what_the_model_says() {
    check("core", plan(1, 1), one_drive, FEW);
}

#[test]
fn a_drive_that_is_killed_does_what_the_model_says() {
    let plan = Plan {
        has_kills: true,
        ..plan(1, 1)
    };
    check("kills", plan, one_drive, FEW);
}

#[test]
fn a_drive_whose_service_fails_does_what_the_model_says() {
    let plan = Plan {
        has_kills: true,
        has_faults: true,
        ..plan(1, 1)
    };
    check("faults", plan, one_drive, FEW);
}

#[test]
fn users_of_a_drive_at_the_same_time_do_what_the_model_says() {
    let begun = Instant::now();
    let seed = setting("ASSETFS_MODEL_SEED").unwrap_or(1);
    let operations = setting("ASSETFS_MODEL_OPERATIONS").map_or(FEW, |it| it as usize);
    for seed in seed..seed + operations.div_ceil(4 * OPERATIONS) as u64 {
        let user = |user| Plan { user, ..plan(1, 1) };
        let users =
            (0..4).map(|number| Generator::history(4 * seed + number, user(number as usize)));
        let world = World::new();
        let drive = world.mount("machine0", ALONE);
        let users: Vec<_> = users.collect();
        if let Err(different) = compare::run_together(&drive, &users) {
            panic!(
                "{}\nAgain, if the threads meet as before: scripts/check/model 1 --front together --seed {seed}",
                different.text
            );
        }
        drive.close();
    }
    println!(
        "together: {operations} operations in {:.1} s",
        begun.elapsed().as_secs_f64()
    );
}

fn two_drives(world: &World) -> Vec<Box<dyn Front>> {
    vec![
        Box::new(CoreFront::new(world, 0, TOGETHER)),
        Box::new(CoreFront::new(world, 1, TOGETHER)),
        Box::new(ApiFront::new(world)),
    ]
}

#[test]
fn two_drives_of_an_account_do_what_the_model_says() {
    check("two", plan(2, 2), two_drives, FEW);
}

/// A model of one file.
fn upload(name: &str, number: u32) -> Op {
    let files = vec![("model.gltf".to_owned(), Content::Model(number))];
    Op::Upload(name.to_owned(), files)
}

/// Runs a history on two drives.
#[track_caller]
fn check_on_two(history: impl IntoIterator<Item = (usize, Op)>) {
    let steps = history.into_iter().map(|(actor, op)| Step { actor, op });
    if let Err(different) = compare::run(two_drives, &steps.collect::<Vec<_>>(), PATIENCE) {
        panic!("{}", different.text);
    }
}

#[test]
fn a_text_that_its_machine_removes_stays_on_the_others() {
    let (name, text) = ("m1".to_owned(), "web0".to_owned());
    let optimize = Op::Optimize(name.clone(), text.clone(), Content::Config(3));
    let remove = Op::RemoveText(name, text);
    check_on_two([(1, upload("m1", 1)), (0, optimize), (0, remove)]);
}

#[test]
fn an_old_version_does_not_get_its_name_back_where_it_was_copied_in() {
    let replace = Op::Replace("n1".to_owned(), Content::Model(2));
    check_on_two([
        (0, upload("n1", 1)),
        (1, replace),
        (0, Op::RemoveAll("n1".to_owned())),
        (0, Op::Remount),
        (0, upload("n1", 3)),
    ]);
}

#[test]
fn a_machine_that_never_saw_a_new_version_calls_the_old_one_by_its_plain_name() {
    let names = |drive: &Machine| -> Vec<String> {
        let rows = drive.rows("rawmodels").expect("models");
        rows.into_iter().map(|(name, _)| name).collect()
    };
    let world = World::new();
    let first = world.mount("machine0", ALONE);
    let replace = Op::Replace("n1".to_owned(), Content::Model(2));
    for op in [upload("n1", 1), replace, Op::RemoveAll("n1".to_owned())] {
        assert_eq!(drive::act(&first, &op), Ok(()), "{op:?}");
    }
    assert!(
        matches!(&names(&first)[..], [name] if name.starts_with("n1~")),
        "{:?}",
        names(&first)
    );
    let second = world.mount("machine1", ALONE);
    assert_eq!(names(&second), ["n1"]);
    second.close();
    first.close();
}

fn a_drive_and_a_program(world: &World) -> Vec<Box<dyn Front>> {
    vec![
        Box::new(CoreFront::new(world, 0, TOGETHER)),
        Box::new(ApiFront::new(world)),
    ]
}

#[test]
fn a_link_leads_to_its_own_result_although_an_earlier_one_of_the_model_was_not_seen_yet() {
    let world = World::new();
    let mut program = ApiFront::new(&world);
    let order = Op::Order("m1".to_owned(), Content::Config(0));
    for op in [upload("m1", 1), order] {
        assert_eq!(program.act(&op), Ok(()), "{op:?}");
    }
    let drive = world.mount("machine0", Duration::from_millis(1));
    let (name, text) = ("m1".to_owned(), "web0".to_owned());
    let optimize = Op::Optimize(name.clone(), text.clone(), Content::Config(1));
    assert_eq!(drive::act(&drive, &optimize), Ok(()));
    let result = drive::result_of(&drive, &name, &text).expect("a result");
    let own = drive.xattr(&format!("{result}.json"), "user.assetfs.id");
    let detail = drive.read_text(&format!("{result}/.assetfs/detail.json"));
    let detail: serde_json::Value = serde_json::from_str(&detail.expect("a record")).expect("JSON");
    assert_eq!(own, Ok(detail["id"].to_string()));
    drive.close();
}

fn the_api(world: &World) -> Vec<Box<dyn Front>> {
    vec![Box::new(ApiFront::new(world))]
}

#[test]
fn the_service_does_what_the_model_says() {
    check("api", plan(1, 0), the_api, FEW);
}

#[test]
fn a_drive_and_a_program_of_an_account_do_what_the_model_says() {
    check("mixed", plan(2, 1), a_drive_and_a_program, FEW);
}

fn a_mount(world: &World) -> Vec<Box<dyn Front>> {
    vec![
        Box::new(KernelFront::new(world, 0)),
        Box::new(ApiFront::new(world)),
    ]
}

#[test]
fn a_mount_does_what_the_model_says() {
    let plan = Plan {
        has_stops: true,
        ..plan(1, 1)
    };
    check("kernel", plan, a_mount, FEW);
}

fn a_network_folder(world: &World) -> Vec<Box<dyn Front>> {
    vec![
        Box::new(SmbFront::new(world, 0)),
        Box::new(ApiFront::new(world)),
    ]
}

#[test]
fn a_network_folder_does_what_the_model_says() {
    if !rustix::process::geteuid().is_root() {
        return skip::skipped("this process is not root");
    }
    let mut programs = smbd::PROGRAMS.into_iter().chain(["python3"]);
    if programs.all(skip::has_program_or_skips) {
        let plan = Plan {
            has_stops: true,
            ..plan(1, 1)
        };
        check("smb", plan, a_network_folder, FEW);
    }
}

//! Runs a history on its fronts and on the model, and compares what every front says and shows.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::content::Content;
use crate::fronts::calls::Calls;
use crate::fronts::{Ending, Front, drive, picture};
use crate::history::{ActorId, Op, Process, Step};
use crate::model::{Model, Outcome};
use crate::world::World;

/// Operations between two comparisons of everything.
const CHECKPOINT: usize = 80;

/// Makes the fronts of a history, an actor each.
pub type MakeFronts = fn(&World) -> Vec<Box<dyn Front>>;

/// What was different.
pub struct Difference {
    pub text: String,
    /// Equal for what is probably the same fault.
    pub kind: String,
}

/// `patience` is how long the pictures may take to become equal.
pub fn run(make: MakeFronts, steps: &[Step], patience: Duration) -> Result<(), Difference> {
    let mut stage = Stage {
        world: World::new(),
        fronts: Vec::new(),
        model: Model::default(),
        has_met_fault: false,
        patience,
    };
    stage.fronts = make(&stage.world);
    let mut done = 0;
    for (number, Step { actor, op }) in steps.iter().enumerate() {
        if !stage.model.covers(*actor, op) || !stage.fronts[*actor].can(&stage.model, op) {
            continue;
        }
        stage.act(number, *actor, op)?;
        done += 1;
        if done % CHECKPOINT == 0 {
            stage.compare(&[stage.model.clone()], number)?;
        }
    }
    stage.compare(&[stage.model.clone()], steps.len()).map(drop)
}

/// An account, its fronts and its model.
struct Stage {
    // Dropped before the folders of the world.
    fronts: Vec<Box<dyn Front>>,
    world: World,
    model: Model,
    has_met_fault: bool,
    patience: Duration,
}

impl Stage {
    fn act(&mut self, number: usize, actor: ActorId, op: &Op) -> Result<(), Difference> {
        if std::env::var_os("ASSETFS_MODEL_TRACE").is_some() {
            eprintln!("{number:4} actor {actor}: {op:?}");
        }
        let is_alone = self.fronts.len() == 1;
        let is_replaced = |name: &String| self.model.replaced.iter().any(|(old, _)| old == name);
        let needs_all_to_know = match op {
            // What an old version is called afterwards depends on which machines saw the new one, and whether a text is sent
            // on whether its drive knows of the removal.
            Op::RemoveAll(name) => !is_alone || is_replaced(name),
            // A machine that has not seen the new version yet tags the old one, which has the name there.
            Op::Tag(name, _) => !is_alone && is_replaced(name),
            _ => false,
        };
        if needs_all_to_know {
            let now = [self.model.clone()];
            self.compare(&now, number)?;
        }
        let before = self.model.clone();
        let expected = self.model.apply(actor, op);
        let front = &mut self.fronts[actor];
        match op {
            Op::Remount => front.restart(&self.world, Ending::Unmounted),
            Op::Kill => front.restart(&self.world, Ending::Killed),
            Op::KillService => {
                self.world.kill_service();
                self.world.start_service();
            }
            Op::Faulty(fault, _) => {
                self.world.set_fault(Some(*fault));
                self.has_met_fault = true;
                let outcome = front.act(op);
                self.world.set_fault(None);
                self.settle((number, actor), op, (before, expected), outcome)?;
            }
            Op::Full(what) => {
                front.fill_disk(true);
                let outcome = front.act(op);
                front.fill_disk(false);
                if outcome == Err(Errno::NOSPC) && !what.needs_no_room() {
                    let mut possible = vec![before.clone()];
                    // A file may have been made or emptied before its bytes found no room.
                    let empty = match &**what {
                        Op::Write(path, _) => Some(Op::Write(path.clone(), Content::Text(0))),
                        Op::WritePreset(name, _) if !before.presets.contains_key(name) => {
                            Some(Op::WritePreset(name.clone(), Content::Text(0)))
                        }
                        _ => None,
                    };
                    if let Some(empty) = empty {
                        let mut begun = before;
                        let _: Outcome = begun.apply(actor, &empty);
                        possible.push(begun);
                    }
                    // It may be the close that finds no room: the file is changed then.
                    if what.changes_file() {
                        possible.push(self.model.clone());
                    }
                    let found = self.compare(&possible, number)?;
                    self.model = possible[found].clone();
                    // Tried again with room: a draft with a file whose bytes found none is not sent.
                    return self.act(number, actor, what);
                }
                self.settle((number, actor), op, (before, expected), outcome)?;
            }
            _ => {
                if let Op::Stopped(stop, _) = op
                    && stop.process == Process::Service
                {
                    self.world.stop_service(*stop);
                }
                let mut outcome = front.act(op);
                let end = Instant::now() + self.patience;
                while may_show_later(is_alone, expected, outcome) && Instant::now() < end {
                    std::thread::sleep(Duration::from_millis(20));
                    outcome = front.act(op);
                }
                self.settle((number, actor), op, (before, expected), outcome)?;
            }
        }
        Ok(())
    }

    /// Compares an outcome with the expected one. If an operation failed because of an injected fault, the service may have done
    /// it or not: then both states are accepted.
    fn settle(
        &mut self,
        (number, actor): (usize, ActorId),
        op: &Op,
        (before, expected): (Model, Outcome),
        outcome: Outcome,
    ) -> Result<(), Difference> {
        let told = |outcome: Outcome| outcome.map_err(|error| self.fronts[actor].told(error));
        let is_open = is_fault(op, outcome) || self.has_met_fault && is_in_doubt(op, outcome);
        if !is_open {
            return compare_outcome(number, op, told(expected), told(outcome));
        }
        let mut possible = vec![self.model.clone()];
        possible.extend(partly_tagged(&before, actor, op));
        possible.push(before);
        let found = self.compare(&possible, number)?;
        self.model = possible[found].clone();
        Ok(())
    }

    /// Which of the possible models all fronts show, after a while.
    fn compare(&mut self, possible: &[Model], at: usize) -> Result<usize, Difference> {
        let end = Instant::now() + self.patience;
        let mut pause = Duration::from_millis(50);
        loop {
            let pictures: Vec<_> = self.fronts.iter_mut().map(|it| it.picture()).collect();
            let differs = |model: &Model| {
                let pairs = self.fronts.iter().zip(&pictures).enumerate();
                let mut pairs = pairs.map(|(actor, it)| (actor, it.0.expected(model), it.1));
                pairs.find(|(_, expected, picture)| expected != *picture)
            };
            let found = possible.iter().map(differs);
            let found: Vec<_> = found.collect();
            if let Some(found) = found.iter().position(Option::is_none) {
                return Ok(found);
            }
            if Instant::now() > end
                && let Some(Some((actor, expected, picture))) = found.into_iter().next()
            {
                let different = difference(&expected, picture);
                let text = format!("after operation {at}, actor {actor} sees:\n{different}");
                let kind = "picture".to_owned();
                return Err(Difference { text, kind });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(400));
        }
    }
}

/// The states that a failed change of tags may leave: one request adds all new tags, and each removal is a request of its own.
fn partly_tagged(before: &Model, actor: ActorId, op: &Op) -> Vec<Model> {
    let (Op::Faulty(_, op) | Op::Stopped(_, op)) = op else {
        return Vec::new();
    };
    let Op::Tag(name, wanted) = &**op else {
        return Vec::new();
    };
    let Some(old) = before.models.get(name).map(|model| &model.tags) else {
        return Vec::new();
    };
    let removed: Vec<&String> = old.difference(wanted).collect();
    let subsets = 0..1_u32 << removed.len();
    let left = |subset: u32| {
        let numbered = removed.iter().enumerate();
        let left = numbered.filter(move |(number, _)| subset & (1 << number) != 0);
        let tags = left.map(|(_, tag)| (*tag).clone());
        let mut model = before.clone();
        let tags = wanted.iter().cloned().chain(tags).collect();
        let _: Outcome = model.apply(actor, &Op::Tag(name.clone(), tags));
        model
    };
    subsets.map(left).collect()
}

/// What a fault may do to an operation. What is sent later is accepted in any case.
fn is_fault(op: &Op, outcome: Outcome) -> bool {
    let Op::Faulty(_, op) = op else {
        return false;
    };
    match outcome {
        Err(Errno::IO | Errno::TIMEDOUT | Errno::BUSY) => {
            matches!(**op, Op::Tag(..) | Op::RemoveAll(_) | Op::Commit(_))
        }
        // A list that may be old is no reason to delete something.
        Err(Errno::PERM) => matches!(**op, Op::RemoveAll(_)),
        _ => false,
    }
}

/// Whether what another actor did may not show yet: it does after the refresh time. That a full disk has room again is noticed
/// within a second.
fn may_show_later(is_alone: bool, expected: Outcome, outcome: Outcome) -> bool {
    let is_of_name = matches!(outcome, Err(Errno::NOENT | Errno::EXIST));
    let is_full = outcome == Err(Errno::NOSPC);
    expected.is_ok() && (!is_alone && is_of_name || is_full)
}

/// What an earlier fault may do to an operation: while it is unknown whether a preset was made, its name is looked up for
/// longer than this world waits.
fn is_in_doubt(op: &Op, outcome: Outcome) -> bool {
    let is_of_preset = matches!(op, Op::RemovePreset(_) | Op::RenamePreset(..));
    is_of_preset && outcome == Err(Errno::TIMEDOUT)
}

fn compare_outcome(
    number: usize,
    op: &Op,
    expected: Outcome,
    outcome: Outcome,
) -> Result<(), Difference> {
    if expected == outcome {
        return Ok(());
    }
    let text = format!("operation {number}, {op:?}: {outcome:?} instead of {expected:?}");
    let kind = format!("{op:?}");
    Err(Difference { text, kind })
}

/// Users of one drive at the same time, each with names of their own: a thread each.
pub fn run_together(calls: &(dyn Calls + Sync), users: &[Vec<Step>]) -> Result<(), Difference> {
    let one = |steps: &Vec<Step>| -> Result<Model, Difference> {
        let mut model = Model::default();
        for (number, Step { op, .. }) in steps.iter().enumerate() {
            if model.covers(0, op) {
                let expected = model.apply(0, op);
                compare_outcome(number, op, expected, drive::act(calls, op))?;
            }
        }
        Ok(model)
    };
    let models = std::thread::scope(|scope| {
        let threads: Vec<_> = users
            .iter()
            .map(|steps| scope.spawn(|| one(steps)))
            .collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().expect("a user"));
        ended.collect::<Result<Vec<_>, _>>()
    })?;
    let mut all = Model::default();
    models.into_iter().for_each(|model| all.add(model));
    let (expected, end) = (picture::expected(&all, 0), Instant::now() + drive::PATIENCE);
    loop {
        let picture = picture::picture(calls);
        if picture == expected {
            return Ok(());
        }
        if Instant::now() > end {
            let text = difference(&expected, &picture);
            let kind = "picture".to_owned();
            return Err(Difference { text, kind });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Lines that are missing (`-`) and lines that should not be there (`+`).
fn difference(expected: &[String], picture: &[String]) -> String {
    let mut counts: BTreeMap<&String, i64> = BTreeMap::new();
    for line in expected {
        *counts.entry(line).or_default() -= 1;
    }
    for line in picture {
        *counts.entry(line).or_default() += 1;
    }
    let lines = counts.into_iter().filter_map(|(line, count)| match count {
        0 => None,
        1.. => Some(format!("  + {line}")),
        _ => Some(format!("  - {line}")),
    });
    lines.collect::<Vec<_>>().join("\n")
}

//! Runs a history on its fronts and on the model, and compares what every front says and shows.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::fronts::{Ending, Front};
use crate::history::{Op, Step};
use crate::model::{Model, Outcome};
use crate::world::World;

/// Operations between two comparisons of everything.
const CHECKPOINT: usize = 40;

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
    let mut world = World::new();
    let mut fronts = make(&world);
    let mut model = Model::default();
    let mut done = 0;
    for (number, Step { actor, op }) in steps.iter().enumerate() {
        if !model.covers(*actor, op) {
            continue;
        }
        let expected = model.apply(*actor, op);
        let front = &mut fronts[*actor];
        match op {
            Op::Remount => front.restart(&world, Ending::Unmounted),
            Op::Kill => front.restart(&world, Ending::Killed),
            Op::KillService => {
                world.kill_service();
                world.start_service();
            }
            _ => {
                let outcome = front.act(op);
                compare_outcome(number, op, expected, outcome)?;
            }
        }
        done += 1;
        if done % CHECKPOINT == 0 {
            compare_all(&mut fronts, &model, number, patience)?;
        }
    }
    compare_all(&mut fronts, &model, steps.len(), patience)
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

fn compare_all(
    fronts: &mut [Box<dyn Front>],
    model: &Model,
    at: usize,
    patience: Duration,
) -> Result<(), Difference> {
    for (actor, front) in fronts.iter_mut().enumerate() {
        let expected = front.expected(model);
        let end = Instant::now() + patience;
        let mut pause = Duration::from_millis(2);
        loop {
            let picture = front.picture();
            if picture == expected {
                break;
            }
            if Instant::now() > end {
                let different = difference(&expected, &picture);
                let text = format!("after operation {at}, actor {actor} sees:\n{different}");
                let kind = "picture".to_owned();
                return Err(Difference { text, kind });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(200));
        }
    }
    Ok(())
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

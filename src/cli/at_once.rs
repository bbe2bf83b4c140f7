//! The same work for many models, several at a time: with progress, and with the failures at the end.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, mpsc};

use anyhow::Result;

use super::exit::Exit;
use super::files::percent;
use super::output;
use super::progress::Progress;
use crate::locks::Locked as _;

/// How many models a command works on at a time: more than one request is on its way, and the service is not flooded.
const AT_ONCE: usize = 8;

/// Does `work` for each item on some threads; `ended` gets each outcome as it ends.
pub(super) fn at_once<T: Send, R: Send>(
    threads: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
    mut ended: impl FnMut(R),
) {
    let threads = threads.min(items.len());
    let queue = Mutex::new(items.into_iter());
    let (tell, outcomes) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (queue, work, tell) = (&queue, &work, tell.clone());
            scope.spawn(move || {
                loop {
                    // The lock is held for this line alone.
                    let next = queue.locked().next();
                    let Some(item) = next else { break };
                    // The receiver lives as long as the threads.
                    let _ = tell.send(work(item));
                }
            });
        }
        drop(tell);
        outcomes.into_iter().for_each(&mut ended);
    });
}

/// Does `work` for each path. With `--json`, a path is a line when it is done; failures are reported at the end.
pub(super) fn for_each(
    title: &str,
    paths: Vec<PathBuf>,
    work: impl Fn(&Path) -> Result<()> + Sync,
) -> Exit {
    let work = |path: &Path| {
        work(path)?;
        output::done(path);
        Ok(Exit::Done)
    };
    for_each_with_exit(title, paths, work)
}

/// The same for work that prints its own lines. The worst exit counts.
pub(super) fn for_each_with_exit(
    title: &str,
    paths: Vec<PathBuf>,
    work: impl Fn(&Path) -> Result<Exit> + Sync,
) -> Exit {
    let total = paths.len() as u64;
    output::is_list();
    let mut task = Progress::new(total < 2).task(title);
    let mut failures = Vec::new();
    let (mut done, mut worst) = (0, Exit::Done);
    let work = |path: PathBuf| {
        let ended = work(&path);
        (path, ended)
    };
    at_once(AT_ONCE, paths, work, |(path, ended)| {
        done += 1;
        if task.is_watched() {
            task.show(&format!("{done} of {total} ({}%)", percent(done, total)));
        }
        match ended {
            Ok(exit) => worst = worst.max(exit),
            Err(error) => failures.push((path, error)),
        }
    });
    task.fail();
    failures.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, error) in failures {
        worst = worst.max(output::failed(Some(&path), &error));
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once() {
        let mut squares = Vec::new();
        at_once(
            3,
            (0..100).collect(),
            |n: u32| n * n,
            |square| squares.push(square),
        );
        squares.sort_unstable();
        assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<_>>());
        at_once(3, Vec::<u32>::new(), |n| n, |_| panic!("there is no item"));
    }
}

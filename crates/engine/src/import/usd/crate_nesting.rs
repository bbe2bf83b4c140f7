//! Checks how deep values nest in each other in a binary layer, before the library reads it: it calls itself for each
//! level of dictionaries and time samples, and a value that contains itself ends the process.
//!
//! A nested value is named by eight bytes that stand in the file as they are: its type, flags, and its place. All bytes
//! that look like such a name are followed, at any place; others do no harm, because they lead nowhere deep.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Programs write a few levels.
const MAX_NESTING: usize = 64;
/// More nested values than this are not checked, so such a layer is refused.
const MAX_VALUES: usize = 1_000_000;
/// Entries of values that are looked at even in a small layer.
const MIN_STEPS: u64 = 100_000;
/// Bytes that are looked through at once.
const CHUNK: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Dictionary,
    TimeSamples,
}

/// A value that may contain others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Nest {
    kind: Kind,
    at: u64,
}

impl Nest {
    /// The value that eight bytes name: 48 bits of place, 8 of type, 8 of flags. The library ignores most flags, so
    /// they do not count here.
    fn named(word: u64, size: u64) -> Option<Nest> {
        let kind = match (word >> 48) & 0xff {
            31 => Kind::Dictionary,
            46 => Kind::TimeSamples,
            _ => return None,
        };
        let at = word & ((1 << 48) - 1);
        (at < size).then_some(Nest { kind, at })
    }
}

/// Whether the library may read the values of a layer; the error says what is wrong.
pub(super) fn check(file: &File) -> io::Result<()> {
    let size = file.metadata()?.len();
    let layer = NestedLayer {
        file,
        size,
        steps: Cell::new(size / 4 + MIN_STEPS),
    };
    let mut levels = HashMap::new();
    for nest in layer.nests()? {
        layer.check_below(nest, &mut levels)?;
    }
    Ok(())
}

struct NestedLayer<'a> {
    file: &'a File,
    size: u64,
    /// How many more entries of values may be looked at. A program writes each entry once; values that overlap would be
    /// read for each of them.
    steps: Cell<u64>,
}

impl NestedLayer<'_> {
    /// Everything that may be the name of a nested value.
    fn nests(&self) -> io::Result<HashSet<Nest>> {
        let mut found = HashSet::new();
        let mut buffer = vec![0; CHUNK + 7];
        let mut start = 0;
        while start < self.size {
            let len = (self.size - start).min(buffer.len() as u64) as usize;
            let bytes = &mut buffer[..len];
            self.file.read_exact_at(bytes, start)?;
            for word in bytes.windows(8).filter(|word| word[7] == 0) {
                let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
                found.extend(Nest::named(word, self.size));
            }
            if found.len() > MAX_VALUES {
                return Err(damaged("it has too many nested values"));
            }
            start += CHUNK as u64;
        }
        Ok(found)
    }

    /// Finds the number of levels of a value and of all in it.
    fn check_below(&self, nest: Nest, levels: &mut HashMap<Nest, usize>) -> io::Result<()> {
        if levels.contains_key(&nest) {
            return Ok(());
        }
        let mut open = vec![(nest, self.inside(nest)?, 1)];
        while let Some((nest, inside, deepest)) = open.last_mut() {
            let Some(next) = inside.pop() else {
                let (nest, deepest) = (*nest, *deepest);
                levels.insert(nest, deepest);
                open.pop();
                if let Some((_, _, above)) = open.last_mut() {
                    *above = (*above).max(deepest + 1);
                }
                continue;
            };
            let known = levels.get(&next).copied();
            if let Some(known) = known {
                *deepest = (*deepest).max(known + 1);
            }
            if open.len() + known.unwrap_or(1) > MAX_NESTING {
                return Err(damaged("its values nest too deep in each other"));
            }
            if levels.len() > MAX_VALUES {
                return Err(damaged("it has too many nested values"));
            }
            if known.is_none() {
                open.push((next, self.inside(next)?, 1));
            }
        }
        Ok(())
    }

    /// Counts an entry that is looked at.
    fn step(&self) -> io::Result<()> {
        let left = self.steps.get().checked_sub(1);
        self.steps
            .set(left.ok_or_else(|| damaged("its nested values overlap"))?);
        Ok(())
    }

    /// The values in a value; those beyond the end of the file are left out.
    fn inside(&self, nest: Nest) -> io::Result<Vec<Nest>> {
        let mut inside = Vec::new();
        match nest.kind {
            // For each entry its key, and how far after that the name of the value is. The next entry follows the name.
            Kind::Dictionary => {
                let count = self.number(nest.at).unwrap_or(0);
                let mut at = nest.at.checked_add(8);
                for _ in 0..count.min(self.size / 20) {
                    self.step()?;
                    let name = at.and_then(|at| self.jump(at.checked_add(4)?));
                    let Some((place, word)) =
                        name.and_then(|place| Some((place, self.number(place)?)))
                    else {
                        break;
                    };
                    inside.extend(Nest::named(word, self.size));
                    at = place.checked_add(8);
                }
            }
            // How far the name of the times is, then how far their number is, which the names of the values follow.
            Kind::TimeSamples => {
                let times = self.jump(nest.at);
                let values = times.and_then(|times| self.jump(times.checked_add(8)?));
                let count = values.and_then(|values| self.number(values)).unwrap_or(0);
                for index in 0..count.min(self.size / 8) {
                    self.step()?;
                    let place = values.and_then(|values| values.checked_add(8 + index * 8));
                    let Some(word) = place.and_then(|place| self.number(place)) else {
                        break;
                    };
                    inside.extend(Nest::named(word, self.size));
                }
            }
        }
        Ok(inside)
    }

    fn number(&self, at: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// The place that a distance from itself leads to.
    fn jump(&self, at: u64) -> Option<u64> {
        at.checked_add_signed(self.number(at)? as i64)
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Dictionaries of one entry each, whose value is the one of this number.
    fn layer(values: &[usize]) -> File {
        const BYTES: usize = 28;
        let mut bytes = vec![0xff; 16];
        let start = bytes.len();
        for value in values {
            bytes.extend(1u64.to_le_bytes());
            bytes.extend(7u32.to_le_bytes());
            bytes.extend(8i64.to_le_bytes());
            let place = (start + value * BYTES) as u64;
            bytes.extend((31 << 48 | place).to_le_bytes());
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file
    }

    #[test]
    fn values_that_nest_too_deep_or_in_themselves_are_refused() {
        let chain = |count: usize| -> Vec<usize> { (1..=count).collect() };
        // The first is named nowhere, and the last names none.
        check(&layer(&chain(MAX_NESTING + 1))).unwrap();
        let refused = |values: &[usize]| check(&layer(values)).unwrap_err().to_string();
        let deep = "its values nest too deep in each other";
        assert_eq!(refused(&chain(MAX_NESTING + 2)), deep);
        assert_eq!(refused(&[0]), deep);
        assert_eq!(refused(&[1, 2, 0]), deep);
    }

    #[test]
    fn values_that_overlap_are_looked_at_once_each() {
        // Many time samples that have the same entries.
        const VALUES: u64 = 4_000;
        let mut bytes = vec![0xff; 16];
        let starts: Vec<u64> = (0..VALUES).map(|value| 16 + value * 24).collect();
        let entries = 16 + VALUES * 24;
        for start in &starts {
            for word in [8, 0, entries - (start + 16)] {
                bytes.extend(word.to_le_bytes());
            }
        }
        bytes.extend(VALUES.to_le_bytes());
        bytes.extend([0xff; 8 * VALUES as usize]);
        for start in &starts {
            bytes.extend((46 << 48 | start).to_le_bytes());
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let error = check(&file).unwrap_err().to_string();
        assert_eq!(error, "its nested values overlap");
    }

    #[test]
    fn time_samples_in_themselves_are_refused() {
        let samples = |value: u64| {
            let mut bytes = vec![0xff; 16];
            // The name of the times, the number of values, the name of the value.
            for word in [8u64, 0xffff << 48, 8, 1, value] {
                bytes.extend(word.to_le_bytes());
            }
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            check(&file)
        };
        assert!(samples(46 << 48 | 16).is_err());
        samples(8 << 48 | 16).unwrap();
    }
}

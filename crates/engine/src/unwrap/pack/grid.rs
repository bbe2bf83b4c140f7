//! The occupied cells of the square, and the search for a free place.
//!
//! For each row the grid holds, beside the occupied cells, which runs of 2, 4, 8, … cells that start at a cell touch an
//! occupied one. So one run of a mask is tested at all places of a row with two shifts of the row's words.

use super::mask::Mask;

/// Which of the directions of a chart is taken.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    LowestTop,
    LowestMiddle,
}

pub(super) struct CellGrid {
    side: usize,
    words: usize,
    levels: usize,
    /// The words of level k of row y: bit x is set if one of the cells `x..x + 2^k` of this row is occupied.
    rows: Vec<u64>,
    /// The longest run of free cells of each row.
    longest_free: Vec<usize>,
}

impl CellGrid {
    /// `side` is a multiple of 64.
    pub(super) fn new(side: usize) -> CellGrid {
        let levels = side.ilog2() as usize + 1;
        CellGrid {
            side,
            words: side / 64,
            levels,
            rows: vec![0; side * levels * (side / 64)],
            longest_free: vec![side; side],
        }
    }

    /// Occupies the lowest free place for one of the masks, and returns the number of the mask with x and y of its corner.
    pub(super) fn place(&mut self, masks: &[Mask], rule: Rule) -> Option<(usize, usize, usize)> {
        let mut best: Option<(usize, usize, usize, usize)> = None;
        for (at, mask) in masks.iter().enumerate() {
            if let Some((x, y)) = self.lowest(mask) {
                let height = match rule {
                    Rule::LowestTop => y + mask.height,
                    Rule::LowestMiddle => 2 * y + mask.height,
                };
                let found = (height, x, y, at);
                if best.is_none_or(|best| (found.0, found.1) < (best.0, best.1)) {
                    best = Some(found);
                }
            }
        }
        let (_, x, y, at) = best?;
        self.occupy(&masks[at], x, y);
        Some((at, x, y))
    }

    /// The lowest free place, the leftmost of these.
    fn lowest(&self, mask: &Mask) -> Option<(usize, usize)> {
        if mask.width.max(mask.height) > self.side {
            return None;
        }
        let mut taken = vec![0; self.words];
        (0..=self.side - mask.height).find_map(|y| {
            let fits = mask
                .runs
                .first()
                .is_none_or(|(row, run)| run.length <= self.longest_free[y + row]);
            let x = fits.then(|| self.leftmost(mask, y, &mut taken))??;
            Some((x, y))
        })
    }

    fn leftmost(&self, mask: &Mask, y: usize, taken: &mut [u64]) -> Option<usize> {
        let last = self.side - mask.width;
        for (at, word) in taken.iter_mut().enumerate() {
            *word = match (last + 1).saturating_sub(at * 64) {
                0 => u64::MAX,
                places if places < 64 => u64::MAX << places,
                _ => 0,
            };
        }
        for (row, run) in &mask.runs {
            let level = run.length.ilog2();
            let start = self.start_of(y + row) + level as usize * self.words;
            let touched = &self.rows[start..start + self.words];
            or_shifted(taken, touched, run.start);
            or_shifted(taken, touched, run.start + run.length - (1 << level));
            if taken.iter().all(|word| *word == u64::MAX) {
                return None;
            }
        }
        let word = taken.iter().position(|word| *word != u64::MAX)?;
        Some(word * 64 + taken[word].trailing_ones() as usize)
    }

    /// Where the words of a row begin.
    fn start_of(&self, row: usize) -> usize {
        row * self.levels * self.words
    }

    fn occupy(&mut self, mask: &Mask, x: usize, y: usize) {
        for (row, run) in &mask.runs {
            let start = self.start_of(y + row);
            for cell in x + run.start..x + run.start + run.length {
                self.rows[start + cell / 64] |= 1 << (cell % 64);
            }
        }
        for row in y..y + mask.height {
            let start = self.start_of(row);
            self.longest_free[row] = longest_free(&self.rows[start..start + self.words]);
            for level in 1..self.levels {
                let (done, next) =
                    self.rows[start + (level - 1) * self.words..].split_at_mut(self.words);
                let next = &mut next[..self.words];
                next.copy_from_slice(done);
                or_shifted(next, done, 1 << (level - 1));
            }
        }
    }
}

/// Adds the bits of `from`, `by` places nearer to the start.
fn or_shifted(into: &mut [u64], from: &[u64], by: usize) {
    let (words, bits) = (by / 64, by % 64);
    for (at, word) in into.iter_mut().enumerate() {
        let Some(low) = from.get(at + words) else {
            return;
        };
        *word |= low >> bits;
        if bits > 0
            && let Some(high) = from.get(at + words + 1)
        {
            *word |= high << (64 - bits);
        }
    }
}

fn longest_free(cells: &[u64]) -> usize {
    let (mut longest, mut run) = (0, 0);
    for &word in cells {
        if word == 0 {
            run += 64;
        } else {
            let mut rest = word;
            let mut left = 64;
            while left > 0 {
                let free = (rest.trailing_zeros() as usize).min(left);
                run += free;
                longest = longest.max(run);
                left -= free;
                rest = rest.checked_shr(free as u32).unwrap_or(0);
                let full = (rest.trailing_ones() as usize).min(left);
                if full > 0 {
                    run = 0;
                    left -= full;
                    rest = rest.checked_shr(full as u32).unwrap_or(0);
                }
            }
        }
        longest = longest.max(run);
    }
    longest
}

//! Plans what to fetch for a read and ahead of it. Pure: offsets in, ranges out.
//!
//! A handle is tracked at two positions, because readers of models alternate between a header and a distant
//! table. A position that continues gets a window of four times what was read, so it more than doubles with
//! each round trip; a short jump keeps it; a far jump starts a new position and fetches exactly the requested
//! bytes.

use std::ops::Range;

/// Minimum read-ahead of a sequential reader.
const FIRST_WINDOW_BYTES: u64 = 64 << 10;
/// The window as a multiple of the sequentially read bytes.
const WINDOW_FACTOR: u64 = 4;
/// Jumps up to this length, forward or back, belong to the same reader; so do requests of one reader that the
/// kernel sends out of order.
const SHORT_JUMP_BYTES: u64 = 1 << 20;
const POSITIONS: usize = 2;
const MIN_REQUEST_BYTES: u64 = 256 << 10;

/// Identifies a position of a handle for its lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PositionId(u64);

/// What to fetch for a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    /// The position that the read belongs to.
    pub(super) position: PositionId,
    /// The range to read ahead; empty if nothing is new.
    pub(super) ahead: Range<u64>,
    /// Maximum length of its requests.
    pub(super) request_bytes: u64,
    /// A position that was abandoned: its read-ahead is not needed.
    pub(super) given_up: Option<PositionId>,
}

/// Tracks the reads of one handle.
#[derive(Debug)]
pub(super) struct Planner {
    size: u64,
    largest_window: u64,
    largest_request: u64,
    /// Length of requests once the window is large enough.
    requests: u64,
    /// Most recently used first.
    positions: Vec<Position>,
    next_id: u64,
}

#[derive(Debug, Clone, Copy)]
struct Position {
    id: PositionId,
    /// The end of the furthest read.
    end: u64,
    /// Bytes read sequentially.
    run: u64,
    window: u64,
    /// The end of what was requested.
    ahead: u64,
}

impl Planner {
    pub(super) fn new(size: u64, largest_window: u64, largest_request: u64) -> Planner {
        Planner {
            size,
            largest_window,
            largest_request: largest_request.max(MIN_REQUEST_BYTES),
            requests: 8,
            positions: Vec::with_capacity(POSITIONS),
            next_id: 0,
        }
    }

    /// Limits all windows, for files whose read-ahead cannot be kept.
    pub(super) fn limit_window(&mut self, bytes: u64) {
        self.largest_window = self.largest_window.min(bytes);
    }

    /// Read-ahead from `offset` on was not started: it is planned again.
    pub(super) fn left_out(&mut self, position: PositionId, offset: u64) {
        if let Some(it) = self.positions.iter_mut().find(|it| it.id == position) {
            it.ahead = it.ahead.min(offset).max(it.end);
        }
    }

    /// Maximum number of requests in flight for a reader.
    pub(super) fn set_requests(&mut self, requests: u64) {
        self.requests = requests.max(1);
    }

    pub(super) fn largest_request(&self) -> u64 {
        self.largest_request
    }

    /// Notes a read and plans what to fetch behind it.
    pub(super) fn read(&mut self, range: &Range<u64>) -> Plan {
        let Some(at) = self.positions.iter().position(|it| it.is_near(range.start)) else {
            return self.start(range);
        };
        let mut position = self.positions.remove(at);
        let largest = self
            .largest_window
            .min(self.requests * self.largest_request);
        position.go_on(range, largest);
        let request_bytes = self.request_bytes(position.window);
        let ahead = position.top_up(request_bytes, self.size);
        self.positions.insert(0, position);
        Plan {
            position: position.id,
            ahead,
            request_bytes,
            given_up: None,
        }
    }

    fn start(&mut self, range: &Range<u64>) -> Plan {
        let given_up = if self.positions.len() == POSITIONS {
            self.positions.pop().map(|position| position.id)
        } else {
            None
        };
        let id = PositionId(self.next_id);
        self.next_id += 1;
        let new = Position {
            id,
            end: range.end,
            run: range.end - range.start,
            window: 0,
            ahead: range.end,
        };
        self.positions.insert(0, new);
        Plan {
            position: id,
            ahead: range.end..range.end,
            request_bytes: self.request_bytes(0),
            given_up,
        }
    }

    fn request_bytes(&self, window: u64) -> u64 {
        (window / self.requests).clamp(MIN_REQUEST_BYTES, self.largest_request)
    }
}

impl Position {
    /// A reader that was sequential before may jump further than a new one.
    fn is_near(&self, start: u64) -> bool {
        let nearest = self.end.saturating_sub(SHORT_JUMP_BYTES);
        let jump = match self.window {
            0 => SHORT_JUMP_BYTES / 4,
            _ => SHORT_JUMP_BYTES,
        };
        (nearest..=(self.end + jump).max(self.ahead)).contains(&start)
    }

    fn go_on(&mut self, range: &Range<u64>, largest: u64) {
        self.run = self.run.saturating_add(range.end - range.start);
        self.end = self.end.max(range.end);
        self.ahead = self.ahead.max(self.end);
        self.window = self
            .run
            .saturating_mul(WINDOW_FACTOR)
            .max(FIRST_WINDOW_BYTES)
            .min(largest);
    }

    /// The range to request now: empty until a whole request fits into the window, or into half of it.
    fn top_up(&mut self, request_bytes: u64, size: u64) -> Range<u64> {
        let until = (self.end + self.window).min(size);
        let room = until.saturating_sub(self.ahead);
        let is_worth_it = room >= request_bytes.min(self.window / 2).max(1) || until == size;
        if room == 0 || !is_worth_it {
            return self.ahead..self.ahead;
        }
        let from = self.ahead;
        // Whole requests, if there is room for one.
        self.ahead = match room / request_bytes {
            0 => until,
            _ if until == size => until,
            whole => from + whole * request_bytes,
        };
        from..self.ahead
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;
    const KIB: u64 = 1 << 10;

    fn planner(size: u64) -> Planner {
        Planner::new(size, 64 * MIB, 8 * MIB)
    }

    #[test]
    fn the_first_read_asks_for_nothing_more() {
        let mut planner = planner(100 * MIB);
        assert!(planner.read(&(0..4 * KIB)).ahead.is_empty());
        assert!(
            planner
                .read(&(50 * MIB..50 * MIB + 4 * KIB))
                .ahead
                .is_empty()
        );
    }

    #[test]
    fn a_sequential_reader_gets_a_growing_window_without_gaps() {
        let size = 300 * MIB;
        let mut planner = planner(size);
        let mut asked = 128 * KIB;
        let mut largest = 0;
        planner.read(&(0..asked));
        for start in (128 * KIB..size).step_by(128 * KIB as usize) {
            let plan = planner.read(&(start..start + 128 * KIB));
            if plan.ahead.is_empty() {
                continue;
            }
            assert_eq!(plan.ahead.start, asked.max(start + 128 * KIB));
            asked = plan.ahead.end;
            largest = largest.max(plan.ahead.end - start);
            assert!(plan.request_bytes <= 8 * MIB);
            assert!(plan.ahead.end <= size);
        }
        assert_eq!(asked, size);
        assert!((56 * MIB..=65 * MIB).contains(&largest), "{largest}");
    }

    #[test]
    fn reads_out_of_order_are_one_reader() {
        let mut planner = planner(100 * MIB);
        let first = planner.read(&(0..128 * KIB)).position;
        for at in [2, 1, 4, 3, 6, 5] {
            let start = at * 128 * KIB;
            assert_eq!(planner.read(&(start..start + 128 * KIB)).position, first);
        }
    }

    #[test]
    fn a_header_and_a_distant_table_keep_their_windows() {
        let mut planner = planner(1000 * MIB);
        let mut header = 0;
        let mut table = 700 * MIB;
        let ids: Vec<PositionId> = (0..40)
            .map(|step| {
                let at = if step % 2 == 0 {
                    &mut header
                } else {
                    &mut table
                };
                let range = *at..*at + 64 * KIB;
                *at = range.end;
                let plan = planner.read(&range);
                assert_eq!(plan.given_up, None);
                plan.position
            })
            .collect();
        assert!(ids.chunks(2).all(|pair| pair == &ids[..2]));
        let far = planner.read(&(300 * MIB..301 * MIB));
        assert_eq!(far.given_up, Some(ids[0]), "the longest unused is given up");
    }

    #[test]
    fn far_jumps_never_open_a_window() {
        let mut planner = planner(10_000 * MIB);
        for step in 0..100_u64 {
            let start = (step * 37 % 100) * 100 * MIB;
            assert!(planner.read(&(start..start + 4 * KIB)).ahead.is_empty());
        }
    }

    #[test]
    fn a_short_jump_keeps_the_window() {
        let mut planner = planner(1000 * MIB);
        let mut at = 0;
        let mut position = planner.read(&(0..128 * KIB)).position;
        for step in 0..200 {
            at += if step % 5 == 4 { 900 * KIB } else { 128 * KIB };
            let plan = planner.read(&(at..at + 128 * KIB));
            if step > 10 {
                assert_eq!(plan.position, position);
            }
            position = plan.position;
        }
    }

    proptest! {
        #[test]
        fn any_reads_give_sane_plans(
            size in 1..3000 * MIB,
            window in prop_oneof![Just(0), Just(64 * KIB), 1..100 * MIB],
            reads in prop::collection::vec((any::<prop::sample::Index>(), 1..2 * MIB, any::<bool>()), 1..80),
        ) {
            let mut planner = Planner::new(size, window, 8 * MIB);
            let mut last_end = 0;
            for (place, len, goes_on) in reads {
                let start = if goes_on { last_end } else { place.index(usize::try_from(size).unwrap()) as u64 };
                if start >= size { continue; }
                let range = start..(start + len).min(size);
                last_end = range.end;
                let plan = planner.read(&range);
                prop_assert!(plan.ahead.start <= plan.ahead.end);
                prop_assert!(plan.ahead.end <= size);
                prop_assert!(plan.ahead.is_empty() || plan.ahead.start >= range.end);
                prop_assert!(plan.ahead.end - plan.ahead.start <= window);
                prop_assert!((MIN_REQUEST_BYTES..=8 * MIB).contains(&plan.request_bytes));
                prop_assert!(planner.positions.len() <= POSITIONS);
            }
        }
    }
}

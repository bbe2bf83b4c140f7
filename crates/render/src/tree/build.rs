//! Builds the tree from the root down. Each node is split by the surface area heuristic, which estimates how many triangles
//! a ray has to be tested against, with bins (Wald, "On fast Construction of SAH-based Bounding Volume Hierarchies", 2007).

use glam::Vec3A;

use super::Node;

/// Triangles in a leaf.
const LEAF: usize = 4;
/// Places at which a node may be split along each axis, and one more.
const BINS: usize = 16;
/// Nodes below this level are split into halves by count, so that the tree has an end.
const FREE_LEVELS: usize = 40;
/// Levels of the deepest tree: four billion triangles halve 32 times.
pub(super) const MAX_LEVELS: usize = FREE_LEVELS + 32;

/// An axis-aligned box.
#[derive(Debug, Clone, Copy)]
struct Extent {
    low: Vec3A,
    high: Vec3A,
}

impl Extent {
    const NOTHING: Extent = Extent {
        low: Vec3A::INFINITY,
        high: Vec3A::NEG_INFINITY,
    };

    fn of([a, b, c]: [Vec3A; 3]) -> Extent {
        Extent {
            low: a.min(b).min(c),
            high: a.max(b).max(c),
        }
    }

    fn with(self, other: Extent) -> Extent {
        Extent {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Half of the area of its sides.
    fn area(&self) -> f32 {
        let size = (self.high - self.low).max(Vec3A::ZERO);
        size.x * size.y + size.y * size.z + size.z * size.x
    }
}

/// A triangle that is being sorted.
#[derive(Debug, Clone, Copy)]
struct Item {
    bounds: Extent,
    middle: Vec3A,
    place: u32,
}

/// Where a node is split.
#[derive(Debug, Clone, Copy)]
struct Split {
    axis: usize,
    /// The first bin of the upper half.
    bin: usize,
    cost: f32,
}

/// How the middles of a node's triangles are sorted into bins.
#[derive(Debug, Clone, Copy)]
struct Binning {
    least: Vec3A,
    scale: Vec3A,
}

impl Binning {
    fn bin(&self, middle: Vec3A, axis: usize) -> usize {
        // What is not a number goes into the first bin.
        ((middle[axis] - self.least[axis]) * self.scale[axis]) as usize
    }
}

/// The nodes of the tree, the root first, and the triangles' places in the order of the leaves.
pub(super) fn build(triangles: &[[Vec3A; 3]]) -> (Vec<Node>, Vec<u32>) {
    let numbered = triangles.iter().zip(0..);
    let mut items: Vec<Item> = numbered
        .map(|(corners, place)| Item {
            bounds: Extent::of(*corners),
            middle: (corners[0] + corners[1] + corners[2]) / 3.0,
            place,
        })
        .collect();
    let empty = Node {
        low: Vec3A::ZERO,
        high: Vec3A::ZERO,
        first: 0,
        count: 0,
    };
    let mut nodes = Vec::with_capacity(items.len());
    let mut waiting = Vec::new();
    if !items.is_empty() {
        nodes.push(empty);
        waiting.push((0usize, 0, items.len(), 0));
    }
    while let Some((node, start, end, level)) = waiting.pop() {
        let part = &mut items[start..end];
        let bounds = all(part);
        (nodes[node].low, nodes[node].high) = (bounds.low, bounds.high);
        if part.len() <= LEAF {
            nodes[node].first = start as u32;
            nodes[node].count = part.len() as u32;
            continue;
        }
        let middle = start + split(part, level < FREE_LEVELS);
        let first = nodes.len();
        nodes[node].first = first as u32;
        nodes.extend([empty, empty]);
        waiting.push((first, start, middle, level + 1));
        waiting.push((first + 1, middle, end, level + 1));
    }
    let places = items.iter().map(|item| item.place).collect();
    (nodes, places)
}

fn all(items: &[Item]) -> Extent {
    let boxes = items.iter().map(|item| item.bounds);
    boxes.fold(Extent::NOTHING, Extent::with)
}

/// Sorts items into two parts, neither of which is empty; returns the length of the first one.
fn split(items: &mut [Item], by_area: bool) -> usize {
    let nowhere = (Vec3A::INFINITY, Vec3A::NEG_INFINITY);
    let (least, most) = items.iter().fold(nowhere, |(least, most), item| {
        (least.min(item.middle), most.max(item.middle))
    });
    let size = most - least;
    let binning = Binning {
        least,
        // Slightly less than the number of bins, so that the greatest middle is still in the last bin.
        scale: Vec3A::splat(BINS as f32 * 0.999) / size,
    };
    let splits = (0..3).filter(|axis| size[*axis] > 0.0 && binning.scale[*axis].is_finite());
    let best = splits
        .filter_map(|axis| best_split(items, axis, &binning))
        .min_by(|one, other| one.cost.total_cmp(&other.cost));
    if let Some(best) = best.filter(|_| by_area) {
        let is_low = |item: &Item| binning.bin(item.middle, best.axis) < best.bin;
        return partition(items, is_low);
    }
    let axis = size.max_position();
    let half = items.len() / 2;
    items.select_nth_unstable_by(half, |one, other| {
        one.middle[axis].total_cmp(&other.middle[axis])
    });
    half
}

/// The cheapest split along an axis. The cost is the sum over both halves of the area of the box times the number of
/// triangles. `None` if all triangles are in one bin.
fn best_split(items: &[Item], axis: usize, binning: &Binning) -> Option<Split> {
    let mut bins = [(Extent::NOTHING, 0usize); BINS];
    for item in items {
        let (bounds, count) = &mut bins[binning.bin(item.middle, axis).min(BINS - 1)];
        *bounds = bounds.with(item.bounds);
        *count += 1;
    }
    let cost = |(bounds, count): (Extent, usize)| bounds.area() * count as f32;
    let join =
        |one: (Extent, usize), other: (Extent, usize)| (one.0.with(other.0), one.1 + other.1);
    let mut above = [(Extent::NOTHING, 0); BINS + 1];
    for bin in (0..BINS).rev() {
        above[bin] = join(bins[bin], above[bin + 1]);
    }
    let mut below = (Extent::NOTHING, 0);
    let mut best: Option<Split> = None;
    for bin in 1..BINS {
        below = join(below, bins[bin - 1]);
        let cost = cost(below) + cost(above[bin]);
        let has_both = below.1 > 0 && above[bin].1 > 0;
        if has_both && best.is_none_or(|known| cost < known.cost) {
            best = Some(Split { axis, bin, cost });
        }
    }
    best
}

/// Moves the items for which `is_first` is true to the front; returns their number.
fn partition(items: &mut [Item], is_first: impl Fn(&Item) -> bool) -> usize {
    let mut first = 0;
    for at in 0..items.len() {
        if is_first(&items[at]) {
            items.swap(at, first);
            first += 1;
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: Vec3A) -> [Vec3A; 3] {
        [place, place + Vec3A::X * 0.1, place + Vec3A::Y * 0.1]
    }

    /// The levels of a tree, and how often each triangle is in a leaf.
    fn walked(triangles: &[[Vec3A; 3]]) -> (usize, Vec<usize>) {
        let (nodes, places) = build(triangles);
        let mut seen = vec![0; triangles.len()];
        let mut deepest = 0;
        let mut waiting = vec![(0usize, 1)];
        while let Some((node, level)) = waiting.pop() {
            deepest = deepest.max(level);
            let node = nodes[node];
            for at in node.first..node.first + node.count {
                seen[places[at as usize] as usize] += 1;
            }
            if node.count == 0 {
                waiting
                    .extend([node.first, node.first + 1].map(|child| (child as usize, level + 1)));
            }
        }
        (deepest, seen)
    }

    #[test]
    fn every_triangle_is_in_one_leaf_of_a_tree_that_searches_can_walk() {
        let equal = vec![at(Vec3A::ONE); 1000];
        // Each split by area takes one triangle off: the distances grow by a factor.
        let growing: Vec<_> = (0..120)
            .map(|step| at(Vec3A::X * 2f32.powi(step)))
            .collect();
        let mut broken = equal.clone();
        broken[7] = [Vec3A::NAN; 3];
        broken[8] = [Vec3A::INFINITY; 3];
        for triangles in [equal, growing, broken] {
            let (deepest, seen) = walked(&triangles);
            assert!(deepest <= MAX_LEVELS, "{deepest} levels");
            assert!(seen.iter().all(|count| *count == 1), "{seen:?}");
        }
    }

    #[test]
    fn two_groups_are_split_between_them() {
        let group = |middle: f32, count: usize| {
            (0..count).map(move |step| at(Vec3A::new(middle + step as f32 * 0.01, 0.0, 0.0)))
        };
        let triangles: Vec<_> = group(0.0, 90).chain(group(100.0, 10)).collect();
        let (nodes, _) = build(&triangles);
        assert!(nodes[1].high.x < 2.0, "{:?}", nodes[1]);
        assert!(nodes[2].low.x > 99.0, "{:?}", nodes[2]);
    }
}

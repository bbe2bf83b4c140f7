//! Which things of a mesh are alike: equal keys, equal vertices, vertices at one place, and sets of what hangs together.

use std::collections::HashMap;
use std::hash::Hash;

/// The different ones of some keys, in order of first appearance, and the place of each key among them.
pub(crate) fn distinct<K: Copy + Eq + Hash>(
    keys: impl IntoIterator<Item = K>,
) -> (Vec<K>, Vec<u32>) {
    let mut places = HashMap::new();
    let mut different = Vec::new();
    let of_keys = keys.into_iter().map(|key| {
        *places.entry(key).or_insert_with(|| {
            different.push(key);
            different.len() as u32 - 1
        })
    });
    let of_keys = of_keys.collect();
    (different, of_keys)
}

/// The bits of numbers, with -0 replaced by 0: equal for equal numbers.
pub(crate) fn bits_of<const N: usize>(numbers: [f32; N]) -> [u32; N] {
    numbers.map(|number| (number + 0.0).to_bits())
}

/// For each of `count` things, the first that equals it. Equal things have equal hashes.
pub(crate) fn firsts_equal(
    count: usize,
    hash: impl Fn(usize) -> u64,
    is_equal: impl Fn(usize, usize) -> bool,
) -> Vec<u32> {
    let mask = (count * 2).next_power_of_two().max(2) - 1;
    let mut table = vec![u32::MAX; mask + 1];
    (0..count)
        .map(|own| {
            let mut slot = hash(own) as usize & mask;
            loop {
                match table[slot] {
                    u32::MAX => {
                        table[slot] = own as u32;
                        return own as u32;
                    }
                    known if is_equal(known as usize, own) => return known,
                    _ => slot = (slot + 1) & mask,
                }
            }
        })
        .collect()
}

/// For each position, the first vertex that has it.
pub(crate) fn firsts_at_places(positions: &[[f32; 3]]) -> Vec<u32> {
    let bits = |vertex: usize| bits_of(positions[vertex]);
    let hash = |vertex: usize| {
        let mixed = bits(vertex).iter().fold(0u64, |mixed, bits| {
            (mixed ^ u64::from(*bits))
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(29)
        });
        mixed >> 7
    };
    firsts_equal(positions.len(), hash, |one, other| bits(one) == bits(other))
}

/// Disjoint sets of numbers. The smallest number of a set is its root.
pub(crate) struct Sets(Vec<u32>);

impl Sets {
    pub(crate) fn new(count: usize) -> Sets {
        Sets((0..count as u32).collect())
    }

    pub(crate) fn root(&mut self, mut at: u32) -> u32 {
        while self.0[at as usize] != at {
            let above = self.0[self.0[at as usize] as usize];
            self.0[at as usize] = above;
            at = above;
        }
        at
    }

    pub(crate) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other) as usize] = one.min(other);
    }

    /// Joins the corners of triangles; `first` is the number of the first vertex.
    pub(crate) fn join_triangles(&mut self, indices: &[u32], first: u32) {
        for corners in indices.chunks_exact(3) {
            self.join(first + corners[0], first + corners[1]);
            self.join(first + corners[0], first + corners[2]);
        }
    }
}

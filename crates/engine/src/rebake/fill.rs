//! Fills the texels that no triangle covers from the nearest covered ones, so that filtering and smaller levels of a
//! texture mix nothing foreign into its charts.

use rayon::prelude::*;

use super::maps::Pixel;

/// The number of rings around the charts that are filled with colours from the charts. Texels farther away are only read at
/// mipmap levels so small that neighbouring charts mix anyway. One colour for all of them makes the file smaller.
const RINGS: u32 = 8;

/// Fills the uncovered texels of several textures of one size. Each ring of texels around the charts gets the mean colours of
/// the ring before it. All texels beyond the last ring get the mean colour of the covered texels.
pub(super) fn fill<const N: usize>(side: u32, is_covered: &[bool], maps: [&mut Vec<Pixel>; N]) {
    let side = side as usize;
    let (rings, order) = rings(side, is_covered);
    maps.into_par_iter().for_each(|map| {
        let (near, far) = order.split_at(order.partition_point(|at| rings[*at] <= RINGS));
        let mean = mean_of(map, is_covered);
        far.iter().for_each(|at| map[*at] = mean);
        for at in near {
            let mut sum = [0u32; 4];
            let mut count = 0;
            for near in neighbours(side, *at).filter(|near| rings[*near] < rings[*at]) {
                for (sum, value) in sum.iter_mut().zip(map[near]) {
                    *sum += u32::from(value);
                }
                count += 1;
            }
            map[*at] = sum.map(|sum| ((sum + count / 2) / count.max(1)) as u8);
        }
    });
}

/// The mean of the covered texels.
fn mean_of(map: &[Pixel], is_covered: &[bool]) -> Pixel {
    let mut sum = [0u64; 4];
    let mut count = 0;
    for (pixel, _) in map.iter().zip(is_covered).filter(|(_, covered)| **covered) {
        for (sum, value) in sum.iter_mut().zip(pixel) {
            *sum += u64::from(*value);
        }
        count += 1;
    }
    sum.map(|sum| ((sum + count / 2) / count.max(1)) as u8)
}

/// The number of each texel's ring, 0 for covered ones, and the other texels in the order of their rings.
fn rings(side: usize, is_covered: &[bool]) -> (Vec<u32>, Vec<usize>) {
    const OUTSIDE: u32 = u32::MAX;
    let mut rings: Vec<u32> = is_covered
        .iter()
        .map(|covered| if *covered { 0 } else { OUTSIDE })
        .collect();
    let mut order: Vec<usize> = (0..rings.len())
        .filter(|at| !is_covered[*at] && neighbours(side, *at).any(|near| is_covered[near]))
        .collect();
    order.iter().for_each(|at| rings[*at] = 1);
    let mut next = 0;
    while let Some(at) = order.get(next).copied() {
        for near in neighbours(side, at) {
            if rings[near] == OUTSIDE {
                rings[near] = rings[at] + 1;
                order.push(near);
            }
        }
        next += 1;
    }
    (rings, order)
}

/// The texels around one of a square.
fn neighbours(side: usize, at: usize) -> impl Iterator<Item = usize> {
    let (x, y) = (at % side, at / side);
    let (left, right) = (x.saturating_sub(1), (x + 1).min(side - 1));
    let (top, bottom) = (y.saturating_sub(1), (y + 1).min(side - 1));
    let rows = (top..=bottom).flat_map(move |y| (left..=right).map(move |x| y * side + x));
    rows.filter(move |near| *near != at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_texel_gets_the_colour_of_the_nearest_chart() {
        let mut map: Vec<Pixel> = vec![[0; 4]; 64];
        let mut covered = vec![false; 64];
        (map[0], covered[0]) = ([200, 10, 0, 255], true);
        (map[63], covered[63]) = ([10, 200, 0, 255], true);
        fill(8, &covered, [&mut map]);
        assert_eq!(map[0], [200, 10, 0, 255]);
        assert_eq!(map[9], [200, 10, 0, 255]);
        assert_eq!(map[62], [10, 200, 0, 255]);
        assert!(map.iter().all(|pixel| pixel[3] == 255), "{map:?}");
        let mut wide: Vec<Pixel> = vec![[0; 4]; 1024];
        let mut covered = vec![false; 1024];
        (wide[0], covered[0]) = ([200, 10, 0, 255], true);
        (wide[31], covered[31]) = ([100, 20, 0, 255], true);
        fill(32, &covered, [&mut wide]);
        assert_eq!(wide[8], [200, 10, 0, 255], "the last ring");
        assert_eq!(wide[9], [150, 15, 0, 255], "beyond all rings");
        assert_eq!(wide[1023], [150, 15, 0, 255], "far from both");
        let mut empty: Vec<Pixel> = vec![[7; 4]; 4];
        fill(2, &[false; 4], [&mut empty]);
        assert_eq!(empty, [[7; 4]; 4]);
    }
}

//! Fills the texels that no triangle covers from the nearest covered ones, so that filtering and smaller levels of a
//! texture mix nothing foreign into its charts.

use super::bake::Pixel;

/// Fills all textures of one size. Each ring of texels around the covered ones gets the mean of the ring before.
pub(super) fn fill<const N: usize>(side: u32, is_covered: &[bool], mut maps: [&mut Vec<Pixel>; N]) {
    const OUTSIDE: u32 = u32::MAX;
    const WAITING: u32 = u32::MAX - 1;
    let mut rings: Vec<u32> = is_covered
        .iter()
        .map(|covered| if *covered { 0 } else { OUTSIDE })
        .collect();
    let neighbours = |at: usize| {
        let (x, y) = (at as i64 % i64::from(side), at as i64 / i64::from(side));
        (0..9).filter(|step| *step != 4).filter_map(move |step| {
            let (x, y) = (x + step % 3 - 1, y + step / 3 - 1);
            let inside = 0..i64::from(side);
            (inside.contains(&x) && inside.contains(&y))
                .then_some((y * i64::from(side) + x) as usize)
        })
    };
    let mut ring: Vec<usize> = (0..rings.len())
        .filter(|at| rings[*at] == OUTSIDE && neighbours(*at).any(|near| rings[near] == 0))
        .collect();
    let mut number = 1;
    while !ring.is_empty() {
        for at in &ring {
            for map in &mut maps {
                let mut sum = [0u32; 4];
                let mut count = 0;
                for near in neighbours(*at).filter(|near| rings[*near] < number) {
                    for (sum, value) in sum.iter_mut().zip(map[near]) {
                        *sum += u32::from(value);
                    }
                    count += 1;
                }
                map[*at] = sum.map(|sum| ((sum + count / 2) / count.max(1)) as u8);
            }
        }
        ring.iter().for_each(|at| rings[*at] = number);
        let mut next = Vec::new();
        for at in &ring {
            for near in neighbours(*at) {
                if rings[near] == OUTSIDE {
                    rings[near] = WAITING;
                    next.push(near);
                }
            }
        }
        ring = next;
        number += 1;
    }
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
        let mut empty: Vec<Pixel> = vec![[7; 4]; 4];
        fill(2, &[false; 4], [&mut empty]);
        assert_eq!(empty, [[7; 4]; 4]);
    }
}

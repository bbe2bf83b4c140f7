//! Thinning of long lists of keyframes.

/// At most `most` of the keyframes, evenly, with the first and the last. `most` is at least 2.
pub(super) fn thinned<T: Clone>(keys: Vec<T>, most: usize) -> Vec<T> {
    let count = keys.len();
    let every = count.saturating_sub(1).div_ceil(most - 1).max(1);
    let last = keys.last().cloned();
    let mut kept: Vec<T> = keys.into_iter().step_by(every).collect();
    if !count.saturating_sub(1).is_multiple_of(every) {
        kept.extend(last);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_stay() {
        for count in 0..100 {
            let all: Vec<usize> = (0..count).collect();
            for most in 2..50 {
                let kept = thinned(all.clone(), most);
                assert!(kept.len() <= most, "{count} {most}");
                assert_eq!(kept.len() == count, count <= most, "{count} {most}");
                assert_eq!((kept.first(), kept.last()), (all.first(), all.last()));
                assert!(kept.is_sorted_by(|a, b| a < b), "{kept:?}");
            }
        }
    }
}

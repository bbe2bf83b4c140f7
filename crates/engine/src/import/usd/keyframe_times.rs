//! The times of keyframes: not too many, and with steps between them.

use openusd::usd::Stage;

use super::super::super::keyframes::thinned;
use super::values::number;

/// More keyframes than this of one node are thinned out.
const MAX_KEYS: usize = 20_000;

/// At most `MAX_KEYS` of these times.
pub(super) fn at_most(times: Vec<f64>) -> Vec<f64> {
    thinned(times, MAX_KEYS)
}

/// The times and steps of a 24th of a second between them: angles between two keys may turn farther than a rotation can.
/// There are at most `MAX_KEYS`, and the steps become longer for that.
pub(super) fn with_steps(times: Vec<f64>, rate: f64) -> Vec<f64> {
    let step = rate / 24.0;
    let most = (MAX_KEYS / times.len().max(1)).clamp(1, 1_000) as f64;
    let mut all = Vec::new();
    for pair in times.windows(2) {
        let parts = ((pair[1] - pair[0]) / step).ceil().clamp(1.0, most) as usize;
        all.extend(
            (0..parts).map(|part| pair[0] + (pair[1] - pair[0]) * part as f64 / parts as f64),
        );
    }
    all.extend(times.last());
    all
}

/// The number of time codes in a second.
pub(super) fn time_codes_per_second(stage: &Stage) -> f64 {
    let written = stage.stage_metadata("timeCodesPerSecond").ok().flatten();
    let frames = || stage.stage_metadata("framesPerSecond").ok().flatten();
    let rate = written.or_else(frames).as_ref().and_then(number);
    rate.filter(|rate| rate.is_finite() && *rate > 0.0)
        .unwrap_or(24.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_times_are_thinned_with_few_steps_and_keep_their_ends() {
        let times: Vec<f64> = (0..1_000_000).map(|time| f64::from(time) * 50.0).collect();
        let all = with_steps(at_most(times), 24.0);
        assert!(all.len() <= 2 * MAX_KEYS, "{}", all.len());
        assert_eq!((all.first(), all.last()), (Some(&0.0), Some(&49_999_950.0)));
        assert_eq!(with_steps(at_most(vec![0.0, 2.0]), 24.0), [0.0, 1.0, 2.0]);
    }
}

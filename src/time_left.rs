//! About how long a job still takes, from jobs like it that ended. The steps of the engine take very different times, so the
//! percentage of a job says nothing about it.

/// Sizes are about the same if neither is more than so many times the other.
const SAME_SIZE: f64 = 3.0;

/// The seconds that are left of a job with a source of `source_bytes` that has run for `elapsed` seconds. `ended` are jobs like it:
/// the bytes of their sources and the seconds that they took; of several that are equally near, the first counts. `None` if none had a source of about this size, and
/// for a job that takes longer than expected.
pub fn seconds_left(
    ended: impl IntoIterator<Item = (u64, f64)>,
    source_bytes: u64,
    elapsed: f64,
) -> Option<u64> {
    let times_as_large = |bytes: u64| source_bytes as f64 / bytes.max(1) as f64;
    let difference = |bytes: u64| times_as_large(bytes).ln().abs();
    let alike = ended
        .into_iter()
        .filter(|(bytes, _)| difference(*bytes) <= SAME_SIZE.ln());
    let (bytes, seconds) =
        alike.min_by(|(a, _), (b, _)| difference(*a).total_cmp(&difference(*b)))?;
    let left = seconds * times_as_large(bytes) - elapsed;
    (left >= 1.0).then_some(left.ceil() as u64)
}

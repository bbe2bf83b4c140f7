//! The rule for removing what a folder lacks: an empty or half empty folder is more likely a mistake, such as a disk that is
//! not mounted, than the wish to remove so much.

/// Why nothing is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemovalRefused {
    /// More than the user allows: this number.
    OverLimit(usize),
    /// The folder has no models, so everything would go.
    Everything,
    /// More than half would go.
    MoreThanHalf,
}

/// Whether `count` of `all` may be removed. `allowed` is the number that the user has given, which also holds for an empty
/// folder.
///
/// # Errors
/// Why not.
pub(super) fn check(
    count: usize,
    all: usize,
    is_folder_empty: bool,
    allowed: Option<usize>,
) -> Result<(), RemovalRefused> {
    match allowed {
        Some(limit) if count > limit => Err(RemovalRefused::OverLimit(limit)),
        Some(_) => Ok(()),
        None if count > 0 && is_folder_empty => Err(RemovalRefused::Everything),
        None if 2 * count > all => Err(RemovalRefused::MoreThanHalf),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_may_go_and_more_only_if_it_is_allowed() {
        assert_eq!(check(2, 4, false, None), Ok(()));
        assert_eq!(check(3, 4, false, None), Err(RemovalRefused::MoreThanHalf));
        assert_eq!(check(1, 4, true, None), Err(RemovalRefused::Everything));
        assert_eq!(check(0, 0, true, None), Ok(()));
        assert_eq!(check(4, 4, true, Some(4)), Ok(()));
        assert_eq!(
            check(4, 4, false, Some(3)),
            Err(RemovalRefused::OverLimit(3))
        );
    }
}

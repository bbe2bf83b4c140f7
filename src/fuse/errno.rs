//! Maps errors of the drive to errno. The match is exhaustive on purpose: a new error must get its errno here.

use fuser::Errno;

use crate::drive::DriveError;

/// The errno that the caller of a failed operation sees.
pub fn errno(error: &DriveError) -> Errno {
    match error {
        DriveError::NotFound => Errno::ENOENT,
        DriveError::NotAFolder => Errno::ENOTDIR,
        DriveError::IsAFolder => Errno::EISDIR,
        DriveError::Exists => Errno::EEXIST,
        DriveError::NotEmpty => Errno::ENOTEMPTY,
        DriveError::ReadOnly(_) => Errno::EROFS,
        DriveError::NotPermitted(_) => Errno::EPERM,
        DriveError::AccessDenied(_) => Errno::EACCES,
        DriveError::Invalid(_) | DriveError::ModelFailed(_) => Errno::EINVAL,
        DriveError::NotText(_) => Errno::EILSEQ,
        DriveError::NameTooLong => Errno::ENAMETOOLONG,
        DriveError::NoSpace(_) => Errno::ENOSPC,
        DriveError::TooLarge(_) => Errno::EFBIG,
        DriveError::Busy(_) => Errno::EBUSY,
        DriveError::Unreachable(_) | DriveError::Local(_) => Errno::EIO,
        DriveError::TimedOut(_) => Errno::ETIMEDOUT,
        // The kernel answers ESTALE of `open` and `stat` by looking the path up again, so programs see ENOENT.
        DriveError::Stale(_) | DriveError::FileGone => Errno::ESTALE,
        DriveError::BadHandle => Errno::EBADF,
        DriveError::NothingYet => Errno::EAGAIN,
        DriveError::NoAttribute => Errno::ENODATA,
        DriveError::Unsupported(_) => Errno::ENOTSUP,
    }
}

//! What this build of the program has. Without the feature `local-service` it is the drive alone, for accounts of services.

use super::exit::WrongUse;

/// The engine, the local service, and the commands that need them.
pub(super) const HAS_LOCAL_SERVICE: bool = cfg!(feature = "local-service");

/// Refuses what only a build with the local service can do; `asked` names it.
pub(super) fn check_local_service(asked: &str) -> Result<(), WrongUse> {
    match HAS_LOCAL_SERVICE {
        true => Ok(()),
        false => Err(without_local_service(asked)),
    }
}

/// What to say when `asked` is not in this build.
pub(super) fn without_local_service(asked: &str) -> WrongUse {
    WrongUse(format!(
        "{asked} needs the local service and the 3D engine, which this build of assetfs does not have: install the full \
         build, or mount an account of a service with `assetfs mount DIR --base-url URL`"
    ))
}

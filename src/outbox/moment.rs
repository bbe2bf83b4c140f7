//! Points in time in the journal: seconds and nanoseconds from the epoch, also before it, because files may have any
//! time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time. `nanos` always counts forward from `secs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Whole seconds since the epoch, negative before it.
    pub secs: i64,
    /// Nanoseconds after `secs`.
    pub nanos: u32,
}

impl Moment {
    /// The present moment.
    pub fn now() -> Moment {
        #[cfg(test)]
        if let Some(moment) = crate::outbox::simulator::hook::moment() {
            return moment;
        }
        SystemTime::now().into()
    }

    /// Rounded down to the microsecond.
    pub fn whole_micros(self) -> Moment {
        Moment {
            nanos: self.nanos / 1000 * 1000,
            ..self
        }
    }
}

impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Moment {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Moment {
                secs: after.as_secs() as i64,
                nanos: after.subsec_nanos(),
            },
            Err(error) => {
                let before = error.duration();
                let borrow = i64::from(before.subsec_nanos() > 0);
                Moment {
                    secs: -(before.as_secs() as i64) - borrow,
                    nanos: (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000,
                }
            }
        }
    }
}

impl From<Moment> for SystemTime {
    fn from(moment: Moment) -> SystemTime {
        let nanos = Duration::from_nanos(u64::from(moment.nanos));
        let whole = Duration::from_secs(moment.secs.unsigned_abs());
        let at = if moment.secs >= 0 {
            UNIX_EPOCH.checked_add(whole)
        } else {
            UNIX_EPOCH.checked_sub(whole)
        };
        at.and_then(|at| at.checked_add(nanos))
            .unwrap_or(UNIX_EPOCH)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.secs, self.nanos).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        let (secs, nanos) = Deserialize::deserialize(deserializer)?;
        Ok(Moment { secs, nanos })
    }
}

/// For fields of type [`SystemTime`] in records.
pub mod as_moment {
    use std::time::SystemTime;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::outbox::moment::Moment;

    /// Writes a time as a [`Moment`].
    pub fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        Moment::from(*time).serialize(serializer)
    }

    /// Reads a time that was written as a [`Moment`].
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        Moment::deserialize(deserializer).map(SystemTime::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_and_after_the_epoch_survive() {
        for (secs, nanos) in [
            (0, 0),
            (5, 7),
            (-1, 999_999_999),
            (-3_000_000_000, 1),
            (-7, 0),
        ] {
            let moment = Moment { secs, nanos };
            assert_eq!(Moment::from(SystemTime::from(moment)), moment);
            let text = serde_json::to_string(&moment).unwrap();
            assert_eq!(serde_json::from_str::<Moment>(&text).unwrap(), moment);
        }
    }
}

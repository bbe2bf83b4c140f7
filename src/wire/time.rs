//! Timestamps in the forms that the service uses.
//!
//! Accepted are ISO 8601 with `Z`, ISO 8601 with a numeric offset, `YYYY-MM-DD HH:MM:SS` (as UTC), and the
//! same with a two-digit zone (`+00`), which tags use; each with or without a fraction. The precision is
//! one microsecond, so writing with [`Timestamp::iso_micros`] loses nothing.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant, to the microsecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

/// The text has none of the known forms of a timestamp.
#[derive(Debug, thiserror::Error)]
#[error("not a timestamp: {text:?}")]
pub struct TimestampError {
    text: String,
}

impl Timestamp {
    pub fn now() -> Self {
        Self::from(jiff::Timestamp::now())
    }

    /// `None` if the date is out of range.
    pub fn from_unix_seconds(seconds: i64) -> Option<Self> {
        jiff::Timestamp::from_second(seconds).ok().map(Self)
    }

    /// Rounded down.
    pub fn unix_seconds(self) -> i64 {
        self.0.as_microsecond().div_euclid(1_000_000)
    }

    pub fn inner(self) -> jiff::Timestamp {
        self.0
    }

    /// This instant plus whole seconds; unchanged if the result is out of range.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        self.0
            .checked_add(jiff::SignedDuration::from_secs(seconds))
            .map_or(self, Self)
    }

    /// `2024-05-06T07:08:09.123456Z`, the form that records carry.
    pub fn iso_micros(self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// `2024-05-06T07:08:09+00:00`, to the second.
    pub fn iso_offset(self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
    }

    /// `2024-05-06 07:08:09` in UTC, to the second.
    pub fn plain(self) -> String {
        self.0.strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// `2024-05-06 07:08:09+00`, to the second, as tags may carry it.
    pub fn tag_form(self) -> String {
        self.0.strftime("%Y-%m-%d %H:%M:%S+00").to_string()
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(instant: jiff::Timestamp) -> Self {
        let micros = instant.as_microsecond();
        Self(jiff::Timestamp::from_microsecond(micros).unwrap_or(instant))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let instant = jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        Self::from(instant)
    }
}

impl From<Timestamp> for SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        let micros = timestamp.0.as_microsecond();
        let distance = Duration::from_micros(micros.unsigned_abs());
        let time = if micros < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(distance)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(distance)
        };
        time.unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iso_micros())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || TimestampError {
            text: text.chars().take(64).collect(),
        };
        let trimmed = text.trim();
        if let Ok(instant) = trimmed.parse::<jiff::Timestamp>() {
            return Ok(Self::from(instant));
        }
        // The service means UTC when it gives no zone.
        if let Ok(local) = trimmed.parse::<jiff::civil::DateTime>() {
            let utc = format!("{local}Z");
            return utc
                .parse::<jiff::Timestamp>()
                .map(Self::from)
                .map_err(|_| error());
        }
        Err(error())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

super::lenient::by_deserialize!(Timestamp);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_as_the_same_instant() {
        let expected: Timestamp = "2022-09-21T09:03:30Z".parse().unwrap();
        for text in [
            "2022-09-21T09:03:30.000000Z",
            "2022-09-21T09:03:30+00:00",
            "2022-09-21T11:03:30+02:00",
            "2022-09-21T11:03:30+0200",
            "2022-09-21T04:33:30-04:30",
            "2022-09-21 09:03:30",
            "2022-09-21 09:03:30+00",
            "2022-09-21 09:03:30.000000+00",
            "2022-09-21 07:03:30-02",
            " 2022-09-21T09:03:30Z ",
        ] {
            assert_eq!(text.parse::<Timestamp>().unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn other_text_is_an_error() {
        for text in [
            "",
            "yesterday",
            "2022-13-01 00:00:00",
            "2022-09-21T25:03:30Z",
            "1663750000",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn nanoseconds_are_truncated_so_writing_and_reading_agree() {
        let instant: Timestamp = "2022-09-21T09:03:30.123456789Z".parse().unwrap();
        assert_eq!(instant.iso_micros(), "2022-09-21T09:03:30.123456Z");
        assert_eq!(instant.iso_micros().parse::<Timestamp>().unwrap(), instant);
        assert_eq!(Timestamp::from(SystemTime::from(instant)), instant);
    }

    #[test]
    fn the_form_of_tags_has_whole_seconds_and_a_zone_of_two_digits() {
        let instant: Timestamp = "2022-09-21T09:03:30.123456Z".parse().unwrap();
        assert_eq!(instant.tag_form(), "2022-09-21 09:03:30+00");
    }
}

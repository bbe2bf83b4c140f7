//! MS-DOS times: local times without a time zone, in steps of two seconds, from 1980 to 2107. Read and written as UTC.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Time and date of a moment, in seconds since 1970; moments outside of the range become the first day.
pub(super) fn to_dos(modified_secs: i64) -> (u16, u16) {
    let earliest = (0, 1 << 5 | 1);
    let Ok(stamp) = Timestamp::from_second(modified_secs) else {
        return earliest;
    };
    let at = stamp.to_zoned(TimeZone::UTC);
    if !(1980..=2107).contains(&at.year()) {
        return earliest;
    }
    let half_seconds = at.second() as u16 / 2;
    let time = (at.hour() as u16) << 11 | (at.minute() as u16) << 5 | half_seconds;
    let date = (at.year() as u16 - 1980) << 9 | (at.month() as u16) << 5 | at.day() as u16;
    (time, date)
}

pub(super) fn from_dos(time: u16, date: u16) -> Option<SystemTime> {
    let part = |value: u16, from: u32, bits: u32| i64::from((value >> from) & ((1 << bits) - 1));
    let date = jiff::civil::DateTime::new(
        1980 + part(date, 9, 7) as i16,
        part(date, 5, 4) as i8,
        part(date, 0, 5) as i8,
        part(time, 11, 5) as i8,
        part(time, 5, 6) as i8,
        (part(time, 0, 5) * 2).min(59) as i8,
        0,
    );
    let zoned = date.ok()?.to_zoned(TimeZone::UTC).ok()?;
    since_1970(zoned.timestamp().as_second())
}

pub(super) fn since_1970(seconds: i64) -> Option<SystemTime> {
    let away = Duration::from_secs(seconds.unsigned_abs());
    match seconds < 0 {
        true => SystemTime::UNIX_EPOCH.checked_sub(away),
        false => SystemTime::UNIX_EPOCH.checked_add(away),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_outside_the_calendar_are_its_first_day() {
        let earliest = (0, 33);
        for secs in [-5, 0, i64::MAX, 5_000_000_000] {
            assert_eq!(to_dos(secs), earliest, "{secs}");
        }
        assert_ne!(to_dos(1_700_000_000), earliest);
    }

    #[test]
    fn a_time_is_read_as_it_was_written() {
        let (time, date) = to_dos(1_700_000_000);
        assert_eq!(from_dos(time, date), since_1970(1_700_000_000));
    }
}

//! The header `traceparent`: which trace a request belongs to, in the form of W3C Trace Context
//! (<https://www.w3.org/TR/trace-context/#traceparent-header>).

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};

/// The name of the header.
pub const TRACEPARENT: &str = "traceparent";

/// A trace and the step in it that caused a request or a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    trace: NonZeroU128,
    step: NonZeroU64,
    flags: u8,
}

impl TraceParent {
    /// The first step of a new trace.
    pub fn new() -> TraceParent {
        TraceParent {
            trace: random_trace(),
            step: random_step(),
            flags: 0,
        }
    }

    /// Reads the header. `None` if its form is wrong: the receiver then begins a new trace, as the standard asks.
    pub fn parse(header: &str) -> Option<TraceParent> {
        let mut parts = header.split('-');
        let version: u8 = hex(parts.next()?, 2)?.try_into().ok()?;
        let trace = hex(parts.next()?, 32)?;
        let step: u64 = hex(parts.next()?, 16)?.try_into().ok()?;
        let flags: u8 = hex(parts.next()?, 2)?.try_into().ok()?;
        // Later versions may add parts; the last version is not allowed.
        let is_known = version != 0xff && (version != 0 || parts.next().is_none());
        is_known.then_some(TraceParent {
            trace: NonZeroU128::new(trace)?,
            step: NonZeroU64::new(step)?,
            flags,
        })
    }

    /// The next step of the same trace.
    #[must_use]
    pub fn next(self) -> TraceParent {
        TraceParent {
            step: random_step(),
            ..self
        }
    }

    /// The id of the trace: 32 hexadecimal digits.
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace)
    }
}

impl Default for TraceParent {
    fn default() -> Self {
        Self::new()
    }
}

/// The value of the header.
impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceParent { trace, step, flags } = self;
        write!(f, "00-{trace:032x}-{step:016x}-{flags:02x}")
    }
}

/// A number of exactly so many hexadecimal digits in lower case.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_right = text.len() == digits && text.bytes().all(is_lower_hex);
    is_right.then(|| u128::from_str_radix(text, 16).ok())?
}

fn random_trace() -> NonZeroU128 {
    NonZeroU128::new(rand::random()).unwrap_or(NonZeroU128::MIN)
}

fn random_step() -> NonZeroU64 {
    NonZeroU64::new(rand::random()).unwrap_or(NonZeroU64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the standard.
    const EXAMPLE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_header_is_read_and_written_unchanged() {
        let parent = TraceParent::parse(EXAMPLE).unwrap();
        assert_eq!(parent.to_string(), EXAMPLE);
        assert_eq!(parent.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        let begun = TraceParent::new();
        assert_eq!(TraceParent::parse(&begun.to_string()), Some(begun));
    }

    #[test]
    fn the_next_step_is_in_the_same_trace() {
        let first = TraceParent::parse(EXAMPLE).unwrap();
        let next = first.next();
        assert_eq!(next.trace_id(), first.trace_id());
        assert_ne!(next, first);
        assert!(next.to_string().ends_with("-01"), "{next}");
    }

    #[test]
    fn a_later_version_may_have_more_parts() {
        let later = EXAMPLE.replacen("00", "01", 1) + "-more";
        let read = TraceParent::parse(&later).unwrap();
        assert_eq!(read.to_string(), EXAMPLE);
    }

    #[test]
    fn other_forms_are_no_header() {
        for wrong in [
            "".to_owned(),
            EXAMPLE.to_uppercase(),
            EXAMPLE.replacen("00", "ff", 1),
            format!("{EXAMPLE}-more"),
            EXAMPLE.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            EXAMPLE.replace("b7ad6b7169203331", &"0".repeat(16)),
            EXAMPLE.replace("b7ad6b7169203331", "b7ad6b716920333"),
            EXAMPLE.replace("0af7", "+af7"),
            EXAMPLE[..52].to_owned(),
        ] {
            assert_eq!(TraceParent::parse(&wrong), None, "{wrong}");
        }
    }
}

//! The reason of a failure, from the service's error log.

use futures_util::StreamExt as _;

use crate::client::{Client, ClientError};
use crate::wire::SignedUrl;

/// Bytes read from the start of a log.
const LOG_BYTES: u64 = 64 * 1024;
/// Maximum number of lines and of characters that are shown.
const LINES: usize = 3;
const CHARS: usize = 500;

/// The first lines of a log that are not empty, in one line.
pub fn reason_in_log(log: &str) -> Option<String> {
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let text = lines.take(LINES).collect::<Vec<_>>().join("; ");
    let cut = match text.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    };
    (!cut.is_empty()).then_some(cut)
}

/// Downloads a log and returns its reason.
pub async fn fetch_reason(client: &Client, log: &SignedUrl) -> Result<Option<String>, ClientError> {
    let mut reply = client
        .transfers()
        .get_range(log, 0, Some(LOG_BYTES), None)
        .await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = reply.stream.next().await {
        bytes.extend_from_slice(&chunk?);
    }
    Ok(reason_in_log(&String::from_utf8_lossy(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_that_say_something_are_told_and_a_long_log_is_cut() {
        assert_eq!(
            reason_in_log("\n  no faces left \r\n\ngave up\n").as_deref(),
            Some("no faces left; gave up")
        );
        assert_eq!(reason_in_log(" \n"), None);
        let long = reason_in_log(&"é".repeat(9000)).unwrap();
        assert_eq!(long.chars().count(), CHARS + 1);
    }
}

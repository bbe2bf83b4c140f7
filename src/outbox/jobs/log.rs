//! The reason of a failure, read out of the service's own log.

use futures_util::StreamExt as _;

use crate::client::{Client, ClientError};
use crate::wire::SignedUrl;

/// Of a longer log the beginning is read.
const LOG_BYTES: u64 = 64 * 1024;
/// Lines of a log that are shown, and the longest text in characters.
const LINES: usize = 3;
const CHARS: usize = 500;

/// What a log says in a sentence: its first lines that say something.
pub fn reason_in_log(log: &str) -> Option<String> {
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let told = lines.take(LINES).collect::<Vec<_>>().join("; ");
    let cut = match told.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", &told[..at]),
        None => told,
    };
    (!cut.is_empty()).then_some(cut)
}

/// Reads a log and says what it says.
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

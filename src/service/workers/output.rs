//! The output of a worker: progress, report or error as JSON lines on standard output, any text on standard error.
//! Both are read with limits, so a faulty worker cannot fill the memory.

use std::collections::VecDeque;

use serde::Deserialize;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

use assetfs_engine::job::{Progress, Report};

/// The longest line. A report can contain many files and warnings.
const MAX_LINE_BYTES: u64 = 8 << 20;

/// Bytes that are kept from the end of standard error.
const KEPT_ERROR_BYTES: usize = 16 << 10;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Line {
    Error {
        error: String,
    },
    Report {
        report: Report,
    },
    /// Progress, wrapped in `progress`.
    Named {
        progress: Progress,
    },
    /// Progress, unwrapped.
    Progress(Progress),
}

/// Reads lines and passes each to `take`. Unknown lines are skipped.
pub async fn read_lines(
    output: impl AsyncRead + Unpin,
    mut take: impl FnMut(Line),
) -> std::io::Result<()> {
    let mut output = BufReader::new(output);
    while let Some(line) = next_line(&mut output).await? {
        take(line);
    }
    Ok(())
}

/// The next known line; `None` at the end.
pub async fn next_line(output: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<Line>> {
    while let Some(line) = read_line(output).await? {
        if let Ok(line) = serde_json::from_slice(&line) {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

async fn read_line(output: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut bounded = output.take(MAX_LINE_BYTES);
    if bounded.read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if line.len() as u64 >= MAX_LINE_BYTES {
        return Err(std::io::Error::other("a line of the worker is too long"));
    }
    Ok(Some(line))
}

/// Reads to the end and returns the last bytes.
pub async fn read_tail(mut errors: impl AsyncRead + Unpin) -> String {
    let mut tail = VecDeque::with_capacity(KEPT_ERROR_BYTES);
    let mut buffer = vec![0; 4 << 10];
    // A read error also ends the output.
    while let Ok(len @ 1..) = errors.read(&mut buffer).await {
        tail.extend(&buffer[..len]);
        let too_many = tail.len().saturating_sub(KEPT_ERROR_BYTES);
        tail.drain(..too_many);
    }
    String::from_utf8_lossy(tail.make_contiguous()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_told_apart() {
        let output =
            b"{\"percent\":40,\"step\":\"Simplifying\"}\n{\"progress\":{\"percent\":50,\"step\":\"B\"}}\nnoise\n{\"error\":\"no\"}\n{\"x\":1}\n";
        let mut seen = Vec::new();
        read_lines(&output[..], |line| {
            seen.push(match line {
                Line::Error { error } => error,
                Line::Progress(progress) | Line::Named { progress } => {
                    format!("{} {}", progress.percent, progress.step)
                }
                Line::Report { .. } => "report".to_owned(),
            });
        })
        .await
        .unwrap();
        assert_eq!(seen, ["40 Simplifying", "50 B", "no"]);
    }

    #[tokio::test]
    async fn of_much_noise_the_end_is_kept() {
        let noise = [vec![b'x'; 100_000], b"the end".to_vec()].concat();
        let tail = read_tail(&noise[..]).await;
        assert_eq!(tail.len(), KEPT_ERROR_BYTES);
        assert!(tail.ends_with("the end"));
    }
}

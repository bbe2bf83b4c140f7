//! The replies of a script, byte by byte, and what follows on the connection.

use std::io::{self, Write};
use std::time::Duration;

use super::Connection;

/// What happens to the connection after the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It accepts the next request.
    Open,
    HangUp,
    /// A TCP reset.
    Reset,
    /// It sends nothing for two minutes.
    Stall,
    /// Bytes that are not TLS.
    Garbage,
}

/// A reply.
#[derive(Debug, Clone)]
pub struct Reply {
    head: Vec<u8>,
    body: Vec<u8>,
    /// Bytes of the body to send before `ending`.
    send: usize,
    /// How many times the body is sent.
    times: usize,
    ending: Ending,
    delay: Duration,
    /// Bytes at once, and the pause after them.
    pace: Option<(usize, Duration)>,
}

impl Reply {
    /// The length is announced unless a header sets something else.
    pub fn new(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Reply {
        let body = body.into();
        let mut head = format!("HTTP/1.1 {status} Scripted\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let is_framed = headers.iter().any(|(name, _)| {
            name.eq_ignore_ascii_case("content-length")
                || name.eq_ignore_ascii_case("transfer-encoding")
        });
        if !is_framed && status != 204 {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        Reply {
            head: head.into_bytes(),
            send: body.len(),
            body,
            times: 1,
            ending: Ending::Open,
            delay: Duration::ZERO,
            pace: None,
        }
    }

    pub fn status(status: u16) -> Reply {
        Reply::new(status, &[], "")
    }

    pub fn json(value: serde_json::Value) -> Reply {
        Reply::json_text(value.to_string())
    }

    /// A text with the content type of JSON.
    pub fn json_text(text: impl Into<Vec<u8>>) -> Reply {
        Reply::new(200, &[("content-type", "application/json")], text)
    }

    /// `part` again and again, without an announced length and without an end.
    pub fn repeated(part: &str, times: usize) -> Reply {
        let headers = [
            ("content-type", "application/json"),
            ("transfer-encoding", "chunked"),
        ];
        let chunk = format!("{:x}\r\n{part}\r\n", part.len());
        Reply {
            times,
            ending: Ending::HangUp,
            ..Reply::new(200, &headers, chunk)
        }
    }

    /// The connection closes without a reply.
    pub fn hang_up() -> Reply {
        Reply {
            head: Vec::new(),
            ending: Ending::HangUp,
            ..Reply::status(200)
        }
    }

    /// No reply, and the connection stays open.
    pub fn silence() -> Reply {
        Reply {
            ending: Ending::Stall,
            ..Reply::hang_up()
        }
    }

    /// The connection closes after this many bytes of the body.
    pub fn cut_after(self, bytes: usize) -> Reply {
        self.ending_after(bytes, Ending::HangUp)
    }

    /// Nothing is sent after this many bytes of the body.
    pub fn stall_after(self, bytes: usize) -> Reply {
        self.ending_after(bytes, Ending::Stall)
    }

    pub fn ending_after(mut self, bytes: usize, ending: Ending) -> Reply {
        self.send = bytes.min(self.body.len());
        self.ending = ending;
        self
    }

    /// One byte every 20 ms.
    pub fn drip(self) -> Reply {
        self.paced(1, Duration::from_millis(20))
    }

    /// This many bytes at a time, with a pause after each.
    pub fn paced(mut self, bytes: usize, pause: Duration) -> Reply {
        self.pace = Some((bytes.max(1), pause));
        self
    }

    /// Delays the reply.
    pub fn after(mut self, delay: Duration) -> Reply {
        self.delay = delay;
        self
    }

    /// More bytes follow than the head announces.
    pub fn too_long(mut self, more: &[u8]) -> Reply {
        self.body.extend_from_slice(more);
        self.send = self.body.len();
        self.ending = Ending::HangUp;
        self
    }

    pub fn body_len(&self) -> usize {
        self.body.len()
    }

    /// Sends the reply; returns whether the connection can be reused.
    pub(super) fn send(&self, stream: &mut dyn Connection) -> io::Result<bool> {
        std::thread::sleep(self.delay);
        stream.write_all(&self.head)?;
        for _ in 0..self.times {
            let (bytes, pause) = self.pace.unwrap_or((self.send.max(1), Duration::ZERO));
            for part in self.body[..self.send].chunks(bytes) {
                stream.write_all(part)?;
                if self.pace.is_some() {
                    stream.flush()?;
                    std::thread::sleep(pause);
                }
            }
        }
        stream.flush()?;
        match self.ending {
            Ending::Open | Ending::HangUp => {}
            Ending::Stall => std::thread::sleep(Duration::from_secs(120)),
            Ending::Reset => {
                rustix::net::sockopt::set_socket_linger(stream.tcp(), Some(Duration::ZERO))?;
            }
            Ending::Garbage => stream.tcp().write_all(&[0x55; 4096])?,
        }
        Ok(self.ending == Ending::Open)
    }
}

/// A correct reply to a request for a range, or for everything.
pub fn range_reply(
    range: Option<(usize, Option<usize>)>,
    content: &[u8],
    etag: Option<&str>,
) -> Reply {
    let total = content.len();
    let etag: Vec<_> = etag.iter().map(|etag| ("etag", *etag)).collect();
    let Some((first, last)) = range else {
        return Reply::new(200, &etag, content);
    };
    if first >= total {
        return Reply::new(416, &[("content-range", &format!("bytes */{total}"))], "");
    }
    let last = last.unwrap_or(total - 1).min(total - 1);
    let range = format!("bytes {first}-{last}/{total}");
    let headers = [&[("content-range", &*range)], &*etag].concat();
    Reply::new(206, &headers, &content[first..=last])
}

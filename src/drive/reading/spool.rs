//! A file that the service generates while sending it, so its size is unknown before its end. Data is written
//! to an unnamed local file, from which readers are served as far as it has arrived.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::client::Download;
use crate::drive::error::{DriveError, DriveResult};

/// A download fails if no data arrives for this time.
const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Default)]
struct Arrival {
    len: u64,
    end: Option<DriveResult<()>>,
}

/// A file that is being downloaded. Dropping it aborts the download.
#[derive(Debug)]
pub struct Spool {
    file: Arc<File>,
    arrival: watch::Receiver<Arrival>,
    task: AbortHandle,
}

impl Spool {
    /// Starts the download into an unnamed file in `dir`; `ended` gets the size of a complete one.
    pub fn begin(
        runtime: &Handle,
        dir: &Path,
        download: Download,
        ended: impl FnOnce(u64) + Send + 'static,
    ) -> DriveResult<Spool> {
        let file = tempfile::tempfile_in(dir).map_err(|error| local(&error))?;
        let file = Arc::new(file);
        let (sender, arrival) = watch::channel(Arrival::default());
        let into = Arc::clone(&file);
        let task = runtime.spawn(async move {
            let end = receive(&into, download, &sender).await;
            if end.is_ok() {
                ended(sender.borrow().len);
            }
            sender.send_modify(|arrival| arrival.end = Some(end));
        });
        Ok(Spool {
            file,
            arrival,
            task: task.abort_handle(),
        })
    }

    /// The size so far.
    pub fn len(&self) -> u64 {
        self.arrival.borrow().len
    }

    /// Reads as soon as the data has arrived; shorter than asked only at the end of the file.
    pub async fn read(&self, offset: u64, len: u32) -> DriveResult<Bytes> {
        let end = offset.saturating_add(u64::from(len));
        let mut arrival = self.arrival.clone();
        let mut had = 0;
        let available = loop {
            let now = arrival.borrow_and_update().clone();
            match now.end {
                _ if now.len >= end => break end,
                Some(Ok(())) => break now.len.max(offset),
                Some(Err(error)) => return Err(error),
                None => {}
            }
            match tokio::time::timeout(DEADLINE, arrival.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => {
                    return Err(DriveError::Unreachable("the drive is shutting down".into()));
                }
                Err(_) if arrival.borrow().len > had => {}
                Err(_) => {
                    return Err(DriveError::TimedOut(format!(
                        "no data arrived for {} s; try again later",
                        DEADLINE.as_secs()
                    )));
                }
            }
            had = now.len;
        };
        let mut bytes = BytesMut::zeroed((available - offset) as usize);
        self.file
            .read_exact_at(&mut bytes, offset)
            .map_err(|error| local(&error))?;
        Ok(bytes.freeze())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn receive(
    file: &File,
    mut download: Download,
    sender: &watch::Sender<Arrival>,
) -> DriveResult<()> {
    let mut at = 0;
    while let Some(chunk) = download.stream.next().await {
        let chunk = chunk?;
        file.write_all_at(&chunk, at)
            .map_err(|error| local(&error))?;
        at += chunk.len() as u64;
        sender.send_modify(|arrival| arrival.len = at);
    }
    Ok(())
}

fn local(error: &std::io::Error) -> DriveError {
    let sentence = format!("the fetched bytes cannot be written to the local disk: {error}");
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => DriveError::NoSpace(sentence),
        _ => DriveError::Local(sentence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientError;
    use futures_util::stream;

    fn download(chunks: Vec<Result<Bytes, ClientError>>) -> Download {
        Download {
            len: None,
            stream: stream::iter(chunks).boxed(),
        }
    }

    #[tokio::test]
    async fn any_place_is_read_once_it_has_arrived_and_the_length_is_told_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let chunks = vec![
            Ok(Bytes::from_static(b"hello ")),
            Ok(Bytes::from_static(b"zip")),
        ];
        let spool = Spool::begin(&Handle::current(), dir.path(), download(chunks), |len| {
            let _ = sender.send(len);
        })
        .unwrap();
        assert_eq!(&spool.read(6, 2).await.unwrap()[..], b"zi");
        assert_eq!(&spool.read(0, 100).await.unwrap()[..], b"hello zip");
        assert_eq!(spool.read(100, 5).await.unwrap().len(), 0);
        assert_eq!(receiver.await.unwrap(), 9);
        assert_eq!(spool.len(), 9);
    }

    #[tokio::test]
    async fn a_download_that_breaks_fails_those_who_wait_for_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let broken = ClientError::CutShort {
            what: "a zip".into(),
            missing_bytes: 3,
            reason: "reset".into(),
        };
        let chunks = vec![Ok(Bytes::from_static(b"hello ")), Err(broken)];
        let spool = Spool::begin(&Handle::current(), dir.path(), download(chunks), |_| {}).unwrap();
        assert_eq!(&spool.read(0, 6).await.unwrap()[..], b"hello ");
        assert!(spool.read(6, 1).await.is_err());
    }
}

//! The directory of a zip: located at the end of the file, read by ranges, and validated before use.
//!
//! Invariant: the members of a [`Directory`] lie inside the file and before its directory, do not overlap, and
//! none is larger than its data can unpack to.

use std::collections::HashMap;
use std::future::Future;

use bytes::Bytes;

use super::error::{ArchiveError, refused};
use assetfs_formats::zip::{
    END_RECORD_BYTES, END64_BYTES, Extent, MAX_TAIL_BYTES, ZipMember, end_records, parse_directory,
};

/// Maximum number of members.
const MAX_MEMBERS: u64 = 100_000;
/// Maximum length of the directory.
const MAX_DIRECTORY_BYTES: u64 = 64 << 20;

/// The files in a zip, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directory {
    members: HashMap<String, ZipMember>,
}

impl Directory {
    /// Reads the directory of a zip of `size` bytes; `read` returns the bytes of a range.
    pub async fn read<F, R>(size: u64, read: F) -> Result<Directory, ArchiveError>
    where
        F: Fn(u64, u64) -> R,
        R: Future<Output = Result<Bytes, ArchiveError>>,
    {
        if size < END_RECORD_BYTES {
            return refused("it is too short");
        }
        let tail_len = size.min(MAX_TAIL_BYTES);
        let tail_at = size - tail_len;
        let tail = read(tail_at, tail_len).await?;
        // The last one whose comment reaches exactly to the end.
        let mut ends = end_records(&tail);
        let end = ends.find(|end| end.at() + end.len_bytes() == tail.len());
        let Some(end) = end else {
            return refused("its list of files is missing; it is cut off, or no zip");
        };
        let extent = match end.end64_at()? {
            None => end.extent(),
            Some(at) => {
                if at.checked_add(END64_BYTES).is_none_or(|end| end > size) {
                    return refused("its end record is out of bounds");
                }
                Extent::of_end64(&read(at, END64_BYTES).await?)?
            }
        };
        check_extent(extent, tail_at + end.at() as u64)?;
        let bytes = read(extent.offset, extent.len).await?;
        Ok(Directory::of(parse_directory(&bytes, extent)?))
    }

    fn of(members: Vec<ZipMember>) -> Directory {
        let mut directory = Directory::default();
        let files = members
            .into_iter()
            .filter(|member| !member.name.ends_with('/'));
        for member in files {
            // Of two members with one name the last counts, as for the engine and for tools that unpack.
            directory.members.insert(member.name.clone(), member);
        }
        directory
    }

    /// The files, in no order.
    pub fn members(&self) -> impl Iterator<Item = &ZipMember> {
        self.members.values()
    }

    pub fn member(&self, name: &str) -> Option<&ZipMember> {
        self.members.get(name)
    }
}

fn check_extent(extent: Extent, end_at: u64) -> Result<(), ArchiveError> {
    let lies_inside = extent
        .offset
        .checked_add(extent.len)
        .is_some_and(|directory_end| directory_end <= end_at);
    if !lies_inside || extent.len > MAX_DIRECTORY_BYTES {
        return refused("its directory is out of bounds or too long");
    }
    if extent.count > MAX_MEMBERS {
        return refused(format!("it has more than {MAX_MEMBERS} entries"));
    }
    Ok(())
}

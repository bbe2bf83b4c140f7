//! The boxes of ISO/IEC 14496-12 and the numbers in them. The highest byte of a number comes first.

use std::ops::Range;

/// Walks the boxes in a part of a file. A box that ends outside of the part is an error.
pub(super) struct Boxes<'a> {
    bytes: &'a [u8],
    rest: Range<usize>,
}

impl<'a> Boxes<'a> {
    /// The part must lie within the bytes.
    pub(super) fn new(bytes: &'a [u8], part: Range<usize>) -> Boxes<'a> {
        Boxes { bytes, rest: part }
    }

    /// The kind of the next box and the place of its contents; `None` at the end.
    #[expect(clippy::type_complexity, reason = "a kind and its place")]
    pub(super) fn next(&mut self) -> Result<Option<([u8; 4], Range<usize>)>, String> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut fields = Fields::new(&self.bytes[self.rest.clone()]);
        let short = fields.number(4)?;
        let kind = fields.kind()?;
        let (head, length) = match short {
            0 => (8, self.rest.len() as u64),
            1 => (16, fields.number(8)?),
            length => (8, length),
        };
        if length < head || length > self.rest.len() as u64 {
            return Err(cut());
        }
        let end = self.rest.start + length as usize;
        let contents = self.rest.start + head as usize..end;
        self.rest.start = end;
        Ok(Some((kind, contents)))
    }

    /// The contents of the first box of a kind.
    pub(super) fn find(mut self, wanted: &[u8; 4]) -> Result<Option<Range<usize>>, String> {
        while let Some((kind, contents)) = self.next()? {
            if kind == *wanted {
                return Ok(Some(contents));
            }
        }
        Ok(None)
    }
}

/// Reads the fields of a box from its start.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { rest: bytes }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// A number of at most eight bytes.
    pub(super) fn number(&mut self, len_bytes: usize) -> Result<u64, String> {
        let (number, rest) = self.rest.split_at_checked(len_bytes).ok_or_else(cut)?;
        if len_bytes > 8 {
            return Err("this AVIF file has a number of an unknown length".to_owned());
        }
        self.rest = rest;
        let joined = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Ok(number.iter().fold(0, joined))
    }

    /// The version of a box; its flags follow and are skipped.
    pub(super) fn version(&mut self) -> Result<u8, String> {
        Ok((self.number(4)? >> 24) as u8)
    }

    /// The four letters that name a kind.
    pub(super) fn kind(&mut self) -> Result<[u8; 4], String> {
        Ok((self.number(4)? as u32).to_be_bytes())
    }
}

fn cut() -> String {
    "this AVIF file ends in its description".to_owned()
}

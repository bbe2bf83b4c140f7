//! The numbers of a PLY file, in any encoding.
//!
//! In a text file each element has a line, and programs write more numbers on it than the header declares. Old
//! programs wrap lines instead, so a text can also be read as one stream of numbers.

use super::header::{Encoding, Scalar};

/// The numbers that are left.
pub(super) struct Source<'a> {
    encoding: Encoding,
    /// What is read from: the current line of a text that is read by lines, else all that is left.
    current: &'a [u8],
    /// The lines after the current one.
    lines: &'a [u8],
    by_lines: bool,
    /// Lines that have more numbers than their element declares.
    pub(super) long_lines: u64,
}

impl<'a> Source<'a> {
    /// All bytes as one stream.
    pub(super) fn stream(encoding: Encoding, bytes: &'a [u8]) -> Source<'a> {
        Source {
            encoding,
            current: bytes,
            lines: &[],
            by_lines: false,
            long_lines: 0,
        }
    }

    /// A text of one line for each element.
    pub(super) fn lines(bytes: &'a [u8]) -> Source<'a> {
        Source {
            encoding: Encoding::Text,
            current: &[],
            lines: bytes,
            by_lines: true,
            long_lines: 0,
        }
    }

    pub(super) fn is_text(&self) -> bool {
        self.encoding == Encoding::Text
    }

    pub(super) fn len_left(&self) -> usize {
        self.current.len() + self.lines.len()
    }

    /// Whether nothing but white space is left.
    pub(super) fn is_used_up(&self) -> bool {
        let mut left = self.current.iter().chain(self.lines);
        left.all(u8::is_ascii_whitespace)
    }

    pub(super) fn begin_element(&mut self) {
        if !self.by_lines {
            return;
        }
        let text = self.lines.trim_ascii_start();
        let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (line, rest) = text.split_at(end.unwrap_or(text.len()));
        (self.current, self.lines) = (line, rest);
    }

    pub(super) fn end_element(&mut self) {
        if self.by_lines && !self.current.trim_ascii().is_empty() {
            self.long_lines += 1;
            self.current = &[];
        }
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let split = self.current.split_at_checked(length);
        let (taken, rest) = split.ok_or_else(truncated)?;
        self.current = rest;
        Ok(taken)
    }

    pub(super) fn length(&mut self, scalar: Scalar) -> Result<usize, String> {
        let length = self.number(scalar)?;
        if !(0.0..=self.current.len() as f64).contains(&length) {
            return Err(truncated());
        }
        Ok(length as usize)
    }

    pub(super) fn skip_list(&mut self, length: Scalar, scalar: Scalar) -> Result<(), String> {
        let count = self.length(length)?;
        for _ in 0..count {
            self.number(scalar)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn number(&mut self, scalar: Scalar) -> Result<f64, String> {
        if self.encoding == Encoding::Text {
            return self.word();
        }
        let taken = self.take(scalar.len_bytes())?;
        let mut eight = [0u8; 8];
        let length = taken.len();
        if self.encoding == Encoding::LittleEndian {
            eight[..length].copy_from_slice(taken);
        } else {
            for (to, from) in eight.iter_mut().zip(taken.iter().rev()) {
                *to = *from;
            }
        }
        let bits = u64::from_le_bytes(eight);
        Ok(match scalar {
            Scalar::I8 => f64::from(bits as u8 as i8),
            Scalar::U8 => f64::from(bits as u8),
            Scalar::I16 => f64::from(bits as u16 as i16),
            Scalar::U16 => f64::from(bits as u16),
            Scalar::I32 => f64::from(bits as u32 as i32),
            Scalar::U32 => f64::from(bits as u32),
            Scalar::F32 => f64::from(f32::from_bits(bits as u32)),
            Scalar::F64 => f64::from_bits(bits),
        })
    }

    fn word(&mut self) -> Result<f64, String> {
        let rest = self.current.trim_ascii_start();
        if rest.is_empty() {
            return Err(truncated());
        }
        let end = rest.iter().position(u8::is_ascii_whitespace);
        let (word, rest) = rest.split_at(end.unwrap_or(rest.len()));
        self.current = rest;
        let number = std::str::from_utf8(word).ok().map(str::parse);
        number.and_then(Result::ok).ok_or_else(|| {
            let word = String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned();
            format!("has \"{word}\" where a number should be")
        })
    }
}

pub(super) fn truncated() -> String {
    "is truncated: it ends before the elements that its header declares".to_owned()
}

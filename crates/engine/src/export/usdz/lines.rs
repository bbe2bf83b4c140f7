//! The text of a stage: indented lines, blocks, arrays.

use std::fmt::Write;

const SAFE: &str = "writing to a string cannot fail";

pub(super) struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    /// Text that is indented by so many steps.
    pub(super) fn new(depth: usize) -> Lines {
        Lines {
            text: String::new(),
            depth,
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    pub(super) fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(super) fn open(&mut self) {
        self.line("{");
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// Writes an array.
    pub(super) fn list(&mut self, start: &str, elements: impl Iterator<Item = String>) {
        for _ in 0..self.depth {
            self.text.push_str("    ");
        }
        self.text.push_str(start);
        self.text.push('[');
        for (index, element) in elements.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(self.text, "{comma}{element}").expect(SAFE);
        }
        self.text.push_str("]\n");
    }

    /// Declares that the array just written has one value for each vertex.
    pub(super) fn interpolated(&mut self) {
        self.described(&["interpolation = \"vertex\""]);
    }

    /// Adds metadata to the array just written.
    pub(super) fn described(&mut self, metadata: &[&str]) {
        self.text.pop();
        self.text.push_str(" (\n");
        for line in metadata {
            self.line(&format!("    {line}"));
        }
        self.line(")");
    }
}

/// A number as USD reads it, with no more digits than it needs: most come from 32-bit floats.
pub(super) fn number(value: f64) -> String {
    let short = value as f32;
    match f64::from(short) == value {
        true => short.to_string(),
        false if value.is_finite() => value.to_string(),
        false => "0".to_owned(),
    }
}

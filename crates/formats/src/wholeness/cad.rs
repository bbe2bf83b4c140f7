//! The ends of CAD files: STEP, IGES, and the text form of BREP. The binary form of BREP has no end of its own.

use std::io;

use super::{Bytes, SCAN_LEN_BYTES, SHORT, Wholeness};

/// ISO 10303-21: the text is between two key words. Signatures and comments may follow.
pub(super) fn step(bytes: &Bytes<'_>) -> io::Result<Wholeness> {
    const BEGIN: &[u8] = b"ISO-10303-21;";
    const END: &[u8] = b"END-ISO-10303-21;";
    let head = bytes.at(0, BEGIN.len())?;
    if bytes.stops_inside(&head, BEGIN) {
        return Ok(SHORT);
    }
    if head != BEGIN {
        return Ok(Wholeness::Whole);
    }
    let tail = bytes.tail(SCAN_LEN_BYTES)?;
    let has_end = tail.windows(END.len()).any(|part| part == END);
    Ok(if has_end { Wholeness::Whole } else { SHORT })
}

/// Lines of 80 columns with the letter of their section in column 73: the first is S, the last T. Blanks and the mark
/// with which DOS ends a text may follow.
pub(super) fn iges(bytes: &Bytes<'_>) -> io::Result<Wholeness> {
    const SECTION: usize = 72;
    const LINE_BYTES: usize = 80;
    const DOS_END: u8 = 0x1a;
    let head = bytes.at(0, LINE_BYTES + 1)?;
    if head.get(SECTION) != Some(&b'S') {
        return Ok(Wholeness::Whole);
    }
    let tail = bytes.tail(SCAN_LEN_BYTES)?;
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(*byte, 0 | DOS_END);
    let Some(last) = tail.iter().rposition(|byte| !is_blank(byte)) else {
        return Ok(Wholeness::Whole);
    };
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let start = match head.get(LINE_BYTES).is_some_and(is_break) {
        true => tail[..last]
            .iter()
            .rposition(is_break)
            .map_or(0, |at| at + 1),
        // Without line breaks, lines begin at multiples of their length.
        false => {
            let before = bytes.size - tail.len() as u64;
            let in_line = (before + last as u64) % LINE_BYTES as u64;
            last.saturating_sub(in_line as usize)
        }
    };
    Ok(match tail.get(start + SECTION) {
        Some(b'T') => Wholeness::Whole,
        _ => SHORT,
    })
}

/// The text form of Open CASCADE: the last of the shapes ends with `*`, then the root is named by its orientation, its
/// number and its location (`+1 0`). DRAW, the test program of Open CASCADE, adds lines of its own.
pub(super) fn brep(bytes: &Bytes<'_>) -> io::Result<Wholeness> {
    const NAME: &[u8] = b"CASCADE Topology V";
    const HEAD_BYTES: usize = 256;
    const TAIL_BYTES: usize = 4096;
    let head = bytes.at(0, HEAD_BYTES)?;
    let has_name = head.windows(NAME.len()).any(|part| part == NAME);
    if !has_name && head.starts_with(b"DBRep_") {
        return Ok(SHORT);
    }
    if !has_name || !super::is_text(&head) {
        return Ok(Wholeness::Whole);
    }
    let tail = bytes.tail(TAIL_BYTES)?;
    let tail = String::from_utf8_lossy(&tail);
    let lines: Vec<&str> = tail.lines().map(str::trim).collect();
    let mut lines = lines.into_iter().filter(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        if line.ends_with('*') && lines.peek().is_some_and(|next| is_root(next)) {
            return Ok(Wholeness::Whole);
        }
    }
    Ok(SHORT)
}

/// Whether a line names a shape: `+1 0`. Orientations are forward, reversed, internal and external.
fn is_root(line: &str) -> bool {
    let Some((shape, location)) = line.split_once(' ') else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    shape
        .strip_prefix(['+', '-', 'i', 'e'])
        .is_some_and(is_number)
        && is_number(location)
}

#[cfg(test)]
mod tests {
    use super::super::tests::judged;
    use super::*;

    #[test]
    fn an_iges_file_is_whole_with_its_last_section() {
        let line = |text: &str, section: char| format!("{text:<72}{section}      1\r\n");
        let text = line("begin", 'S') + &line("100;", 'P') + &line("S      1P      1", 'T');
        assert_eq!(judged("a.igs", text.as_bytes()), Wholeness::Whole);
        let ended = format!("{text}\x1a\r\n  \r\n");
        assert_eq!(judged("a.igs", ended.as_bytes()), Wholeness::Whole);
        let blanks = text.clone() + &" ".repeat(5000);
        assert_eq!(judged("a.igs", blanks.as_bytes()), Wholeness::Whole);
        let unbroken = text.replace("\r\n", "");
        for end in ["", "\x1a", "\n", "\0\0\0", &" ".repeat(80)] {
            let ended = format!("{unbroken}{end}");
            assert_eq!(
                judged("a.igs", ended.as_bytes()),
                Wholeness::Whole,
                "{end:?}"
            );
        }
        for len in 81..unbroken.len() - 8 {
            let cut = &unbroken.as_bytes()[..len];
            assert_ne!(judged("a.igs", cut), Wholeness::Whole, "cut to {len}");
        }
        for len in 73..text.len() - 10 {
            assert_ne!(judged("a.IGES", &text.as_bytes()[..len]), Wholeness::Whole);
        }
        assert_eq!(judged("a.igs", b"no such lines"), Wholeness::Whole);
    }

    #[test]
    fn a_brep_file_is_whole_with_its_root() {
        let text = "DBRep_DrawableShape\n\nCASCADE Topology V1, (c) Matra-Datavision\nLocations 0\n\
            TShapes 2\nVe\n1e-07\n0 0 0\n0 0\n\n0101101\n*\nCo\n\n1100000\n+2 0 -2 0\n+2 1 *\n\n+1 0 ";
        // What DRAW adds.
        for end in ["", "\n", "\n0\n\n"] {
            let whole = format!("{text}{end}");
            assert_eq!(judged("a.brep", whole.as_bytes()), Wholeness::Whole);
        }
        for len in 1..text.trim_end().len() {
            let cut = judged("a.BREP", &text.as_bytes()[..len]);
            assert_eq!(cut == Wholeness::Whole, len < 6, "cut to {len}");
        }
        let binary = b"\nOpen CASCADE Topology V3 (c)\nLocations 0\n\0\x01";
        assert_eq!(judged("a.brep", binary), Wholeness::Whole);
    }
}

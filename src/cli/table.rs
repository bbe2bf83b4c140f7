//! Plain text tables, and readable numbers.

use crate::wire::Timestamp;
pub(super) use assetfs_formats::number_text::{bytes, counted, grouped};

/// A table with a header.
pub(super) fn table_below(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head = head.iter().map(|name| (*name).to_owned()).collect();
    table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// A time, or an empty text.
pub(super) fn moment(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "never".to_owned(), |at| at.plain())
}

/// Aligns rows in columns: the first column left, the others right. The first row is the header.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let padding = " ".repeat(widths[column] - cell.chars().count());
            if column > 0 {
                line.push_str("  ");
                line.push_str(&padding);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.push_str(&padding);
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
        if index == 0 {
            text.push_str(
                &"─".repeat(widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1)),
            );
            text.push('\n');
        }
    }
    text
}

/// A text in a number of columns. What is too long is cut in the middle: names differ at the beginning or at the end.
pub(super) fn cut_inside(text: &str, columns: usize) -> String {
    let len = text.chars().count();
    if len <= columns {
        return text.to_owned();
    }
    let tail = columns.saturating_sub(1) / 2;
    let head: String = text
        .chars()
        .take(columns.saturating_sub(1 + tail))
        .collect();
    let tail: String = text.chars().skip(len - tail).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = vec![
            vec!["".into(), "before".into()],
            vec!["triangles".into(), "12".into()],
        ];
        assert_eq!(
            table(&rows),
            "           before\n─────────────────\ntriangles      12\n"
        );
    }
}

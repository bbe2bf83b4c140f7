//! Table rows that compare a model with its result.

use assetfs_engine::job::ModelCounts;

use super::table::{bytes, grouped};

/// The header and a row for each count.
pub(super) fn rows(before: &ModelCounts, after: &ModelCounts) -> Vec<Vec<String>> {
    let texts = ["", "before", "after", ""];
    let mut rows = vec![texts.map(str::to_owned).to_vec()];
    let mut row = |name: &str, cell: fn(&ModelCounts) -> String, share: String| {
        rows.push(vec![name.to_owned(), cell(before), cell(after), share]);
    };
    let share = |of: fn(&ModelCounts) -> u64| match of(before) {
        0 => String::new(),
        whole => format!("{:.1} %", 100.0 * of(after) as f64 / whole as f64),
    };
    let mut size_share = share(|counts| counts.bytes);
    if before.bytes > 0 && after.bytes > before.bytes {
        size_share.push_str(" (larger than the source)");
    }
    row(
        "triangles",
        |counts| grouped(counts.triangles),
        share(|counts| counts.triangles),
    );
    row(
        "vertices",
        |counts| grouped(counts.vertices),
        share(|counts| counts.vertices),
    );
    row("bytes", |counts| bytes(counts.bytes), size_share);
    row(
        "materials",
        |counts| counts.materials.to_string(),
        String::new(),
    );
    row(
        "textures",
        |counts| counts.textures.to_string(),
        String::new(),
    );
    if before.textures > 0 {
        row(
            "largest texture",
            |counts| format!("{} px", counts.largest_texture),
            String::new(),
        );
    }
    rows
}

/// The similarity score of the result, from 0 to 100.
pub(super) fn score_row(average: f64, worst_view: Option<f64>) -> Vec<String> {
    let worst = worst_view.map(|worst| format!("worst view {worst:.1}"));
    vec![
        "similarity".to_owned(),
        "100".to_owned(),
        format!("{average:.1}"),
        worst.unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_larger_than_its_source_is_marked() {
        let counts = |bytes| ModelCounts {
            bytes,
            ..ModelCounts::default()
        };
        let share = |before, after| rows(&counts(before), &counts(after))[3][3].clone();
        assert_eq!(share(100, 50), "50.0 %");
        assert_eq!(share(100, 150), "150.0 % (larger than the source)");
    }
}

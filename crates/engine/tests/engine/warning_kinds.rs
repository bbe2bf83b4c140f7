//! The codes of warnings: the documentation lists them, and the engine gives each.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use assetfs_engine::job::Report;
use assetfs_engine::{Warning, WarningKind};
use assetfs_formats::input_files::files_below;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_documentation_lists_every_code_with_its_meaning() {
    let docs = fs::read_to_string(root().join("../../docs/engine.md")).unwrap();
    let (_, section) = docs.split_once("\n## Warnings\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let kinds = WarningKind::ALL.iter();
    let expected = kinds.map(|kind| format!("| `{}` | {} |", kind.name(), kind.row().meaning));
    assert_eq!(rows.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn the_engine_gives_every_kind_but_the_one_without_a_code() {
    let sources = root().join("src");
    let files = files_below(&sources).into_iter();
    let texts: Vec<String> = files
        .filter(|file| file.ends_with(".rs"))
        .map(|file| fs::read_to_string(sources.join(file)).unwrap())
        .collect();
    let given: HashSet<&str> = texts
        .iter()
        .flat_map(|text| text.split("WarningKind::").skip(1))
        .filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next())
        .collect();
    for kind in WarningKind::ALL {
        let is_given = given.contains(&*format!("{kind:?}"));
        assert_eq!(is_given, *kind != WarningKind::Other, "{kind:?}");
    }
}

#[test]
fn a_report_of_an_earlier_version_has_warnings_without_codes() {
    let mut report = serde_json::to_value(Report::default()).unwrap();
    report["warnings"] = ["an old line", "a new line [no-gain]"].into();
    let report: Report = serde_json::from_value(report).unwrap();
    let expected = [
        Warning::new(WarningKind::Other, "an old line"),
        Warning::new(WarningKind::NoGain, "a new line"),
    ];
    assert_eq!(report.warnings, expected);
}

//! What `assetfs build` reports: a table, lines of JSON, JUnit XML, and annotations of GitHub.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use assetfs_formats::warnings::WarningKind;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use serde_json::json;

use super::super::bring::Double;
use super::super::exit::Exit;
use super::super::output;
use super::super::result_facts::ResultFacts;
use super::super::table::{bytes, counted, grouped, table_below};
use super::super::watch::{Due, Key};
use crate::drive::StatusWord;
use crate::fuse::shell_quoted;

/// The command, as reports name it.
const COMMAND: &str = "assetfs build";

/// What became of one model with one preset.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) model: String,
    pub(super) preset: String,
    pub(super) state: BuiltState,
    /// Its files in the folder of results.
    pub(super) files: Vec<PathBuf>,
    pub(super) facts: Option<ResultFacts>,
    /// Why it failed, and what of its budget it exceeds.
    pub(super) reasons: Vec<String>,
    /// Why a dry run would make it.
    pub(super) due: Option<Due>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuiltState {
    /// In this run.
    Made,
    /// In an earlier run.
    UpToDate,
    OverBudget,
    Failed,
    /// In a dry run.
    WouldBeMade,
}

impl BuiltState {
    fn words(self) -> &'static str {
        match self {
            BuiltState::Made => "made",
            BuiltState::UpToDate => "up to date",
            BuiltState::OverBudget => "over budget",
            BuiltState::Failed => "failed",
            BuiltState::WouldBeMade => "would be made",
        }
    }

    fn is_failure(self) -> bool {
        matches!(self, BuiltState::OverBudget | BuiltState::Failed)
    }

    fn exit(self) -> Exit {
        match self.is_failure() {
            true => Exit::Failed,
            false => Exit::Done,
        }
    }
}

impl Built {
    /// An entry of the folder of models that cannot be one.
    pub(super) fn failed(path: &Path, preset: String, why: &str) -> Built {
        let name = path.file_name().unwrap_or_default();
        Built {
            model: name.to_string_lossy().into_owned(),
            preset,
            state: BuiltState::Failed,
            files: Vec::new(),
            facts: None,
            reasons: vec![why.to_owned()],
            due: None,
        }
    }

    fn name(&self) -> String {
        format!("{} ({})", self.model, self.preset)
    }

    fn reason(&self) -> String {
        self.reasons.join("; ")
    }
}

/// The end of a command with these results.
pub(super) fn exit_of(all: &[Built]) -> Exit {
    let exits = all.iter().map(|built| built.state.exit());
    exits.max().unwrap_or(Exit::Failed)
}

/// # Errors
/// If there are no results: folders without models are most likely not those that were meant.
pub(super) fn check_not_empty(all: &[Built], file: &Path) -> Result<()> {
    ensure!(
        !all.is_empty(),
        "there are no models in the folders that `models` names in {}; correct it, or put models there",
        shell_quoted(file)
    );
    Ok(())
}

/// Prints what was built: a table of all that is not as it was before, with `quiet` of the failures alone, and the reasons;
/// or with `--json` a line for each that has none yet.
pub(super) fn print(all: &[Built], printed: &BTreeSet<Key>, quiet: bool) {
    if output::is_json() {
        output::is_list();
        let has_line =
            |built: &&Built| printed.contains(&(built.model.clone(), built.preset.clone()));
        all.iter()
            .filter(|built| !has_line(built))
            .for_each(print_line);
        return;
    }
    let head = [
        "model",
        "preset",
        "state",
        "triangles",
        "bytes",
        "similarity",
        "warnings",
    ];
    let mut shown = all
        .iter()
        .filter(|built| match quiet {
            true => built.state.is_failure(),
            false => !matches!(built.state, BuiltState::UpToDate | BuiltState::WouldBeMade),
        })
        .peekable();
    if shown.peek().is_some() {
        print!("{}", table_below(&head, shown.map(row)));
    }
    for built in all {
        match built.due {
            Some(due) if !quiet => {
                println!("{}: would be made: {}", built.name(), due.words());
            }
            None if built.state.is_failure() => println!("{}: {}", built.name(), built.reason()),
            Some(_) | None => {}
        }
    }
    println!("{}", summary(all));
}

/// The sum of `--json`. `points` is what a run through a drive has cost, or would cost at most.
pub(super) fn print_sum(all: &[Built], points: Option<usize>, is_dry: bool, exit: Exit) {
    if !output::is_json() {
        return;
    }
    let count = |state| all.iter().filter(|built| built.state == state).count();
    let made = match is_dry {
        true => BuiltState::WouldBeMade,
        false => BuiltState::Made,
    };
    let mut sum = json!({
        "state": output::state_after(exit),
        "dry_run": is_dry,
        "made": count(made),
        "up_to_date": count(BuiltState::UpToDate),
        "over_budget": count(BuiltState::OverBudget),
        "failed": count(BuiltState::Failed),
        "exit": exit.code(),
    });
    if let Some(points) = points {
        sum["points"] = points.into();
    }
    output::line(sum);
}

/// Says which models of the drive have the names of models that were built.
pub(super) fn print_doubles(doubles: &[Double], quiet: bool) {
    for double in doubles {
        if output::is_json() {
            output::line(double.line());
        }
        if !quiet {
            eprintln!("{}", double.sentence());
        }
    }
}

fn row(built: &Built) -> Vec<String> {
    let facts = built.facts.as_ref();
    let triangles = facts.and_then(|it| it.triangles).map(grouped);
    let similarity = facts
        .and_then(|it| it.similarity)
        .map(|it| format!("{it:.1}"));
    let warnings = facts.map_or(0, |it| it.warnings.len());
    vec![
        built.model.clone(),
        built.preset.clone(),
        built.state.words().to_owned(),
        triangles.unwrap_or_default(),
        facts.map(|it| bytes(it.bytes)).unwrap_or_default(),
        similarity.unwrap_or_default(),
        match warnings {
            0 => String::new(),
            count => count.to_string(),
        },
    ]
}

fn summary(all: &[Built]) -> String {
    let states = [
        BuiltState::Made,
        BuiltState::UpToDate,
        BuiltState::OverBudget,
        BuiltState::Failed,
        BuiltState::WouldBeMade,
    ];
    let count = |state| all.iter().filter(|built| built.state == state).count();
    let parts = states.map(|state| (count(state), state.words()));
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    format!(
        "{}: {}",
        counted(all.len() as u64, "result"),
        parts.join(", ")
    )
}

/// The line of a result with `--json`.
pub(super) fn print_line(built: &Built) {
    let facts = built.facts.clone().unwrap_or_default();
    let codes: BTreeSet<&str> = facts
        .warnings
        .iter()
        .map(|line| WarningKind::of_line(line).name())
        .collect();
    let exit = built.state.exit();
    let mut line = json!({
        "model": built.model,
        "preset": built.preset,
        "state": match built.state {
            BuiltState::WouldBeMade => json!(StatusWord::NotSent),
            _ => json!(output::state_after(exit)),
        },
        "built": built.state.words().replace(' ', "_"),
        "files": built.files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
        "bytes": facts.bytes,
        "triangles": facts.triangles,
        "similarity": facts.similarity,
        "warnings": facts.warnings,
        "warning_codes": codes,
        "exit": exit.code(),
    });
    if let Some(due) = built.due {
        line["why"] = json!(due);
    }
    if !built.reasons.is_empty() {
        line["reason"] = built.reason().into();
    }
    output::line(line);
}

/// Writes the results as JUnit XML: a suite for each preset, a test for each model, and one for the command if it failed as a
/// whole.
pub(super) fn write_junit(all: &[Built], why: Option<&str>, path: &Path) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let text = junit(all, why).with_context(cannot)?;
    // Not atomic: the path may be a pipe or a device, and others read the report.
    fs::write(path, &text).with_context(cannot)
}

fn junit(all: &[Built], why: Option<&str>) -> Result<Vec<u8>> {
    let mut presets: Vec<&str> = all.iter().map(|built| built.preset.as_str()).collect();
    presets.sort_unstable();
    presets.dedup();
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.create_element("testsuites")
        .write_inner_content(|xml| {
            for preset in presets {
                suite(
                    xml,
                    preset,
                    all.iter().filter(|built| built.preset == preset),
                )?;
            }
            why.map_or(Ok(()), |why| failed_command(xml, why))
        })?;
    let mut text = xml.into_inner();
    text.push(b'\n');
    Ok(text)
}

fn suite<'a>(
    xml: &mut Writer<Vec<u8>>,
    preset: &str,
    results: impl Iterator<Item = &'a Built> + Clone,
) -> std::io::Result<()> {
    let count = |state| {
        results
            .clone()
            .filter(|built| built.state == state)
            .count()
            .to_string()
    };
    let counts = [
        ("tests", results.clone().count().to_string()),
        ("failures", count(BuiltState::OverBudget)),
        ("errors", count(BuiltState::Failed)),
    ];
    let counts = counts.iter().map(|(name, count)| (*name, count.as_str()));
    let suite = xml
        .create_element("testsuite")
        .with_attribute(("name", preset));
    suite.with_attributes(counts).write_inner_content(|xml| {
        for built in results.clone() {
            let case = xml
                .create_element("testcase")
                .with_attribute(("classname", preset));
            let case = case.with_attribute(("name", built.model.as_str()));
            let element = match built.state {
                BuiltState::Made | BuiltState::UpToDate | BuiltState::WouldBeMade => {
                    case.write_empty()?;
                    continue;
                }
                BuiltState::OverBudget => "failure",
                BuiltState::Failed => "error",
            };
            case.write_inner_content(|xml| reason_element(xml, element, &built.reason()))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn failed_command(xml: &mut Writer<Vec<u8>>, why: &str) -> std::io::Result<()> {
    let counts = [("tests", "1"), ("failures", "0"), ("errors", "1")];
    let suite = xml
        .create_element("testsuite")
        .with_attribute(("name", COMMAND));
    suite.with_attributes(counts).write_inner_content(|xml| {
        let case = xml.create_element("testcase");
        let case = case.with_attributes([("classname", COMMAND), ("name", COMMAND)]);
        case.write_inner_content(|xml| reason_element(xml, "error", why))?;
        Ok(())
    })?;
    Ok(())
}

fn reason_element(xml: &mut Writer<Vec<u8>>, name: &str, reason: &str) -> std::io::Result<()> {
    let reason = xml_text(reason);
    let element = xml.create_element(name);
    let element = element.with_attribute(("message", reason.as_str()));
    element.write_text_content(BytesText::new(&reason))?;
    Ok(())
}

/// Without the control characters that XML cannot have.
fn xml_text(text: &str) -> String {
    let is_allowed = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(is_allowed).collect()
}

/// The annotations that GitHub Actions shows beside a run (its workflow commands): a line for each failure, and one for each
/// reason why the command failed as a whole.
pub(super) fn annotations(all: &[Built], whys: &[String]) -> Vec<String> {
    let failures = all.iter().filter(|built| built.state.is_failure());
    let failures = failures.map(|built| {
        let title = format!("{} {}", built.name(), built.state.words());
        annotation(&title, &built.reason())
    });
    let whole = whys.iter();
    let whole = whole.map(|why| annotation(&format!("{COMMAND} failed"), why));
    failures.chain(whole).collect()
}

fn annotation(title: &str, reason: &str) -> String {
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    format!("::error title={title}::{}", escaped(reason))
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(model: &str, preset: &str, state: BuiltState, reasons: &[&str]) -> Built {
        Built {
            model: model.to_owned(),
            preset: preset.to_owned(),
            state,
            files: Vec::new(),
            facts: None,
            reasons: reasons.iter().map(|it| (*it).to_owned()).collect(),
            due: None,
        }
    }

    fn some() -> Vec<Built> {
        vec![
            built("chair", "web", BuiltState::Made, &[]),
            built(
                "a<b>\"&",
                "web",
                BuiltState::OverBudget,
                &["too \"many\" <triangles>", "100 %,\nmore"],
            ),
            built("fox", "phone", BuiltState::Failed, &["it is damaged\u{1b}"]),
            built("owl", "phone", BuiltState::UpToDate, &[]),
        ]
    }

    #[test]
    fn the_command_fails_if_one_result_fails_or_exceeds_its_budget() {
        let all = some();
        assert_eq!(exit_of(&all), Exit::Failed);
        assert_eq!(exit_of(&all[..2]), Exit::Failed);
        assert_eq!(exit_of(&all[..1]), Exit::Done);
        assert_eq!(exit_of(&[]), Exit::Failed, "no models");
    }

    #[test]
    fn junit_has_a_suite_for_each_preset_and_escapes_what_xml_would_take_for_its_own() {
        let text = String::from_utf8(junit(&some(), None).unwrap()).unwrap();
        assert!(
            text.contains(r#"<testsuite name="web" tests="2" failures="1" errors="0">"#),
            "{text}"
        );
        assert!(
            text.contains(r#"<testsuite name="phone" tests="2" failures="0" errors="1">"#),
            "{text}"
        );
        assert!(
            text.contains(r#"<testcase classname="web" name="a&lt;b&gt;&quot;&amp;">"#),
            "{text}"
        );
        assert!(
            text.contains("too &quot;many&quot; &lt;triangles&gt;; 100 %"),
            "{text}"
        );
        assert!(text.contains("<error message=\"it is damaged\">"), "{text}");
        let mut reader = quick_xml::Reader::from_str(&text);
        while reader.read_event().unwrap() != Event::Eof {}
    }

    #[test]
    fn a_command_that_failed_as_a_whole_is_a_failed_test_and_an_annotation() {
        let why = Some("there are no models");
        let text = String::from_utf8(junit(&[], why).unwrap()).unwrap();
        let suite = r#"<testsuite name="assetfs build" tests="1" failures="0" errors="1">"#;
        assert!(text.contains(suite), "{text}");
        assert!(
            text.contains("<error message=\"there are no models\">"),
            "{text}"
        );
        let lines = annotations(
            &some()[..1],
            &why.map(str::to_owned).into_iter().collect::<Vec<_>>(),
        );
        assert_eq!(
            lines,
            ["::error title=assetfs build failed::there are no models"]
        );
        let both = String::from_utf8(junit(&some(), why).unwrap()).unwrap();
        assert_eq!(both.matches("<testsuite ").count(), 3, "{both}");
    }

    #[test]
    fn an_annotation_is_one_line_whatever_the_reason() {
        let lines = annotations(&some(), &[]);
        assert_eq!(
            lines[0],
            "::error title=a<b>\"& (web) over budget::too \"many\" <triangles>; 100 %25,%0Amore"
        );
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| !line.contains('\n')));
    }

    #[test]
    fn the_summary_counts_each_state() {
        assert_eq!(
            summary(&some()),
            "4 results: 1 made, 1 up to date, 1 over budget, 1 failed"
        );
    }
}

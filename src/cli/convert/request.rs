//! Which of the listed conversions belong to a request, and how far they are. Conversions have no ids.

use std::collections::HashSet;

use crate::wire::{ConversionJob, ConversionStatus};

/// What was asked for, and which of the listed conversions belong to it.
pub(super) struct Request {
    pub(super) formats: Vec<String>,
    /// Conversions that were over before it.
    old: Vec<ConversionJob>,
    /// Formats whose conversion was seen in progress.
    seen: HashSet<String>,
}

/// How far a request is.
#[derive(Debug, PartialEq)]
pub(super) enum Stage {
    /// With what is shown of it.
    Going(String),
    /// Done, or the end of the sentence that says why not.
    Over(Result<(), String>),
}

impl Request {
    pub(super) fn new(before: &[ConversionJob], formats: &[String]) -> Request {
        let lower = |format: &String| format.to_ascii_lowercase();
        Request {
            formats: formats.iter().map(lower).collect(),
            old: before.iter().filter(|job| job.is_over()).cloned().collect(),
            seen: HashSet::new(),
        }
    }

    /// Conversions have no ids: those of the request name a format of it and were not over before. `is_new` says that a
    /// conversion may not be listed yet.
    pub(super) fn look(&mut self, jobs: &[ConversionJob], is_new: bool) -> Stage {
        let mut old = self.old.clone();
        let mut own: Vec<&ConversionJob> = jobs.iter().collect();
        own.retain(|job| match old.iter().position(|known| known == *job) {
            Some(place) => {
                old.remove(place);
                false
            }
            None => true,
        });
        let mut failure = None;
        for format in &self.formats {
            let mut found = own.iter().copied().rfind(|job| job.makes(format));
            if found.is_none() && self.seen.contains(format) {
                // The same outcome as before: its record looks like that of the earlier conversion.
                found = jobs.iter().rfind(|job| job.makes(format));
            }
            match found {
                Some(job) if job.status == ConversionStatus::Failed => {
                    failure = Some(reason_of(job));
                }
                Some(job) if job.is_over() => {}
                Some(job) => {
                    self.seen.insert(format.clone());
                    return Stage::Going(match &job.status {
                        ConversionStatus::Executing => {
                            format!("converting {}%", job.progress.min(100))
                        }
                        _ => "queued".to_owned(),
                    });
                }
                None if is_new => return Stage::Going("queued".to_owned()),
                None => failure = Some("; the service does not list it".to_owned()),
            }
        }
        Stage::Over(failure.map_or(Ok(()), Err))
    }
}

/// The end of a sentence about a conversion that failed.
fn reason_of(job: &ConversionJob) -> String {
    let message = job.other.get("message").and_then(|text| text.as_str());
    match message {
        Some(reason) => format!(": {reason}"),
        None => "; the service does not say why".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(text: &str) -> Vec<ConversionJob> {
        serde_json::from_str(text).unwrap()
    }

    fn request(before: &str, formats: &[&str]) -> Request {
        let formats: Vec<String> = formats.iter().map(|name| (*name).to_owned()).collect();
        Request::new(&jobs(before), &formats)
    }

    fn failed(reason: &str) -> Stage {
        Stage::Over(Err(reason.to_owned()))
    }

    const OLD: &str = r#"{"status": "failed", "formats": ["fbx"], "message": "old"},
        {"status": "finished", "formats": ["obj"], "progress": 100}"#;

    #[test]
    fn a_request_is_over_when_its_own_conversions_are() {
        let mut request = request(&format!("[{OLD}]"), &["OBJ", "usdz"]);
        let mut look = |more: &str| request.look(&jobs(&format!("[{OLD}{more}]")), false);
        let other = r#", {"status": "executing", "formats": ["stl"], "progress": 3}"#;
        let first = r#", {"status": "executing", "formats": ["obj"], "progress": 40}"#;
        assert_eq!(
            look(&format!("{first}{other}")),
            Stage::Going("converting 40%".to_owned())
        );
        let done = r#", {"status": "finished", "formats": ["obj", "usdz"], "progress": 100}"#;
        assert_eq!(look(&format!("{done}{other}")), Stage::Over(Ok(())));
    }

    #[test]
    fn the_reason_is_that_of_a_requested_format() {
        let before = r#"{"status": "failed", "formats": ["obj"], "message": "before"}"#;
        let mut request = request(&format!("[{before}]"), &["obj"]);
        let now = r#"{"status": "failed", "formats": ["obj"], "message": "no faces"},
            {"status": "failed", "formats": ["fbx"], "message": "of another format"}"#;
        let now = jobs(&format!("[{now}, {before}]"));
        assert_eq!(request.look(&now, false), failed(": no faces"));
    }

    #[test]
    fn one_of_several_formats_that_fails_is_a_failure() {
        let mut request = request("[]", &["obj", "usdz"]);
        let now = r#"[{"status": "failed", "formats": ["obj"]},
            {"status": "finished", "formats": ["usdz"], "progress": 100}]"#;
        let outcome = request.look(&jobs(now), false);
        assert_eq!(outcome, failed("; the service does not say why"));
    }

    #[test]
    fn a_conversion_that_ends_as_the_one_before_is_over_too() {
        let old = r#"[{"status": "failed", "formats": ["obj"], "message": "no faces"}]"#;
        let mut request = request(old, &["obj"]);
        // First only the old conversion is listed, then the new one has replaced it.
        assert_eq!(
            request.look(&jobs(old), true),
            Stage::Going("queued".to_owned())
        );
        let going = r#"[{"status": "queued", "formats": ["obj"]}]"#;
        assert_eq!(
            request.look(&jobs(going), false),
            Stage::Going("queued".to_owned())
        );
        assert_eq!(request.look(&jobs(old), false), failed(": no faces"));
    }

    #[test]
    fn a_conversion_that_is_never_listed_is_a_failure() {
        let mut request = request("[]", &["obj"]);
        assert_eq!(request.look(&[], true), Stage::Going("queued".to_owned()));
        assert_eq!(
            request.look(&[], false),
            failed("; the service does not list it")
        );
    }
}

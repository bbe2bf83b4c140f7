//! The plan: which requests meet which fault. Written as TOML, so that it can be kept beside a test.

use std::time::Duration;

use axum::http::{Method, Uri};
use serde::Deserialize;

/// A plan of faults.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChaosPlan {
    /// Decides every chance in the plan.
    #[serde(default)]
    pub seed: u64,
    /// By how many seconds the service's clock is ahead.
    #[serde(default)]
    pub clock_ahead_secs: i64,
    /// How many seconds upload URLs work, instead of what the service was started with.
    #[serde(default)]
    pub upload_url_secs: Option<u64>,
    /// The same for download URLs.
    #[serde(default)]
    pub download_url_secs: Option<u64>,
    /// What requests meet. A request that several rules match meets all their faults, in this order.
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
    /// What new connections meet; the first rule that fires counts.
    #[serde(default, rename = "connection")]
    pub connections: Vec<ConnectionRule>,
}

/// When a rule fires.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct When {
    /// So many matches pass untouched.
    #[serde(default)]
    pub after: u64,
    /// It fires at most so often.
    #[serde(default)]
    pub times: Option<u64>,
    /// From 0 (never) to 1 (each time).
    #[serde(default = "always")]
    pub chance: f64,
}

fn always() -> f64 {
    1.0
}

/// One rule for requests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Rule {
    /// The method; any when absent.
    #[serde(default)]
    pub method: Option<String>,
    /// The path without its query, `*` standing for any text; any when absent.
    #[serde(default)]
    pub path: Option<String>,
    /// When it fires.
    #[serde(flatten)]
    pub when: When,
    /// What happens then.
    pub fault: Fault,
}

/// One rule for connections.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ConnectionRule {
    /// When it fires.
    #[serde(flatten)]
    pub when: When,
    /// What happens then.
    pub fault: ConnectionFault,
}

/// What can happen to a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// It waits before it is handled.
    Latency {
        /// So long.
        ms: u64,
    },
    /// It is answered with a status instead of being handled.
    Status {
        /// The status.
        status: u16,
        /// The header `Retry-After`, as it stands.
        #[serde(default)]
        retry_after: Option<String>,
        /// The body; a JSON `{message}` when absent.
        #[serde(default)]
        body: Option<String>,
    },
    /// The connection is closed before anything has happened.
    DropBefore,
    /// It is handled, and the connection is closed instead of an answer.
    DropAfter,
    /// The connection is closed after so many bytes of its body.
    CutRequest {
        /// So many.
        bytes: u64,
    },
    /// The connection is closed after so many bytes of the answer's body.
    CutReply {
        /// So many.
        bytes: u64,
    },
    /// The answer's body comes slowly.
    Drip {
        /// So slowly.
        bytes_per_second: u64,
    },
    /// The answer's `Content-Length` is wrong by so many bytes.
    WrongLength {
        /// Added to the length.
        by: i64,
    },
    /// The answer has no `Content-Length`.
    NoLength,
}

/// What can happen to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ConnectionFault {
    /// It is closed at once.
    Reset,
    /// Nobody listens for a while: this connection is closed, the next ones are refused.
    Refuse {
        /// So long.
        ms: u64,
    },
}

/// Why a text is no plan.
#[derive(Debug, thiserror::Error)]
pub enum ChaosError {
    /// It does not read as one.
    #[error("the plan of faults cannot be read: {0}")]
    Text(#[from] toml::de::Error),
    /// A value in it makes no sense.
    #[error("the plan of faults makes no sense: {0}")]
    Value(String),
}

impl ChaosPlan {
    /// Reads a plan.
    ///
    /// # Errors
    /// When the text is no plan; the message says where.
    pub fn parse(text: &str) -> Result<ChaosPlan, ChaosError> {
        let plan: ChaosPlan = toml::from_str(text)?;
        for rule in &plan.rules {
            rule.check()?;
        }
        let whens = plan.rules.iter().map(|rule| &rule.when);
        for when in whens.chain(plan.connections.iter().map(|rule| &rule.when)) {
            if !(0.0..=1.0).contains(&when.chance) {
                let chance = when.chance;
                return Err(ChaosError::Value(format!(
                    "chance {chance} is not from 0 to 1"
                )));
            }
        }
        Ok(plan)
    }

    /// How long upload URLs work, where the plan says so.
    pub fn upload_url_lifetime(&self) -> Option<Duration> {
        self.upload_url_secs.map(Duration::from_secs)
    }

    /// How long download URLs work, where the plan says so.
    pub fn download_url_lifetime(&self) -> Option<Duration> {
        self.download_url_secs.map(Duration::from_secs)
    }
}

impl Rule {
    fn check(&self) -> Result<(), ChaosError> {
        let problem = match &self.fault {
            Fault::Status { status, .. } if !(200..=599).contains(status) => {
                format!("status {status}")
            }
            Fault::Drip {
                bytes_per_second: 0,
            } => "a drip of 0 bytes a second".to_owned(),
            _ => match &self.method {
                Some(method) if method.parse::<Method>().is_err() => format!("method {method:?}"),
                _ => return Ok(()),
            },
        };
        Err(ChaosError::Value(problem))
    }

    /// Whether a request is one that this rule means.
    pub(super) fn matches(&self, method: &Method, uri: &Uri) -> bool {
        let wanted = self.method.as_deref();
        wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(method.as_str()))
            && self
                .path
                .as_deref()
                .is_none_or(|pattern| fits(pattern, uri.path()))
    }
}

/// Whether `text` has the form of `pattern`, in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("/a/*", "/a/b/c", true),
            ("/a/*", "/b/a/c", false),
            ("*", "", true),
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("/a/*/c", "/a/b/c", true),
            ("/a/*/c", "/a/b/d", false),
            ("*/complete", "/x/complete", true),
            ("/a*b*b", "/ab", false),
            ("/a*b*b", "/abxb", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_plan_with_every_fault_is_read() {
        let plan = ChaosPlan::parse(include_str!(
            "../../../tests/fixtures/chaos-every-fault.toml"
        ));
        let plan = plan.unwrap();
        assert_eq!(plan.rules.len(), 9);
        assert_eq!(plan.connections.len(), 2);
    }

    #[test]
    fn what_is_no_plan_is_refused_with_its_place() {
        for (text, part) in [
            ("seed = \"x\"", "line 1"),
            ("[[rule]]\nfault = { kind = \"meteor\" }", "meteor"),
            ("[[rule]]\nfault = { kind = \"status\", status = 99 }", "99"),
            (
                "[[rule]]\nchance = 2.0\nfault = { kind = \"no_length\" }",
                "chance",
            ),
            (
                "[[rule]]\nfault = { kind = \"drip\", bytes_per_second = 0 }",
                "drip",
            ),
            ("speed = 1", "speed"),
        ] {
            let error = ChaosPlan::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

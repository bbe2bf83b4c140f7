//! The plan: which requests get which fault. It is TOML, so that a test can keep it in a file.

use std::collections::BTreeMap;

use axum::http::{Method, Uri};
use serde::Deserialize;

/// A plan of faults.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChaosPlan {
    /// The seed of all random decisions.
    #[serde(default)]
    pub seed: u64,
    /// By how many seconds the service's clock is ahead.
    #[serde(default)]
    pub clock_ahead_secs: i64,
    /// Lifetime of upload URLs in seconds, instead of the configured one.
    #[serde(default)]
    pub upload_url_secs: Option<u64>,
    /// Lifetime of download URLs in seconds, instead of the configured one.
    #[serde(default)]
    pub download_url_secs: Option<u64>,
    /// Rules for requests. A request that matches several rules gets all their faults, in this order.
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
    /// Rules for new connections. Only the first rule that fires counts.
    #[serde(default, rename = "connection")]
    pub connections: Vec<ConnectionRule>,
}

/// When a rule fires.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct When {
    /// Number of first matches for which the rule does not fire.
    #[serde(default)]
    pub after: u64,
    /// Maximum number of times that the rule fires.
    #[serde(default)]
    pub times: Option<u64>,
    /// Probability, from 0 to 1.
    #[serde(default = "always")]
    pub chance: f64,
}

/// Keys that no rule has. `deny_unknown_fields` does not go together with `flatten`.
type UnknownKeys = BTreeMap<String, toml::Value>;

fn always() -> f64 {
    1.0
}

/// One rule for requests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Rule {
    /// Absent: any method.
    #[serde(default)]
    pub method: Option<String>,
    /// The path without its query. `*` matches any text. Absent: any path.
    #[serde(default)]
    pub path: Option<String>,
    #[serde(flatten)]
    pub when: When,
    pub fault: Fault,
    #[serde(flatten)]
    unknown: UnknownKeys,
}

/// One rule for connections.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ConnectionRule {
    #[serde(flatten)]
    pub when: When,
    pub fault: ConnectionFault,
    #[serde(flatten)]
    unknown: UnknownKeys,
}

/// A fault of a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// It is delayed before it is handled.
    Latency { ms: u64 },
    /// It is not handled; the reply has this status.
    Status {
        status: u16,
        /// Text of the header `Retry-After`.
        #[serde(default)]
        retry_after: Option<String>,
        /// Absent: a JSON object with a `message`.
        #[serde(default)]
        body: Option<String>,
    },
    /// The connection is closed before the request is handled.
    DropBefore,
    /// It is handled; the connection is closed without a reply.
    DropAfter,
    /// The connection is closed after this many bytes of the request body.
    CutRequest { bytes: u64 },
    /// The connection is closed after this many bytes of the reply body.
    CutReply { bytes: u64 },
    /// The reply body is sent slowly.
    Drip { bytes_per_second: u64 },
    /// The `Content-Length` of the reply is wrong by this many bytes.
    WrongLength { by: i64 },
    /// The reply has no `Content-Length`.
    NoLength,
}

/// A fault of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ConnectionFault {
    /// It is closed at once.
    Reset,
    /// This connection is closed, and new connections are refused for a while.
    Refuse { ms: u64 },
}

/// Why a plan is refused.
#[derive(Debug, thiserror::Error)]
pub enum ChaosError {
    #[error("the plan of faults cannot be read: {0}")]
    Text(#[from] toml::de::Error),
    #[error("the plan of faults is not valid: {0}")]
    Value(String),
}

impl ChaosPlan {
    /// Reads a plan.
    ///
    /// # Errors
    /// If the text is not a valid plan. The message names the place.
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
        let rules = plan.rules.iter().map(|rule| &rule.unknown);
        let mut unknown = rules.chain(plan.connections.iter().map(|rule| &rule.unknown));
        if let Some(key) = unknown.find_map(|keys| keys.keys().next()) {
            return Err(ChaosError::Value(format!("{key} is not a key of a rule")));
        }
        Ok(plan)
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

    /// Whether this rule applies to a request.
    pub(super) fn matches(&self, method: &Method, uri: &Uri) -> bool {
        let wanted = self.method.as_deref();
        wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(method.as_str()))
            && self
                .path
                .as_deref()
                .is_none_or(|pattern| fits(pattern, uri.path()))
    }
}

/// Whether `text` matches `pattern`, in which `*` matches any text.
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
        // A new fault does not compile here before it has a place, and then fails until the fixture has it.
        let places = plan.rules.iter().map(|rule| match rule.fault {
            Fault::Latency { .. } => 0,
            Fault::Status { .. } => 1,
            Fault::DropBefore => 2,
            Fault::DropAfter => 3,
            Fault::CutRequest { .. } => 4,
            Fault::CutReply { .. } => 5,
            Fault::Drip { .. } => 6,
            Fault::WrongLength { .. } => 7,
            Fault::NoLength => 8,
        });
        assert!(places.eq(0..9));
        let places = plan.connections.iter().map(|rule| match rule.fault {
            ConnectionFault::Reset => 0,
            ConnectionFault::Refuse { .. } => 1,
        });
        assert!(places.eq(0..2));
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
            (
                "[[rule]]\ntims = 3\nfault = { kind = \"no_length\" }",
                "tims",
            ),
            (
                "[[connection]]\npath = \"*\"\nfault = { kind = \"reset\" }",
                "path",
            ),
        ] {
            let error = ChaosPlan::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

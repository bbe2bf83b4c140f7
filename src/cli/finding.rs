//! What a command found out about this machine: `assetfs doctor`, `assetfs samba`.

/// The result of one check.
pub(super) struct Finding {
    pub(super) what: &'static str,
    pub(super) verdict: Verdict,
}

pub(super) enum Verdict {
    Good(String),
    /// Optional, but recommended.
    Advice(String),
    Missing(String),
}

impl Finding {
    /// As a line for people.
    pub(super) fn line(&self) -> String {
        let (mark, _, text) = self.verdict.parts();
        format!("{mark} {}: {text}", self.what)
    }

    pub(super) fn json(&self) -> serde_json::Value {
        let (_, verdict, text) = self.verdict.parts();
        serde_json::json!({"what": self.what, "verdict": verdict, "text": text})
    }
}

impl Verdict {
    /// Mark, word and text.
    fn parts(&self) -> (&'static str, &'static str, &str) {
        match self {
            Verdict::Good(text) => ("✓", "good", text),
            Verdict::Advice(text) => ("·", "advice", text),
            Verdict::Missing(text) => ("✗", "missing", text),
        }
    }
}

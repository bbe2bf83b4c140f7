//! Errors with all their causes, in one line: for the log, and for reasons of failed jobs.

use std::error::Error;

/// An error and its causes, separated by colons. What an error says about its own cause is not repeated.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the database failed")]
    struct Outer(#[source] Middle);

    #[derive(Debug, thiserror::Error)]
    #[error("the connection broke: {0}")]
    struct Middle(#[source] std::fmt::Error);

    #[test]
    fn each_cause_is_said_once() {
        assert_eq!(
            chain(&Outer(Middle(std::fmt::Error))),
            format!(
                "the database failed: the connection broke: {}",
                std::fmt::Error
            )
        );
    }
}

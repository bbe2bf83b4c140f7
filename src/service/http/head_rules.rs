//! Rules of HTTP about the head of a request. They are checked before anything else of the request is read, for every
//! path: what breaks them would be misunderstood, or a body would be stored as what it is not.

use axum::extract::Request;
use axum::http::header::{CONTENT_ENCODING, CONTENT_RANGE};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::error::ApiError;
use crate::listener::host_problem;

/// Refuses a request whose head breaks a rule.
pub async fn refuse_bad_heads(request: Request, next: Next) -> Response {
    match check(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Why the head of a request is refused.
pub fn check(request: &Request) -> Result<(), ApiError> {
    if let Some(problem) = host_problem(request) {
        return Err(ApiError::BadRequest(problem.to_owned()));
    }
    check_range(request)?;
    check_coding(request)
}

/// RFC 9110, 14.5: a part would replace the whole.
fn check_range(request: &Request) -> Result<(), ApiError> {
    if request.method() == Method::PUT && request.headers().contains_key(CONTENT_RANGE) {
        let problem = "A PUT replaces the whole; send all of it, without the header Content-Range.";
        return Err(ApiError::BadRequest(problem.to_owned()));
    }
    Ok(())
}

/// RFC 9110, 8.4: compressed bytes would be stored as the file, or read as JSON.
fn check_coding(request: &Request) -> Result<(), ApiError> {
    let is_plain = |value: &HeaderValue| {
        let codings = value.to_str().unwrap_or("unreadable").split(',');
        codings
            .map(str::trim)
            .all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case("identity"))
    };
    let mut codings = request.headers().get_all(CONTENT_ENCODING).iter();
    match request.method().is_safe() || codings.all(is_plain) {
        true => Ok(()),
        false => Err(ApiError::EncodedBody),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn status(method: Method, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let refusal = check(&request.body(Body::empty()).unwrap()).err();
        refusal.map_or(200, |refusal| refusal.into_response().status().as_u16())
    }

    #[test]
    fn a_put_is_whole_and_no_body_is_compressed() {
        let host = ("host", "x");
        let range = ("content-range", "bytes 0-1/10");
        assert_eq!(status(Method::PUT, &[host, range]), 400);
        assert_eq!(status(Method::GET, &[host, range]), 200);
        for coding in ["identity", "Identity", "", "identity, identity"] {
            let headers = [host, ("content-encoding", coding)];
            assert_eq!(status(Method::PUT, &headers), 200, "{coding}");
        }
        for coding in ["gzip", "identity, br", "aws-chunked", "ä"] {
            let headers = [host, ("content-encoding", coding)];
            assert_eq!(status(Method::POST, &headers), 415, "{coding}");
        }
    }
}

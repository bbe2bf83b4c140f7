//! Presigned URLs: AWS Signature Version 4 in the query, with an unsigned payload.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html>. Signing is pure computation: it
//! needs no request, so the URLs of a long listing cost nothing.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use percent_encoding::utf8_percent_encode;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::bucket::{BucketAddress, Credentials};
use crate::service::ids::hex;
use crate::service::signing::UNRESERVED;

/// The longest time that a presigned URL may work.
const MAX_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Signs URLs of one bucket at one address of its storage.
#[derive(Debug, Clone)]
pub(super) struct Presigner {
    credentials: Credentials,
    region: String,
    bucket: String,
    /// Scheme, host and port.
    origin: String,
    /// The `Host` header of requests.
    host: String,
}

/// What a URL allows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Allowed<'a> {
    pub(super) method: &'static str,
    /// The key of an object; empty for the bucket itself.
    pub(super) key: &'a str,
    pub(super) query: &'a [(&'a str, &'a str)],
    /// Headers that the request must have, with lower-case names in their order.
    pub(super) headers: &'a [(&'a str, &'a str)],
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

impl Presigner {
    /// Signs URLs of the bucket at `endpoint`.
    pub(super) fn new(
        address: &BucketAddress,
        endpoint: &Url,
        credentials: Credentials,
    ) -> Presigner {
        let host = endpoint.host_str().expect("an endpoint has a host");
        Presigner {
            credentials,
            region: address.region.clone(),
            bucket: address.bucket.clone(),
            origin: endpoint.origin().ascii_serialization(),
            host: match endpoint.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            },
        }
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// A URL that works from `now` for `lifetime`.
    pub(super) fn sign(&self, allowed: Allowed<'_>, lifetime: Duration, now: Timestamp) -> String {
        let mut path = format!("/{}", self.bucket);
        for segment in allowed.key.split('/').filter(|_| !allowed.key.is_empty()) {
            path.push('/');
            path.push_str(&encoded(segment));
        }
        self.sign_path(&path, allowed, lifetime, now)
    }

    fn sign_path(
        &self,
        path: &str,
        allowed: Allowed<'_>,
        lifetime: Duration,
        now: Timestamp,
    ) -> String {
        let day = now.strftime("%Y%m%d").to_string();
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let credential = format!("{}/{scope}", self.credentials.key_id);
        let seconds = lifetime.min(MAX_LIFETIME).as_secs().max(1).to_string();
        let names = allowed.headers.iter().map(|(name, _)| *name);
        let names: Vec<&str> = std::iter::once("host").chain(names).collect();
        let names = names.join(";");
        let mut query: Vec<(String, String)> = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &time),
            ("X-Amz-Expires", &seconds),
            ("X-Amz-SignedHeaders", &names),
        ]
        .iter()
        .chain(allowed.query)
        .map(|(name, value)| (encoded(name), encoded(value)))
        .collect();
        if let Some(token) = &self.credentials.session_token {
            query.push(("X-Amz-Security-Token".to_owned(), encoded(token)));
        }
        query.sort();
        let query: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let query = query.join("&");
        let mut headers = format!("host:{}\n", self.host);
        for (name, value) in allowed.headers {
            headers.push_str(&format!("{name}:{}\n", value.trim()));
        }
        let method = allowed.method;
        let request = format!("{method}\n{path}\n{query}\n{headers}\n{names}\nUNSIGNED-PAYLOAD");
        let digest = hex(&Sha256::digest(request.as_bytes()));
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}");
        let mut key = format!("AWS4{}", self.credentials.secret).into_bytes();
        for part in [&day, &self.region, "s3", "aws4_request"] {
            key = mac(&key, part);
        }
        let signature = hex(&mac(&key, &text));
        format!("{}{path}?{query}&X-Amz-Signature={signature}", self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation of AWS.
    #[test]
    fn the_documented_example_has_its_documented_signature() {
        let address: BucketAddress = "s3://examplebucket".parse().unwrap();
        let endpoint = Url::parse("https://examplebucket.s3.amazonaws.com").unwrap();
        let credentials = Credentials {
            key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
        };
        let presigner = Presigner::new(&address, &endpoint, credentials);
        let allowed = Allowed {
            method: "GET",
            ..Allowed::default()
        };
        let now = "2013-05-24T00:00:00Z".parse().unwrap();
        let day = Duration::from_secs(86_400);
        let url = presigner.sign_path("/test.txt", allowed, day, now);
        let signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
        let expected = "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
             &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
             &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
             &X-Amz-Signature=";
        assert_eq!(url, format!("{expected}{signature}"));
    }
}

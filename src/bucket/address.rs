//! The name of a bucket, as `--files` and `--shared-cache` give it, and the credentials, which come from the environment.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use url::Url;

use crate::given_files;
use crate::web_url::base_url;

/// A bucket and the folder in it: `s3://BUCKET/PREFIX?endpoint=URL&region=NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketAddress {
    pub bucket: String,
    /// Empty, or a path that ends with `/`.
    pub prefix: String,
    /// Where the storage answers. AWS if it is not named.
    pub endpoint: Url,
    pub region: String,
}

/// Why a text names no bucket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(
        "a bucket is named by a URL like 's3://BUCKET/PREFIX?endpoint=https://s3.example.com&region=us-east-1'"
    )]
    Form,
    #[error(
        "the URL contains credentials, which every user of this machine can read from the command line; set \
         AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE, and leave them out"
    )]
    Credentials,
    #[error("{0:?} is no name of a bucket: 3 to 63 of a-z, 0-9, '.' and '-'")]
    Bucket(String),
    #[error("the prefix {0:?} may have letters, digits, '.', '_' and '-' between slashes")]
    Prefix(String),
    #[error("{0:?} is no option of the URL; there are endpoint and region")]
    Option(String),
    #[error("the endpoint {0:?} is no address like https://s3.example.com")]
    Endpoint(String),
    #[error("{0:?} is no name of a region")]
    Region(String),
}

const DEFAULT_REGION: &str = "us-east-1";

impl FromStr for BucketAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<BucketAddress, AddressError> {
        let url = Url::parse(text).map_err(|_| AddressError::Form)?;
        if url.scheme() != "s3" || url.fragment().is_some() || url.port().is_some() {
            return Err(AddressError::Form);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::Credentials);
        }
        let bucket = url.host_str().ok_or(AddressError::Form)?.to_owned();
        let mut endpoint = None;
        let mut region = DEFAULT_REGION.to_owned();
        for (name, value) in url.query_pairs() {
            match name.as_ref() {
                "endpoint" => endpoint = Some(endpoint_of(&value)?),
                "region" => region = value.into_owned(),
                name if is_about_credentials(name) => return Err(AddressError::Credentials),
                _ => return Err(AddressError::Option(name.into_owned())),
            }
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if region.is_empty() || !region.bytes().all(is_plain) {
            return Err(AddressError::Region(region));
        }
        Ok(BucketAddress {
            bucket: bucket_name(bucket)?,
            prefix: prefix_of(url.path())?,
            endpoint: match endpoint {
                Some(endpoint) => endpoint,
                None => endpoint_of(&format!("https://s3.{region}.amazonaws.com"))?,
            },
            region,
        })
    }
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.prefix)
    }
}

fn is_about_credentials(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "secret", "token", "credential", "password"]
        .iter()
        .any(|word| name.contains(word))
}

fn bucket_name(name: String) -> Result<String, AddressError> {
    let is_allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    match (3..=63).contains(&name.len()) && name.bytes().all(is_allowed) {
        true => Ok(name),
        false => Err(AddressError::Bucket(name)),
    }
}

fn prefix_of(path: &str) -> Result<String, AddressError> {
    let prefix = path.trim_matches('/');
    if prefix.is_empty() {
        return Ok(String::new());
    }
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && name.bytes().all(is_allowed);
    match prefix.split('/').all(is_name) {
        true => Ok(format!("{prefix}/")),
        false => Err(AddressError::Prefix(prefix.to_owned())),
    }
}

/// Reads the address of a storage: `http` or `https`, a host and perhaps a port.
///
/// # Errors
/// If it is something else, or contains credentials.
pub fn endpoint_of(text: &str) -> Result<Url, AddressError> {
    let no_endpoint = || AddressError::Endpoint(text.to_owned());
    let url = Url::parse(text).map_err(|_| no_endpoint())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::Credentials);
    }
    let url = base_url(text).map_err(|_| no_endpoint())?;
    match url.path() {
        "/" => Ok(url),
        _ => Err(no_endpoint()),
    }
}

/// The key of an account of the storage. Never printed.
#[derive(Clone)]
pub struct Credentials {
    pub key_id: String,
    pub secret: String,
    /// Of temporary credentials.
    pub session_token: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error(
        "no credentials for the bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
         AWS_SHARED_CREDENTIALS_FILE to a file with them"
    )]
    None,
    #[error("{path}: the credentials cannot be read")]
    Unreadable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{path}: the profile [{profile}] has no aws_access_key_id and aws_secret_access_key")]
    NoProfile { path: String, profile: String },
}

impl Credentials {
    /// Reads the credentials that `variable`, the environment, names.
    ///
    /// # Errors
    /// If it names none, or a file that has none.
    pub fn find(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Credentials, CredentialsError> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        if let (Some(key_id), Some(secret)) = (
            variable("AWS_ACCESS_KEY_ID"),
            variable("AWS_SECRET_ACCESS_KEY"),
        ) {
            return Ok(Credentials {
                key_id,
                secret,
                session_token: variable("AWS_SESSION_TOKEN"),
            });
        }
        let path = variable("AWS_SHARED_CREDENTIALS_FILE").ok_or(CredentialsError::None)?;
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let text = given_files::read_text(Path::new(&path)).map_err(|source| {
            let path = path.clone();
            CredentialsError::Unreadable { path, source }
        })?;
        in_profile(&text, &profile).ok_or(CredentialsError::NoProfile { path, profile })
    }
}

/// The credentials of a profile in a file of the form that AWS tools share.
fn in_profile(text: &str, profile: &str) -> Option<Credentials> {
    let mut is_in_profile = false;
    let (mut key_id, mut secret, mut session_token) = (None, None, None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            is_in_profile = name.trim() == profile;
        } else if is_in_profile && let Some((name, value)) = line.split_once('=') {
            let value = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
            match name.trim() {
                "aws_access_key_id" => key_id = value,
                "aws_secret_access_key" => secret = value,
                "aws_session_token" => session_token = value,
                _ => {}
            }
        }
    }
    Some(Credentials {
        key_id: key_id?,
        secret: secret?,
        session_token,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_named_by_a_url() {
        let url = "s3://models/studio/a?endpoint=http%3A%2F%2F127.0.0.1%3A7480&region=eu-1";
        let address: BucketAddress = url.parse().unwrap();
        assert_eq!(address.bucket, "models");
        assert_eq!(address.prefix, "studio/a/");
        assert_eq!(address.endpoint.as_str(), "http://127.0.0.1:7480/");
        assert_eq!(address.region, "eu-1");
        let plain: BucketAddress = "s3://models?endpoint=http://127.0.0.1:7480"
            .parse()
            .unwrap();
        assert_eq!(
            (plain.prefix.as_str(), plain.region.as_str()),
            ("", "us-east-1")
        );
        assert_eq!(plain.endpoint.as_str(), "http://127.0.0.1:7480/");
        let aws: BucketAddress = "s3://models/?region=eu-central-1".parse().unwrap();
        assert_eq!(
            aws.endpoint.as_str(),
            "https://s3.eu-central-1.amazonaws.com/"
        );
    }

    #[test]
    fn what_names_no_bucket_is_refused_with_its_reason() {
        let parse = |text: &str| text.parse::<BucketAddress>().unwrap_err();
        for credentials in [
            "s3://KEY:SECRET@models",
            "s3://models?access_key_id=A",
            "s3://models?AWS_SECRET_ACCESS_KEY=A",
            "s3://models?endpoint=http://key:secret@127.0.0.1",
        ] {
            assert_eq!(
                parse(credentials),
                AddressError::Credentials,
                "{credentials}"
            );
        }
        for form in ["models", "/srv/files", "http://models", "s3://"] {
            assert_eq!(parse(form), AddressError::Form, "{form}");
        }
        assert!(matches!(parse("s3://UPPER"), AddressError::Bucket(_)));
        assert!(matches!(
            parse("s3://models/a%20b"),
            AddressError::Prefix(_)
        ));
        assert!(matches!(
            parse("s3://models?style=x"),
            AddressError::Option(_)
        ));
        assert!(matches!(
            parse("s3://models?endpoint=s3.local"),
            AddressError::Endpoint(_)
        ));
        assert!(matches!(
            parse("s3://models?endpoint=http://a/b"),
            AddressError::Endpoint(_)
        ));
        assert!(matches!(
            parse("s3://models?region=a/b"),
            AddressError::Region(_)
        ));
    }

    #[test]
    fn credentials_come_from_variables_or_from_the_named_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("credentials");
        let text = "[default]\naws_access_key_id = A\naws_secret_access_key=B=\n[farm]\naws_access_key_id=C\n";
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap().to_owned();
        let find = |variables: &[(&str, &str)]| {
            Credentials::find(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let file = ("AWS_SHARED_CREDENTIALS_FILE", path.as_str());
        let found = find(&[file]).unwrap();
        assert_eq!((found.key_id.as_str(), found.secret.as_str()), ("A", "B="));
        let own = [
            file,
            ("AWS_ACCESS_KEY_ID", "X"),
            ("AWS_SECRET_ACCESS_KEY", "Y"),
        ];
        assert_eq!(find(&own).unwrap().key_id, "X");
        let farm = find(&[file, ("AWS_PROFILE", "farm")]);
        assert!(matches!(farm, Err(CredentialsError::NoProfile { .. })));
        assert!(matches!(find(&[]), Err(CredentialsError::None)));
        let gone = find(&[("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")]);
        assert!(matches!(gone, Err(CredentialsError::Unreadable { .. })));
        assert!(!format!("{:?}", find(&own)).contains('Y'));
        // Opening a pipe would wait for ever.
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let waits = find(&[("AWS_SHARED_CREDENTIALS_FILE", pipe.to_str().unwrap())]);
        assert!(matches!(waits, Err(CredentialsError::Unreadable { .. })));
    }
}

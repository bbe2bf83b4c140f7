//! Addresses in the web that users give.

use url::Url;

/// Parses an `http` or `https` URL with a host and without user information (RFC 9110, 4.2).
///
/// `Url` alone accepts too much: it takes the first name of `http:///a` and of `http:a` for a host, turns `\` into `/`, and drops
/// tabs and line ends.
pub fn web_url(text: &str) -> Option<Url> {
    let (scheme, rest) = text.split_once("://")?;
    if !["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return None;
    }
    if text
        .chars()
        .any(|c| c == '\\' || c.is_control() || c.is_whitespace())
    {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    if authority.is_empty() || authority.contains('@') {
        return None;
    }
    let url = Url::parse(text).ok()?;
    (url.has_host() && url.port() != Some(0)).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_web_url_has_a_host_and_no_user() {
        for good in [
            "http://x",
            "HTTPS://x/",
            "http://x.test:8080/a?b=c",
            "http://127.0.0.1/",
            "https://[::1]:1/a@b",
            "http://x#part",
            "http://bücher.test/",
        ] {
            assert!(web_url(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "x",
            "http",
            "http:",
            "http:a",
            "http:/a",
            "http://",
            "http:///a",
            "http:////a",
            "http://?a",
            "http://#a",
            "http://:80/",
            "http://u@x/",
            "http://@x/",
            "http://u:p@x/",
            "http:\\\\x/",
            "http://x\\y",
            "http://x /",
            " http://x/",
            "http://x/\n",
            "http://x:0/",
            "http://x:99999/",
            "http://[::1/",
            "http://a b/",
            "ftp://x/",
            "javascript://x/",
            "//x/",
        ] {
            assert!(web_url(bad).is_none(), "{bad:?}");
        }
    }
}

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

/// Parses the address of a server, to which paths are added: [`web_url`] without query and fragment.
///
/// # Errors
/// If it is something else; with a sentence about it.
pub fn base_url(text: &str) -> Result<Url, String> {
    let url = web_url(text).filter(|url| url.query().is_none() && url.fragment().is_none());
    url.ok_or_else(|| {
        "write an address like https://assets.example.com: with a host, and without user, query and fragment"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_added_to_a_base_url() {
        for good in ["http://x", "https://x.test:8080/a/b", "http://[::1]:1/"] {
            assert!(base_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http:///a",
            "http:a",
            "http://x?a",
            "http://x#a",
            "http://u@x",
            "x",
        ] {
            assert!(base_url(bad).is_err(), "{bad}");
        }
    }

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

//! The HTML page of an embed, which opens the viewer. Data of the service is escaped.

use crate::drive::values::known::KnownEmbed;

/// The text of `embeds/NAME.html`.
pub(super) fn embed_page(row: &KnownEmbed) -> String {
    let title = escaped(&row.name);
    let address = row.url.as_deref().filter(|url| is_of_the_web(url));
    let Some(address) = address.map(escaped) else {
        return format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
             <p>The service did not report the URL of this viewer.</p>\n"
        );
    };
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n\
         <p><a href=\"{address}\">{title}</a></p>\n"
    )
}

/// Only http and https URLs are opened.
fn is_of_the_web(url: &str) -> bool {
    url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::EmbedId;

    fn page(name: &str, url: Option<&str>) -> String {
        embed_page(&KnownEmbed {
            id: EmbedId(1),
            name: name.to_owned(),
            url: url.map(str::to_owned),
            rapid: None,
            created: None,
            text: String::new(),
        })
    }

    #[test]
    fn the_page_opens_the_viewer() {
        let page = page("chair", Some("https://assets.example/embed/x?a=1&b=2"));
        assert!(page.contains("url=https://assets.example/embed/x?a=1&amp;b=2\""));
        assert!(page.contains("<title>chair</title>"));
    }

    #[test]
    fn a_script_in_a_name_and_a_link_that_is_none_do_nothing() {
        let hostile = page("<script>alert(1)</script>", Some("javascript:alert(1)"));
        assert!(!hostile.contains("<script") && !hostile.contains("javascript:"));
        let hostile = page("x", Some("https://a.example/\"><script>"));
        assert!(!hostile.contains("<script"), "{hostile}");
    }
}

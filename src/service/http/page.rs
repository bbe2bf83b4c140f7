//! The envelope of paged listings.

use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::request::ApiCall;
use crate::service::records::PageOf;
use crate::wire::{Page, PageButton, PageLinks, PageMeta};

/// Wraps `data`, the serialized items of `page`.
pub fn envelope<T>(call: &ApiCall, page: &PageOf<T>, data: Vec<Value>) -> Page<Value> {
    let address = call.app.url(&call.path);
    let last = page.last_page();
    let current = page.page;
    let url = |number: u64| {
        let mut text = Serializer::new(String::new());
        text.extend_pairs(call.query.without_page());
        text.append_pair("page", &number.to_string());
        format!("{address}?{}", text.finish())
    };
    let before = (current > 1).then(|| url(current - 1));
    let after = (current < last).then(|| url(current + 1));
    let first_item = (current - 1) * page.per_page + 1;
    let here = data.len() as u64;
    Page {
        links: PageLinks {
            first: url(1),
            last: url(last),
            prev: before.clone(),
            next: after.clone(),
        },
        meta: PageMeta {
            current_page: current,
            from: (here > 0).then_some(first_item),
            last_page: last,
            links: buttons(current, last, &url, before, after),
            path: address.clone(),
            per_page: page.per_page,
            to: (here > 0).then_some(first_item + here.saturating_sub(1)),
            total: page.total,
        },
        data,
        unreadable: 0,
    }
}

/// The buttons of a page bar: previous, the first and last pages, the pages around the current one, next.
fn buttons(
    current: u64,
    last: u64,
    url: &impl Fn(u64) -> String,
    before: Option<String>,
    after: Option<String>,
) -> Vec<PageButton> {
    let button = |url, label: &str, active| PageButton {
        url,
        label: label.to_owned(),
        active,
    };
    let shown = |number: u64| number <= 2 || number + 1 >= last || number.abs_diff(current) <= 3;
    let mut buttons = vec![button(before, "&laquo; Previous", false)];
    let around = current.saturating_sub(4).max(1)..=current.saturating_add(4).min(last);
    let mut numbers: Vec<u64> = [1, 2, last.saturating_sub(1), last]
        .into_iter()
        .chain(around)
        .filter(|&number| (1..=last).contains(&number) && shown(number))
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut previous = 0;
    for number in numbers {
        if number > previous + 1 {
            buttons.push(button(None, "...", false));
        }
        buttons.push(button(
            Some(url(number)),
            &number.to_string(),
            number == current,
        ));
        previous = number;
    }
    buttons.push(button(after, "Next &raquo;", false));
    buttons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_bar_has_its_ends_and_its_middle() {
        let labels = |current, last| -> Vec<String> {
            buttons(current, last, &|number| format!("p{number}"), None, None)
                .into_iter()
                .map(|button| button.label)
                .collect()
        };
        assert_eq!(labels(1, 1), ["&laquo; Previous", "1", "Next &raquo;"]);
        let long = labels(5_000, 10_000);
        assert_eq!(long.len(), 15, "{long:?}");
        assert_eq!(long[1..4], ["1", "2", "..."]);
        assert_eq!(long[4], "4997");
    }
}

//! `docs/api-coverage.md` is complete and true: every endpoint has a row, every row a client method that
//! exists and a test that exists and goes the way users go. Other pages name tests and messages that exist.

use std::fs;
use std::path::Path;

/// The endpoints of version 2.
const ENDPOINTS: &[(&str, &str)] = &[
    ("GET", "/api/v2/user/tokens"),
    ("POST", "/api/v2/user/tokens/create"),
    ("DELETE", "/api/v2/user/tokens/{id}"),
    ("GET", "/api/v2/user/tokens/{id}"),
    ("POST", "/api/v2/rawmodel/api-upload/start"),
    ("GET", "/api/v2/rawmodel/{id}/api-upload/complete"),
    ("POST", "/api/v2/rawmodel/{id}/api-upload/retry"),
    ("GET", "/api/v2/rawmodel"),
    ("GET", "/api/v2/rawmodel/{id}"),
    ("PUT", "/api/v2/rawmodel/{id}"),
    ("DELETE", "/api/v2/rawmodel/{id}"),
    ("POST", "/api/v2/rawmodel/delete"),
    ("DELETE", "/api/v2/rawmodel/{id}/tags/{tagId}"),
    ("GET", "/api/v2/rawmodel/tags"),
    ("GET", "/api/v2/rawmodel/{id}/downloads"),
    ("GET", "/api/v2/rawmodel/{id}/downloads/converted"),
    ("GET", "/api/v2/rawmodel/{id}/downloads/pbr"),
    ("GET", "/api/v2/rawmodel/{id}/downloads/zip"),
    ("GET", "/api/v2/rawmodel/{id}/renders"),
    ("POST", "/api/v2/rawmodel/{id}/addFormats"),
    ("GET", "/api/v2/rawmodel/{id}/processedFormats"),
    ("GET", "/api/v2/rawmodel/{id}/rapidmodels"),
    ("GET", "/api/v2/rawmodel/jobs"),
    ("POST", "/api/v2/rawmodel/optimize/{id}"),
    ("POST", "/api/v2/rawmodel/optimize"),
    ("GET", "/api/v2/rapidmodel"),
    ("GET", "/api/v2/rapidmodel/{id}"),
    ("DELETE", "/api/v2/rapidmodel/{id}"),
    ("PUT", "/api/v2/rapidmodel/{id}"),
    ("POST", "/api/v2/rapidmodel/delete"),
    ("GET", "/api/v2/rapidmodel/{id}/exports"),
    ("DELETE", "/api/v2/rapidmodel/{id}/tags/{tagId}"),
    ("GET", "/api/v2/rapidmodel/{id}/download/preset"),
    ("GET", "/api/v2/rapidmodel/{id}/renders"),
    ("GET", "/api/v2/rapidmodel/{id}/{format}/downloadQc"),
    ("GET", "/api/v2/rapidmodel/tags"),
    ("POST", "/api/v2/preset/create"),
    ("PATCH", "/api/v2/preset/update"),
    ("GET", "/api/v2/preset/factory"),
    ("GET", "/api/v2/preset"),
    ("GET", "/api/v2/preset/{id}"),
    ("DELETE", "/api/v2/preset/{id}"),
    ("GET", "/api/v2/preset/categories"),
    ("POST", "/api/v2/preset/rpdx"),
    ("GET", "/api/v2/preset/rpdx/{id}"),
    ("GET", "/api/v2/preset/{id}/download"),
    ("GET", "/api/v2/embeds"),
    ("GET", "/api/v2/embeds/{id}"),
    ("DELETE", "/api/v2/embeds/{id}"),
    ("POST", "/api/v2/embeds/create"),
    ("POST", "/api/v2/embeds/raw"),
    ("POST", "/api/v2/login"),
    ("POST", "/api/v2/user/delete"),
    ("GET", "/api/v2/user/rapidpoints"),
    ("GET", "/api/v2/user/storage"),
    ("GET", "/api/v2/user/webhooks"),
    ("POST", "/api/v2/user/webhooks"),
    ("DELETE", "/api/v2/user/webhooks/{id}"),
    ("POST", "/api/v2/user/webhooks/test/{id}"),
];

/// The endpoints of version 1.
const LEGACY: &[(&str, &str)] = &[
    ("POST", "/api/rawmodel/api-upload/start"),
    ("GET", "/api/rawmodel/{id}/api-upload/complete"),
    ("GET", "/rawmodel/{id}"),
    ("POST", "/api/rawmodel/process/{id}"),
    ("POST", "/api/rawmodel/optimize/{id}"),
    ("GET", "/api/rapidmodel/{id}"),
    ("GET", "/api/rawmodel"),
    ("DELETE", "/api/rawmodel"),
    ("GET", "/api/rawmodel/{id}"),
    ("DELETE", "/api/rawmodel/{id}"),
    ("GET", "/api/rapidmodel"),
    ("DELETE", "/api/rapidmodel"),
    ("DELETE", "/api/rapidmodel/{id}"),
];

/// One row of a table of the page, its code marks taken off.
struct Row {
    method: String,
    endpoint: String,
    cells: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rows() -> Vec<Row> {
    let page = fs::read_to_string(root().join("docs/api-coverage.md")).expect("the page");
    page.lines()
        .filter(|line| line.starts_with("| ") && line.contains("| `/"))
        .map(|line| {
            let mut cells = line.trim_matches('|').split(" | ").map(|cell| {
                cell.trim()
                    .trim_matches('`')
                    .trim_end_matches("` |")
                    .to_owned()
            });
            Row {
                method: cells.next().expect("a method"),
                endpoint: cells.next().expect("an endpoint"),
                cells: cells.collect(),
            }
        })
        .collect()
}

/// Whether the client has the call, named as `assets().get`.
fn client_has(call: &str) -> bool {
    let Some((resource, method)) = call.split_once("().") else {
        return false;
    };
    // Calls that assets and rapid models have in common are in one file.
    let common = ["assets", "rapids"].contains(&resource).then_some("models");
    let mut files = common.into_iter().chain([resource]);
    files.any(|file| {
        let file = root().join(format!("src/client/{file}.rs"));
        fs::read_to_string(file)
            .is_ok_and(|source| source.contains(&format!("pub async fn {method}(")))
    })
}

#[test]
fn every_endpoint_has_one_row_and_every_row_is_an_endpoint() {
    let rows = rows();
    let all = ENDPOINTS.iter().chain(LEGACY);
    for (method, endpoint) in all.clone() {
        let count = rows
            .iter()
            .filter(|row| row.method == *method && row.endpoint == *endpoint)
            .count();
        assert_eq!(count, 1, "{method} {endpoint}");
    }
    assert_eq!(rows.len(), all.count());
}

#[test]
fn every_row_names_a_client_method_and_a_test_that_exist() {
    for row in rows() {
        let test = row.cells.last().expect("a test").trim_matches('`');
        let (file, name) = test
            .split_once("::")
            .unwrap_or_else(|| panic!("{} {} has no test", row.method, row.endpoint));
        let source = fs::read_to_string(root().join("tests").join(format!("{file}.rs")));
        let source = source.unwrap_or_else(|_| panic!("there is no tests/{file}.rs"));
        assert!(
            source.contains(&format!("fn {name}(")),
            "there is no test {test}"
        );
        if row.cells.len() == 3 {
            let call = row.cells[0].trim_matches('`');
            assert!(client_has(call), "the client has no {call}");
            assert!(
                file.starts_with("mount/") || file.starts_with("cli/"),
                "{test} goes neither through a mount nor through a command"
            );
        }
    }
}

/// All sources as one text, with string literals joined that are continued on the next line.
fn sources_in_one_line() -> String {
    let mut folders = vec![root().join("src"), root().join("crates")];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                text += &fs::read_to_string(path).expect("text");
            }
        }
    }
    let lines = text.split("\\\n").enumerate();
    let joined = lines.map(|(at, line)| if at == 0 { line } else { line.trim_start() });
    joined.collect::<String>().replace("\\\"", "\"")
}

/// The cells of the columns "message" and "status" in the tables of a page.
fn quoted_messages(page: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let mut column = None;
    for line in page.lines() {
        let Some(row) = line.strip_prefix("| ") else {
            column = column.filter(|_| line.starts_with("|---"));
            continue;
        };
        let cells: Vec<&str> = row.trim_end_matches('|').split(" |").collect();
        match column {
            None => {
                let is_message = |cell: &&str| ["message", "status"].contains(&cell.trim());
                column = Some(cells.iter().position(is_message));
            }
            Some(None) => {}
            Some(Some(at)) => messages.push(cells[at].trim().to_owned()),
        }
    }
    messages
}

#[test]
fn every_message_that_the_reference_quotes_is_in_the_sources() {
    let page = fs::read_to_string(root().join("docs/semantics.md")).expect("the page");
    let sources = sources_in_one_line();
    let messages = quoted_messages(&page);
    let parts = messages.iter().flat_map(|message| message.split('…'));
    let parts = parts
        .map(|part| part.trim_matches([' ', ',']))
        .filter(|part| part.len() > 3);
    let missing: Vec<&str> = parts
        .clone()
        .filter(|part| !sources.contains(part))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/semantics.md quotes what nothing says: {missing:#?}"
    );
    assert!(parts.count() >= 30, "the tables were not found");
}

#[test]
fn every_promise_of_the_page_on_security_names_tests_that_exist() {
    let page = fs::read_to_string(root().join("docs/security.md")).expect("the page");
    let promises = page.lines().filter(|line| line.contains(".rs::"));
    for promise in promises.clone() {
        let named = promise.split('`').filter(|text| text.contains(".rs::"));
        for test in named {
            let (file, name) = test.split_once("::").expect("a test");
            let source = fs::read_to_string(root().join(file));
            let source = source.unwrap_or_else(|_| panic!("there is no {file}"));
            assert!(
                source.contains(&format!("fn {name}(")),
                "there is no test {test}"
            );
        }
    }
    assert!(promises.count() >= 25, "the tables were not found");
}

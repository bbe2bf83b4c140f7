//! A malicious or broken service: its answers are defined by each test. Other requests are answered with 404, but for that of the points.

use serde_json::{Value, json};

use crate::fault_server::{Asked, Bound, FaultServer, Reply};

/// A service that answers with `answers`, which also gets the base URL.
pub fn hostile(
    answers: impl Fn(&Asked, &str) -> Option<Reply> + Send + Sync + 'static,
) -> FaultServer {
    let bound = Bound::new();
    let base_url = format!("{}/", bound.url());
    bound.serve(move |asked, _| {
        // A mount asks whether it is the service at all.
        let points = || match asked.path() {
            "/api/v2/user/rapidpoints" => answer(&json!({"data": {"rapidpoints": 5}})),
            _ => None,
        };
        let answer = answers(asked, &base_url).or_else(points);
        answer.unwrap_or_else(|| status(404))
    })
}

/// The number in the path after this prefix, and the rest.
pub fn id_after<'a>(asked: &'a Asked, start: &str) -> Option<(u64, &'a str)> {
    let rest = asked.path().strip_prefix(start)?;
    let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
    Some((id.parse().ok()?, rest))
}

/// The requested page.
pub fn page_number(asked: &Asked) -> u64 {
    let mut pairs = asked.query().split('&');
    let page = pairs.find_map(|pair| pair.strip_prefix("page="));
    page.map_or(1, |number| number.parse().unwrap_or(1))
}

/// An answer with JSON.
pub fn answer(body: &Value) -> Option<Reply> {
    Some(Reply::json(body.clone()))
}

/// An answer without a body.
pub fn status(status: u16) -> Reply {
    Reply::new(status, &[], r#"{"message":"no"}"#)
}

/// A complete asset.
pub fn asset(id: u64, name: &Value) -> Value {
    json!({"id": id, "name": name, "upload_status": "complete", "size": 5, "format": "blend", "tags": [],
        "created_at": "2024-05-06T07:08:09.123456Z", "scale_factor": "1", "has_errors": false, "downloads": {}})
}

/// A page of a list.
pub fn page(records: &[Value], page: u64, last: u64, total: u64) -> Value {
    json!({"data": records, "links": {}, "meta": {"current_page": page, "last_page": last, "per_page": 50, "total": total}})
}

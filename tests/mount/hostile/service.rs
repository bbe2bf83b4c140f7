//! A service that means harm, or is out of its mind: it answers what a test tells it to. The parts of the API that a test
//! says nothing about are a 404.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response, StatusCode, header};
use serde_json::{Value, json};

/// What is asked: method, path, and the query with its `?` left out.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: Method,
    pub path: String,
    pub query: String,
}

impl Asked {
    /// The number in the path after this beginning, and what follows it.
    pub fn id_after(&self, start: &str) -> Option<(u64, &str)> {
        let rest = self.path.strip_prefix(start)?;
        let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
        Some((id.parse().ok()?, rest))
    }

    /// The page that is asked for.
    pub fn page(&self) -> u64 {
        let mut pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let page = pairs.find(|(name, _)| *name == "page");
        page.map_or(1, |(_, number)| number.parse().unwrap_or(1))
    }
}

type Answers = dyn Fn(&Asked, &str) -> Option<Response<Body>> + Send + Sync;

/// The service, on a thread of its own until the process ends.
pub struct HostileService {
    pub base_url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl HostileService {
    /// Answers by `answers`, which is given its base URL too.
    pub fn start(
        answers: impl Fn(&Asked, &str) -> Option<Response<Body>> + Send + Sync + 'static,
    ) -> HostileService {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let base_url = format!("http://{}/", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (noted, url) = (Arc::clone(&asked), base_url.clone());
        let answers: Arc<Answers> = Arc::new(answers);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                let app = Router::new().fallback(move |request: Request| {
                    let (noted, url, answers) =
                        (Arc::clone(&noted), url.clone(), Arc::clone(&answers));
                    async move {
                        let asked = Asked {
                            method: request.method().clone(),
                            path: request.uri().path().to_owned(),
                            query: request.uri().query().unwrap_or_default().to_owned(),
                        };
                        noted.lock().expect("no panic").push(asked.clone());
                        answers(&asked, &url).unwrap_or_else(|| status(StatusCode::NOT_FOUND))
                    }
                });
                axum::serve(listener, app).await.expect("it serves");
            });
        });
        HostileService { base_url, asked }
    }

    /// What was asked so far, as far as its path begins so.
    pub fn asked(&self, method: &Method, start: &str) -> Vec<Asked> {
        let asked = self.asked.lock().expect("no panic");
        let wanted = |it: &&Asked| it.method == *method && it.path.starts_with(start);
        asked.iter().filter(wanted).cloned().collect()
    }
}

/// An answer of JSON.
pub fn answer(body: &Value) -> Option<Response<Body>> {
    Some(text(body.to_string()))
}

/// An answer of that text, said to be JSON.
pub fn text(body: impl Into<Body>) -> Response<Body> {
    let response = Response::builder().header(header::CONTENT_TYPE, "application/json");
    response.body(body.into()).expect("a response")
}

/// An answer without words.
pub fn status(status: StatusCode) -> Response<Body> {
    let response = Response::builder().status(status);
    response
        .body(Body::from(r#"{"message":"no"}"#))
        .expect("a response")
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

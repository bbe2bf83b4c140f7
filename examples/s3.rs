//! An S3 server for tests and benchmarks: each object is a file below a folder, each folder in it a bucket.
//!
//!     s3 ADDRESS:PORT ACCESS_KEY SECRET_KEY FOLDER
//!
//! It runs until it is killed.

use std::error::Error;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, key, secret, folder] = &arguments[..] else {
        return Err("usage: s3 ADDRESS:PORT ACCESS_KEY SECRET_KEY FOLDER".into());
    };
    let files = FileSystem::new(folder).map_err(|error| format!("{folder}: {error:?}"))?;
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(key, secret.as_str()));
    let service = builder.build();
    let listener = TcpListener::bind(address).await?;
    loop {
        // One connection that is gone before it is taken ends no other.
        let Ok((socket, _)) = listener.accept().await else {
            continue;
        };
        let service = service.clone();
        tokio::spawn(async move {
            let server = Builder::new(TokioExecutor::new());
            let served = server.serve_connection(TokioIo::new(socket), service);
            // A client may end its connection at any time.
            let _ = served.await;
        });
    }
}

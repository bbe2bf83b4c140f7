//! The main job on a mount whose service keeps its files in a bucket: no byte of a file passes through the service.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use serde_json::json;

use crate::needs_fuse;
use crate::s3::TestBucket;
use crate::square_glb::changed_glb;
use crate::support::{Fixture, assetfs, file_names, run};

/// Counts the bytes of all connections to a service, in both directions.
struct CountingProxy {
    address: SocketAddr,
    target: Arc<OnceLock<String>>,
    bytes: Arc<AtomicU64>,
}

impl CountingProxy {
    fn start() -> CountingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = CountingProxy {
            address: listener.local_addr().unwrap(),
            target: Arc::default(),
            bytes: Arc::default(),
        };
        let (target, bytes) = (Arc::clone(&proxy.target), Arc::clone(&proxy.bytes));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let service = TcpStream::connect(target.wait()).unwrap();
                for (from, to) in [(&client, &service), (&service, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let bytes = Arc::clone(&bytes);
                    thread::spawn(move || count(from, to, &bytes));
                }
            }
        });
        proxy
    }
}

fn count(mut from: TcpStream, mut to: TcpStream, bytes: &AtomicU64) {
    let mut buffer = [0; 64 << 10];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        bytes.fetch_add(len as u64, Ordering::Relaxed);
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// A glb of more than `size` bytes that hardly compress.
fn large_glb(size: usize) -> Vec<u8> {
    let mut noise = 1_u64;
    let mut text = String::new();
    while text.len() < size {
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text.push_str(&format!("{noise:016x}"));
    }
    changed_glb(|json| json["extras"] = json!({ "text": text }))
}

#[test]
fn no_byte_of_a_file_passes_through_the_service() {
    needs_fuse!();
    let bucket = TestBucket::start();
    let proxy = CountingProxy::start();
    let public = format!("http://{}/", proxy.address);
    let mut fixture = Fixture::unmounted_in_bucket(&bucket, &["--public-url", &public]);
    proxy.target.set(fixture.service.listens_on()).unwrap();
    fixture.mount(&[]);

    const SIZE: usize = 8 << 20;
    let model = large_glb(SIZE);
    fs::create_dir(fixture.path("rawmodels/chair")).unwrap();
    fs::write(fixture.path("rawmodels/chair/chair.glb"), &model).unwrap();
    run(&mut assetfs("commit", fixture.path("rawmodels/chair")));
    fixture.wait("rawmodels/chair");
    fs::write(
        fixture.path("rawmodels/chair/optimize/web.json"),
        r#"{"compressionAndExport":{"fileExports":[{"fileType":"glb"},{"fileType":"usdz"}]}}"#,
    )
    .unwrap();
    fixture.wait("rawmodels/chair/optimize/web.json");
    let result = fixture.path("rawmodels/chair/optimize/web");
    let glb = file_names(&result)
        .into_iter()
        .find(|name| name.ends_with(".glb"))
        .expect("a glb");
    let result = fs::read(result.join(glb)).unwrap();
    assert_eq!(&result[..4], b"glTF");

    // Another machine has no copy: it reads the model from the storage.
    let other = fixture.second_machine();
    let read = fs::read(other.root().join("rawmodels/chair/chair.glb")).unwrap();
    assert!(read == model, "what was sent is what is read");
    let bytes = proxy.bytes.load(Ordering::Relaxed);
    assert!(
        (1..SIZE as u64 / 8).contains(&bytes),
        "{bytes} bytes passed through the service for files of {SIZE} bytes"
    );
}

//! The process behind the mount dies without a word; the next mount goes on.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::needs_fuse;
use crate::support::{Fixture, assert_same_files, file_names, model, run, wait_until};

/// A TCP relay to the service that lets through so many bytes a second upwards.
struct SlowLink {
    addr: std::net::SocketAddr,
    target: Arc<std::sync::Mutex<Option<String>>>,
    bytes_per_second: Arc<AtomicU64>,
    sent: Arc<AtomicU64>,
}

impl SlowLink {
    fn start(bytes_per_second: u64) -> SlowLink {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = SlowLink {
            addr: listener.local_addr().unwrap(),
            target: Arc::default(),
            bytes_per_second: Arc::new(AtomicU64::new(bytes_per_second)),
            sent: Arc::default(),
        };
        let (target, speed, sent) = (
            Arc::clone(&link.target),
            Arc::clone(&link.bytes_per_second),
            Arc::clone(&link.sent),
        );
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Some(address) = target.lock().unwrap().clone() else {
                    continue;
                };
                let Ok(server) = TcpStream::connect(address) else {
                    continue;
                };
                let (mut from_server, mut to_client) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from_server, &mut to_client);
                    let _ = to_client.shutdown(std::net::Shutdown::Both);
                });
                let (speed, sent) = (Arc::clone(&speed), Arc::clone(&sent));
                std::thread::spawn(move || relay_up(client, server, &speed, &sent));
            }
        });
        link
    }
}

fn relay_up(mut client: TcpStream, mut server: TcpStream, speed: &AtomicU64, sent: &AtomicU64) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(len) = client.read(&mut buffer) {
        if len == 0 || server.write_all(&buffer[..len]).is_err() {
            break;
        }
        sent.fetch_add(len as u64, Ordering::Relaxed);
        let speed = speed.load(Ordering::Relaxed);
        if speed > 0 {
            std::thread::sleep(Duration::from_secs_f64(len as f64 / speed as f64));
        }
    }
    let _ = server.shutdown(std::net::Shutdown::Write);
}

#[test]
fn an_upload_that_was_killed_in_the_middle_ends_once_after_the_next_mount() {
    needs_fuse!();
    let link = SlowLink::start(400_000);
    let mut fixture = Fixture::unmounted(&["--public-url", &format!("http://{}/", link.addr)]);
    let service_url = fixture.service.base_url.clone();
    // `serve` announces the public URL; the relay goes to where it really listens.
    *link.target.lock().unwrap() = Some(fixture.service.listens_on());
    assert!(
        service_url.contains(&link.addr.port().to_string()),
        "{service_url}"
    );
    fixture.mount(&[]);
    let source = model(fixture.scratch.path());
    let target = fixture.path("rawmodels/model");
    run(Command::new("cp").arg("-r").args([&source, &target]));
    wait_until("the upload is under way", || {
        link.sent.load(Ordering::Relaxed) > 100_000
    });
    fixture.kill_mount();
    link.bytes_per_second.store(0, Ordering::Relaxed);
    fixture.mount(&[]);
    fixture.wait("rawmodels/model");
    let asset = fixture.only_asset();
    assert_eq!(asset["upload_status"], "complete");
    assert_eq!(fixture.uploaded_names(&asset), file_names(&source));
    assert_same_files(&source, &target);
}

#[test]
fn a_draft_that_was_killed_before_it_settled_is_sent_once_after_the_next_mount() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &["--settle", "10m"]);
    let source = model(fixture.scratch.path());
    let target = fixture.path("rawmodels/model");
    run(Command::new("cp").arg("-a").args([&source, &target]));
    fixture.kill_mount();
    assert_eq!(fixture.service.assets().len(), 0);
    fixture.mount(&[]);
    assert_same_files(&source, &target);
    fixture.wait("rawmodels/model");
    assert_eq!(
        fixture.uploaded_names(&fixture.only_asset()),
        file_names(&source)
    );
}

//! Faults between drive and storage are repaired during a read or reported as an error; wrong bytes are never cached.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use super::{MIB, World, cache_has_room, forget_pages};
use crate::fault_server::{Asked, Fault, FileServer, make_certificate};
use crate::support::{Fixture, assetfs, run, wait_until};
use crate::{needs_fuse, needs_program};

impl World {
    /// Removes the large file from the caches of drive and kernel.
    fn forget_all(&self) {
        run(assetfs("cache clear", self.fixture.root()));
        forget_pages(&File::open(self.big()).expect("it opens"));
    }

    /// The requests for the large file during an action.
    fn asked(&self, work: impl FnOnce()) -> Vec<Asked> {
        let before = self.storage.server.count();
        work();
        let mut asked = self.storage.server.asked().split_off(before);
        asked.retain(|it| it.target.contains("big.bin"));
        asked
    }
}

#[test]
fn every_fault_alone_is_repaired_unnoticed_and_nothing_bad_is_kept() {
    needs_fuse!();
    if !cache_has_room() {
        return;
    }
    let world = World::new(MIB + 77, &[]);
    world.assert_whole();
    let faults = [
        Fault::NoHead,
        Fault::CutAfter(1),
        Fault::CutAfter(100_000),
        Fault::Reset,
        Fault::Busy,
        Fault::Refused,
        Fault::Whole,
        Fault::Shorter,
        Fault::Drip,
        Fault::Redirect,
        Fault::WrongRange,
        Fault::TooLong,
    ];
    for fault in faults {
        world.forget_all();
        world.storage.order([fault]);
        let found = fs::read(world.big()).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert!(found == *world.content, "{fault:?}");
        let was_met = world.storage.with(|it| it.orders.is_empty());
        assert!(was_met, "{fault:?} was never met");
        // A reader gets its bytes before they are cached, which may happen a little later on a busy machine.
        wait_until(&format!("{fault:?}: the repaired bytes are kept"), || {
            forget_pages(&File::open(world.big()).expect("it opens"));
            world.asked(|| world.assert_whole()).is_empty()
        });
    }
}

#[test]
fn a_storage_that_only_talks_nonsense_is_an_error_and_nothing_of_it_is_kept() {
    needs_fuse!();
    let world = World::new(MIB, &[]);
    for fault in [Fault::WrongRange, Fault::Refused] {
        world.forget_all();
        world.storage.order([fault; 60]);
        let started = Instant::now();
        let file = File::open(world.big()).expect("it opens");
        file.read_exact_at(&mut [0; 100], 200_000)
            .expect_err("no answer is one");
        assert!(started.elapsed() < Duration::from_secs(40), "{fault:?}");
        world.storage.with(|it| it.orders.clear());
        world.assert_whole();
    }
}

#[test]
fn an_interrupted_body_is_resumed_with_the_same_version() {
    needs_fuse!();
    let world = World::new(MIB, &[]);
    // The size needs a range request.
    fs::metadata(world.big()).expect("it is there");
    world.storage.order([Fault::CutAfter(40_000)]);
    let asked = world.asked(|| world.assert_whole());
    let broken = asked[0].range().expect("a range");
    let resumed = asked
        .iter()
        .find(|it| it.range().is_some_and(|it| it.0 == broken.0 + 40_000))
        .unwrap_or_else(|| panic!("nothing goes on at {}: {asked:?}", broken.0 + 40_000));
    assert_eq!(resumed.header("if-range"), Some("\"v1\""));
    assert_eq!(resumed.range().map(|it| it.1), Some(broken.1));
}

#[test]
fn a_url_that_is_refused_is_renewed() {
    needs_fuse!();
    let world = World::new(MIB, &[]);
    let file = File::open(world.big()).expect("it opens");
    let mut part = [0; 100];
    file.read_exact_at(&mut part, 0).expect("it reads");
    // URLs differ by the second of their expiry.
    std::thread::sleep(Duration::from_millis(1100));
    world.storage.order([Fault::Refused]);
    let asked = world.asked(|| {
        file.read_exact_at(&mut part, MIB as u64 - 100)
            .expect("it reads");
    });
    assert_eq!(part, world.content[MIB - 100..]);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_ne!(asked[0].target, asked[1].target);
    assert_eq!(asked[0].range(), asked[1].range());
}

#[test]
fn a_url_is_renewed_before_it_ends() {
    needs_fuse!();
    let storage = FileServer::start();
    let plan = "download_url_secs = 50";
    let fixture = Fixture::unmounted_with_chaos(plan, &["--files-url", &storage.url()]);
    let mut world = World::over(storage, fixture, MIB);
    world.fixture.mount(&["--refresh", "1h"]);
    let file = File::open(world.big()).expect("it opens");
    let mut part = [0; 100];
    let first = world.asked(|| file.read_exact_at(&mut part, 0).expect("it reads"));
    // More than half a minute after its creation, and less than that before its expiry.
    std::thread::sleep(Duration::from_secs(32));
    let later = world.asked(|| {
        file.read_exact_at(&mut part, MIB as u64 - 100)
            .expect("it reads");
    });
    assert_eq!(part, world.content[MIB - 100..]);
    assert_eq!(later.len(), 1, "{later:?}");
    assert_ne!(first[0].target, later[0].target);
}

#[test]
fn silent_storage_fails_a_read_in_time_and_the_next_works() {
    needs_fuse!();
    let world = World::new(MIB, &[]);
    let file = File::open(world.big()).expect("it opens");
    world.storage.order([Fault::Silence; 40]);
    let started = Instant::now();
    let error = file.read_exact_at(&mut [0; 100], 0).unwrap_err();
    let elapsed = started.elapsed();
    assert!(elapsed < Duration::from_secs(45), "{elapsed:?}: {error}");
    world.storage.with(|it| it.orders.clear());
    world.assert_whole();
}

#[test]
fn tls_that_breaks_is_repaired_and_an_unknown_certificate_is_refused() {
    needs_fuse!();
    needs_program!("openssl");
    let keys = tempfile::tempdir().expect("a folder");
    make_certificate(keys.path());
    let storage = FileServer::start_tls(keys.path());
    let fixture = Fixture::unmounted(&["--files-url", &storage.url()]);
    let mut world = World::over(storage, fixture, MIB);
    let certificate = keys.path().join("cert.pem");
    let trusted = [("SSL_CERT_FILE", certificate.to_str().expect("a plain path"))];
    world.fixture.mount_with(&[], &trusted);
    world.storage.server.hang_up(2);
    world.assert_whole();
    for fault in [Fault::Garbage, Fault::Reset, Fault::CutAfter(50_000)] {
        world.forget_all();
        world.storage.order([fault]);
        world.storage.server.hang_up(1);
        world.assert_whole();
        assert!(world.storage.with(|it| it.orders.is_empty()), "{fault:?}");
    }
    world.forget_all();
    run(assetfs("unmount --now", world.fixture.root()));
    world.fixture.mount(&[]);
    let started = Instant::now();
    let refused = fs::read(world.big()).expect_err("nobody knows the certificate");
    let elapsed = started.elapsed();
    // A retry would change nothing.
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}: {refused}");
    let why = run(assetfs("why", world.big()));
    assert!(why.contains("certificate"), "{why}");
}

//! Read-ahead: the next bytes are fetched before a reader asks for them.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{cache_has_room, send, triangle};
use crate::fault_server::{Chance, FileServer};
use crate::needs_fuse;
use crate::support::{Fixture, wait_until};

#[test]
fn small_files_read_one_after_the_other_are_there_before_they_are_asked_for() {
    needs_fuse!();
    if !cache_has_room() {
        return;
    }
    let storage = FileServer::start();
    let mut fixture = Fixture::unmounted(&["--files-url", &storage.url()]);
    let model = triangle();
    let parts: Vec<(String, Vec<u8>)> = (0..9)
        .map(|number| (format!("p{number}.bin"), Chance(number).bytes(20_000)))
        .collect();
    let mut files = vec![("m.gltf", model.as_slice())];
    files.extend(
        parts
            .iter()
            .map(|(name, it)| (name.as_str(), it.as_slice())),
    );
    files.iter().for_each(|(name, it)| storage.put(name, it));
    for number in 0..8 {
        send(&fixture.service, &format!("m{number}"), &files);
    }
    let latency = Duration::from_millis(100);
    storage.with(|it| it.latency = latency);
    fixture.mount(&[]);
    fs::read_dir(fixture.path("rawmodels"))
        .expect("a listing")
        .for_each(drop);
    storage.with(|it| it.requests = 0);
    let started = Instant::now();
    for number in 0..8 {
        for (name, content) in &files {
            let path = fixture.path(&format!("rawmodels/m{number}/{name}"));
            assert!(
                fs::read(&path).expect("it reads") == *content,
                "{}",
                path.display()
            );
        }
    }
    let (elapsed, requests) = (started.elapsed(), storage.with(|it| it.requests));
    assert!(elapsed < latency * 80 / 3, "80 files took {elapsed:?}");
    assert!(requests <= 100, "{requests} requests for 80 files");
}

#[test]
fn what_a_gltf_names_is_fetched_when_it_is_read() {
    needs_fuse!();
    if !cache_has_room() {
        return;
    }
    let storage = FileServer::start();
    let mut fixture = Fixture::unmounted(&["--files-url", &storage.url()]);
    let mut model: Value = serde_json::from_slice(&triangle()).expect("JSON");
    model["buffers"] = json!([{"byteLength": 36, "uri": "z.bin"}]);
    let model = model.to_string().into_bytes();
    let mut buffer = vec![0; 36];
    for (at, value) in [(12, 1.0_f32), (28, 1.0)] {
        buffer[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    buffer.resize(300_000, 7);
    let files = [("m.gltf", model.as_slice()), ("z.bin", buffer.as_slice())];
    files.iter().for_each(|(name, it)| storage.put(name, it));
    send(&fixture.service, "m", &files);
    fixture.mount(&[]);
    let sent = || storage.with(|it| it.sent);
    let before = sent();
    File::open(fixture.path("rawmodels/m/m.gltf")).expect("it opens");
    assert!(sent() - before < 100, "opening alone fetches nothing");
    fs::read(fixture.path("rawmodels/m/m.gltf")).expect("it reads");
    wait_until("the buffer is fetched", || sent() - before >= 300_000);
    let fetched = sent();
    assert!(fs::read(fixture.path("rawmodels/m/z.bin")).expect("it reads") == buffer);
    assert_eq!(sent(), fetched);
}

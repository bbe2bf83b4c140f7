//! Long listings, and tools that walk through the whole tree.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::needs_fuse;
use crate::support::{Fixture, shell};

/// Every page is slow.
const SLOW_PAGES: &str = r#"seed = 1
[[rule]]
method = "GET"
path = "/api/v2/rawmodel"
fault = { kind = "latency", ms = 400 }
"#;

#[test]
fn a_long_folder_is_listed_page_by_page() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted_with_chaos(SLOW_PAGES, &["--sample-assets", "1000"]);
    fixture.mount(&["--refresh", "10m"]);
    let requests = || fixture.status()["rate"]["taken"].as_u64().unwrap();
    let before = requests();
    let began = Instant::now();
    let mut first = None;
    let mut names = Vec::new();
    for entry in fs::read_dir(fixture.path("rawmodels")).unwrap() {
        names.push(entry.unwrap().file_name().into_string().unwrap());
        first.get_or_insert_with(|| began.elapsed());
    }
    let (first, all) = (first.unwrap(), began.elapsed());
    assert!(
        first * 2 < all,
        "the first after {first:?}, all after {all:?}"
    );
    names.sort();
    let expected: Vec<String> = (0..1000)
        .map(|number| format!("sample {number:06}"))
        .collect();
    assert_eq!(names, expected);
    let pages = requests() - before;
    assert!(pages <= 21, "{pages} requests for 20 pages");
    // A tool that reads the attributes of each item during the listing causes no more requests.
    let second = fixture.second_machine();
    let listed = shell(
        &second.root(),
        "find rawmodels -mindepth 1 -maxdepth 1 -printf '%i\\n' | sort -u | wc -l",
    );
    assert_eq!(listed.trim(), "1000");
}

#[test]
fn a_walk_through_everything_keeps_to_the_rate_and_lets_others_read() {
    needs_fuse!();
    let fixture = Fixture::with(&["--sample-assets", "150"], &[]);
    let walking = AtomicBool::new(true);
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        let walk = scope.spawn(|| {
            let found = shell(&fixture.root(), "find . | wc -l");
            walking.store(false, Ordering::SeqCst);
            found
        });
        for number in (0..150).rev() {
            if !walking.load(Ordering::SeqCst) {
                break;
            }
            let began = Instant::now();
            let path = format!("rawmodels/sample {number:06}/sample.glb");
            assert_eq!(fs::read(fixture.path(&path)).unwrap().len(), 12);
            longest = longest.max(began.elapsed());
            std::thread::sleep(Duration::from_millis(100));
        }
        let found = walk.join().unwrap();
        assert!(found.trim().parse::<u64>().unwrap() > 450, "{found}");
    });
    assert!(
        longest < Duration::from_secs(2),
        "a reader waited {longest:?}"
    );
    assert!(
        !fixture.service.log().contains("too many requests"),
        "{}",
        fixture.service.log()
    );
}

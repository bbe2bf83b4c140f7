//! The store after restarts, with many threads, and with a damaged file.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    size: u64,
    etag: Option<String>,
}

fn store(dir: &Path) -> MetaStore {
    MetaStore::open(dir.join("meta")).unwrap()
}

#[test]
fn values_of_both_kinds_of_handle_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let known = Known {
        size: 7,
        etag: Some("\"x\"".to_owned()),
    };
    {
        let store = store(dir.path());
        store.put("sizes", "raw/1", &known).unwrap();
        store.relaxed().put("sizes", "raw/2", &known).unwrap();
        store.put("names", "raw/1", "chair").unwrap();
        store.remove("sizes", "raw/3").unwrap();
    }
    let store = store(dir.path());
    assert_eq!(store.moved_aside(), None);
    assert_eq!(store.get::<Known>("sizes", "raw/1").unwrap(), Some(known));
    assert!(store.get::<Known>("sizes", "raw/2").unwrap().is_some());
    assert_eq!(store.get::<Known>("sizes", "raw/3").unwrap(), None);
    assert_eq!(store.get::<Known>("nothing here", "x").unwrap(), None);
    assert_eq!(
        store.get::<String>("names", "raw/1").unwrap().unwrap(),
        "chair"
    );
}

#[test]
fn a_scan_returns_one_prefix_in_order_and_skips_unreadable_values() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    for (key, value) in [
        ("a/2", "two"),
        ("a/1", "one"),
        ("b/1", "other"),
        ("a", "short"),
    ] {
        store.put("t", key, value).unwrap();
    }
    store
        .put(
            "t",
            "a/3",
            &Known {
                size: 1,
                etag: None,
            },
        )
        .unwrap();
    let found: Vec<(String, String)> = store.scan("t", "a/").unwrap();
    let expected = [("a/1", "one"), ("a/2", "two")];
    assert_eq!(found, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    assert_eq!(store.scan::<String>("none", "").unwrap(), []);
    let error = store.get::<String>("t", "a/3").unwrap_err();
    assert!(error.to_string().contains("t/a/3"), "{error}");
}

#[test]
fn a_batch_with_an_error_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let unwritable = BTreeMap::from([((1, 2), "a key that JSON has not")]);
    let failed = store.batch(|batch| {
        batch.put("t", "good", &1)?;
        batch.put("t", "bad", &unwritable)
    });
    assert!(failed.is_err());
    assert_eq!(store.get::<u32>("t", "good").unwrap(), None);
}

#[test]
fn a_damaged_store_is_moved_aside_and_a_new_one_works() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("meta");
    fs::write(&path, b"this is no database at all, just a line of text").unwrap();
    let store = MetaStore::open(&path).unwrap();
    let aside = store.moved_aside().unwrap();
    assert!(fs::read(aside).unwrap().starts_with(b"this is no"));
    store.put("t", "k", &1).unwrap();
    assert_eq!(store.get::<u32>("t", "k").unwrap(), Some(1));
}

#[test]
fn opening_twice_fails_and_moves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    store.put("t", "k", &1).unwrap();
    assert!(MetaStore::open(dir.path().join("meta")).is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn many_threads_read_and_write_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path()).relaxed();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let store = store.clone();
            scope.spawn(move || {
                for number in 0..100 {
                    let key = format!("{writer}/{number:03}");
                    store.put("t", &key, &number).unwrap();
                    assert_eq!(store.get::<u32>("t", &key).unwrap(), Some(number));
                }
            });
        }
    });
    assert_eq!(store.scan::<u32>("t", "").unwrap().len(), 400);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any damage of the file: no panic, no wrong value, and a usable store.
    #[test]
    fn random_damage_is_never_served(
        hits in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..40),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("meta");
        {
            let store = MetaStore::open(&path).unwrap().relaxed();
            for number in 0..200 {
                store.put("t", &format!("{number}"), &number).unwrap();
            }
        }
        let mut bytes = fs::read(&path).unwrap();
        for (place, flip) in &hits {
            let at = place.index(bytes.len());
            bytes[at] ^= flip;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&path, &bytes).unwrap();
        let store = MetaStore::open(&path).unwrap();
        for number in 0..200_u32 {
            if let Ok(Some(value)) = store.get::<u32>("t", &number.to_string()) {
                prop_assert_eq!(value, number);
            }
        }
        store.put("t", "new", &1).unwrap();
        prop_assert_eq!(store.get::<u32>("t", "new").unwrap(), Some(1));
    }
}

//! The records after kills, power cuts and damage.

use super::*;
use crate::cli::record_log::MAX_REPLACED;
use crate::durable::recorder::DiskOp;

fn record(state: RecordState) -> Record {
    let text = |text: &str| text.to_owned();
    Record {
        entry: text("chair.glb"),
        preset: text("web"),
        config: text("1"),
        stamp: text("2"),
        content: text("3"),
        results: text("chair"),
        upload: None,
        state,
        form: FORM,
    }
}

fn filled(records: &mut Records) -> PathBuf {
    let work = records.work_folder();
    fs::create_dir(&work).unwrap();
    fs::write(work.join("chair.glb"), b"new").unwrap();
    work
}

#[test]
fn a_move_that_was_interrupted_is_finished_and_made_once() {
    for moved in [false, true] {
        let out = tempfile::tempdir().unwrap();
        fs::create_dir(out.path().join("chair")).unwrap();
        fs::write(out.path().join("chair/chair.glb"), b"old").unwrap();
        let mut records = Records::open(out.path()).unwrap();
        let work = filled(&mut records);
        let state = RecordState::Moving {
            inode: inode_of(&work).unwrap().unwrap(),
            folder: work.clone(),
        };
        records.put(record(state)).unwrap();
        if moved {
            swap_in(&work, &out.path().join("chair")).unwrap();
        }
        drop(records);
        let unnamed = out.path().join(FOLDER).join(".new-1");
        fs::write(&unnamed, b"{").unwrap();
        let mut records = Records::open(out.path()).unwrap();
        recorder::begin();
        records.recover(out.path()).unwrap();
        let tape = recorder::end();
        assert_eq!(
            records.get("chair.glb", "web").unwrap().state,
            RecordState::Done
        );
        assert!(!unnamed.exists());
        // After a kill the move may have been made, but not synced.
        let synced = tape
            .iter()
            .position(|op| matches!(op, DiskOp::SyncDir(dir) if dir == out.path()));
        let recorded = tape
            .iter()
            .position(|op| matches!(op, DiskOp::Rename(_, to) if to.ends_with(LOG)));
        assert!(synced.is_some() && synced < recorded, "{tape:?}");
        assert_eq!(
            fs::read(out.path().join("chair/chair.glb")).unwrap(),
            b"new"
        );
        assert!(!work.exists());
    }
}

/// Lands results and returns what was done to the disk. That of an earlier run is in the place of one of them.
fn landed(count: usize) -> (tempfile::TempDir, Vec<DiskOp>) {
    let out = tempfile::tempdir().unwrap();
    fs::create_dir(out.path().join("chair 0")).unwrap();
    let mut records = Records::open(out.path()).unwrap();
    let landing = |number: usize| {
        let record = Record {
            entry: format!("chair{number}.glb"),
            results: format!("chair {number}"),
            ..record(RecordState::Working)
        };
        (record, filled(&mut records))
    };
    let landings: Vec<_> = (0..count).map(landing).collect();
    recorder::begin();
    let durable = records.make_durable(&landings);
    assert!(durable.iter().all(Result::is_ok));
    records.land(&landings, out.path()).unwrap();
    let tape = recorder::end();
    for (record, _) in &landings {
        let known = records.get(&record.entry, "web").unwrap();
        assert_eq!(known.state, RecordState::Done);
        let file = out.path().join(&record.results).join("chair.glb");
        assert_eq!(fs::read(file).unwrap(), b"new");
    }
    let left = fs::read_dir(out.path().join(FOLDER)).unwrap().count();
    assert_eq!(left, 2, "older results are removed");
    // A process that is killed here has not written that they are in their place; the next run finds them there.
    drop(records);
    let mut records = Records::open(out.path()).unwrap();
    records.recover(out.path()).unwrap();
    assert!(records.all().all(|it| it.state == RecordState::Done));
    (out, tape)
}

/// After a power cut a change counts for certain only if it was synced before: the results, then the records that speak of
/// them, then the moves, then what the moves replace is removed.
#[test]
fn many_results_are_durable_before_their_records_speak_of_them() {
    let (_few, tape) = landed(MIN_AT_ONCE - 1);
    assert!(!tape.iter().any(|op| matches!(op, DiskOp::SyncAll(_))));
    let count = 3 * MIN_AT_ONCE;
    let (out, tape) = landed(count);
    let moves = count;
    match tape.as_slice() {
        [
            DiskOp::SyncAll(_),
            DiskOp::Write(written, ..),
            DiskOp::Sync(synced),
            rest @ ..,
        ] => {
            assert!(written.ends_with(LOG) && synced.ends_with(LOG));
            let (renames, synced) = rest.split_at(moves);
            assert!(
                renames.iter().all(
                    |op| matches!(op, DiskOp::Rename(_, to) if to.parent() == Some(out.path()))
                )
            );
            assert_eq!(synced, [DiskOp::SyncDir(out.path().to_owned())]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_records_of_an_earlier_version_are_taken_into_the_log() {
    let out = tempfile::tempdir().unwrap();
    let earlier = out.path().join(FOLDER).join(EARLIER_RECORDS);
    fs::create_dir_all(&earlier).unwrap();
    let text = serde_json::to_vec_pretty(&record(RecordState::Done)).unwrap();
    fs::write(earlier.join("1.json"), text).unwrap();
    assert_eq!(peek(out.path()).unwrap().len(), 1);
    let mut records = Records::open(out.path()).unwrap();
    records.recover(out.path()).unwrap();
    assert!(!earlier.exists());
    drop(records);
    let records = Records::open(out.path()).unwrap();
    assert_eq!(
        records.get("chair.glb", "web"),
        Some(&record(RecordState::Done))
    );
}

#[test]
fn a_log_does_not_grow_without_end() {
    let out = tempfile::tempdir().unwrap();
    let mut records = Records::open(out.path()).unwrap();
    let batch = vec![record(RecordState::Working); MAX_REPLACED / 2];
    for _ in 0..5 {
        records.put_all(batch.clone()).unwrap();
    }
    assert!(
        records.log.count() <= 1 + MAX_REPLACED,
        "{}",
        records.log.count()
    );
    records.recover(out.path()).unwrap();
    assert_eq!(records.log.count(), 1);
    drop(records);
    assert_eq!(Records::open(out.path()).unwrap().all().count(), 1);
}

#[test]
fn unfinished_results_are_removed_and_the_work_is_known_as_begun() {
    let out = tempfile::tempdir().unwrap();
    let mut records = Records::open(out.path()).unwrap();
    let work = filled(&mut records);
    records.put(record(RecordState::Working)).unwrap();
    assert!(
        Records::open(out.path()).is_err(),
        "two processes write to one folder"
    );
    drop(records);
    let mut records = Records::open(out.path()).unwrap();
    records.recover(out.path()).unwrap();
    assert!(!work.exists());
    assert_eq!(
        records.get("chair.glb", "web").unwrap().state,
        RecordState::Working
    );
}

#[test]
fn a_link_in_the_place_of_the_records_is_refused() {
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir(elsewhere.path().join("work-of-mine")).unwrap();
    let out = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), out.path().join(FOLDER)).unwrap();
    let error = format!("{:#}", Records::open(out.path()).unwrap_err());
    assert!(
        error.contains(FOLDER) && error.contains("a link"),
        "{error}"
    );
    assert!(elsewhere.path().join("work-of-mine").exists());
}

#[test]
fn a_damaged_log_loses_what_is_damaged_and_nothing_else() {
    let out = tempfile::tempdir().unwrap();
    let mut records = Records::open(out.path()).unwrap();
    let path = out.path().join(FOLDER).join(LOG);
    let mut starts = Vec::new();
    for preset in ["a", "b", "c"] {
        starts.push(fs::metadata(&path).unwrap().len());
        let preset = preset.to_owned();
        let record = record(RecordState::Done);
        records.put(Record { preset, ..record }).unwrap();
    }
    drop(records);
    let mut bytes = fs::read(&path).unwrap();
    bytes[starts[1] as usize + 40] ^= 1;
    fs::write(&path, &bytes).unwrap();
    for _ in 0..2 {
        let records = Records::open(out.path()).unwrap();
        let presets: Vec<&str> = records.all().map(|it| it.preset.as_str()).collect();
        assert_eq!(presets, ["a", "c"]);
    }
    // What is no log is not replaced.
    fs::write(&path, b"a text that somebody has put here").unwrap();
    let error = format!("{:#}", Records::open(out.path()).unwrap_err());
    assert!(error.contains(path.to_str().unwrap()), "{error}");
}

#[test]
fn a_record_of_a_newer_version_is_named() {
    let out = tempfile::tempdir().unwrap();
    let mut records = Records::open(out.path()).unwrap();
    let newer = serde_json::json!({ "is": "newer" });
    records.log.append([&newer]).unwrap();
    drop(records);
    let error = format!("{:#}", Records::open(out.path()).unwrap_err());
    assert!(error.contains("newer version"), "{error}");
}

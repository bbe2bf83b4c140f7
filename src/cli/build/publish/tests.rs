use std::io::Write as _;

use super::*;

struct Place {
    dir: tempfile::TempDir,
    publisher: Publisher,
}

fn key(model: &str) -> Key {
    (model.to_owned(), "web".to_owned())
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["out", "records"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let publisher =
            Publisher::open(&dir.path().join("out"), &dir.path().join("records")).unwrap();
        Place { dir, publisher }
    }

    fn out(&self, name: &str) -> PathBuf {
        self.dir.path().join("out").join(name)
    }

    fn again(self) -> Place {
        let Place { dir, .. } = self;
        let publisher =
            Publisher::open(&dir.path().join("out"), &dir.path().join("records")).unwrap();
        Place { dir, publisher }
    }

    /// A folder of results with these files.
    fn results(&self, files: &[&str]) -> PathBuf {
        let results = tempfile::tempdir_in(self.dir.path()).unwrap().keep();
        for name in files
            .iter()
            .chain(&["analysis/warning.log", "before-after.png"])
        {
            let path = results.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        results
    }

    fn publish(&mut self, model: &str, files: &[&str]) -> Result<()> {
        let results = self.results(files);
        self.publish_from(model, results)
    }

    fn publish_from(&mut self, model: &str, made_in: PathBuf) -> Result<()> {
        let mut ended = self.publisher.publish(vec![NewResult {
            key: key(model),
            made_in,
            folder: PathBuf::from("web"),
        }]);
        ended.remove(0).1
    }

    fn put(&mut self, record: Published) -> Result<()> {
        self.publisher.log.append([&record])?;
        self.publisher.results.note(record);
        Ok(())
    }
}

#[test]
fn a_new_version_replaces_the_files_of_the_old_one_and_removes_what_it_has_not() {
    let mut place = Place::new();
    place
        .publish("chair", &["chair.gltf", "chair.bin", "tex/wood.png"])
        .unwrap();
    assert!(place.publisher.results.is_current(&key("chair")));
    assert!(place.out("web/tex/wood.png").exists());
    assert!(!place.out("web/before-after.png").exists());
    place.publish("chair", &["chair.glb"]).unwrap();
    assert_eq!(
        place.publisher.results.files(&key("chair")),
        [PathBuf::from("web/chair.glb")]
    );
    assert!(!place.out("web/chair.bin").exists() && !place.out("web/tex").exists());
    let mut place = place.again();
    assert!(place.publisher.results.is_current(&key("chair")));
}

#[test]
fn a_file_is_changed_if_its_bytes_are_whatever_its_time_says() {
    let mut place = Place::new();
    place.publish("chair", &["chair.glb"]).unwrap();
    let path = place.out("web/chair.glb");
    // A copy of the whole folder, as a cache of a CI service makes it, and the program that sets modes.
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, &bytes).unwrap();
    let mut place = place.again();
    assert!(place.publisher.results.is_current(&key("chair")));
    place.publisher.keep_compared().unwrap();
    let mut place = place.again();
    let noted = &place.publisher.results.compared[Path::new("web/chair.glb")];
    assert_eq!(*noted, changed(&fs::metadata(&path).unwrap()));
    // Other bytes of the same length, with the time that the first had.
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(&bytes.to_ascii_uppercase()).unwrap();
    file.set_modified(time).unwrap();
    assert!(!place.publisher.results.is_current(&key("chair")));
    place.publisher.retract(&key("chair")).unwrap();
    assert!(path.exists(), "it is not ours any more");
}

#[test]
fn a_record_of_an_earlier_version_goes_by_the_time() {
    let mut place = Place::new();
    place.publish("chair", &["chair.glb"]).unwrap();
    let mut record = place.publisher.results.known[&key("chair")].clone();
    record.files[0].hash = None;
    place.put(record).unwrap();
    let mut place = place.again();
    assert!(place.publisher.results.is_current(&key("chair")));
    fs::write(place.out("web/chair.glb"), "CHAIR.GLB").unwrap();
    assert!(!place.publisher.results.is_current(&key("chair")));
}

#[test]
fn a_file_that_is_not_ours_is_never_replaced_nor_removed() {
    let mut place = Place::new();
    fs::create_dir(place.out("web")).unwrap();
    fs::write(place.out("web/chair.glb"), "mine").unwrap();
    let why = place
        .publish("chair", &["chair.glb"])
        .unwrap_err()
        .to_string();
    assert!(why.contains("no build has made it"), "{why}");
    assert_eq!(fs::read(place.out("web/chair.glb")).unwrap(), b"mine");
    place.publish("fox", &["fox.glb"]).unwrap();
    let why = place
        .publish("chair", &["fox.glb"])
        .unwrap_err()
        .to_string();
    assert!(why.contains("a file of fox (web)"), "{why}");
    fs::write(place.out("web/fox.glb"), "changed by hand").unwrap();
    assert!(!place.publisher.results.is_current(&key("fox")));
    place.publisher.retract(&key("fox")).unwrap();
    assert_eq!(
        fs::read(place.out("web/fox.glb")).unwrap(),
        b"changed by hand"
    );
    assert!(place.again().publisher.results.keys().is_empty());
}

#[test]
fn a_move_that_was_interrupted_anywhere_is_finished() {
    for done in 0..=3_usize {
        let mut place = Place::new();
        place.publish("chair", &["old.glb"]).unwrap();
        let results = place.results(&["a.glb", "b.glb"]);
        // The steps of `publish`, up to a kill.
        let of = |name: &&str| PublishedFile::of(&results.join(name), Path::new("web").join(name));
        let record = Published {
            files: ["a.glb", "b.glb"]
                .iter()
                .map(of)
                .collect::<Result<_>>()
                .unwrap(),
            old: place.publisher.results.known[&key("chair")].files.clone(),
            from: fs::metadata(&results).unwrap().ino(),
            ..place.publisher.results.known[&key("chair")].clone()
        };
        if done > 0 {
            place.put(record).unwrap();
        }
        for name in ["a.glb", "b.glb"].iter().take(done.saturating_sub(1)) {
            move_file(&results.join(name), &place.out("web").join(name)).unwrap();
        }
        let mut place = place.again();
        place.publish_from("chair", results).unwrap();
        for name in ["web/a.glb", "web/b.glb"] {
            assert!(place.out(name).exists(), "{name} after a kill at {done}");
        }
        assert!(place.publisher.results.is_current(&key("chair")), "{done}");
        assert!(!place.out("web/old.glb").exists(), "{done}");
    }
}

#[test]
fn a_result_without_files_is_no_result() {
    let mut place = Place::new();
    let why = place.publish("chair", &[]).unwrap_err().to_string();
    assert!(why.contains("has no files"), "{why}");
}

#[test]
fn records_of_an_earlier_version_are_taken_into_the_log() {
    let mut place = Place::new();
    place.publish("chair", &["chair.glb"]).unwrap();
    let record = place.publisher.results.known[&key("chair")].clone();
    let folder = place.publisher.folder.clone();
    fs::remove_file(folder.join(LOG)).unwrap();
    let earlier = folder.join(EARLIER_RECORDS);
    fs::create_dir(&earlier).unwrap();
    fs::write(earlier.join("1.json"), serde_json::to_vec(&record).unwrap()).unwrap();
    let peeked = PublishedResults::peek(&place.publisher.results.out, &folder).unwrap();
    assert_eq!(peeked.known[&key("chair")], record);
    for _ in 0..2 {
        place = place.again();
        assert_eq!(place.publisher.results.known[&key("chair")], record);
        assert!(!earlier.exists());
    }
}

#[test]
fn what_fails_of_several_results_fails_alone() {
    let mut place = Place::new();
    fs::create_dir_all(place.out("web")).unwrap();
    fs::write(place.out("web/mine.glb"), "mine").unwrap();
    let all = [
        ("a", "a.glb"),
        ("twin", "a.glb"),
        ("mine", "mine.glb"),
        ("b", "b.glb"),
    ];
    let all = all.map(|(model, file)| NewResult {
        key: key(model),
        made_in: place.results(&[file]),
        folder: PathBuf::from("web"),
    });
    let ended = place.publisher.publish(all.into());
    let failed = ended
        .iter()
        .map(|(key, ended)| (key.0.as_str(), ended.is_err()));
    let failed: Vec<(&str, bool)> = failed.collect();
    assert_eq!(
        failed,
        [("a", false), ("twin", true), ("mine", true), ("b", false)]
    );
    assert_eq!(place.publisher.log.count(), 2);
    let mut place = place.again();
    assert_eq!(place.publisher.results.keys(), [key("a"), key("b")]);
    assert!(place.publisher.results.is_current(&key("a")));
}

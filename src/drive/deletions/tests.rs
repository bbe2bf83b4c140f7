use super::*;
use crate::wire::RapidId;

#[derive(Clone, PartialEq)]
struct Part(&'static str);

impl Numbered for Part {
    fn identity(&self) -> String {
        self.0.to_owned()
    }
}

const MODEL: Model = Model::Rapid(RapidId(7));

fn row(ino: Ino) -> ListedRow {
    ListedRow::new(ino, "a", FileKind::File, true)
}

#[test]
fn what_was_removed_is_back_when_the_rmdir_does_not_come() {
    let mut deletions = Deletions::default();
    let node = Part("a");
    deletions.hide(MODEL, &node, 42, Duration::from_secs(10));
    assert!(deletions.is_hidden(MODEL, &node, Duration::from_secs(10)));
    assert!(!deletions.is_hidden(MODEL, &node, Duration::ZERO));
}

#[test]
fn what_was_removed_stays_hidden_while_its_process_waits_for_the_drive() {
    let mut deletions = Deletions::default();
    let node = Part("a");
    deletions.hide(MODEL, &node, 42, Duration::from_secs(10));
    assert!(deletions.waits(43, Duration::from_secs(10)).is_empty());
    let waiting = deletions.waits(42, Duration::from_secs(10));
    assert_eq!(waiting, [MODEL]);
    assert!(deletions.is_hidden(MODEL, &node, Duration::ZERO));
    deletions.answered(&waiting);
    assert!(!deletions.is_hidden(MODEL, &node, Duration::ZERO));
}

#[test]
fn what_is_made_again_is_back_at_once() {
    const HOLD: Duration = Duration::from_secs(10);
    let mut deletions = Deletions::default();
    let (node, other) = (Part("a"), Part("b"));
    deletions.hide(MODEL, &node, 42, HOLD);
    deletions.hide(MODEL, &other, 42, HOLD);
    deletions.unhide(MODEL, &node);
    assert!(!deletions.is_hidden(MODEL, &node, HOLD));
    assert!(deletions.is_hidden(MODEL, &other, HOLD));
}

#[test]
fn only_the_process_that_removed_the_entries_ends_the_deletion() {
    let mut deletions = Deletions::default();
    assert!(deletions.may_end(MODEL, 43), "there was nothing to remove");
    deletions.hide(MODEL, &Part("a"), 42, Duration::from_secs(10));
    assert!(deletions.may_end(MODEL, 42));
    assert!(!deletions.may_end(MODEL, 43));
}

#[test]
fn only_what_came_after_the_listing_of_that_process_does_not_keep_a_folder() {
    const HOLD: Duration = Duration::from_secs(10);
    let mut deletions = Deletions::default();
    let (folder, listed, later) = (Ino(2), Ino(3), Ino(4));
    let shown = |rows: &[Ino]| rows.iter().map(|ino| row(*ino)).collect();
    let has_only_new_rows = |deletions: &Deletions, rows: &[Ino], process| {
        deletions.has_only_new_rows(rows, (MODEL, folder), process, |thread| thread, HOLD)
    };
    deletions.was_listed(42, (folder, Fh(1)), shown(&[listed]));
    assert!(
        !has_only_new_rows(&deletions, &[later], 42),
        "it removed nothing"
    );
    deletions.hide(MODEL, &Part("a"), 42, HOLD);
    assert!(has_only_new_rows(&deletions, &[later], 42));
    assert!(!has_only_new_rows(&deletions, &[listed, later], 42));
    assert!(
        !has_only_new_rows(&deletions, &[later], 43),
        "another process"
    );
    deletions.was_listed(42, (folder, Fh(1)), shown(&[listed, later]));
    assert!(!has_only_new_rows(&deletions, &[later], 42), "listed again");
    deletions.hide(MODEL, &Part("a"), 43, HOLD);
    assert!(
        !has_only_new_rows(&deletions, &[later], 43),
        "it listed nothing"
    );
}

#[test]
fn a_name_that_vanished_is_found_by_the_process_that_removes_what_it_listed() {
    const HOLD: Duration = Duration::from_secs(10);
    const FOLDER: Ino = Ino(2);
    let find = |deletions: &Deletions, name, process, hold| {
        deletions.find_vanished((MODEL, FOLDER, name), |thread| thread, process, hold)
    };
    let found = |deletions: &Deletions, process| find(deletions, "gone", process, HOLD);
    let mut deletions = Deletions::default();
    let rows = [("own", false), ("gone", true), ("other", true)]
        .map(|(name, vanishes)| ListedRow::new(Ino(3), name, FileKind::File, vanishes));
    deletions.was_listed(42, (FOLDER, Fh(5)), rows.into());
    assert_eq!(found(&deletions, 42), Some(FileKind::File), "it is open");
    assert_eq!(found(&deletions, 43), None, "another process");
    assert_eq!(find(&deletions, "gone", 42, Duration::ZERO), None);
    assert_eq!(find(&deletions, "own", 42, HOLD), None, "a user's file");
    deletions.was_closed(Fh(5));
    assert_eq!(found(&deletions, 42), None, "it only read the folder");
    deletions.was_removed((FOLDER, "other"), 42, |thread| thread, HOLD);
    assert_eq!(found(&deletions, 42), Some(FileKind::File), "it removes");
    deletions.was_removed((FOLDER, "gone"), 42, |thread| thread, HOLD);
    assert_eq!(found(&deletions, 42), None, "it removed it");
}

#[test]
fn a_process_is_known_by_the_loose_files_that_it_looked_for_lately() {
    const LATELY: Duration = Duration::from_secs(60);
    let mut deletions = Deletions::default();
    for number in 0..MAX_LOOKED_FOR + 1 {
        let name = format!("{number}.glb");
        deletions.was_looked_for(&name, LooseLookup::Beside, 42);
    }
    deletions.was_looked_for("chair.glb", LooseLookup::Missing, 43);
    let of = |deletions: &mut Deletions, process, lately| {
        deletions.looked_for(process, |thread| thread, lately)
    };
    let found = of(&mut deletions, 43, LATELY);
    let chair = ("chair.glb".to_owned(), LooseLookup::Missing);
    assert_eq!(found, HashSet::from([chair]));
    assert_eq!(of(&mut deletions, 42, LATELY).len(), MAX_LOOKED_FOR - 1);
    assert!(of(&mut deletions, 42, Duration::ZERO).is_empty());
    assert!(deletions.looked_for.is_empty(), "old lookups are forgotten");
    // File managers look up a loose file that has just become a model.
    deletions.became_model("new.glb");
    deletions.was_looked_for("new.glb", LooseLookup::Beside, 42);
    assert!(of(&mut deletions, 42, LATELY).is_empty());
}

#[test]
fn listings_that_are_remembered_are_bounded() {
    let mut deletions = Deletions::default();
    for folder in 0..2 * MAX_LISTED as u64 {
        deletions.was_listed(42, (Ino(folder), Fh(1)), vec![row(Ino(1))]);
    }
    assert_eq!(deletions.listed.len(), MAX_LISTED);
    let too_many = (0..=MAX_LISTED_ROWS).map(|_| row(Ino(1))).collect();
    deletions.was_listed(42, (Ino(1), Fh(1)), too_many);
    assert!(deletions.listed.is_empty());
}

#[test]
fn the_limit_counts_a_minute_and_can_be_lifted() {
    let mut deletions = Deletions::default();
    deletions.recent.extend([Instant::now(); 20]);
    assert!(deletions.is_over_limit(20));
    assert!(!deletions.is_over_limit(21));
    deletions.allow(Duration::from_secs(5));
    assert!(!deletions.is_over_limit(20));
}

#[test]
fn deletions_are_counted_before_they_happen_and_those_that_fail_are_not() {
    let mut deletions = Deletions::default();
    assert!(deletions.count(20, 15));
    assert!(!deletions.count(20, 6), "15 are under way");
    deletions.uncount(5);
    assert!(deletions.count(20, 10));
    assert!(deletions.is_over_limit(20));
}

//! Confirming, replacing and losing records.

use super::passes::FULL_PASS_HOLDS;
use super::*;

#[derive(Debug, Clone, PartialEq)]
struct Thing(u64, &'static str);

impl Record for Thing {
    fn number(&self) -> u64 {
        self.0
    }
    fn service_name(&self) -> &str {
        self.1
    }
}

const NONE: &[Thing] = &[];

fn taken() -> HashSet<String> {
    HashSet::new()
}

fn listing(rows: &[Thing], now: Instant) -> Listing<Thing> {
    let mut listing = Listing::new("");
    listing.replace(rows.to_vec(), now, now, &taken());
    listing
}

#[test]
fn an_unchanged_listing_is_confirmed_by_total_and_newest_id() {
    let now = Instant::now();
    let mut listing = listing(&[Thing(3, "c"), Thing(2, "b"), Thing(1, "a")], now);
    assert_eq!(listing.confirming_page(now, 2), Some(1));
    let later = now + Duration::from_secs(11);
    assert!(!listing.belief.is_fresh(later, Duration::from_secs(10)));
    let page = vec![Thing(3, "c"), Thing(2, "b")];
    assert_eq!(
        listing.confirm(3, page, later, later, &taken()),
        Confirmation::Holds(Changes::default())
    );
    assert!(listing.belief.is_fresh(later, Duration::from_secs(10)));
}

#[test]
fn a_delete_plus_a_create_between_two_listings_is_seen_though_the_total_stays() {
    let now = Instant::now();
    let mut listing = listing(&[Thing(3, "c"), Thing(2, "b"), Thing(1, "a")], now);
    let page = vec![Thing(4, "d"), Thing(3, "c")];
    assert_eq!(
        listing.confirm(3, page, now, now, &taken()),
        Confirmation::NeedsFullPass
    );
    let page = vec![Thing(4, "d"), Thing(3, "c")];
    let Confirmation::Holds(changes) = listing.confirm(4, page, now, now, &taken()) else {
        panic!("one more, and the total says so");
    };
    assert_eq!(changes.appeared, [4]);
}

#[test]
fn the_newest_page_may_be_the_last_one() {
    let now = Instant::now();
    let listing = listing(&[Thing(1, "a"), Thing(2, "b"), Thing(3, "c")], now);
    assert_eq!(listing.confirming_page(now, 2), Some(2));
    assert_eq!(listing.confirming_page(now + FULL_PASS_HOLDS, 2), None);
    let unordered = self::listing(&[Thing(2, "a"), Thing(9, "b"), Thing(3, "c")], now);
    assert_eq!(unordered.confirming_page(now, 2), None);
}

#[test]
fn what_became_known_after_a_pass_began_is_not_undone_by_it() {
    let began = Instant::now();
    let mut listing = listing(&[Thing(1, "a"), Thing(2, "b")], began);
    let later = began + Duration::from_millis(5);
    listing.put_all(vec![Thing(3, "new")], began, later, &taken());
    listing.remove(1, later);
    let changes = listing.replace(vec![Thing(2, "b"), Thing(1, "a")], began, later, &taken());
    assert!(changes.is_empty(), "{changes:?}");
    assert!(listing.find("new").is_some() && listing.find("a").is_none());
}

#[test]
fn a_failure_removes_nothing_and_marks_what_is_shown() {
    let now = Instant::now();
    let mut listing = listing(&[Thing(1, "a")], now);
    assert!(!listing.belief.is_stale());
    listing.belief.failed(now);
    assert!(listing.belief.is_stale() && listing.find("a").is_some());
    assert!(listing.belief.failed_lately(now, Duration::from_secs(10)));
    listing.replace(NONE.to_vec(), now, now, &taken());
    assert!(!listing.belief.is_stale());
}

#[test]
fn an_answer_to_an_earlier_request_does_not_undo_what_was_written() {
    let began = Instant::now();
    let (wrote, asked) = (
        began + Duration::from_millis(5),
        began + Duration::from_millis(9),
    );
    let later = began + Duration::from_millis(50);
    let mut listing = listing(&[Thing(1, "old"), Thing(2, "b")], began);
    let changes = listing.write(Thing(1, "new"), wrote, &taken());
    assert_eq!(changes.renamed, [(1, "old".to_owned())]);
    for late in [
        listing.replace(vec![Thing(2, "b"), Thing(1, "old")], began, later, &taken()),
        listing.put_all(vec![Thing(1, "old")], began, later, &taken()),
        listing.put_all(vec![Thing(1, "old")], wrote, later, &taken()),
    ] {
        assert!(late.is_empty(), "{late:?}");
    }
    let page = vec![Thing(2, "b"), Thing(1, "old")];
    assert_eq!(
        listing.confirm(2, page, began, later, &taken()),
        Confirmation::Holds(Changes::default())
    );
    assert!(listing.find("new").is_some() && listing.find("old").is_none());
    // An answer to a later request is the service's state again.
    listing.put_all(vec![Thing(1, "newest")], asked, later, &taken());
    assert!(listing.find("newest").is_some() && listing.find("new").is_none());
}

#[test]
fn an_answer_to_an_earlier_request_does_not_end_a_doubt() {
    let began = Instant::now();
    let refresh = Duration::from_secs(10);
    let mut listing = listing(&[Thing(1, "a")], began);
    let doubted = began + Duration::from_millis(5);
    listing.belief.mark_stale(doubted);
    listing.replace(vec![Thing(1, "a")], began, doubted, &taken());
    assert!(!listing.belief.is_fresh(doubted, refresh) && listing.belief.is_doubted());
    let asked = began + Duration::from_millis(9);
    listing.replace(vec![Thing(1, "a")], asked, asked, &taken());
    assert!(listing.belief.is_fresh(asked, refresh) && !listing.belief.is_doubted());
}

/// A record that a list may lack by mistake.
#[derive(Debug, Clone, PartialEq)]
struct Kept(u64);

impl Record for Kept {
    fn number(&self) -> u64 {
        self.0
    }
    fn service_name(&self) -> &str {
        "kept"
    }
    fn is_gone_if_unlisted() -> bool {
        false
    }
}

#[test]
fn what_a_pass_lacks_stays_with_its_name_until_it_was_asked_for() {
    let mut listing = Listing::new("");
    let began = Instant::now();
    let later = began + Duration::from_secs(1);
    listing.replace(vec![Kept(1), Kept(2)], began, began, &taken());
    let changes = listing.replace(vec![Kept(2)], later, later, &taken());
    assert!(changes.gone.is_empty());
    assert_eq!(listing.name(1), Some("kept"));
    assert_eq!(listing.take_unlisted(), [1]);
    assert!(listing.take_unlisted().is_empty());
    assert_eq!(
        listing.remove(1, later).gone,
        [(1, "kept".to_owned())],
        "the service does not have it"
    );
}

#[test]
fn a_model_that_was_deleted_and_made_again_elsewhere_keeps_its_name() {
    let mut listing = Listing::new("");
    let [began, later] = [0, 1].map(|secs| Instant::now() + Duration::from_secs(secs));
    listing.replace(vec![Kept(1)], began, began, &taken());
    listing.replace(vec![Kept(3)], later, later, &taken());
    assert_eq!(listing.take_unlisted(), [1]);
    let changes = listing.remove(1, later);
    assert_eq!(changes.gone, [(1, "kept".to_owned())]);
    assert_eq!(changes.renamed, [(3, "kept~3".to_owned())]);
    assert_eq!(listing.name(3), Some("kept"));
}

#[test]
fn a_model_that_was_found_by_its_path_before_the_first_list_hands_its_name_over_too() {
    let mut listing = Listing::new("");
    let times = [0, 1, 2].map(|secs| Instant::now() + Duration::from_secs(secs));
    let [found, began, ended] = times;
    listing.put_all(vec![Kept(1)], found, found, &taken());
    listing.pass_begins(began);
    listing.put_all(vec![Kept(3)], began, ended, &taken());
    listing.pass_stops();
    let listed = [3].into_iter().collect();
    listing.pass_ended(&listed, Order::NewestFirst, began, ended);
    assert_eq!(listing.take_unlisted(), [1]);
    listing.remove(1, ended);
    assert_eq!(listing.name(3), Some("kept"));
}

#[test]
fn a_model_that_a_confirmed_list_has_beside_another_one_does_not_get_its_name_later() {
    let mut listing = Listing::new("");
    let times = [0, 1, 2, 3].map(|secs| Instant::now() + Duration::from_secs(secs));
    let [began, found, confirmed, later] = times;
    listing.replace(vec![Kept(1)], began, began, &taken());
    listing.put_all(vec![Kept(3)], found, found, &taken());
    let page = vec![Kept(3)];
    let holds = listing.confirm(2, page, confirmed, confirmed, &taken());
    assert!(matches!(holds, Confirmation::Holds(_)));
    listing.replace(vec![Kept(3)], later, later, &taken());
    assert_eq!(listing.take_unlisted(), [1]);
    listing.remove(1, later);
    assert_eq!(listing.name(3), Some("kept~3"));
}

#[test]
fn the_later_of_two_models_that_were_there_at_once_keeps_the_name_with_its_id() {
    let mut listing = Listing::new("");
    let [began, later] = [0, 1].map(|secs| Instant::now() + Duration::from_secs(secs));
    listing.replace(vec![Kept(1), Kept(3)], began, began, &taken());
    listing.replace(vec![Kept(3)], later, later, &taken());
    assert_eq!(listing.take_unlisted(), [1]);
    assert!(listing.remove(1, later).renamed.is_empty());
    assert_eq!(listing.name(3), Some("kept~3"));
}

#[test]
fn the_version_changes_with_the_records_and_only_with_them() {
    let now = Instant::now();
    let mut listing = listing(&[Thing(1, "a")], now);
    let first = listing.version();
    listing.replace(vec![Thing(1, "a")], now, now, &taken());
    assert_eq!(listing.version(), first);
    listing.write(Thing(1, "b"), now, &taken());
    let second = listing.version();
    assert!(second > first);
    listing.remove(1, now);
    assert!(listing.version() > second);
}

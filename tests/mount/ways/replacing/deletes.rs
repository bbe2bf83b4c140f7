//! `assetfs replace --remove-old`: the old version is deleted on request, under the rules of deleting.

use serde_json::Value;

use super::{Chair, id, large_version_of, listed, replace, uploaded, version_of};
use crate::needs_fuse;
use crate::support::{assert_same_files, assetfs, fails, run, wait_until};

#[test]
fn the_old_version_is_deleted_on_request_and_only_then() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        old,
    } = Chair::mounted(&[]);
    let output = run(replace(&version_of(&first, "2"), &model).arg("--json"));
    let row: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(row["outcome"], "replaced");
    assert_eq!(
        (row["old_id"].as_u64(), row["id"].as_u64()),
        (Some(old), Some(id(&model)))
    );
    let second = id(&model);
    run(replace(&version_of(&first, "3"), &model).arg("--remove-old"));
    let third = id(&model);
    wait_until("the second version is deleted", || uploaded(&fixture) == 2);
    wait_until("it is not listed", || {
        listed(&fixture) == ["chair".to_owned(), format!("chair~{old}")]
    });
    assert!(![old, second].contains(&third));
    let ids: Vec<u64> = fixture
        .service
        .assets()
        .iter()
        .map(|asset| asset["id"].as_u64().unwrap())
        .collect();
    assert!(ids.contains(&old) && ids.contains(&third), "{ids:?}");
}

#[test]
fn deleting_the_old_version_obeys_the_rules_of_deleting() {
    needs_fuse!();
    let Chair {
        mut fixture,
        first,
        model,
        ..
    } = Chair::mounted(&["--delete-limit", "0"]);
    let second = version_of(&first, "2");
    let refused = fails(replace(&second, &model).arg("--remove-old"), 1);
    assert!(refused.contains("allow-delete"), "{refused}");
    run(assetfs("unmount", fixture.root()));
    fixture.mount(&["--no-delete"]);
    let refused = fails(replace(&second, &model).arg("--remove-old"), 1);
    assert!(refused.contains("--no-delete"), "{refused}");
    assert_eq!(uploaded(&fixture), 1);
    assert_same_files(&first, &model);
    run(replace(&second, &model));
    assert_eq!(uploaded(&fixture), 2);
}

#[test]
fn a_mount_that_deletes_nothing_keeps_the_old_version_until_a_later_one() {
    needs_fuse!();
    let Chair {
        mut fixture,
        first,
        model,
        old,
    } = Chair::mounted(&["--limit-up", "64K"]);
    let second = large_version_of(&first, "2");
    run(replace(&second, &model).args(["--remove-old", "--no-wait"]));
    fixture.kill_mount();
    // The version is finished by mounts that delete nothing.
    for _ in 0..2 {
        fixture.mount(&["--no-delete"]);
        wait_until("the new version has the name", || id(&model) != old);
        assert_same_files(&second, &model);
        assert_same_files(&first, &fixture.path(&format!("rawmodels/chair~{old}")));
        assert_eq!(uploaded(&fixture), 2);
        run(assetfs("unmount", fixture.root()));
    }
    assert_eq!(uploaded(&fixture), 2);
    fixture.mount(&[]);
    wait_until("the old version is deleted", || uploaded(&fixture) == 1);
    assert_same_files(&second, &model);
}

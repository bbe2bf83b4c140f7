//! Versions whose upload cannot go on or fails: they are kept, and every command says why.

use std::fs;

use super::{Chair, first_draft, id, replace, set_faults, uploaded, version_of};
use crate::needs_fuse;
use crate::support::{Fixture, assert_same_files, assetfs, exists, fails, read, run};

#[test]
fn joining_a_version_that_cannot_go_on_says_why_and_does_not_wait() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        old,
    } = Chair::on(Fixture::with(&["--quota", "600K"], &[]));
    let second = version_of(&first, "2");
    fs::write(second.join("more.bin"), vec![2; 1_000_000]).unwrap();
    for _ in 0..2 {
        let said = fails(replace(&second, &model).args(["--timeout", "100s"]), 1);
        assert!(said.contains("and the account has"), "{said}");
    }
    // It is kept, and is sent when there is room.
    let draft = first_draft(&fixture);
    assert_eq!(draft["path"], "/rawmodels/chair~new");
    assert_eq!(draft["state"], "waiting", "{draft}");
    assert_eq!(draft["stuck"], true, "{draft}");
    assert_eq!((id(&model), uploaded(&fixture)), (old, 1));
}

#[test]
fn a_version_whose_upload_failed_is_kept_and_can_be_sent_again() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        old,
    } = Chair::with_faults();
    let second = version_of(&first, "2");
    set_faults(
        &fixture,
        "[[rule]]\nmethod = \"POST\"\npath = \"*/api-upload/start\"\n\
         fault = { kind = \"status\", status = 422, body = '{\"message\": \"not today\"}' }\n",
    );
    let said = fails(replace(&second, &model), 1);
    assert!(said.contains("not today"), "{said}");
    assert!(said.contains("keeps the new files: `assetfs why"), "{said}");
    let version = fixture.path("rawmodels/chair~new");
    let model_file = "chair.gltf";
    assert_eq!(
        read(version.join(model_file)),
        read(second.join(model_file))
    );
    let draft = first_draft(&fixture);
    assert_eq!(
        (&draft["state"], &draft["stuck"]),
        (&"failed".into(), &true.into())
    );
    assert_eq!((id(&model), uploaded(&fixture)), (old, 1));
    set_faults(&fixture, "");
    run(assetfs("retry", &version));
    run(replace(&second, &model));
    assert_same_files(&second, &model);
    assert!(!exists(&version));
    assert_eq!(uploaded(&fixture), 2);
}

//! What `assetfs replace` refuses, with a sentence and before anything is begun, and what it leaves then: nothing.

use std::fs;
use std::path::Path;

use super::super::models::triangle_glb;
use super::{Chair, drafts, id, left_version, listed, replace, uploaded, version_of};
use crate::needs_fuse;
use crate::support::{Fixture, assert_same_files, exists, fails, read, run};

#[test]
fn a_model_is_not_replaced_by_itself() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        ..
    } = Chair::mounted(&[]);
    for source in [&model, &model.join("chair.gltf"), &model.join(".assetfs")] {
        let refused = fails(replace(source, &model), 2);
        assert!(refused.contains("belongs to"), "{refused}");
    }
    // The copy of a version that failed is its only one on the drive.
    let version = left_version(&fixture, &model);
    let refused = fails(replace(&version, &model), 2);
    assert!(refused.contains("belongs to"), "{refused}");
    assert_eq!(read(version.join("one.glb")), triangle_glb("one"));
    assert_same_files(&first, &model);
    assert_eq!(uploaded(&fixture), 1);
}

#[test]
fn a_name_with_an_id_never_becomes_a_new_model() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let source = fixture.scratch.path().join("one.glb");
    fs::write(&source, triangle_glb("1")).unwrap();
    for name in ["chair~99999", "other~7"] {
        let refused = fails(replace(&source, &fixture.path("rawmodels").join(name)), 2);
        assert!(
            refused.contains("always means the model with this id"),
            "{refused}"
        );
    }
    assert_eq!(
        (drafts(&fixture).len(), listed(&fixture)),
        (0, vec!["chair".into()])
    );
}

#[test]
fn a_missing_source_is_wrong_use() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.scratch.path().join("missing.glb");
    let refused = fails(replace(&source, &fixture.path("rawmodels/one")), 2);
    assert!(refused.contains("missing.glb does not exist"), "{refused}");
}

#[test]
fn one_file_of_a_model_is_refused_with_what_it_needs() {
    needs_fuse!();
    let fixture = Fixture::new();
    let first = fixture.add_chair();
    let scratch = fixture.scratch.path().to_owned();
    let folder = scratch.join("of obj");
    fs::create_dir(&folder).unwrap();
    fs::write(
        folder.join("t.obj"),
        "mtllib t.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    )
    .unwrap();
    fs::write(folder.join("t.mtl"), "newmtl a\n").unwrap();
    let cases: [(&Path, &str); 2] = [
        (&folder.join("t.obj"), "t.mtl"),
        (&first.join("chair.gltf"), "chair.bin"),
    ];
    for (source, needed) in cases {
        for target in ["chair", "new"] {
            let model = fixture.path("rawmodels").join(target);
            let refused = fails(replace(source, &model), 2);
            assert!(
                refused.contains(needed) && refused.contains("give the folder"),
                "{refused}"
            );
        }
    }
    assert_eq!(
        (drafts(&fixture).len(), listed(&fixture)),
        (0, vec!["chair".into()])
    );
    // Without the file that it names, the model is sent, as everywhere.
    fs::remove_file(folder.join("t.mtl")).unwrap();
    run(replace(
        &folder.join("t.obj"),
        &fixture.path("rawmodels/new"),
    ));
    assert_eq!(uploaded(&fixture), 2);
}

#[test]
fn a_refused_source_leaves_no_draft() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        old,
    } = Chair::mounted(&[]);
    let scratch = fixture.scratch.path().to_owned();
    let text = scratch.join("notes.txt");
    fs::write(&text, "no model").unwrap();
    let half = scratch.join("half.glb");
    let whole = triangle_glb("half");
    fs::write(&half, &whole[..whole.len() / 2]).unwrap();
    for source in [&text, &half] {
        for target in ["chair", "new"] {
            let path = fixture.path("rawmodels").join(target);
            let refused = fails(replace(source, &path), 1);
            assert!(refused.contains("nothing is replaced"), "{refused}");
            assert!(!exists(
                fixture.path("rawmodels").join(format!("{target}~new"))
            ));
            assert_eq!(
                (drafts(&fixture).len(), listed(&fixture)),
                (0, vec!["chair".into()])
            );
        }
    }
    assert_eq!((id(&model), uploaded(&fixture)), (old, 1));
    // It works with the right files at once.
    let second = version_of(&first, "2");
    run(replace(&second, &model));
    assert_same_files(&second, &model);
    // A folder of that name that somebody made is kept.
    let own = fixture.path("rawmodels/chair~new");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("notes.txt"), "mine").unwrap();
    let refused = fails(replace(&first, &model), 1);
    assert!(refused.contains("rename or remove it"), "{refused}");
    assert_eq!(read(own.join("notes.txt")), b"mine");
}

//! Tables of cases for the rule.

use super::*;
use crate::outbox::drafts::info::DraftKind;
use crate::outbox::drafts::settle::readiness::{BytesState, FileFacts, Obstacle};
use crate::outbox::status::StatusWord;
use assetfs_formats::references::{Need, Reference};

const S: fn(u64) -> Duration = Duration::from_secs;

fn file(path: &str) -> FileFacts {
    FileFacts {
        path: path.to_owned(),
        size: 100,
        state: BytesState::Whole,
        references: Vec::new(),
        members: Vec::new(),
    }
}

fn naming(path: &str, names: &[&str]) -> FileFacts {
    let references = names
        .iter()
        .map(|name| Reference {
            from: path.to_owned(),
            paths: vec![(*name).to_owned()],
            min_len: None,
            need: match *name {
                name if name.ends_with(".bin") => Need::ForImport,
                _ => Need::ForLooks,
            },
        })
        .collect();
    FileFacts {
        references,
        ..file(path)
    }
}

fn draft(files: Vec<FileFacts>) -> DraftFacts {
    DraftFacts {
        kind: DraftKind::Folder,
        files,
        in_flight: Vec::new(),
        version_control: None,
        replaces: None,
        being_written: Vec::new(),
    }
}

fn chair() -> DraftFacts {
    draft(vec![
        naming("chair.gltf", &["chair.bin"]),
        file("chair.bin"),
    ])
}

fn ended(at: u64) -> WriterState {
    WriterState {
        last_change: S(10),
        writers_ended: Some(S(at)),
        folder_times_set: false,
    }
}

fn judge(facts: &DraftFacts, writer_state: WriterState, now: u64) -> Verdict {
    verdict(facts, &writer_state, &SettleTimes::scaled(S(2)), S(now))
}

fn settling(at: u64, seconds: u64) -> Verdict {
    Verdict::WaitUntil {
        at: S(at),
        status: ItemStatus::Settling { seconds },
        missing: Vec::new(),
    }
}

fn waiting_for(at: u64, missing: &[&str]) -> Verdict {
    let missing: Vec<String> = missing.iter().map(|name| (*name).to_owned()).collect();
    Verdict::WaitUntil {
        at: S(at),
        status: ItemStatus::MissingFiles {
            missing: missing.clone(),
        },
        missing,
    }
}

/// The status of a draft that time alone does not help.
fn held(facts: &DraftFacts) -> ItemStatus {
    match judge(facts, ended(10), 100_000) {
        Verdict::Blocked { status, missing } => {
            assert!(missing.is_empty(), "{missing:?}");
            status
        }
        verdict => panic!("{verdict:?}"),
    }
}

const READY: Verdict = Verdict::Ready { warning: None };

#[test]
fn two_seconds_after_the_writing_processes_ended() {
    assert_eq!(judge(&chair(), ended(10), 11), settling(12, 1));
    assert_eq!(judge(&chair(), ended(10), 12), READY);
    // The process ended later than its last write: the time counts from its end.
    assert_eq!(judge(&chair(), ended(14), 15), settling(16, 1));
}

#[test]
fn a_loose_file_that_is_whole_at_once_when_its_writer_has_ended() {
    let times = SettleTimes {
        loose_ended: Duration::ZERO,
        ..SettleTimes::scaled(S(2))
    };
    let at = |facts: &DraftFacts, state: WriterState, now| verdict(facts, &state, &times, S(now));
    let loose = |name: &str| DraftFacts {
        kind: DraftKind::LooseFile,
        ..draft(vec![file(name)])
    };
    assert_eq!(at(&loose("chair.glb"), ended(10), 10), READY);
    // Another program may add to them.
    for name in ["chair.ply", "chair.zip"] {
        assert_eq!(at(&loose(name), ended(10), 10), settling(25, 15), "{name}");
    }
    assert_eq!(
        at(&draft(vec![file("chair.glb")]), ended(10), 10),
        settling(12, 2)
    );
    let alive = WriterState {
        writers_ended: None,
        ..ended(0)
    };
    assert_eq!(at(&loose("chair.glb"), alive, 12), settling(15, 3));
    // By default as any other.
    assert_eq!(judge(&loose("chair.glb"), ended(10), 11), settling(12, 1));
}

#[test]
fn or_the_folder_got_its_times_set() {
    let writer_state = WriterState {
        folder_times_set: true,
        writers_ended: None,
        ..ended(0)
    };
    assert_eq!(judge(&chair(), writer_state, 11), settling(12, 1));
    assert_eq!(judge(&chair(), writer_state, 12), READY);
}

#[test]
fn five_seconds_while_one_lives() {
    let writer_state = WriterState {
        writers_ended: None,
        ..ended(0)
    };
    assert_eq!(judge(&chair(), writer_state, 12), settling(15, 3));
    assert_eq!(judge(&chair(), writer_state, 15), READY);
}

#[test]
fn else_fifteen_seconds_and_sixty() {
    let facts = draft(vec![file("chair.fbx"), file("wood.png")]);
    assert_eq!(judge(&facts, ended(10), 24), settling(25, 1));
    assert_eq!(judge(&facts, ended(10), 25), READY);
    let alive = WriterState {
        writers_ended: None,
        ..ended(0)
    };
    assert_eq!(judge(&facts, alive, 69), settling(70, 1));
    assert_eq!(judge(&facts, alive, 70), READY);
}

#[test]
fn settle_sets_the_first_and_scales_the_others() {
    let times = SettleTimes::scaled(S(4));
    let all = [
        times.referenced_ended,
        times.referenced_alive,
        times.other_ended,
        times.other_alive,
        times.missing,
    ];
    assert_eq!(all, [S(4), S(10), S(30), S(120), S(120)]);
}

#[test]
fn references_missing_are_named_and_waited_for() {
    let facts = draft(vec![naming("chair.gltf", &["textures/wood.png"])]);
    assert_eq!(
        judge(&facts, ended(10), 12),
        waiting_for(72, &["textures/wood.png"])
    );
    assert_eq!(
        judge(&facts, ended(10), 72),
        Verdict::Ready {
            warning: Some(
                "sent without textures/wood.png, which the model refers to; if it should be there, `assetfs replace` \
                 uploads the model again with all its files"
                    .to_owned()
            )
        }
    );
    let two = draft(vec![naming("chair.gltf", &["b.png", "a.png"])]);
    assert_eq!(
        judge(&two, ended(10), 12),
        waiting_for(72, &["a.png", "b.png"])
    );
}

#[test]
fn a_gltf_without_its_buffers_never_goes_by_itself() {
    let facts = draft(vec![naming("chair.gltf", &["chair.bin", "wood.png"])]);
    let verdict = judge(&facts, ended(10), 100_000);
    let missing = vec!["chair.bin".to_owned(), "wood.png".to_owned()];
    let status = ItemStatus::NeedsFiles {
        missing: missing.clone(),
    };
    assert_eq!(
        status.to_string(),
        "needs files: chair.bin and 1 more; it is sent once all files are there, or by `assetfs commit --force`"
    );
    assert_eq!(verdict, Verdict::Blocked { status, missing });
    assert!(readiness(&facts).unwrap_err().can_be_forced());
}

#[test]
fn what_is_in_the_way_is_said() {
    let short = |size, expected| {
        let state = BytesState::Short { expected };
        draft(vec![FileFacts {
            size,
            state,
            ..file("chair.glb")
        }])
    };
    let with = |change: fn(&mut DraftFacts)| {
        let mut facts = chair();
        change(&mut facts);
        facts
    };
    let table = [
        (
            draft(vec![]),
            "draft: nothing to upload yet; copy a model into it, or remove it",
        ),
        (
            draft(vec![file("readme.txt")]),
            "no model: there is no model file yet",
        ),
        (
            short(47_000_000, Some(300_000_000)),
            "incomplete: chair.glb has 47 of 300 MB",
        ),
        (
            short(1_500_000, Some(2_500_000)),
            "incomplete: chair.glb has 1.5 of 2.5 MB",
        ),
        (
            short(299, Some(300)),
            "incomplete: chair.glb has 299 of 300 bytes",
        ),
        (
            short(9_999_999, Some(10_000_000)),
            "incomplete: chair.glb has 9.9 of 10 MB",
        ),
        (
            short(299_999_990, Some(300_000_000)),
            "incomplete: chair.glb has 299 of 300 MB",
        ),
        (short(0, None), "incomplete: chair.glb is empty"),
        (short(8, None), "incomplete: chair.glb is cut off"),
        (
            with(|facts| facts.being_written.push("chair.bin".to_owned())),
            "being written: chair.bin",
        ),
        (
            with(|facts| facts.in_flight.push(".chair.bin.x7Gh2k".to_owned())),
            "temporary name: .chair.bin.x7Gh2k is a temporary file of a copy; remove it when that is over",
        ),
        (
            with(|facts| facts.version_control = Some(".git".to_owned())),
            "needs commit: contains .git, so it is sent by `assetfs commit` only",
        ),
        (
            with(|facts| facts.files[1].state = BytesState::Interrupted),
            "incomplete: the copy of chair.bin was interrupted",
        ),
        (
            with(|facts| facts.files[1].state = BytesState::WriteFailed),
            "incomplete: writing chair.bin failed",
        ),
        (
            with(|facts| facts.files[0].references[0].min_len = Some(101)),
            "incomplete: chair.bin has 100 of 101 bytes",
        ),
    ];
    for (facts, why) in table {
        assert_eq!(held(&facts).to_string(), why);
    }
}

#[test]
fn a_loose_file_has_to_stand_alone() {
    let loose = |file| DraftFacts {
        kind: DraftKind::LooseFile,
        ..draft(vec![file])
    };
    assert_eq!(judge(&loose(file("chair.glb")), ended(10), 12), READY);
    for name in [
        "chair.stl",
        "part.step",
        "part.STP",
        "part.igs",
        "part.brep",
    ] {
        assert_eq!(judge(&loose(file(name)), ended(10), 25), READY, "{name}");
    }
    assert_eq!(
        held(&loose(naming("chair.gltf", &["chair.bin"]))).to_string(),
        "needs folder: chair.gltf needs chair.bin; put both into a folder, or send it without by `assetfs commit --force`"
    );
    for name in ["chair.obj", "notes.txt"] {
        let status = held(&loose(file(name)));
        assert_eq!(status.word(), StatusWord::NeedsFolder, "{name}");
    }
}

#[test]
fn force_goes_over_what_is_not_whole_and_never_over_a_writer() {
    assert!(Obstacle::NotWhole(String::new()).can_be_forced());
    let loose = DraftFacts {
        kind: DraftKind::LooseFile,
        ..draft(vec![naming("chair.usda", &["wood.png"])])
    };
    assert!(readiness(&loose).unwrap_err().can_be_forced());
    assert!(!Obstacle::BeingWritten(String::new()).can_be_forced());
    assert!(!Obstacle::Empty.can_be_forced());
}

#[test]
fn a_file_is_there_when_the_engine_finds_it() {
    for (named, there) in [
        ("Chair.bin", "chair.bin"),
        ("textures/chair.bin", "chair.bin"),
        ("wood.png", "Wood.PNG"),
        ("b\u{fc}che.png", "bu\u{308}che.png"),
        ("wood.png", "textures/wood.png"),
    ] {
        let facts = draft(vec![naming("chair.gltf", &[named]), file(there)]);
        let content = readiness(&facts).unwrap();
        assert!(content.missing.is_empty(), "{named}: {:?}", content.missing);
    }
    let two = draft(vec![
        naming("chair.gltf", &["wood.png"]),
        file("a/wood.png"),
        file("b/wood.png"),
    ]);
    let missing = readiness(&two).unwrap().missing;
    assert_eq!(missing, ["wood.png (which of a/wood.png, b/wood.png?)"]);
}

/// A loose OBJ would wait for its folder for ever.
#[test]
fn the_command_that_parts_models_makes_a_folder_for_each_that_is_none_by_itself() {
    let facts = draft(vec![
        file("spot.obj"),
        file("tri.obj"),
        file("quad.stl"),
        file("big.glb"),
    ]);
    let Verdict::WaitUntil { status, .. } =
        verdict(&facts, &ended(10), &SettleTimes::scaled(S(2)), S(11))
    else {
        panic!("it is sent without a word");
    };
    let said = format!("{status:?}");
    for step in [
        "mkdir ../spot && mv spot.obj ../spot/",
        "mkdir ../tri && mv tri.obj ../tri/",
        "mv quad.stl ../",
    ] {
        assert!(said.contains(step), "{step}: {said}");
    }
}

#[test]
fn several_models_in_one_folder_are_named_before_it_is_sent_with_the_command_that_parts_them() {
    let facts = draft(vec![
        file("chair.glb"),
        file("lamp 1.glb"),
        naming("table.gltf", &["table.bin", "wood.png"]),
        file("table.bin"),
        file("wood.png"),
    ]);
    let command =
        "mkdir ../table && mv table.bin table.gltf wood.png ../table/ && mv 'lamp 1.glb' ../";
    let sentence = format!(
        "3 models are in one folder, and only chair.glb is read; to make a model of each, run this in the folder: {command}"
    );
    let writers = ended(10);
    let times = SettleTimes::scaled(S(2));
    let Verdict::WaitUntil { at, status, .. } = verdict(&facts, &writers, &times, S(11)) else {
        panic!("it is sent without a word");
    };
    assert_eq!((at, status.word()), (S(72), StatusWord::SeveralModels));
    assert_eq!(
        status.to_string(),
        format!("several models, sent as one after a while: {sentence}")
    );
    let Verdict::Ready { warning } = verdict(&facts, &writers, &times, S(72)) else {
        panic!("it waits for ever");
    };
    assert_eq!(
        warning.unwrap(),
        "sent as one model, of which only chair.glb is read; copy lamp 1.glb, table.gltf in again, each in a folder of its own"
    );
}

#[test]
fn several_models_in_a_zip_are_named_as_those_in_a_folder() {
    let zip = |members: &[(&str, u64)]| {
        let members = members
            .iter()
            .map(|(path, size)| ((*path).to_owned(), *size));
        let facts = draft(vec![FileFacts {
            members: members.collect(),
            ..file("spot.zip")
        }]);
        readiness(&facts).unwrap()
    };
    let content = zip(&[
        ("spot.obj", 900),
        ("quad mesh.obj", 300),
        ("ball.stl", 100),
        ("spot.mtl", 10),
        ("__MACOSX/._x.obj", 10),
        // An entry of a folder is no file.
        ("textures/", 0),
    ]);
    let several = content.several.clone().unwrap();
    assert_eq!(several.unread, ["quad mesh.obj", "ball.stl"]);
    assert_eq!(
        several.sentence(),
        "3 models are in spot.zip, and only spot.obj is read; to make a model of each, run this in the folder of its model when it is complete \
         (or unpack the zip, and copy in a folder for each): \
         mkdir '../quad mesh' && cp 'quad mesh.obj' spot.mtl '../quad mesh'/ && cp ball.stl ../"
    );
    let warning = warning_for(&content).unwrap();
    assert!(warning.contains("only spot.obj is read"), "{warning}");
    // What leads out of the zip is in no command, and a command that nobody can read is not shown.
    assert_eq!(zip(&[("a.glb", 9), ("../../b.glb", 9)]).several, None);
    let long = format!("{}b.glb", "folder/".repeat(500));
    let several = zip(&[("a.glb", 9), (&long, 9), ("-rf.stl", 9)])
        .several
        .unwrap();
    assert!(several.sentence().len() < 4200 && several.command.starts_with("mkdir ../NAME"));
    let several = zip(&[("a.stl", 99), ("-rf.stl", 9), ("two\nlines.stl", 9)])
        .several
        .unwrap();
    assert_eq!(
        several.command,
        r"cp ./-rf.stl ../ && cp $'two\x0alines.stl' ../"
    );
    let line = ItemStatus::BeingWritten {
        path: "a\u{1b}[2J\nfailed: b".to_owned(),
    };
    assert_eq!(line.to_string(), r"being written: a\u{1b}[2J\nfailed: b");
    // The same model in two formats, and a zip with one model.
    assert_eq!(zip(&[("a.obj", 9), ("a.glb", 9)]).several, None);
    assert_eq!(zip(&[("a.obj", 9), ("a.mtl", 9)]).several, None);
}

#[test]
fn one_model_in_several_formats_or_layers_is_one_model() {
    for files in [
        vec![file("chair.glb"), file("chair.fbx"), file("usd/Chair.usdz")],
        vec![naming("set.usda", &["chair.usda"]), file("chair.usda")],
        vec![file("set.usda"), file("chair.usda"), file("lamp.usdc")],
        vec![file("chair.glb"), file("scene.blend"), file("maps.zip")],
    ] {
        let content = readiness(&draft(files.clone())).unwrap();
        assert_eq!(content.several, None, "{files:?}");
    }
}

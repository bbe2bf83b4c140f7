//! Editors and tools that save texts: one preset keeps its id, one job is one optimization.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::tools::{Tool, tools};
use crate::needs_fuse;
use crate::support::{Fixture, file_names, text, wait_until};

/// Ways to change `"quality": 1` into `"quality": 2` in the file `$DST`; `$SRC` has the new text.
const EDITORS: &[Tool] = tools! {
    "sed-i" ["sed"] r#"sed -i 's/"percentage": 50/"percentage": 40/' "$DST""#
    "vim" ["vim"] r#"vim -es -u NONE '+%s/"percentage": 50/"percentage": 40/' +wq "$DST""#
    "vim-backup" ["vim"] r#"vim -es -u NONE '+set backup writebackup backupcopy=no' '+%s/"percentage": 50/"percentage": 40/' +wq "$DST""#
    "vim-backup-copy" ["vim"] r#"vim -es -u NONE '+set backup backupcopy=yes' '+%s/"percentage": 50/"percentage": 40/' +wq "$DST""#
    "nano" ["nano" "script"] r#"
        (sleep 1; printf '\034'; sleep 0.3; printf '"percentage": 50\r'; sleep 0.3; printf '"percentage": 40\r'; sleep 0.3
         printf 'a'; sleep 0.3; printf '\017'; sleep 0.3; printf '\r'; sleep 1; printf '\030'; sleep 0.5) |
        timeout 20 script -qec "nano '$DST'" /dev/null > typed.log"#
    "nano-backup" ["nano" "script"] r#"
        (sleep 1; printf '\034'; sleep 0.3; printf '"percentage": 50\r'; sleep 0.3; printf '"percentage": 40\r'; sleep 0.3
         printf 'a'; sleep 0.3; printf '\017'; sleep 0.3; printf '\r'; sleep 1; printf '\030'; sleep 0.5) |
        timeout 20 script -qec "nano -B '$DST'" /dev/null > typed.log"#
    "gio-save" ["gio"] r#"gio save "$DST" < "$SRC""#
    "gio-save-backup" ["gio"] r#"gio save -b "$DST" < "$SRC""#
    "gio-copy" ["gio"] r#"gio copy "$SRC" "$DST""#
    "redirection" ["bash"] r#"cat "$SRC" > "$DST""#
    "echo" ["bash"] r#"echo "$(cat "$SRC")" > "$DST""#
    "cp" ["cp"] r#"cp "$SRC" "$DST""#
    "cp-a" ["cp"] r#"cp -a "$SRC" "$DST""#
    "cp-backup" ["cp"] r#"cp -b "$SRC" "$DST"; rm "$DST~""#
    "mv" ["mv"] r#"cp "$SRC" moved; mv moved "$DST""#
    "dd" ["dd"] r#"dd if="$SRC" of="$DST" status=none"#
    "tee" ["tee"] r#"tee "$DST" < "$SRC" > /dev/null"#
    "install" ["install"] r#"install -m 644 "$SRC" "$DST""#
    "rsync" ["rsync"] r#"rsync -aI "$SRC" "$DST""#
    "rsync-inplace" ["rsync"] r#"rsync -aI --inplace "$SRC" "$DST""#
    "rclone" ["rclone"] r#"rclone copyto --ignore-times "$SRC" "$DST""#
    "python-atomic" ["python3"] r#"python3 -c '
import os, tempfile
target = os.environ["DST"]
fd, name = tempfile.mkstemp(dir=os.path.dirname(target))
with os.fdopen(fd, "w") as new:
    new.write(open(os.environ["SRC"]).read())
    new.flush()
    os.fsync(new.fileno())
os.replace(name, target)'"#
    "write-to-part" ["cp"] r#"cp "$SRC" "$DST.part"; mv "$DST.part" "$DST""#
};

fn config(percentage: u32, mark: &str) -> String {
    let config = json!({
        "limits": { "faces": { "percentage": percentage } },
        "compressionAndExport": { "fileExports": [{ "fileType": "glb", "fileName": mark }] },
    });
    serde_json::to_string_pretty(&config).expect("plain data") + "\n"
}

fn presets(fixture: &Fixture) -> Vec<Value> {
    let list = fixture.service.get("api/v2/preset");
    let list = list.get("data").cloned().unwrap_or(list);
    list.as_array().expect("a list").clone()
}

fn preset_named(fixture: &Fixture, name: &str) -> Value {
    let mut found = presets(fixture);
    found.retain(|preset| preset["name"] == name);
    assert_eq!(found.len(), 1, "exactly one preset {name}: {found:#?}");
    found.remove(0)
}

/// The editors that create a file; the others change an existing one.
fn makers() -> Vec<&'static Tool> {
    let changes = [
        "sed-i",
        "vim",
        "vim-backup",
        "vim-backup-copy",
        "nano",
        "nano-backup",
        "cp-backup",
    ];
    let makes = |tool: &&Tool| !changes.contains(&tool.name) && tool.is_here();
    EDITORS.iter().filter(makes).collect()
}

/// Saves a new configuration with the editor.
fn save(fixture: &Fixture, tool: &Tool, target: &Path) {
    let own = fixture.scratch.path().join(tool.name);
    fs::create_dir(&own).unwrap();
    let source = own.join("new.json");
    fs::write(&source, config(40, tool.name)).unwrap();
    tool.run_well(&source, target, &own);
}

#[test]
fn every_editor_updates_the_one_preset_and_keeps_its_id() {
    needs_fuse!();
    let fixture = Fixture::new();
    let here: Vec<&Tool> = EDITORS.iter().filter(|tool| tool.is_here()).collect();
    for tool in &here {
        let target = fixture.path(&format!("presets/{}.json", tool.name));
        fs::write(&target, config(50, tool.name)).unwrap();
        let before = preset_named(&fixture, tool.name);
        save(&fixture, tool, &target);
        wait_until(&format!("{} has saved", tool.name), || {
            let read = fs::read(&target).map(|bytes| text(&bytes));
            read.is_ok_and(|text| text.contains("40"))
        });
        let after = preset_named(&fixture, tool.name);
        // These remove the old file first, so the preset is new.
        if !["mv", "install"].contains(&tool.name) {
            assert_eq!(before["id"], after["id"], "{} keeps the id", tool.name);
        }
        let config: Value = serde_json::from_str(after["config"].as_str().unwrap()).unwrap();
        let percentage = &config["limits"]["faces"]["percentage"];
        assert_eq!(*percentage, 40, "{}: {after:#}", tool.name);
    }
    let mut names = file_names(&fixture.path("presets"));
    // A backup that an editor was configured to keep is kept, only on this machine.
    names.retain(|name| !name.ends_with('~'));
    let mut expected: Vec<_> = here
        .iter()
        .map(|tool| format!("{}.json", tool.name))
        .collect();
    expected.sort();
    assert_eq!(names, expected);
    assert_eq!(presets(&fixture).len(), here.len());
}

#[test]
fn every_editor_creates_one_preset() {
    needs_fuse!();
    let fixture = Fixture::new();
    let here = makers();
    for tool in &here {
        let target = fixture.path(&format!("presets/{}.json", tool.name));
        save(&fixture, tool, &target);
        preset_named(&fixture, tool.name);
    }
    assert_eq!(presets(&fixture).len(), here.len());
}

#[test]
fn every_editor_starts_one_optimization() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let id = fixture.only_asset()["id"].clone();
    let here = makers();
    for tool in &here {
        let target = fixture.path(&format!("rawmodels/chair/optimize/{}.json", tool.name));
        save(&fixture, tool, &target);
    }
    for tool in &here {
        fixture.wait(&format!("rawmodels/chair/optimize/{}.json", tool.name));
    }
    let list = format!("api/v2/rawmodel/{id}/rapidmodels");
    let models = fixture.service.get(&list);
    let models = models.get("data").cloned().unwrap_or(models);
    assert_eq!(
        models.as_array().expect("a list").len(),
        here.len(),
        "one each"
    );
}

/// Saving an open file again and again pays only for new texts.
#[test]
fn an_editor_that_changes_a_job_pays_for_each_new_text_once() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let job = fixture.path("rawmodels/chair/optimize/web.json");
    fs::write(&job, config(50, "web")).unwrap();
    fixture.wait("rawmodels/chair/optimize/web.json");
    let editors = ["sed-i", "vim", "vim-backup", "nano"];
    let source = fixture.scratch.path().join("unused");
    let mut paid = 1;
    for tool in EDITORS
        .iter()
        .filter(|tool| editors.contains(&tool.name) && tool.is_here())
    {
        let own = fixture.scratch.path().join(tool.name);
        // Back to the first text, which was paid for before.
        fs::write(&job, config(50, "web")).unwrap();
        tool.run_well(&source, &job, &own);
        paid = 2;
        fixture.wait("rawmodels/chair/optimize/web.json");
        let total = fixture.service.get("api/v2/rapidmodel")["meta"]["total"].clone();
        assert_eq!(total, paid, "{}", tool.name);
    }
    assert_eq!(paid, 2);
}

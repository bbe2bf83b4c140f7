//! Every copying tool creates exactly one asset with exactly the files of the source.

use std::fs;
use std::path::Path;

use super::models::{nested_chair, triangle_glb};
use super::tools::{SERVICE_FOLDERS, Tool, assert_arrived, assert_same_trees, files_on_service};
use super::tools::{one_complete_asset, tools, tree};
use crate::needs_fuse;
use crate::support::{Fixture, model, read};

/// Copies of a whole folder; `$DST` does not exist.
pub const FOLDER_TOOLS: &[Tool] = tools! {
    "cp-r" ["cp"] r#"cp -r "$SRC" "$DST""#
    "cp-a" ["cp"] r#"cp -a "$SRC" "$DST""#
    "mv" ["mv"] r#"cp -r "$SRC" moved; chmod -R u+w moved; mv moved "$DST"; test ! -e moved"#
    "rsync-a" ["rsync"] r#"rsync -a "$SRC/" "$DST""#
    "rsync-inplace" ["rsync"] r#"rsync -a --inplace "$SRC/" "$DST""#
    "rsync-partial-dir" ["rsync"] r#"rsync -rtP "$SRC/" "$DST""#
    "tar" ["tar"] r#"mkdir "$DST"; tar -C "$SRC" -cf - . | tar -C "$DST" -xf -"#
    "unzip" ["zip" "unzip"] r#"(cd "$SRC"; zip -qr "$TMP/all.zip" .); unzip -q all.zip -d "$DST""#
    "install" ["install"] r#"cd "$SRC"; find . -type f -exec install -D -m 644 {} "$DST/{}" \;"#
    "dd" ["dd"] r#"cd "$SRC"; find . -type d -exec mkdir -p "$DST/{}" \;
        find . -type f -exec dd if={} of="$DST/{}" bs=64k status=none \;"#
    "redirection" ["bash"] r#"cd "$SRC"; find . -type d -exec mkdir -p "$DST/{}" \;
        find . -type f | while read -r file; do cat "$file" > "$DST/$file"; done"#
    "shutil" ["python3"] r#"python3 -c '
import os, shutil
shutil.copytree(os.environ["SRC"], os.environ["DST"])'"#
    "rclone" ["rclone"] r#"rclone copy "$SRC" "$DST""#
    "gio-copy" ["gio"] r#"cd "$SRC"; find . -type d -exec mkdir -p "$DST/{}" \;
        find . -type f -exec gio copy {} "$DST/{}" \;"#
    "gio-save" ["gio"] r#"cd "$SRC"; find . -type d -exec mkdir -p "$DST/{}" \;
        find . -type f | while read -r file; do gio save "$DST/$file" < "$file"; done"#
    "sed-i" ["sed"] r#"cp -r "$SRC" "$DST"; chmod -R u+w "$DST"; find "$DST" -name '*.gltf' -exec sed -i 's/no such text/x/' {} +"#
    "vim" ["vim"] r#"cp -r "$SRC" "$DST"; chmod -R u+w "$DST"; vim -es -u NONE +wq "$DST"/*.gltf"#
};

/// Copies of one file; `$DST` does not exist.
const LOOSE_TOOLS: &[Tool] = tools! {
    "cp" ["cp"] r#"cp "$SRC" "$DST""#
    "cp-p" ["cp"] r#"cp -p "$SRC" "$DST""#
    "mv" ["mv"] r#"cp "$SRC" moved; mv moved "$DST"; test ! -e moved"#
    "rsync" ["rsync"] r#"rsync -a "$SRC" "$DST""#
    "dd" ["dd"] r#"dd if="$SRC" of="$DST" bs=64k status=none"#
    "redirection" ["bash"] r#"cat "$SRC" > "$DST""#
    "install" ["install"] r#"install "$SRC" "$DST""#
    "shutil" ["python3"] r#"python3 -c '
import os, shutil
shutil.copy2(os.environ["SRC"], os.environ["DST"])'"#
    "rclone" ["rclone"] r#"rclone copyto "$SRC" "$DST""#
    "gio-copy" ["gio"] r#"gio copy "$SRC" "$DST""#
    "gio-save" ["gio"] r#"gio save "$DST" < "$SRC""#
};

/// Every tool copies into one mount; then all assets are checked.
fn every_tool_copies(source: &Path) {
    let fixture = Fixture::new();
    let expected = tree(source, &[]);
    let here: Vec<&Tool> = FOLDER_TOOLS.iter().filter(|tool| tool.is_here()).collect();
    for tool in &here {
        let target = fixture.path("rawmodels").join(tool.name);
        tool.run_well(source, &target, &fixture.scratch.path().join(tool.name));
    }
    for tool in &here {
        assert_arrived(&fixture, tool.name, &expected);
    }
    assert_eq!(fixture.service.assets().len(), here.len());
}

#[test]
fn every_copy_tool_makes_one_asset_with_exactly_the_files() {
    needs_fuse!();
    let scratch = tempfile::tempdir().unwrap();
    every_tool_copies(&model(scratch.path()));
}

#[test]
fn every_copy_tool_makes_one_asset_of_a_nested_folder() {
    needs_fuse!();
    let scratch = tempfile::tempdir().unwrap();
    every_tool_copies(&nested_chair(scratch.path()));
}

#[test]
fn every_copy_tool_makes_one_asset_of_a_loose_file() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.scratch.path().join("one.glb");
    fs::write(&source, triangle_glb("loose")).unwrap();
    let here: Vec<&Tool> = LOOSE_TOOLS.iter().filter(|tool| tool.is_here()).collect();
    let target = |tool: &Tool| fixture.path(&format!("rawmodels/{}.glb", tool.name));
    for tool in &here {
        tool.run_well(
            &source,
            &target(tool),
            &fixture.scratch.path().join(tool.name),
        );
    }
    for tool in &here {
        fixture.wait(&format!("rawmodels/{}.glb", tool.name));
        let asset = one_complete_asset(&fixture, tool.name);
        let name = format!("{}.glb", tool.name);
        let expected = [(name, read(&source))].into();
        assert_same_trees(tool.name, &expected, &files_on_service(&fixture, &asset));
        assert_eq!(read(target(tool)), read(&source), "{}", tool.name);
    }
    assert_eq!(fixture.service.assets().len(), here.len());
    let listed = fs::read_dir(fixture.path("rawmodels")).unwrap().count();
    assert_eq!(
        listed,
        here.len(),
        "the loose names resolve and are not listed"
    );
}

#[test]
fn a_loose_zip_becomes_one_asset_with_the_model_inside() {
    needs_fuse!();
    crate::needs_program!("zip");
    let fixture = Fixture::new();
    let source = nested_chair(fixture.scratch.path());
    let archive = fixture.scratch.path().join("packed.zip");
    crate::support::shell(&source, &format!("zip -qr '{}' .", archive.display()));
    fs::copy(&archive, fixture.path("rawmodels/packed.zip")).unwrap();
    fixture.wait("rawmodels/packed.zip");
    let asset = one_complete_asset(&fixture, "packed");
    assert_eq!(asset["format"], "gltf", "{asset:#}");
    let expected = [("packed.zip".to_owned(), read(&archive))].into();
    assert_same_trees("packed", &expected, &files_on_service(&fixture, &asset));
    // The members are shown, as on every other machine.
    let shown = tree(&fixture.path("rawmodels/packed"), SERVICE_FOLDERS);
    assert_same_trees("packed on the mount", &tree(&source, &[]), &shown);
}

#[test]
fn several_tools_at_once_make_one_asset_each() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = model(fixture.scratch.path());
    let expected = tree(&source, &[]);
    let here: Vec<&Tool> = FOLDER_TOOLS[..6]
        .iter()
        .filter(|tool| tool.is_here())
        .collect();
    std::thread::scope(|scope| {
        for tool in &here {
            let target = fixture.path("rawmodels").join(tool.name);
            let own = fixture.scratch.path().join(tool.name);
            let source = &source;
            scope.spawn(move || tool.run_well(source, &target, &own));
        }
    });
    for tool in &here {
        assert_arrived(&fixture, tool.name, &expected);
    }
    assert_eq!(fixture.service.assets().len(), here.len());
}

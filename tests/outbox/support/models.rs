//! Small models, and functions that write them into a draft as `cp` does.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use assetfs::outbox::{DraftId, DraftInfo, EntryId, OpenMode, Outbox};

use super::ME;

/// Writes a file as `cp` does.
pub fn put(outbox: &Outbox, draft: DraftId, parent: EntryId, name: &str, bytes: &[u8]) -> EntryId {
    match outbox.entries().child(draft, parent, name) {
        Some(found) => {
            let file = outbox
                .entries()
                .open(draft, found.id, OpenMode::Truncate, &ME)
                .unwrap();
            file.write_at(bytes, 0).unwrap();
            file.flush().unwrap();
            file.release();
            found.id
        }
        None => {
            let (info, file) = outbox
                .entries()
                .create_file(draft, parent, name, 0o644, &ME)
                .unwrap();
            file.write_at(bytes, 0).unwrap();
            file.flush().unwrap();
            file.release();
            info.id
        }
    }
}

/// The files of a small complete model.
pub fn chair() -> Vec<(&'static str, Vec<u8>)> {
    let gltf = br#"{"asset":{"version":"2.0"},"buffers":[{"uri":"chair.bin","byteLength":3000}],"images":[{"uri":"wood.png"}]}"#;
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, len) in [(b"IHDR", 13usize), (b"IDAT", 300), (b"IEND", 0)] {
        png.extend((len as u32).to_be_bytes());
        png.extend(kind);
        png.resize(png.len() + len + 4, 1);
    }
    let bin = (0..3000u32).map(|n| n as u8).collect();
    vec![
        ("chair.gltf", gltf.to_vec()),
        ("chair.bin", bin),
        ("wood.png", png),
    ]
}

/// A GLB of `len` bytes with a correct header.
pub fn glb(len: u32) -> Vec<u8> {
    let mut glb = b"glTF\x02\0\0\0".to_vec();
    glb.extend(len.to_le_bytes());
    glb.extend(2u32.to_le_bytes());
    glb.extend(b"JSON{}");
    glb.resize(len as usize, 7);
    glb
}

/// Copies the chair into a new draft.
pub fn copy_chair(outbox: &Outbox, name: &str) -> DraftInfo {
    let draft = outbox.drafts().create(name, 0o755, &ME).unwrap();
    for (name, bytes) in chair() {
        put(outbox, draft.id, EntryId::ROOT, name, &bytes);
    }
    draft
}

pub fn as_map(files: Vec<(&'static str, Vec<u8>)>) -> BTreeMap<String, Vec<u8>> {
    files
        .into_iter()
        .map(|(name, bytes)| (name.to_owned(), bytes))
        .collect()
}

/// The folder of an outbox as a kill at this moment leaves it.
pub fn killed(dir: &Path, copy: &Path) {
    let copied = Command::new("cp").arg("-r").args([dir, copy]).status();
    assert!(copied.expect("cp runs").success());
}

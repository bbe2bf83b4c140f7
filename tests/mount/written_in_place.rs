//! A program that writes a header, a body, the header again and the rest, as exporters do: it asks for the size of its own file,
//! goes on at the end, and every byte is where it was written.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::needs_fuse;
use crate::square_glb::{broken_glb, changed_glb};
use crate::support::{Fixture, assetfs, fails, wait_until};

/// A model whose file is longer by this text.
fn glb(generator: &str) -> Vec<u8> {
    changed_glb(|json| json["asset"]["generator"] = generator.into())
}

fn preset(spaces: usize) -> Vec<u8> {
    format!(
        r#"{{"limits":{{"faces":{{"percentage":{}50}}}}}}"#,
        " ".repeat(spaces)
    )
    .into_bytes()
}

/// Writes `bytes` over the file, in three parts, while other calls ask for its size.
fn export(path: &Path, bytes: &[u8]) {
    let before = File::open(path).unwrap();
    let mut file = File::create(path).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 0, "{path:?}");
    let (header, rest) = bytes.split_at(12);
    let (body, rest) = rest.split_at(rest.len() / 2);
    for part in [&[0; 12][..], body] {
        file.write_all(part).unwrap();
        let is_there = file.stream_position().unwrap();
        // By its path, by a descriptor that was open before, and by its own.
        fs::metadata(path).unwrap();
        before.metadata().unwrap();
        assert_eq!(file.metadata().unwrap().len(), is_there, "{path:?}");
    }
    file.rewind().unwrap();
    file.write_all(header).unwrap();
    // So that the kernel asks for the size again.
    std::thread::sleep(std::time::Duration::from_millis(30));
    file.metadata().unwrap();
    let end = file.seek(SeekFrom::End(0)).unwrap();
    assert_eq!(end as usize, header.len() + body.len(), "{path:?}");
    file.write_all(rest).unwrap();
    drop(file);
    assert_eq!(fs::read(path).unwrap(), bytes, "{path:?}");
    assert_eq!(fs::metadata(path).unwrap().len(), bytes.len() as u64);
}

#[test]
fn a_program_that_writes_its_file_in_parts_finds_its_end() {
    needs_fuse!();
    let fixture = Fixture::new();
    let model = fixture.path("rawmodels/lamp.glb");
    fs::write(&model, glb(&"long ".repeat(400))).unwrap();
    fixture.wait("rawmodels/lamp");
    for (file, long, short) in [
        ("presets/web.json", preset(300), preset(1)),
        ("rawmodels/lamp/optimize/web.json", preset(300), preset(2)),
    ] {
        fs::write(fixture.path(file), long).unwrap();
        export(&fixture.path(file), &short);
    }
    export(&model, &glb("short"));
    fixture.wait("rawmodels/lamp");
    assert_eq!(fs::read(&model).unwrap(), glb("short"));
}

#[test]
fn so_does_one_that_mends_a_model_whose_import_failed() {
    needs_fuse!();
    let fixture = Fixture::new();
    let model = fixture.path("rawmodels/lamp");
    fs::create_dir(&model).unwrap();
    let mut broken = broken_glb();
    broken.resize(2_000, 0xFF);
    broken[8..12].copy_from_slice(&2_000_u32.to_le_bytes());
    fs::write(model.join("lamp.glb"), broken).unwrap();
    fails(&mut assetfs("wait", &model), 1);
    let good = glb("good");
    export(&model.join("lamp.glb"), &good);
    wait_until("it is complete", || {
        fixture.try_wait("rawmodels/lamp").status.success()
    });
    assert_eq!(fs::read(model.join("lamp.glb")).unwrap(), good);
}

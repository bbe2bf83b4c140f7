//! A file of a draft that programs read and map while another one writes it.

use std::path::Path;
use std::process::Command;

use crate::support::{Fixture, run};
use crate::{needs_fuse, needs_program};

/// A writer, a reader that is there before or after it, a map, and a second writer: each sees what the calls before it did.
const IN_TURN: &str = r#"
import mmap, os, sys
def turns(path, reader_first):
    if reader_first:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        r = os.open(path, os.O_RDONLY)
        assert os.read(r, 10) == b""
        w = os.open(path, os.O_WRONLY)
    else:
        w = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        r = os.open(path, os.O_RDONLY)
    os.pwrite(w, b"a" * 100, 0)
    assert os.pread(r, 999, 0) == b"a" * 100
    os.pwrite(w, b"b" * 5000, 100)
    assert os.pread(r, 9999, 0) == b"a" * 100 + b"b" * 5000
    with mmap.mmap(r, 5100, prot=mmap.PROT_READ) as view:
        assert view[90:110] == b"a" * 10 + b"b" * 10
        os.pwrite(w, b"c" * 20, 90)
        assert os.pread(r, 40, 80) == b"a" * 10 + b"c" * 20 + b"b" * 10
        assert view[80:120] == b"a" * 10 + b"c" * 20 + b"b" * 10
    both = os.open(path, os.O_RDWR)
    with mmap.mmap(both, 5100) as view:
        view[0:2] = b"zz"
        view.flush()
    assert os.pread(r, 3, 0) == b"zza"
    last = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(last, b"end")
    assert os.pread(both, 9, 5098) == b"bbend"
    os.ftruncate(w, 50)
    assert os.fstat(r).st_size == 50 and os.pread(r, 999, 0) == b"zz" + b"a" * 48
    os.ftruncate(both, 60)
    assert os.pread(r, 999, 45) == b"a" * 5 + b"\0" * 10
    for each in (w, r, both, last):
        os.close(each)
    with open(path, "rb") as again:
        assert again.read() == b"zz" + b"a" * 48 + b"\0" * 10
turns(sys.argv[1] + "/after.bin", False)
turns(sys.argv[1] + "/before.bin", True)
"#;

/// A reader never sees zeros where bytes were acknowledged.
const AT_ONCE: &str = r#"
import os, sys, threading
def follow(path, reader_first):
    w = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    if reader_first:
        os.close(w)
        r = os.open(path, os.O_RDONLY)
        w = os.open(path, os.O_WRONLY)
    else:
        r = os.open(path, os.O_RDONLY)
    done, ended, wrong = [0], [False], []
    def read():
        while not ended[0] and not wrong:
            upto = done[0]
            got = os.pread(r, 8192, max(0, upto - 4000))
            if b"\0" in got or len(got) < min(upto, 4000):
                wrong.append((upto, len(got), got.find(b"\0")))
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(3000):
        done[0] += os.pwrite(w, b"x" * 333, done[0])
    ended[0] = True
    for reader in readers:
        reader.join()
    assert not wrong, wrong
follow(sys.argv[1] + "/after.bin", False)
follow(sys.argv[1] + "/before.bin", True)
"#;

fn python(script: &str, folder: &Path) {
    std::fs::create_dir(folder).expect("a draft");
    run(Command::new("timeout")
        .args(["60", "python3", "-c", script])
        .arg(folder));
}

#[test]
fn readers_maps_and_other_writers_of_a_file_see_what_its_writer_wrote() {
    needs_fuse!();
    needs_program!("python3");
    let fixture = Fixture::with(&[], &["--settle", "1h"]);
    python(IN_TURN, &fixture.path("rawmodels/in turn"));
    python(AT_ONCE, &fixture.path("rawmodels/at once"));
}

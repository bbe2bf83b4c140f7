//! The block cache compared with a plain file on the same disk: `cargo bench --manifest-path benches/Cargo.toml --bench cache`.
//!
//! Each group does the same work on both, so the two times of one run give the ratio.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt as _;

use assetfs::cache::{BLOCK_LEN_BYTES, BlockCache, CacheLimits, CachedObject, ObjectKey};
use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const MIB: u64 = 1 << 20;
/// Length of the file that is read and written.
const SIZE: u64 = 16 * MIB;

struct World {
    dir: tempfile::TempDir,
    cache: BlockCache,
    pieces: Vec<Bytes>,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().expect("a folder");
        let limits = CacheLimits {
            max_bytes: 1 << 30,
            keep_free_percent: 0,
        };
        let cache = BlockCache::open(dir.path().join("cache"), limits).expect("a cache");
        let block: Vec<u8> = (0..BLOCK_LEN_BYTES)
            .map(|at| (at * 31 % 251) as u8)
            .collect();
        let pieces = vec![Bytes::from(block); (SIZE / BLOCK_LEN_BYTES) as usize];
        World { dir, cache, pieces }
    }

    fn object(&self, name: &str) -> CachedObject {
        let key = ObjectKey {
            name: name.to_owned(),
            size: SIZE,
            etag: None,
        };
        self.cache.object(&key).expect("room for it")
    }

    fn plain(&self, name: &str) -> File {
        File::create_new(self.dir.path().join(name)).expect("a new file")
    }

    fn write_plain(&self, file: &File) {
        for (number, piece) in self.pieces.iter().enumerate() {
            file.write_all_at(piece, number as u64 * BLOCK_LEN_BYTES)
                .expect("room");
        }
    }
}

fn reading(c: &mut Criterion) {
    let world = World::new();
    let object = world.object("bench/read");
    object.write_run(0, &world.pieces).expect("room");
    let path = world.dir.path().join("plain");
    world.write_plain(&world.plain("plain"));
    let plain = File::open(path).expect("just written");

    let mut group = c.benchmark_group("read 128 KiB");
    let len = 128 * 1024;
    group.throughput(Throughput::Bytes(len));
    let mut offset = 0;
    group.bench_function("block cache", |b| {
        b.iter(|| {
            offset = (offset + len) % (SIZE - len);
            black_box(object.read(offset, len).expect("readable"))
        });
    });
    group.bench_function("plain file", |b| {
        b.iter(|| {
            offset = (offset + len) % (SIZE - len);
            let mut buffer = vec![0; len as usize];
            plain.read_exact_at(&mut buffer, offset).expect("readable");
            black_box(Bytes::from(buffer))
        });
    });
    group.finish();
}

fn filling(c: &mut Criterion) {
    let world = World::new();
    let mut group = c.benchmark_group("write 16 MiB in blocks");
    group.sample_size(20).throughput(Throughput::Bytes(SIZE));
    let mut number = 0;
    let mut next = || {
        number += 1;
        format!("bench-{number}")
    };
    group.bench_function("block cache", |b| {
        b.iter_batched(
            || world.object(&next()),
            |object| {
                object.write_run(0, &world.pieces).expect("room");
                world.cache.forget(&object.key().name);
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("plain file", |b| {
        b.iter_batched(
            || {
                let name = next();
                (world.plain(&name), name)
            },
            |(file, name)| {
                world.write_plain(&file);
                std::fs::remove_file(world.dir.path().join(name)).expect("it is there");
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, reading, filling);
criterion_main!(benches);

//! The engine's steps on the generated chair: `cargo bench --manifest-path benches/Cargo.toml --bench engine`.
//!
//! Simplification is compared with meshoptimizer's own call on the bare positions, which is the unavoidable
//! part: the ratio shows the cost of seams, normals, colours and one budget for all parts.

use std::hint::black_box;

use assetfs_engine::clean::weld_by;
use assetfs_engine::import::import;
use assetfs_engine::sample::write_chair;
use assetfs_engine::scene::{Geometry, Scene};
use assetfs_engine::simplify::{Limits, simplify};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use meshopt::{SimplifyOptions, VertexDataAdapter, simplify as meshopt_simplify, typed_to_bytes};

fn chair() -> (tempfile::TempDir, Vec<String>) {
    let dir = tempfile::tempdir().expect("a folder");
    write_chair(dir.path()).expect("room");
    let mut files = Vec::new();
    for entry in walk(dir.path()) {
        let below = entry.strip_prefix(dir.path()).expect("it is below");
        files.push(below.to_string_lossy().into_owned());
    }
    (dir, files)
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn importing(c: &mut Criterion) {
    let (dir, files) = chair();
    c.bench_function("import the chair", |b| {
        b.iter(|| black_box(import(dir.path(), &files).expect("it is whole")));
    });
}

fn simplifying(c: &mut Criterion) {
    let (dir, files) = chair();
    let scene = import(dir.path(), &files).expect("it is whole").scene;
    let bare = bare_positions(&scene);
    let mut group = c.benchmark_group("a tenth of the triangles");
    group.sample_size(10);
    let limits = Limits::of_triangles(scene.drawn_triangles() / 10);
    group.bench_function("engine", |b| {
        b.iter_batched(
            || scene.clone(),
            |mut scene| black_box(simplify(&mut scene, &limits)),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("meshoptimizer, positions alone", |b| {
        b.iter(|| {
            for geometry in &bare {
                black_box(tenth(geometry));
            }
        });
    });
    group.finish();
}

/// The positions of each primitive, with equal ones joined.
fn bare_positions(scene: &Scene) -> Vec<Geometry> {
    let mut bare = scene.geometries.clone();
    for geometry in &mut bare {
        geometry.attributes.retain(|it| it.name == "POSITION");
        geometry.targets.clear();
        weld_by(geometry, |_| true);
    }
    bare
}

fn tenth(geometry: &Geometry) -> Vec<u32> {
    let bytes = typed_to_bytes(geometry.positions());
    let adapter = VertexDataAdapter::new(bytes, 12, 0).expect("three floats a vertex");
    let target = geometry.indices.len() / 10 / 3 * 3;
    meshopt_simplify(
        &geometry.indices,
        &adapter,
        target,
        1.0,
        SimplifyOptions::None,
        None,
    )
}

criterion_group!(benches, importing, simplifying);
criterion_main!(benches);

//! The memory of a worker grows only with the size of the model.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::support::{ASSETFS, Bench};

/// A wavy surface of `side` × `side` squares of two triangles, as binary STL.
fn waves(side: u32) -> Vec<u8> {
    let height = |x: u32, y: u32| (x as f32 * 0.11).sin() + (y as f32 * 0.07).cos();
    let mut bytes = vec![0; 80];
    bytes.extend((side * side * 2).to_le_bytes());
    for at in 0..side * side {
        let (x, y) = (at % side, at / side);
        for corners in [[(0, 0), (1, 0), (1, 1)], [(0, 0), (1, 1), (0, 1)]] {
            bytes.extend([0; 12]);
            for (right, up) in corners {
                let (x, y) = (x + right, y + up);
                bytes.extend(
                    [x as f32, y as f32, height(x, y)]
                        .map(f32::to_le_bytes)
                        .concat(),
                );
            }
            bytes.extend([0; 2]);
        }
    }
    bytes
}

/// The peak memory of a worker that halves the triangles of such a model.
fn peak_bytes(side: u32) -> u64 {
    let bench = Bench::new();
    bench.write("in/waves.stl", &waves(side));
    let task = json!({
        "task": "optimize", "input_dir": bench.path("in"), "files": ["waves.stl"], "output_dir": bench.path("out"),
        "config": { "limits": { "faces": { "percentage": 50 } } }, "base_name": "model",
    });
    let mut worker = Command::new(ASSETFS)
        .args(["engine-worker", "--no-pictures"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = worker.stdin.take().unwrap();
    input.write_all(task.to_string().as_bytes()).unwrap();
    drop(input);
    assert!(worker.wait().unwrap().success());
    let metrics = std::fs::read(bench.path("out/metrics.json")).unwrap();
    let metrics: Value = serde_json::from_slice(&metrics).unwrap();
    metrics["peakMemoryBytes"].as_u64().unwrap()
}

#[test]
fn memory_of_a_worker_is_proportional_to_the_model() {
    let [small, large] = [100, 200].map(peak_bytes);
    // 20,000 and 80,000 triangles, of 50 bytes each in the file.
    let per_triangle = large.saturating_sub(small) / 60_000;
    assert!(
        per_triangle < 1_500,
        "{per_triangle} bytes for each further triangle"
    );
    assert!(large < small * 4, "{small} and {large}");
}

//! A builder of glTF models, and a folder from which jobs read them.

use std::fs;

use assetfs_engine::EngineError;
use assetfs_engine::import::import;
use assetfs_engine::job::{OptimizeTask, Pictures, Progress, Report, Task, run_with};
use assetfs_engine::scene::Scene;
use serde_json::{Value, json};

/// A model written to a folder of its own.
pub struct Model {
    pub dir: tempfile::TempDir,
    file: String,
}

impl Model {
    pub fn new(json: &Value, bin: &[u8], files: &[(&str, Vec<u8>)]) -> Model {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("in")).unwrap();
        fs::write(dir.path().join("in/model.gltf"), json.to_string()).unwrap();
        fs::write(dir.path().join("in/model.bin"), bin).unwrap();
        for (name, bytes) in files {
            fs::write(dir.path().join("in").join(name), bytes).unwrap();
        }
        let file = "model.gltf".to_owned();
        Model { dir, file }
    }

    /// A model that is one file.
    pub fn of_file(name: &str, bytes: &[u8]) -> Model {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("in")).unwrap();
        fs::write(dir.path().join("in").join(name), bytes).unwrap();
        let file = name.to_owned();
        Model { dir, file }
    }

    /// Changes the JSON of a model that is a glTF file.
    pub fn change(&self, change: impl FnOnce(&mut Value)) {
        let path = self.dir.path().join("in").join(&self.file);
        let mut json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut json);
        fs::write(path, json.to_string()).unwrap();
    }

    /// An exported file as the source of another job.
    pub fn again(&self, name: &str) -> Model {
        let bytes = fs::read(self.dir.path().join("out/exports").join(name)).unwrap();
        Model::of_file(name, &bytes)
    }

    pub fn optimize(&self, config: Value) -> Result<Report, EngineError> {
        self.optimize_with(config, &mut |_| {})
    }

    /// The same, and what the job reports of its progress.
    pub fn optimize_with(
        &self,
        config: Value,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Report, EngineError> {
        run_with(&self.task(config), Pictures::Skipped, progress)
    }

    /// The same with pictures and scores.
    pub fn optimize_and_compare(&self, config: Value) -> Report {
        run_with(&self.task(config), Pictures::Shown, &mut |_| {}).unwrap()
    }

    fn task(&self, config: Value) -> Task {
        Task::Optimize(OptimizeTask {
            input_dir: self.dir.path().join("in"),
            files: vec![self.file.clone()],
            output_dir: self.dir.path().join("out"),
            config: config.as_object().unwrap().clone(),
            export_name: None,
            base_name: "model".to_owned(),
            scale: 1.0,
        })
    }

    pub fn source(&self) -> Scene {
        let files = [self.file.clone()];
        import(&self.dir.path().join("in"), &files).unwrap().scene
    }

    pub fn result(&self, name: &str) -> Scene {
        import(&self.dir.path().join("out/exports"), &[name.to_owned()])
            .unwrap()
            .scene
    }

    pub fn log(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join("out").join(name)).unwrap()
    }
}

/// A builder of buffers and accessors.
#[derive(Default)]
pub struct Maker {
    pub bin: Vec<u8>,
    pub views: Vec<Value>,
    pub accessors: Vec<Value>,
}

impl Maker {
    pub fn floats(&mut self, kind: &str, numbers: &[f32]) -> usize {
        let width = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        let limits = |start: f32, pick: fn(f32, f32) -> f32| -> Vec<f32> {
            (0..width)
                .map(|part| {
                    numbers
                        .iter()
                        .skip(part)
                        .step_by(width)
                        .fold(start, |a, b| pick(a, *b))
                })
                .collect()
        };
        let (min, max) = (limits(f32::MAX, f32::min), limits(f32::MIN, f32::max));
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
        let accessor = json!({
            "componentType": 5126, "count": numbers.len() / width, "type": kind,
            "min": min, "max": max,
        });
        self.accessor(bytes.collect(), accessor)
    }

    pub fn indices(&mut self, numbers: &[u32]) -> usize {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
        let accessor = json!({ "componentType": 5125, "count": numbers.len(), "type": "SCALAR" });
        self.accessor(bytes.collect(), accessor)
    }

    pub fn bytes(&mut self, numbers: Vec<u8>, kind: &str) -> usize {
        let count = numbers.len() / 4;
        let accessor = json!({ "componentType": 5121, "count": count, "type": kind });
        self.accessor(numbers, accessor)
    }

    /// Stores the bytes in a new view; returns the accessor's index.
    fn accessor(&mut self, bytes: Vec<u8>, mut accessor: Value) -> usize {
        accessor["bufferView"] = json!(self.views.len());
        self.accessors.push(accessor);
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        self.views.push(json!({
            "buffer": 0, "byteOffset": self.bin.len(), "byteLength": bytes.len(),
        }));
        self.bin.extend(bytes);
        self.accessors.len() - 1
    }

    pub fn finish(self, mut json: Value) -> (Value, Vec<u8>) {
        json["asset"] = json!({ "version": "2.0" });
        json["buffers"] = json!([{ "uri": "model.bin", "byteLength": self.bin.len() }]);
        json["bufferViews"] = self.views.into();
        json["accessors"] = self.accessors.into();
        (json, self.bin)
    }
}

//! Names that would leave their folder, hide, or collide.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::service::{answer, asset, hostile, id_after, page, page_number};
use super::{Mounted, file};
use crate::fault_server::{FaultServer, Reply};
use crate::needs_fuse;
use crate::support::{names_in, run, shell};

/// Names that would do harm if they were used unchanged.
fn hostile_names() -> Vec<String> {
    let long = [
        "x".repeat(300),
        "ж".repeat(200),
        format!("{}.glb", "y".repeat(400)),
    ];
    let odd = [
        "../../etc/passwd",
        "/etc/passwd",
        "..",
        ".",
        "",
        "\0",
        "a\0b",
        ".assetfs",
        "optimize",
        "renders",
        "a/b",
        "a//b",
        "line\nbreak",
        "\u{1b}[31mred",
        "\u{202e}gpj.exe",
        "\u{2066}hidden\u{2069}",
        "\u{feff}bom",
        "50%25",
        "%2E%2E",
        "%",
        "-rf",
        "~",
        "*",
        "$(reboot)",
        "`id`",
        "a\\b",
        "\"'",
        " leading",
        "trailing ",
        "trailing.",
        "con",
        "name~7",
        "twin",
        "twin",
        "twin",
        "Case",
        "case",
        "CASE",
        "caf\u{e9}",
        "cafe\u{301}",
        "\u{200b}",
        "ＦＵＬＬ",
    ];
    odd.into_iter().map(str::to_owned).chain(long).collect()
}

/// An account whose assets have these names, and each of them files of these names.
fn with_names(names: Vec<String>) -> FaultServer {
    let left: Vec<(u64, String)> = (1..).zip(names.clone()).collect();
    let left = Arc::new(Mutex::new(left));
    hostile(move |asked, base_url| {
        let records = || -> Vec<Value> {
            let left = left.lock().unwrap();
            left.iter()
                .rev()
                .map(|(id, name)| asset(*id, &json!(name)))
                .collect()
        };
        if asked.path() == "/api/v2/rawmodel" && asked.method == "GET" {
            let records = match asked.query().contains("q=") {
                true => Vec::new(),
                false => records(),
            };
            return answer(&page(&records, page_number(asked), 1, records.len() as u64));
        }
        if let Some((id, below)) = id_after(asked, "/api/v2/rawmodel/") {
            let record = records().into_iter().find(|record| record["id"] == id)?;
            return match (asked.method.as_str(), below) {
                ("DELETE", "") => {
                    left.lock().unwrap().retain(|(it, _)| *it != id);
                    Some(Reply::json_text(""))
                }
                ("GET", "") => answer(&json!({ "data": record })),
                ("GET", "downloads") => {
                    let url = |at: usize| format!("{base_url}storage/{id}/{at}");
                    // One asset has all files, the others some.
                    let count = if record["name"] == "twin" {
                        names.len()
                    } else {
                        3
                    };
                    let files = names
                        .iter()
                        .take(count)
                        .enumerate()
                        .map(|(at, name)| (name.clone(), json!(url(at))));
                    answer(&Value::Object(files.collect()))
                }
                ("GET", "downloads/pbr") => {
                    let url = format!("{base_url}storage/{id}/0");
                    answer(
                        &json!({"materials": {"wood.mdl": url, "../../up.mdl": url}, "qc": {"render_0.png": url}}),
                    )
                }
                ("GET", "rapidmodels") => answer(&json!([])),
                _ => None,
            };
        }
        asked.path().starts_with("/storage/").then(file)
    })
}

fn assert_safe(name: &std::ffi::OsStr) {
    let parts: Vec<_> = Path::new(name).components().collect();
    assert!(matches!(parts[..], [Component::Normal(_)]), "{name:?}");
    let text = name.to_str().expect("UTF-8");
    assert!(
        !text
            .chars()
            .any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)),
        "{name:?}"
    );
    assert!(
        text != ".assetfs" && name.as_bytes().len() <= 255,
        "{name:?}"
    );
}

#[test]
fn hostile_names_are_listed_read_and_deleted_and_none_leaves_its_folder() {
    needs_fuse!();
    let names = hostile_names();
    let mounted = Mounted::over(with_names(names.clone()), &["--delete-limit", "1000"]);
    let models = mounted.root().join("rawmodels");
    let listed = names_in(&models);
    assert_eq!(listed.len(), names.len(), "{listed:?}");
    for name in &listed {
        assert_safe(name);
        let status = fs::read_to_string(models.join(name).join(".assetfs/status"));
        assert_eq!(status.unwrap(), "complete\n", "{name:?}");
    }
    // Colliding names get the id appended, so every file of the service can be read.
    let model = models.join("twin");
    let found = shell(
        &model,
        "find . -type f -not -path './pbr/*' -exec cat {} +; find . -type f -not -path './pbr/*' | wc -l",
    );
    let distinct: std::collections::HashSet<_> = names.iter().collect();
    let count: usize = found
        .rsplit("hello")
        .next()
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert_eq!(count, distinct.len(), "{found}");
    assert_eq!(found.matches("hello").count(), count);
    for entry in walk(&model) {
        assert_safe(entry.file_name().unwrap());
    }
    // A copy of the drive stays inside the copy.
    let copy = mounted.scratch.path().join("out/deep/copy");
    fs::create_dir_all(&copy).unwrap();
    run(Command::new("cp").arg("-r").arg(&model).arg(&copy));
    assert_eq!(names_in(&mounted.scratch.path().join("out")), ["deep"]);
    assert_eq!(names_in(&copy), ["twin"]);
    // Each is deleted by its shown name, and only that one.
    for name in &listed {
        run(Command::new("rm").args(["-r", "--"]).arg(models.join(name)));
    }
    let asked = mounted.service.asked();
    let mut deleted: Vec<u64> = asked
        .iter()
        .filter(|asked| asked.method == "DELETE")
        .filter_map(|asked| Some(id_after(asked, "/api/v2/rawmodel/")?.0))
        .collect();
    deleted.sort_unstable();
    let all: Vec<u64> = (1..=names.len() as u64).collect();
    assert_eq!(deleted, all);
    assert!(names_in(&models).is_empty());
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for name in names_in(dir) {
        let path = dir.join(name);
        if path.is_dir() {
            found.extend(walk(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn materials_that_were_converted_are_files() {
    needs_fuse!();
    let mounted = Mounted::over(with_names(vec!["scene".into()]), &[]);
    let pbr = "cd rawmodels/scene/pbr && find . -type f | sort";
    assert_eq!(
        shell(mounted.root(), pbr),
        "./materials%2F..%2F..%2Fup.mdl\n./materials/wood.mdl\n./qc/render_0.png\n"
    );
    assert_eq!(
        shell(mounted.root(), "cat rawmodels/scene/pbr/materials/wood.mdl"),
        "hello"
    );
}

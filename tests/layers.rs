//! Holds the layers of `ARCHITECTURE.md`: imports go down only, no `crate::*`, no folder without a
//! layer, each outside crate is used in the layer that owns it, and a type name means one thing in a layer. The
//! files of `drive/catalog` import each other in one direction. Without the feature `local-service` the program has no
//! engine and none of its libraries.
//!
//! The check reads the sources as text, comments and strings left out, and asks cargo for the crates, so it needs no
//! build.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each layer with the layers it may use. `formats`, `render` and `engine` are crates of their own: the compiler holds what these
/// may use, and [`OWNERS`] who may use them.
const LAYERS: &[(&str, &[&str])] = &[
    ("formats", &[]),
    ("wire", &[]),
    ("durable", &[]),
    ("listener", &[]),
    ("bucket", &[]),
    ("render", &[]),
    ("engine", &[]),
    ("client", &["wire"]),
    ("cache", &["bucket", "durable", "wire"]),
    ("outbox", &["client", "durable", "wire"]),
    (
        "drive",
        &["client", "cache", "outbox", "listener", "durable", "wire"],
    ),
    ("fuse", &["drive"]),
    ("service", &["bucket", "listener", "durable", "wire"]),
    (
        "cli",
        &[
            "wire", "durable", "listener", "bucket", "client", "cache", "outbox", "drive", "fuse",
            "service",
        ],
    ),
];

/// The modules of the engine that the program may use, besides what is at the top of that crate. The others are public for
/// tests, benchmarks and fuzz targets only.
const ENGINE_DOORS: &[&str] = &[
    "cad",
    "intake",
    "job",
    "library_memory",
    "sample",
    "settings",
];

/// Each room inside `drive` with the rooms it may use. A room is a folder, or one of the files named here; other
/// files directly in `drive` may be used by all.
const ROOMS: &[(&str, &[&str])] = &[
    ("values", &[]),
    ("reading", &[]),
    ("archive", &["reading"]),
    ("inodes", &[]),
    ("deletions", &["inodes", "values"]),
    ("catalog", &["archive", "reading", "values"]),
    ("events", &["values"]),
    ("tree", &["catalog", "deletions", "events"]),
    ("places", &["catalog", "events", "inodes", "tree", "values"]),
    (
        "files",
        &[
            "archive", "catalog", "events", "places", "reading", "tree", "values",
        ],
    ),
    ("inotify", &[]),
    (
        "mount",
        &["events", "files", "inodes", "inotify", "places", "tree"],
    ),
    (
        "ops",
        &[
            "catalog",
            "deletions",
            "events",
            "files",
            "inotify",
            "mount",
            "places",
            "reading",
            "tree",
            "values",
        ],
    ),
];

/// The rooms inside `outbox`, from the bottom up: a file or folder may use what is on the lines below it, and nothing on its
/// own line. So `drafts`, `jobs` and `presets` do not know each other.
const OUTBOX: &[&[&str]] = &[
    &["signal"],
    &[
        "boot",
        "config",
        "effect",
        "error",
        "failpoint",
        "ids",
        "moment",
        "tasks",
    ],
    &["events", "names", "off_thread", "status"],
    &["texts", "journal", "staging"],
    &["foundation"],
    &["drafts", "jobs", "presets"],
    &["state"],
    &["recovery"],
    &["elsewhere"],
    &["machines"],
    &["housekeeping"],
    &["mod"],
    &["simulator"],
];

/// The rooms inside `engine`, in the same way.
const ENGINE: &[&[&str]] = &[
    &["alike"],
    &[
        "document",
        "intake",
        "keyframes",
        "library_memory",
        "process_memory",
        "unwrap",
    ],
    &["scene"],
    &["settings", "surface"],
    &["textures"],
    &["analyse", "clean", "export", "import", "render"],
    &["cad", "manipulate", "sample"],
    &["error"],
    &["caught"],
    &["pictures", "simplify"],
    &["rebake"],
    &["job"],
    &["front"],
    &["lib"],
];

/// The rooms inside `service`, in the same way. A worker process starts as the service does.
const SERVICE: &[&[&str]] = &[
    &[
        "causes",
        "chaos",
        "clock",
        "event_signal",
        "ids",
        "names",
        "infra_fault",
        "page",
        "presets",
        "proxies",
        "trace",
        "web_url",
    ],
    &["records", "secrets", "tls", "viewer"],
    &[
        "limits",
        "metrics",
        "new_token",
        "queue",
        "sign_in_codes",
        "signing",
    ],
    &["files"],
    &["archive", "bucket_fence", "config"],
    &["error", "workers"],
    &["app", "first_start", "stores"],
    &["events", "health", "janitor", "jobs", "sample_records"],
    &["http"],
    &["mod"],
    &["worker_process"],
];

/// Files of `outbox` with a hook of the simulator, which exists in tests only.
const SIMULATED: &[&str] = &["failpoint", "moment", "off_thread"];

/// Crates that belong to the named folders (paths as [`sources`] gives them) and to no other.
const OWNERS: &[(&str, &[&str])] = &[
    (
        "assetfs_formats",
        &[
            "given_files.rs",
            "web_url.rs",
            "outbox",
            "drive",
            "fuse/shell.rs",
            "engine",
            "service",
            "cli",
        ],
    ),
    ("assetfs_render", &["engine"]),
    ("assetfs_engine", &["service", "cli"]),
    ("fuser", &["fuse"]),
    ("assetfs_passthrough", &["fuse"]),
    (
        "reqwest",
        &[
            "client",
            "service/files/bucket",
            "service/jobs/tests",
            "service/events",
        ],
    ),
    ("axum", &["service", "drive/catalog"]),
    ("sqlx", &["service"]),
    ("object_store", &["bucket", "cache/shared_cache", "service"]),
    ("lru", &["cache"]),
    ("socket2", &["listener"]),
    ("redb", &["durable"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("indicatif", &["cli"]),
    ("notify", &["cli"]),
    ("strsim", &["cli", "engine"]),
    ("anyhow", &["cli"]),
    ("image", &["engine"]),
    ("meshopt", &["engine"]),
    ("rayon", &["render", "engine"]),
    ("landlock", &["service/workers"]),
    ("seccompiler", &["service/workers"]),
    ("glam", &["render", "engine"]),
    ("basis_universal_sys", &["engine/textures/ktx2"]),
    ("re_rav1d", &["engine/textures/avif"]),
    ("libwebp_sys", &["engine/textures/webp"]),
    ("zstd", &["engine/textures/ktx2"]),
];

/// The sources below `src`, as paths relative to it, and those of the crates as paths below the crate's name, with
/// comments and string contents removed.
fn sources() -> BTreeMap<PathBuf, String> {
    fn walk(dir: &Path, name: &Path, found: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(dir).expect("src can be listed") {
            let path = entry.expect("src can be listed").path();
            let name = name.join(path.file_name().expect("an entry has a name"));
            if path.is_dir() {
                walk(&path, &name, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file is UTF-8");
                found.insert(name, code_only(&text));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    walk(&root.join("src"), Path::new(""), &mut found);
    for member in ["formats", "render", "engine"] {
        let folder = root.join("crates").join(member).join("src");
        walk(&folder, Path::new(member), &mut found);
    }
    assert!(found.len() > 100, "only {} sources were found", found.len());
    found
}

/// `text` without comments and without what stands between double quotes.
fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    for line in text.lines() {
        let mut in_string = false;
        let mut previous = ' ';
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            if in_string {
                if c == '\\' {
                    chars.next();
                } else if c == '"' {
                    in_string = false;
                    code.push('"');
                }
            } else if c == '/' && chars.peek() == Some(&'/') {
                break;
            } else {
                in_string = c == '"' && previous != '\'';
                code.push(c);
            }
            previous = c;
        }
        code.push('\n');
    }
    code
}

/// The layer a source file belongs to: its first folder below `src`, if it is in one.
fn layer_of(path: &Path) -> Option<&str> {
    let mut parts = path.components();
    let first = parts.next()?.as_os_str().to_str()?;
    parts.next().is_some().then_some(first)
}

/// Every name that follows `crate::` in `code`: one for `crate::a::b`, several for `crate::{a, b}`.
fn crate_imports(code: &str) -> Vec<String> {
    imports_of(code, "crate::")
}

/// The same for another beginning of paths.
fn imports_of(code: &str, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back().unwrap_or(' ');
        if before.is_alphanumeric() || before == '_' || before == '$' {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(group_heads(group)),
            None => names.push(
                rest.split(|c: char| !is_path_char(c))
                    .next()
                    .unwrap_or("")
                    .to_owned(),
            ),
        }
    }
    names.into_iter().filter(|name| !name.is_empty()).collect()
}

/// The first word of each member of a `{…}` import group whose opening brace is already consumed.
fn group_heads(group: &str) -> Vec<String> {
    let mut heads = vec![String::new()];
    let mut depth = 0_u32;
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(String::new()),
            c if depth == 0 => heads.last_mut().expect("never empty").push(c),
            _ => {}
        }
    }
    heads
        .iter()
        .map(|head| {
            head.trim()
                .split(|c: char| !is_path_char(c))
                .next()
                .unwrap_or("")
                .to_owned()
        })
        .collect()
}

fn is_path_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '*'
}

#[test]
fn every_folder_under_src_is_a_layer() {
    for path in sources().keys() {
        if let Some(layer) = layer_of(path) {
            assert!(
                LAYERS.iter().any(|(name, _)| *name == layer),
                "src/{} is in no layer: add it to tests/layers.rs and ARCHITECTURE.md",
                path.display()
            );
        }
    }
}

#[test]
fn imports_go_down_only() {
    let mut wrong = Vec::new();
    for (path, code) in sources() {
        let Some(layer) = layer_of(&path) else {
            continue;
        };
        let allowed = LAYERS
            .iter()
            .find(|(name, _)| *name == layer)
            .map_or(&[][..], |(_, uses)| uses);
        for name in crate_imports(&code) {
            let is_layer = LAYERS.iter().any(|(known, _)| *known == name);
            if name == "*" || (is_layer && name != layer && !allowed.contains(&name.as_str())) {
                wrong.push(format!("src/{}: crate::{name}", path.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "imports that go up:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn rooms_inside_the_drive_import_down_only() {
    let rooms: Vec<&str> = ROOMS.iter().map(|(room, _)| *room).collect();
    let mut wrong = Vec::new();
    for (path, code) in sources() {
        let Ok(inside) = path.strip_prefix("drive") else {
            continue;
        };
        let is_file = inside.components().count() == 1;
        let stem = inside.file_stem().and_then(|stem| stem.to_str());
        let Some(room) = layer_of(inside).or(stem.filter(|stem| rooms.contains(stem))) else {
            continue;
        };
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
            wrong.push(format!(
                "src/{}: {room} is in no row of ROOMS",
                path.display()
            ));
            continue;
        };
        let mut names = imports_of(&code, "crate::drive::");
        if is_file {
            names.extend(imports_of(&code, "super::"));
        }
        for name in names {
            let is_room = rooms.contains(&name.as_str());
            if is_room && name != room && !allowed.contains(&name.as_str()) {
                wrong.push(format!("src/{}: crate::drive::{name}", path.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "rooms that import upwards:\n{}",
        wrong.join("\n")
    );
}

/// The files of `drive/catalog` that one of them imports. They write their paths from the root of the crate.
fn catalog_imports(code: &str, files: &BTreeMap<PathBuf, String>) -> BTreeSet<PathBuf> {
    const CATALOG: &str = "crate::drive::catalog::";
    let folder = Path::new("drive/catalog");
    let mut imports = BTreeSet::new();
    for name in imports_of(code, CATALOG) {
        let file = folder.join(&name).with_extension("rs");
        if files.contains_key(&file) {
            imports.insert(file);
            continue;
        }
        let inside = imports_of(code, &format!("{CATALOG}{name}::"));
        imports.extend(inside.iter().map(|inner| {
            let file = folder.join(&name).join(inner).with_extension("rs");
            match files.contains_key(&file) {
                true => file,
                false => folder.join(&name).join("mod.rs"),
            }
        }));
    }
    imports
}

#[test]
fn files_of_the_catalog_do_not_import_each_other_in_circles() {
    let sources = sources();
    let mut left = BTreeMap::new();
    for (path, code) in &sources {
        // The front door of the folder imports everything.
        if !path.starts_with("drive/catalog") || path.ends_with("catalog/mod.rs") {
            continue;
        }
        let relative = imports_of(code, "super::");
        assert!(
            relative.iter().all(|name| name == "*"),
            "src/{}: write imports from the root, which this test reads",
            path.display()
        );
        let mut imports = catalog_imports(code, &sources);
        imports.remove(path);
        for import in &imports {
            assert!(
                sources.contains_key(import),
                "src/{}: imports {}, which does not exist",
                path.display(),
                import.display()
            );
        }
        if path.starts_with("drive/catalog/data") {
            let outside = imports
                .iter()
                .find(|import| !import.starts_with("drive/catalog/data"));
            assert!(
                outside.is_none(),
                "src/{}: data imports {outside:?}",
                path.display()
            );
        }
        left.insert(path, imports);
    }
    assert!(left.len() > 30, "the files were read");
    let count: usize = left.values().map(BTreeSet::len).sum();
    assert!(count > 100, "the imports were read");
    // A file whose imports are in no circle is in none.
    loop {
        let done: Vec<&PathBuf> = left
            .iter()
            .filter(|(_, imports)| imports.iter().all(|import| !left.contains_key(import)))
            .map(|(path, _)| *path)
            .collect();
        if done.is_empty() {
            break;
        }
        left.retain(|path, _| !done.contains(path));
    }
    assert!(
        left.is_empty(),
        "files that import each other in a circle, or import such files:\n{left:#?}"
    );
}

/// The modules of a layer that one of its files imports, by `crate::…` or by `super::`. `root` is how paths of the layer
/// begin, `inside` the path of the file in the layer's folder.
fn imports_below(root: &str, inside: &Path, code: &str) -> Vec<String> {
    let is_mod = inside.ends_with("mod.rs");
    let depth = inside.components().count() - usize::from(is_mod);
    let mut names = imports_of(code, root);
    if depth > 0 {
        let above = imports_of(code, &"super::".repeat(depth));
        names.extend(
            above
                .into_iter()
                .filter(|name| name != "super" && name != "*"),
        );
    }
    names
}

/// The sources without tests, which may use everything.
fn untested() -> BTreeMap<PathBuf, String> {
    let is_test = |path: &Path| {
        path.iter()
            .any(|part| part == "tests" || part == "tests.rs")
    };
    let files = sources().into_iter().filter(|(path, _)| !is_test(path));
    let cut = files.map(|(path, code)| {
        let own = code.split("#[cfg(test)]\nmod tests {").next();
        (path, own.unwrap_or_default().to_owned())
    });
    cut.collect()
}

/// Fails if a room of a layer imports one that is not on the lines below its own. `root` is how paths of the layer begin,
/// `front` the file that may import all; `is_hook` says which imports are excepted.
fn hold_lines(
    (layer, root, front): (&str, &str, &str),
    lines: &[&[&str]],
    sources: BTreeMap<PathBuf, String>,
    is_hook: impl Fn(&str, &str) -> bool,
) {
    let level = |room: &str| lines.iter().position(|line| line.contains(&room));
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, code) in sources {
        let Ok(inside) = path.strip_prefix(layer) else {
            continue;
        };
        let first = inside.components().next().expect("a file of the layer");
        let room = Path::new(first.as_os_str()).with_extension("");
        let room = room.to_str().expect("names are ASCII");
        let Some(own) = level(room) else {
            wrong.push(format!("{}: {room} is in no line", path.display()));
            continue;
        };
        for name in imports_below(root, inside, &code) {
            // A name that is no room comes from the front door.
            let theirs = level(&name).or_else(|| level(front));
            seen += 1;
            if name != room && room != front && !is_hook(room, &name) && theirs >= Some(own) {
                wrong.push(format!("{}: {root}{name}", path.display()));
            }
        }
    }
    assert!(seen > 100, "the imports were read");
    assert!(
        wrong.is_empty(),
        "rooms that import upwards or aside:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn rooms_inside_the_outbox_import_down_only() {
    let is_hook = |room: &str, name: &str| name == "simulator" && SIMULATED.contains(&room);
    hold_lines(
        ("outbox", "crate::outbox::", "mod"),
        OUTBOX,
        sources(),
        is_hook,
    );
}

#[test]
fn rooms_inside_the_engine_import_down_only() {
    let engine = ("engine", "crate::", "lib");
    hold_lines(engine, ENGINE, untested(), |_, _| false);
}

#[test]
fn rooms_inside_the_service_import_down_only() {
    let service = ("service", "crate::service::", "mod");
    // A constructor for tests uses it.
    let is_of_tests = |_: &str, name: &str| name == "test_records";
    hold_lines(service, SERVICE, untested(), is_of_tests);
}

/// The types that are defined outside of functions and modules, by name.
fn types_in(code: &str) -> Vec<String> {
    let kinds = ["struct ", "enum ", "union ", "trait ", "type "];
    let defined = code.lines().filter_map(|line| {
        let line = match line.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
            Some(rest) => rest.trim_start(),
            None => line,
        };
        let kind = kinds.iter().find(|kind| line.starts_with(**kind))?;
        let name = line[kind.len()..]
            .split(|c: char| !is_path_char(c))
            .next()?;
        Some(name.to_owned())
    });
    defined.collect()
}

#[test]
fn a_type_name_means_one_thing_in_its_layer() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, code) in sources() {
        let is_test = path
            .iter()
            .any(|part| part == "tests" || part == "tests.rs");
        let Some(layer) = layer_of(&path).filter(|_| !is_test) else {
            continue;
        };
        for name in types_in(&code) {
            let file = path.display().to_string();
            let files = places.entry(format!("{layer}::{name}")).or_default();
            files.push(file);
        }
    }
    for (layer, _) in LAYERS {
        let is_read = places.keys().any(|name| name.starts_with(layer));
        assert!(is_read, "no type was found in {layer}");
    }
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "names of several types: {places:#?}");
}

#[test]
fn outside_crates_stay_with_their_owner() {
    let mut wrong = Vec::new();
    for (path, code) in sources() {
        for (name, owners) in OWNERS {
            let used = [format!("{name}::"), format!("use {name};")]
                .iter()
                .any(|form| {
                    code.match_indices(form.as_str()).any(|(at, _)| {
                        let before = code[..at].chars().next_back().unwrap_or(' ');
                        !before.is_alphanumeric() && before != '_' && before != ':'
                    })
                });
            if used && !owners.iter().any(|owner| path.starts_with(owner)) {
                wrong.push(format!(
                    "src/{}: {name} belongs to {owners:?}",
                    path.display()
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "crates used outside their layer:\n{}",
        wrong.join("\n")
    );
}

/// A notification that makes the kernel forget a name or pages waits for a lock that a caller of the drive may hold. If the
/// drive is killed then, neither ends.
#[test]
fn nothing_notifies_the_kernel() {
    for (path, code) in sources() {
        for call in [
            ".notifier()",
            ".inval_entry(",
            ".inval_inode(",
            "fuser::Notifier",
        ] {
            let place = path.display();
            assert!(!code.contains(call), "{place}: {call}");
        }
    }
}

/// All tasks of the outbox that wait for a state wait in one way, which misses no change and wakes them in order.
#[test]
fn states_of_the_outbox_are_waited_for_through_the_signal() {
    for (path, code) in sources() {
        if !path.starts_with("outbox") || path.ends_with("outbox/signal.rs") {
            continue;
        }
        for other in [
            "notify_waiters",
            "watch::Sender",
            "watch::channel",
            "broadcast::",
        ] {
            let place = path.display();
            assert!(!code.contains(other), "{place}: {other}; use `Signal`");
        }
    }
}

#[test]
fn the_program_uses_the_engine_by_its_front_door() {
    let sources = sources();
    let is_module = |name: &str| {
        let engine = Path::new("engine");
        let files = [format!("{name}.rs"), format!("{name}/mod.rs")];
        files
            .iter()
            .any(|file| sources.contains_key(&engine.join(file)))
    };
    let mut seen = 0;
    let mut wrong = Vec::new();
    for (path, code) in &sources {
        if path.starts_with("engine") {
            continue;
        }
        for name in imports_of(code, "assetfs_engine::") {
            seen += 1;
            if name == "*" || (is_module(&name) && !ENGINE_DOORS.contains(&name.as_str())) {
                wrong.push(format!("src/{}: assetfs_engine::{name}", path.display()));
            }
        }
    }
    assert!(seen > 20, "the imports were read");
    assert!(wrong.is_empty(), "inner modules:\n{}", wrong.join("\n"));
}

/// The crates of the program that `cargo tree` shows with these options.
fn crates_of_the_program(options: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--package", "assetfs"])
        .args(["--prefix", "none", "--format", "{p}"])
        .args(options)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let names = String::from_utf8(output.stdout).expect("names are ASCII");
    let names = names.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn without_the_local_service_there_is_no_engine_and_no_c_library_but_that_of_tls() {
    let full = crates_of_the_program(&["--edges", "normal"]);
    let slim = crates_of_the_program(&["--edges", "normal", "--no-default-features"]);
    for name in [
        "assetfs-engine",
        "libsqlite3-sys",
        "sqlx",
        "ufbx",
        "meshopt",
    ] {
        assert!(full.contains(name) && !slim.contains(name), "{name}");
    }
    for name in ["basis-universal-sys", "libwebp-sys", "zstd-sys", "image"] {
        assert!(full.contains(name) && !slim.contains(name), "{name}");
    }
    assert!(slim.contains("fuser") && slim.len() < full.len() * 3 / 4);
    // What compiles C and C++ says so by this crate; it also finds what is added later.
    let edges = ["--edges", "normal,build", "--no-default-features"];
    let compiling = ["--invert", "cc", "--depth", "1"];
    let with_c = crates_of_the_program(&[&edges[..], &compiling[..]].concat());
    assert_eq!(with_c, BTreeSet::from(["cc", "ring"].map(str::to_owned)));
}

#[test]
fn the_check_itself_sees_groups_and_skips_comments() {
    assert_eq!(
        crate_imports("use crate::{wire::id, cache};"),
        ["wire", "cache"]
    );
    assert_eq!(crate_imports("use crate::drive::Drive;"), ["drive"]);
    assert_eq!(
        crate_imports(&code_only("// crate::cli\nlet a = \"crate::cli\";")),
        Vec::<String>::new()
    );
    assert_eq!(crate_imports("use crate::*;"), ["*"]);
}

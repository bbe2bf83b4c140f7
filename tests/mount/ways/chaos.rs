//! Plans of faults: given to `serve`, to a mount of the local service, and changed while it runs.

use std::fs;
use std::process::Command;

use crate::needs_fuse;
use crate::support::{ASSETFS, Fixture, assetfs, fails, run, small_chair, wait_until};

/// The status of a simple request now; 0 without an answer.
fn answer(fixture: &Fixture) -> u16 {
    let url = format!("{}api/v2/user/rapidpoints", fixture.service.base_url);
    crate::support::status_of(&url, &fixture.service.token())
}

#[test]
fn serve_meets_the_faults_of_its_plan_and_reads_it_again_on_sighup() {
    let fixture = Fixture::unmounted_with_chaos(
        "seed = 7\n[[rule]]\nmethod = \"GET\"\npath = \"/api/v2/user/*\"\nfault = { kind = \"status\", status = 503 }\n",
        &[],
    );
    let plan = fixture.scratch.path().join("chaos.toml");
    assert_eq!(answer(&fixture), 503);
    fs::write(&plan, "").unwrap();
    fixture.service.hang_up();
    wait_until("the faults have ended", || answer(&fixture) == 200);
    fs::write(
        &plan,
        "[[rule]]\nfault = { kind = \"status\", status = 429 }\n",
    )
    .unwrap();
    fixture.service.hang_up();
    wait_until("other faults have begun", || answer(&fixture) == 429);
    fs::write(&plan, "no plan").unwrap();
    fixture.service.hang_up();
    wait_until("the bad plan is told", || {
        fixture
            .service
            .log()
            .contains("the previous plan stays active")
    });
    assert_eq!(answer(&fixture), 429);
}

#[test]
fn a_plan_that_is_none_is_refused_with_its_place() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = scratch.path().join("plan.toml");
    fs::write(&plan, "seed = 1\n[[rule]]\nfault = { kind = \"meteor\" }\n").unwrap();
    let mount = scratch.path().join("mnt");
    let mut serve = Command::new(ASSETFS);
    serve
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(scratch.path().join("data"));
    let mut local = Command::new(ASSETFS);
    local
        .arg("mount")
        .arg(&mount)
        .args(["--local", "--data-dir"])
        .arg(scratch.path().join("data"));
    for command in [&mut serve, &mut local] {
        let said = fails(command.arg("--chaos").arg(&plan), 1);
        assert!(
            said.contains("plan.toml") && said.contains("meteor"),
            "{said}"
        );
    }
    let said = fails(
        Command::new(ASSETFS)
            .arg("mount")
            .arg(&mount)
            .args(["--base-url", "http://127.0.0.1:1", "--chaos"])
            .arg(&plan)
            .env("ASSETFS_TOKEN", "1|x"),
        2,
    );
    assert!(said.contains("--local"), "{said}");
}

/// Random delays, broken connections and wrong answers together: a model still arrives, once.
#[test]
fn a_mount_of_the_local_service_works_through_the_faults_of_its_plan() {
    needs_fuse!();
    let scratch = tempfile::tempdir().unwrap();
    let plan = scratch.path().join("plan.toml");
    let rule = |method: &str, path: &str, fault: &str| {
        format!(
            "[[rule]]\nmethod = \"{method}\"\npath = \"{path}\"\nchance = 0.3\nfault = {{ {fault} }}\n"
        )
    };
    let text = [
        "seed = 42\n".to_owned(),
        rule("PUT", "/storage/*", "kind = \"cut_request\", bytes = 1000"),
        rule("PUT", "/storage/*", "kind = \"latency\", ms = 50"),
        rule("GET", "/storage/*", "kind = \"cut_reply\", bytes = 1000"),
        rule(
            "GET",
            "/api/*",
            "kind = \"status\", status = 503, retry_after = \"0\"",
        ),
        rule("GET", "/storage/*", "kind = \"no_length\""),
        "[[connection]]\nchance = 0.1\nfault = { kind = \"reset\" }\n".to_owned(),
    ];
    fs::write(&plan, text.concat()).unwrap();
    let root = scratch.path().join("mnt");
    let folder = |name: &str| scratch.path().join(name);
    run(Command::new(ASSETFS)
        .arg("mount")
        .arg(&root)
        .args(["--local", "--settle", "300ms", "--state-dir"])
        .arg(folder("state"))
        .arg("--cache-dir")
        .arg(folder("cache"))
        .arg("--data-dir")
        .arg(folder("data"))
        .arg("--chaos")
        .arg(&plan));
    let _mount = crate::support::MountPoint(root.clone());
    let source = small_chair(scratch.path());
    run(Command::new("cp")
        .arg("-r")
        .args([&source, &root.join("rawmodels/chair")]));
    run(assetfs("wait", root.join("rawmodels/chair")));
    let names = fs::read_dir(root.join("rawmodels")).unwrap().count();
    assert_eq!(names, 1);
    crate::support::assert_same_files(&source, &root.join("rawmodels/chair"));
    let log = fs::read_to_string(folder("state").join("mount.log")).unwrap();
    assert!(log.contains("chaos"), "faults were met");
}

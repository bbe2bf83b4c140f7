//! The account and the mount itself: events, tokens, read-only, without network.

use std::process::Command;

use super::{HALF, add_triangle, drop_text, optimized, total};
use crate::needs_fuse;
use crate::support::{
    ASSETFS, Fixture, MountPoint, assetfs, exists, fails, run, shell, wait_until,
};

#[test]
fn a_mount_registers_for_events_and_takes_that_back_when_it_ends() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    fixture.mount(&["--webhook-listen", "127.0.0.1:0"]);
    let root = fixture.root();
    let hooks = || fixture.service.get("api/v2/user/webhooks");
    wait_until("the mount is registered", || {
        hooks().to_string().contains("127.0.0.1")
    });
    wait_until("its record is shown", || {
        shell(&root, "ls account/webhooks").starts_with("127.0.0.1")
    });
    let record = shell(&root, "cat account/webhooks/*.json");
    let listed = hooks();
    let list = listed
        .as_array()
        .or_else(|| listed["data"].as_array())
        .unwrap();
    let url = list[0]["url"].as_str().unwrap();
    let secret = url.rsplit('/').next().unwrap();
    assert!(!record.contains(secret), "{record}");
    let tokens = shell(&root, "cat account/tokens/*.json");
    let token = fixture.service.token();
    assert!(
        !tokens.contains(token.split('|').nth(1).unwrap()),
        "{tokens}"
    );
    drop(MountPoint(root));
    let left = hooks().to_string();
    assert!(!left.contains("127.0.0.1"), "{left}");
}

#[test]
fn a_read_only_mount_refuses_every_change_and_can_be_taken_away() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    fixture.mount(&[]);
    let root = fixture.root();
    add_triangle(&fixture, "cube");
    run(assetfs("unmount", &root));
    fixture.mount(&["--read-only"]);
    for line in [
        "mkdir rawmodels/new",
        "touch rawmodels/new.glb",
        "rm -r rawmodels/cube",
        "setfattr -n user.xdg.tags -v x rawmodels/cube",
        "cp rawmodels/cube/cube.glb rawmodels/cube/optimize/x.json",
        "echo 'scale 2' > rawmodels/cube/.assetfs/ctl",
    ] {
        let refused = shell(&root, &format!("{{ {line}; }} 2>&1 && exit 1 || true"));
        assert!(
            refused.contains("Read-only file system"),
            "{line}: {refused}"
        );
    }
    for command in ["rm", "retry"] {
        let path = fixture.path("rawmodels/cube");
        let said = fails(Command::new(ASSETFS).arg(command).arg(path), 1);
        assert!(said.contains("mounted read-only"), "{said}");
    }
    shell(&root, "find . -type f -exec cat {} + >/dev/null");
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 1);
    // What changes only this machine is possible.
    let cube = fixture.path("rawmodels/cube");
    run(assetfs("pin", &cube));
    assert!(run(assetfs("cache info", &root)).contains("pinned"));
    run(assetfs("unpin", &cube));
    run(assetfs("cache verify", &root));
    run(assetfs("cache clear", &root));
    run(assetfs("unmount", &root));
    assert!(!exists(fixture.path("rawmodels")));
}

#[test]
fn what_was_walked_through_is_walked_through_again_without_network() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    fixture.mount(&[]);
    let root = fixture.root();
    add_triangle(&fixture, "cube");
    drop_text(&fixture, "presets/web.json", HALF);
    optimized(&fixture, "cube");
    let walk = "find . -printf '%p %s\\n' | grep -v '^./account/tokens' | sort; cat rawmodels/cube/cube.glb | md5sum";
    let before = shell(&root, walk);
    run(assetfs("unmount", &root));
    fixture.service.stop();
    fixture.mount(&[]);
    assert_eq!(shell(&root, walk), before);
    shell(
        &root,
        "df . >/dev/null; du -s . >/dev/null; ls -lR . >/dev/null; cat account/points >/dev/null",
    );
    fixture.service.start_again();
}

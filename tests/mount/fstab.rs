//! The drive in fstab: `mount(8)` starts it by each name of its helper, and `umount` ends it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::support::{ASSETFS, assetfs, run, text};
use crate::{needs_fuse, needs_program, needs_root};

/// Where mount(8) looks for helpers.
const HELPERS: &str = "/usr/sbin";
/// Where mount.fuse(8) looks for programs.
const PROGRAMS: &str = "/usr/local/sbin";

/// Temporary folders, and a shell in a separate mount namespace in which this binary is installed.
struct Machine {
    dir: TempDir,
}

impl Machine {
    fn new() -> Machine {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("mnt")).unwrap();
        Machine { dir }
    }

    /// The options that make it use these folders.
    fn options(&self) -> String {
        let dir = self.dir.path().display();
        format!("data_dir={dir}/data,state_dir={dir}/state,cache_dir={dir}/cache")
    }

    /// Runs a script after `install` was run; without a home, as mount(8) may be at boot.
    fn run(&self, install: &str, script: &str) -> Output {
        // The drives of other tests would live on here when they are unmounted.
        let alone = "grep fuse.assetfs /proc/self/mountinfo | cut -d' ' -f5 | xargs -r -n 1 umount -l || true";
        let script = format!("set -eu\n{alone}\n{install}\n{script}\n");
        Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", &script])
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("OPTIONS", self.options())
            .env("MNT", self.dir.path().join("mnt"))
            .output()
            .unwrap()
    }

    fn expect(&self, install: &str, script: &str) -> String {
        let output = self.run(install, script);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{}: {said}", output.status);
        said
    }
}

/// Installs a link as the only file in the folder of helpers.
fn as_helper(name: &str) -> String {
    format!("mount -t tmpfs tmpfs {HELPERS} && ln -s {ASSETFS} {HELPERS}/{name}")
}

/// Installs only the program, which mount.fuse(8) of libfuse starts by the type.
fn as_program() -> String {
    format!("mount -t tmpfs tmpfs {PROGRAMS} && ln -s {ASSETFS} {PROGRAMS}/assetfs")
}

/// The steps for each way: mount by hand, by fstab, and by `mount -a`, with `umount` between them.
const EVERYTHING: &str = r#"
mount -t fuse.assetfs local "$MNT" -o "$OPTIONS,noatime,x-gvfs-show,settle=1s"
grep " $MNT " /proc/self/mountinfo | grep 'nosuid,nodev,noexec.* - fuse.assetfs local '
ls "$MNT/rawmodels"
umount "$MNT"
echo "local $MNT fuse.assetfs defaults,nofail,_netdev,x-systemd.automount,user,$OPTIONS 0 0" > fstab
mount -T fstab "$MNT"
test -d "$MNT/rawmodels"
mount -T fstab -a
test "$(grep -c " $MNT " /proc/self/mountinfo)" = 1
umount "$MNT"
test ! -d "$MNT/rawmodels"
echo "local $MNT fuse.assetfs ro,$OPTIONS 0 0" > fstab
mount -T fstab -a
if mkdir "$MNT/rawmodels/chair" 2>/dev/null; then exit 3; fi
umount "$MNT"
"#;

#[test]
fn fstab_and_mount_work_with_a_link_in_sbin() {
    needs_fuse!();
    needs_root!();
    needs_program!("unshare");
    Machine::new().expect(&as_helper("mount.fuse.assetfs"), EVERYTHING);
}

#[test]
fn fstab_and_mount_work_by_mount_fuse_alone() {
    needs_fuse!();
    needs_root!();
    needs_program!("unshare");
    needs_program!("mount.fuse");
    Machine::new().expect(&as_program(), EVERYTHING);
}

#[test]
fn the_type_may_be_assetfs_alone() {
    needs_fuse!();
    needs_root!();
    needs_program!("unshare");
    let script = r#"mount -t assetfs local "$MNT" -o "$OPTIONS"; ls "$MNT"; umount "$MNT""#;
    let said = Machine::new().expect(&as_helper("mount.assetfs"), script);
    assert!(said.contains("rawmodels"), "{said}");
}

#[test]
fn a_wrong_option_or_source_is_refused_with_its_name_and_the_codes_of_mount() {
    needs_fuse!();
    needs_root!();
    needs_program!("unshare");
    let machine = Machine::new();
    for (source, option, code, said) in [
        ("local", "cache_size=banana", 1, "-o cache_size=banana: "),
        ("local", "frobnicate", 1, "-o frobnicate: "),
        ("local", "settle=soon", 1, "-o settle=soon: "),
        ("nobody", "rw", 1, "there is no profile `nobody`"),
        ("assetfs", "rw", 1, "name an account"),
        ("https://a.example", "rw", 1, "no token"),
        ("local", "data_dir=/proc/nowhere", 32, "/proc/nowhere"),
    ] {
        let script = format!(
            r#"code=0; mount -t fuse.assetfs {source} "$MNT" -o "$OPTIONS,{option}" || code=$?; echo "code $code""#
        );
        let output = machine.run(&as_helper("mount.fuse.assetfs"), &script);
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(all.contains(said), "{source} {option}: {all}");
        assert!(
            all.contains(&format!("code {code}\n")),
            "{source} {option}: {all}"
        );
    }
}

#[test]
fn a_helper_that_is_asked_to_check_mounts_nothing_and_a_sloppy_one_drops_what_it_does_not_know() {
    needs_fuse!();
    let machine = Machine::new();
    let helper = machine.dir.path().join("mount.fuse.assetfs");
    std::os::unix::fs::symlink(ASSETFS, &helper).unwrap();
    let mount_point = machine.dir.path().join("mnt");
    let helper = |extra: &[&str], options: &str| {
        let options = format!("{options},{}", machine.options());
        Command::new(&helper)
            .arg("local")
            .arg(&mount_point)
            .args(extra)
            .args(["-o", &options])
            .output()
            .unwrap()
    };
    let is_mounted = |root: &Path| root.join("rawmodels").is_dir();
    assert!(helper(&["-f"], "rw").status.success());
    assert_eq!(helper(&["-f"], "frobnicate").status.code(), Some(1));
    assert!(!is_mounted(&mount_point));
    let sloppy = helper(&["-s", "-v"], "frobnicate");
    assert!(sloppy.status.success(), "{}", text(&sloppy.stderr));
    assert!(text(&sloppy.stdout).contains("Mounted"));
    assert!(is_mounted(&mount_point));
    run(assetfs("unmount", &mount_point));
}

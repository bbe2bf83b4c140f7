//! What `deploy/` tells the program and the proxy: the options exist, and the times of the proxy fit those of its clients.
//! scripts/check/deploy runs the files in the programs that they are for.

use std::collections::BTreeSet;
use std::process::Command;

const COMPOSE: &str = include_str!("../../deploy/compose.yaml");
const SERVE: &str = include_str!("../../deploy/kustomize/serve.yaml");
const WORKER: &str = include_str!("../../deploy/kustomize/worker.yaml");
const SETTINGS: &str = include_str!("../../deploy/kustomize/kustomization.yaml");
const FRONT: &str = include_str!("../../deploy/front.conf");

/// The options in the lists of arguments of a file.
fn options(file: &str) -> BTreeSet<&str> {
    let arguments = file
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- --"));
    arguments
        .map(|argument| argument.split('=').next().unwrap())
        .collect()
}

fn help(command: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_assetfs"))
        .args([command, "--help"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_options_of_the_deployments_exist() {
    let (serve, worker) = (help("serve"), help("engine-worker"));
    for (file, helps) in [
        (COMPOSE, vec![&serve, &worker]),
        (SERVE, vec![&serve]),
        (WORKER, vec![&worker]),
    ] {
        let options = options(file);
        assert!(options.contains("records"), "{options:?}");
        for option in options {
            let is_known = |help: &&String| help.contains(&format!("--{option} "));
            assert!(helps.iter().any(is_known), "--{option}");
        }
    }
}

#[test]
fn services_behind_a_proxy_know_it_and_are_asked_whether_they_live() {
    for file in [COMPOSE, SERVE] {
        for option in ["trusted-proxy", "public-url", "admin-listen"] {
            assert!(options(file).contains(option), "--{option}");
        }
    }
    assert!(FRONT.contains("proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"));
    assert!(FRONT.contains("proxy_set_header Host $http_host;"));
    // Each name in the arguments has a value.
    for name in ["RECORDS", "FILES", "PUBLIC_URL", "TRUSTED_PROXY"] {
        assert!(SERVE.contains(&format!("$({name})")), "{name}");
        assert!(SETTINGS.contains(&format!("- {name}=")), "{name}");
    }
    assert!(COMPOSE.contains("healthcheck: &alive") && COMPOSE.contains("GET /livez"));
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert!(SERVE.contains(probe) && WORKER.contains(probe), "{probe}");
    }
}

/// The seconds of a setting of the proxy.
fn seconds(name: &str) -> u64 {
    let line = FRONT
        .lines()
        .find_map(|line| line.trim().strip_prefix(name))
        .unwrap_or_else(|| panic!("no {name}"));
    let value = line.trim().trim_end_matches(';').trim_end_matches('s');
    value.parse().unwrap()
}

#[test]
fn a_service_that_hangs_holds_a_request_no_longer_than_clients_wait() {
    // A mount waits 30 s for the answer of a call.
    assert!(seconds("proxy_connect_timeout") <= 5);
    assert!(seconds("proxy_read_timeout") <= 20);
    assert!(seconds("proxy_send_timeout") <= 20);
    let both = seconds("proxy_next_upstream_timeout");
    assert!(seconds("proxy_read_timeout") < both && both < 30);
    assert!(FRONT.contains("proxy_next_upstream error timeout http_502 http_503 http_504;"));
    assert_eq!(FRONT.matches("max_fails=1 fail_timeout=5s").count(), 2);
}

//! What is wrong at the start is a sentence, for a service and for a worker alike, and nothing is half started.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};

use super::skip::skipped;
use super::test_records::TestDatabase;
use super::worker_process::Fleet;

/// Starts a service and a worker, which must refuse. Returns what each says.
fn refusals(
    fleet: &Fleet,
    records: &str,
    files: &str,
    change: impl Fn(&mut Command),
) -> [String; 2] {
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    ["serve", "engine-worker"].map(|program| {
        let mut command = fleet.program(program, records, files);
        match program {
            "serve" => command.args(["--listen", &address.to_string(), "--data"]),
            _ => command.args(["--memory", "256M", "--slots", "1", "--work-dir"]),
        };
        command.arg(fleet.dir().join(format!("refused-{program}")));
        change(&mut command);
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
        let text = String::from_utf8(stderr).unwrap();
        assert!(!status.success(), "{program}: {text}");
        assert_eq!(stdout, b"", "{program} says that it works");
        assert!(TcpStream::connect(address).is_err(), "nothing listens");
        text
    })
}

/// A storage whose clock is an hour behind.
fn storage_of_the_past() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let past = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1);
    let date = past.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = BufReader::new(stream.try_clone().unwrap()).lines();
            head.map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .for_each(drop);
            let body = "<ListBucketResult></ListBucketResult>";
            let length = body.len();
            let reply = format!(
                "HTTP/1.1 200 OK\r\ndate: {date}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    format!("s3://assetfs-test/x?endpoint=http://{address}")
}

#[tokio::test]
async fn what_cannot_be_used_is_a_sentence_of_services_and_workers() {
    let Some(fleet) = Fleet::start().await else {
        return;
    };
    let (records, files) = (fleet.url.clone(), fleet.bucket.url());
    let port = url::Url::parse(&records).unwrap().port().unwrap();
    let over_tcp = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    let nobody = "s3://assetfs-test/x?endpoint=http://127.0.0.1:9";
    let cases = [
        (
            "a wrong secret",
            &*records,
            &*files,
            ("AWS_SECRET_ACCESS_KEY", "wrong"),
            "check AWS_SECRET_ACCESS_KEY",
        ),
        (
            "a wrong password",
            &over_tcp,
            &files,
            ("PGPASSWORD", "wrong"),
            "refuses the password: check the user",
        ),
        (
            "no database",
            "postgres://postgres@127.0.0.1:9/x",
            &files,
            ("X", ""),
            "check that it runs and that the address is right",
        ),
        (
            "no storage",
            &records,
            nobody,
            ("X", ""),
            "check that it runs and that the endpoint of --files is right",
        ),
        (
            "a wrong clock",
            &records,
            &storage_of_the_past(),
            ("X", ""),
            "60 minutes ahead of the storage's clock",
        ),
    ];
    for (what, records, files, (name, value), wanted) in cases {
        for said in refusals(&fleet, records, files, |command| {
            command.env(name, value);
        }) {
            assert!(said.contains(wanted), "{what}: {said}");
            assert!(!said.contains("panicked"), "{what}: {said}");
        }
    }
    let mut database = TestDatabase::at(&records).await;
    database
        .run("INSERT INTO schema_version (version) VALUES (999)")
        .await;
    for said in refusals(&fleet, &records, &files, |_| {}) {
        assert!(
            said.contains("the database has schema 999, which this version does not know"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_service_whose_bucket_has_no_cors_rule_says_which_one_it_needs() {
    let Some(fleet) = Fleet::start().await else {
        return;
    };
    if !fleet.bucket.is_own() {
        skipped("the storage in ASSETFS_TEST_S3 may have a CORS rule");
        return;
    }
    let mut command = fleet.program("serve", &fleet.url, &fleet.bucket.url());
    command.args(["--listen", "127.0.0.1:0", "--data"]);
    command.arg(fleet.dir().join("without-cors"));
    let mut service = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(service.stderr.take().unwrap()).lines();
    let said = lines.find_map(|line| line.ok().filter(|line| line.contains("CORS rule")));
    service.kill().unwrap();
    service.wait().unwrap();
    assert!(said.unwrap().contains("AllowedMethods"));
}

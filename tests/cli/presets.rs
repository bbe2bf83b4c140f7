//! The presets that `assetfs optimize --preset` accepts, and those that it refuses before it starts.

use serde_json::json;

use super::support::Bench;

#[test]
fn a_preset_is_taken_in_every_form_that_it_travels_in() {
    let bench = Bench::with_chair();
    let config = json!({ "compressionAndExport": { "fileExports": [{ "fileType": "stl" }] },
        "exportName": "seat" });
    let forms = [
        ("bare.json", config.clone()),
        (
            "Web.api.json",
            json!({ "name": "Web", "description": "x", "config": config }),
        ),
        (
            "Web.rpdx",
            json!({ "rpdx_version": "2.5", "name": "Web", "config": config.to_string() }),
        ),
    ];
    for (name, form) in forms {
        bench.write(name, form.to_string().as_bytes());
        let out = format!("out of {name}");
        bench
            .optimize(&["chair", &out, "-p", name, "--no-pictures", "-q"])
            .expect(0);
        assert_eq!(bench.names(&out), ["analysis", "seat.stl"], "{name}");
    }
}

#[test]
fn what_is_no_preset_is_refused_with_its_reason() {
    let bench = Bench::with_chair();
    for (name, text, reason) in [
        (
            "a.json",
            r#"{"limits":{"faces":{"cuont":5}}}"#,
            "did you mean limits.faces.count?",
        ),
        (
            "b.rpdx",
            r#"{"rpdx_version":"2.5","name":"Web"}"#,
            "no \"config\"",
        ),
        (
            "c.json",
            r#"{"config":{"a":1},"limits":{}}"#,
            "has \"limits\" beside \"config\"",
        ),
        (
            "d.json",
            r#"{"exportName":5}"#,
            "exportName is 5; it must be a text",
        ),
        ("none.rpdx", "", "cannot read the preset none.rpdx"),
    ] {
        if !text.is_empty() {
            bench.write(name, text.as_bytes());
        }
        let refused = bench.optimize(&["chair", "out", "-p", name]).expect(2);
        assert!(refused.err().contains(reason), "{name}: {}", refused.err());
        assert!(bench.names("out").is_empty());
    }
}

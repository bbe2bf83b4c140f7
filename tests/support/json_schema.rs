//! Checks lines of JSON against the schemas in `docs/schemas`, as far as these use JSON Schema. A keyword that this file does
//! not know fails the test, so none is ignored.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Every line of `output` must be one of the forms that the schema of a command allows. Returns the lines.
pub fn check_lines(command: &str, output: &str) -> Vec<Value> {
    let schema = schema(&format!("{command}.json"));
    let lines = output.lines().map(|line| {
        let value: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{command}: {error}: {line}"));
        if let Err(why) = check(&schema, &value) {
            panic!("{command}: {why}\n{line}");
        }
        value
    });
    lines.collect()
}

/// The commands that `assetfs --help` lists.
pub fn commands(assetfs: &str) -> Vec<String> {
    let help = Command::new(assetfs).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.map(|line| line.split_whitespace().next().unwrap().to_owned());
    names.filter(|name| name != "help").collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas")
}

fn schema(name: &str) -> Value {
    let path = folder().join(name);
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn check(rule: &Value, value: &Value) -> Result<(), String> {
    let rule = rule.as_object().expect("a schema is an object");
    for (keyword, content) in rule {
        let is_fulfilled = match keyword.as_str() {
            "$schema" | "title" | "description" | "required" | "additionalProperties" => true,
            "$ref" => {
                check(&schema(content.as_str().unwrap()), value)?;
                true
            }
            "anyOf" => {
                let forms = content.as_array().unwrap();
                let found: Vec<_> = forms.iter().map(|form| check(form, value)).collect();
                if found.iter().all(Result::is_err) {
                    let why: Vec<String> = found.into_iter().filter_map(Result::err).collect();
                    return Err(format!("none of: {}", why.join("; ")));
                }
                true
            }
            "type" => {
                let names = content.as_array().cloned().unwrap_or(vec![content.clone()]);
                names.iter().any(|name| is_a(name.as_str().unwrap(), value))
            }
            "const" => content == value,
            "enum" => content.as_array().unwrap().contains(value),
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(content, item)?;
                }
                true
            }
            "properties" => {
                check_fields(rule, value)?;
                true
            }
            other => panic!("the keyword {other} is not known"),
        };
        if !is_fulfilled {
            return Err(format!("{value} is not {keyword} {content}"));
        }
    }
    Ok(())
}

fn check_fields(rule: &serde_json::Map<String, Value>, value: &Value) -> Result<(), String> {
    let Some(fields) = value.as_object() else {
        return Ok(());
    };
    let known = rule["properties"].as_object().unwrap();
    for name in rule["required"].as_array().unwrap() {
        if !fields.contains_key(name.as_str().unwrap()) {
            return Err(format!("{name} is missing"));
        }
    }
    for (name, field) in fields {
        match known.get(name) {
            Some(rule) => check(rule, field).map_err(|why| format!("{name}: {why}"))?,
            None if rule.get("additionalProperties").is_none() => {}
            None => return Err(format!("there is no field {name}")),
        }
    }
    Ok(())
}

fn is_a(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("the type {other} is not known"),
    }
}

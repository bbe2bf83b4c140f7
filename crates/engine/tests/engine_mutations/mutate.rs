//! Mutations of a file, drawn from a seed: the same seed makes the same file.
//!
//! Plain ones change bytes, cut, repeat and splice; those that know the format change one value in
//! JSON, one number in a text, or the bytes of one part of a GLB.

use assetfs_engine::document::glb;
use serde_json::{Value, json};

/// Reads a number from an environment variable, such as how many inputs a run tries, or the first seed.
pub fn number_of(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

/// A stream of numbers from a seed (SplitMix64).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`; 0 for 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            0
        } else {
            (self.roll() % end as u64) as usize
        }
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// A mutation of one of the samples.
pub fn mutated(samples: &[Vec<u8>], is_json: bool, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = dice.of(samples).clone();
    for _ in 0..=dice.below(3) {
        bytes = if glb::is_glb(&bytes) && dice.below(4) > 0 {
            glb_part(bytes, dice)
        } else if is_json && dice.below(4) > 0 {
            json_value(bytes, dice)
        } else if std::str::from_utf8(&bytes).is_ok() && dice.below(3) > 0 {
            text(bytes, dice)
        } else {
            plain(bytes, samples, dice)
        };
    }
    // A mutation may grow a file; what is tried is how little files behave.
    bytes.truncate(256 * 1024);
    bytes
}

fn plain(mut bytes: Vec<u8>, samples: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    if bytes.is_empty() {
        return vec![dice.roll() as u8];
    }
    let at = dice.below(bytes.len());
    let span = 1 + dice.below((bytes.len() - at).min(64));
    match dice.below(9) {
        0 => {
            for _ in 0..=dice.below(8) {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
        }
        1 => bytes[at] = *dice.of(&[0, 1, 0x7F, 0x80, 0xFF]),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..at + span)),
        4 => {
            let part = bytes[at..at + span].to_vec();
            let times = 1 + dice.below(40);
            bytes.splice(at..at, part.repeat(times));
        }
        5 => {
            // A part of a container is spliced with itself.
            let other = dice.of(samples);
            let from = dice.below(other.len().max(1)).min(other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        6 => bytes[at..at + span].fill(dice.roll() as u8),
        _ => number(&mut bytes, at, dice),
    }
    bytes
}

/// Writes a number that is hard on a reader.
fn number(bytes: &mut [u8], at: usize, dice: &mut Dice) {
    let aligned = if dice.below(2) == 0 { at & !3 } else { at };
    let value: Vec<u8> = match dice.below(4) {
        0 => dice
            .of(&[0u16, 1, 0x7FFF, 0x8000, 0xFFFF])
            .to_le_bytes()
            .to_vec(),
        1 => dice
            .of(&[
                0u32,
                1,
                0x7FFF_FFFF,
                0x8000_0000,
                0xFFFF_FFFF,
                0x1000_0000,
                0x5555_5556,
            ])
            .to_le_bytes()
            .to_vec(),
        2 => dice
            .of(&[
                f32::NAN,
                f32::INFINITY,
                -f32::INFINITY,
                1e38,
                -1e38,
                1e-45,
                0.0,
            ])
            .to_le_bytes()
            .to_vec(),
        _ => dice
            .of(&[u64::MAX, 1 << 63, 1 << 32, (1 << 32) - 1, 1 << 40])
            .to_le_bytes()
            .to_vec(),
    };
    for (to, from) in bytes[aligned..].iter_mut().zip(value) {
        *to = from;
    }
}

/// Changes a number, a word or a line of a text.
fn text(bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let mut runs = Vec::new();
    let mut start = None;
    for (at, byte) in bytes.iter().chain(b" ").enumerate() {
        match (is_digit(byte), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                runs.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    const NUMBERS: [&str; 16] = [
        "0",
        "-0",
        "-1",
        "1",
        "4294967295",
        "4294967296",
        "2147483648",
        "-2147483649",
        "99999999999999999999999",
        "1e400",
        "nan",
        "inf",
        "-inf",
        "1e-400",
        "",
        "0x10",
    ];
    match dice.below(4) {
        0 | 1 if !runs.is_empty() => {
            let (from, to) = *dice.of(&runs);
            let number = dice.of(&NUMBERS);
            [&bytes[..from], number.as_bytes(), &bytes[to..]].concat()
        }
        2 => {
            let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
            let (one, other) = (dice.below(lines.len()), dice.below(lines.len()));
            match dice.below(3) {
                0 => lines.swap(one, other),
                1 => drop(lines.remove(one)),
                _ => lines.insert(other, lines[one]),
            }
            lines.join(&b'\n')
        }
        _ => {
            let at = dice.below(bytes.len() + 1);
            let word = dice.of(&[
                "\0", "\r", "\"", "{", "}", "é", "/", "\\\n", " ", "#", "*", ":", "\t-",
            ]);
            let times = 1 + dice.below(3) * dice.below(200);
            [&bytes[..at], word.repeat(times).as_bytes(), &bytes[at..]].concat()
        }
    }
}

/// Changes the JSON or the binary chunk and joins a sound container again.
fn glb_part(bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    let Ok(parts) = glb::split("m.glb", &bytes.clone().into()) else {
        let one = [bytes.clone()];
        return plain(bytes, &one, dice);
    };
    let bin = parts.bin.unwrap_or_default().to_vec();
    if dice.below(2) == 0 || bin.is_empty() {
        glb::join(&json_value(parts.json.to_vec(), dice), &bin)
    } else {
        let one = [bin.clone()];
        glb::join(&parts.json, &plain(bin, &one, dice))
    }
}

fn json_value(bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    let Ok(mut json) = serde_json::from_slice::<Value>(&bytes) else {
        return text(bytes, dice);
    };
    let mut count = 0;
    visit(&mut json, &mut |_| count += 1);
    let (chosen, donor) = (dice.below(count), dice.below(count));
    let mut given = Value::Null;
    let mut at = 0;
    visit(&mut json, &mut |value| {
        if at == donor {
            given = value.clone();
        }
        at += 1;
    });
    at = 0;
    visit(&mut json, &mut |value| {
        if at == chosen {
            change(value, &given, dice);
        }
        at += 1;
    });
    json.to_string().into_bytes()
}

fn visit(value: &mut Value, each: &mut impl FnMut(&mut Value)) {
    each(value);
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| visit(value, each)),
        Value::Object(members) => members.values_mut().for_each(|value| visit(value, each)),
        _ => {}
    }
}

fn change(value: &mut Value, given: &Value, dice: &mut Dice) {
    let odd = || {
        vec![
            json!(-1),
            json!(0),
            json!(1),
            json!(2),
            json!(3),
            json!(0.5),
            json!(1e300),
            json!(-1e300),
            json!(4_294_967_295u64),
            json!(4_294_967_296u64),
            json!(u64::MAX),
            json!(1u64 << 40),
            json!(100_000_000),
            json!(16_777_217),
            json!(5121),
            json!(5125),
            json!(5126),
            json!("SCALAR"),
            json!("MAT4"),
            json!("VEC2"),
            json!(""),
            json!("../x"),
            json!("data:;base64,AAAA"),
            json!(true),
            Value::Null,
            json!([]),
            json!({}),
        ]
    };
    match (dice.below(5), &mut *value) {
        (0, Value::Array(list)) if !list.is_empty() => {
            let at = dice.below(list.len());
            if dice.below(2) == 0 {
                list.remove(at);
            } else {
                let copy = list[at].clone();
                for _ in 0..=dice.below(4) * dice.below(60) {
                    list.push(copy.clone());
                }
            }
        }
        (0, Value::Object(members)) if !members.is_empty() => {
            let at = dice.below(members.len());
            let key = members.keys().nth(at).expect("below their number").clone();
            members.remove(&key);
        }
        (1, Value::Number(number)) => {
            let near = number
                .as_i64()
                .unwrap_or(7)
                .wrapping_add(dice.below(9) as i64 - 4);
            *value = json!(near);
        }
        (2, _) => *value = given.clone(),
        _ => *value = dice.of(&odd()).clone(),
    }
}

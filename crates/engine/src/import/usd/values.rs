//! Values of attributes as numbers, whatever precision they are stored in.
//!
//! A value is the attribute's default; without one, its first time sample. What has another type than asked for counts as
//! absent, as in USD.

use openusd::gf::f16;
use openusd::sdf::{Path, Value};
use openusd::usd::{Attribute, Prim, TimeCode};

/// The value of an attribute at rest, or at a time.
pub(super) fn value(attribute: &Attribute, time: Option<f64>) -> Option<Value> {
    let at = |time: Option<TimeCode>| attribute.get_at::<Value>(time).ok().flatten();
    let found = match time {
        Some(time) => between_whole(attribute, time).or_else(|| at(Some(TimeCode::new(time)))),
        None => at(None).or_else(|| at(Some(TimeCode::EARLIEST))),
    };
    found.filter(|value| !matches!(value, Value::ValueBlock | Value::None))
}

/// The value of a number with a fraction at a time, if a sample beside it is a whole number. In layers of text, the library
/// takes those for integers, and holds them until the next sample.
fn between_whole(attribute: &Attribute, time: f64) -> Option<Value> {
    let kind = attribute.type_name().ok()??;
    if !matches!(kind.as_str(), "half" | "float" | "double") {
        return None;
    }
    let (before, after) = attribute
        .bracketing_time_samples(TimeCode::new(time))
        .ok()??;
    let at = |time: f64| attribute.get_at::<Value>(Some(TimeCode::new(time))).ok()?;
    let samples = [at(before)?, at(after)?];
    let is_whole = |value: &Value| {
        matches!(
            value,
            Value::Int(_) | Value::Int64(_) | Value::Uint(_) | Value::Uint64(_)
        )
    };
    if before >= after || !samples.iter().any(is_whole) {
        return None;
    }
    let [from, to] = [number(&samples[0])?, number(&samples[1])?];
    let share = ((time - before) / (after - before)).clamp(0.0, 1.0);
    Some(Value::Double(from + (to - from) * share))
}

/// The value of a prim's attribute at rest.
pub(super) fn of(prim: &Prim, name: &str) -> Option<Value> {
    value(&prim.attribute(name), None)
}

/// The text of a token or string attribute.
pub(super) fn text(prim: &Prim, name: &str) -> Option<String> {
    of(prim, name).and_then(|value| text_of(&value))
}

pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Token(token) => Some(token.as_str().to_owned()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

pub(super) fn texts(value: Value) -> Vec<String> {
    match value {
        Value::TokenVec(tokens) => tokens.iter().map(|it| it.as_str().to_owned()).collect(),
        Value::StringVec(texts) => texts,
        Value::TokenListOp(tokens) => {
            let tokens = tokens.flatten();
            tokens.iter().map(|it| it.as_str().to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn flag(prim: &Prim, name: &str) -> bool {
    match of(prim, name) {
        Some(Value::Bool(flag)) => flag,
        Some(Value::Int(number)) => number != 0,
        Some(Value::Uchar(number)) => number != 0,
        _ => false,
    }
}

/// The targets of a relationship.
pub(super) fn targets(prim: &Prim, name: &str) -> Vec<Path> {
    let mut targets = prim.relationship(name).targets().unwrap_or_default();
    targets.retain(is_plain);
    targets
}

/// Whether a path is one of a prim or property. The library looks for the parents of damaged ones without end.
pub(super) fn is_plain(path: &Path) -> bool {
    is_plain_text(path.as_str())
}

/// Whether a text can be part of a path of a prim or property.
pub(super) fn is_plain_text(text: &str) -> bool {
    let is_foreign = |letter: char| letter.is_whitespace() || "{}[]()".contains(letter);
    !text.contains(is_foreign)
}

/// A single number.
pub(super) fn number(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Double(number) => *number,
        Value::Float(number) => f64::from(*number),
        Value::Half(number) => f64::from(number.to_f32()),
        Value::Int(number) => f64::from(*number),
        Value::Uint(number) => f64::from(*number),
        Value::Int64(number) => *number as f64,
        Value::Uint64(number) => *number as f64,
        _ => return None,
    })
}

pub(super) fn integers(value: Value) -> Option<Vec<i64>> {
    Some(match value {
        Value::IntVec(list) => list.into_iter().map(i64::from).collect(),
        Value::UintVec(list) => list.into_iter().map(i64::from).collect(),
        Value::Int64Vec(list) => list,
        _ => return None,
    })
}

/// A list of numbers, or of vectors of `N` numbers; a single one is a list of one.
pub(super) fn vectors<const N: usize>(value: Value) -> Option<Vec<[f32; N]>> {
    let (numbers, width) = flat(value)?;
    if width != N {
        return None;
    }
    let list = numbers.chunks_exact(N);
    list.map(|part| part.try_into().ok()).collect()
}

/// The one vector of `N` numbers.
pub(super) fn vector<const N: usize>(value: Value) -> Option<[f32; N]> {
    vectors(value)?.into_iter().next()
}

/// The numbers of a value, and how many belong together. Quaternions are x, y, z, w.
fn flat(value: Value) -> Option<(Vec<f32>, usize)> {
    use Value as V;
    Some(match value {
        V::Half(one) => rows([one], |it| [it.to_f32()]),
        V::Float(one) => rows([one], |it| [it]),
        V::Double(one) => rows([one], |it| [it as f32]),
        V::HalfVec(list) => rows(list, |it| [it.to_f32()]),
        V::FloatVec(list) => rows(list, |it| [it]),
        V::DoubleVec(list) => rows(list, |it| [it as f32]),
        V::Vec2h(one) => rows([one], |it| [it.x, it.y].map(f16::to_f32)),
        V::Vec2f(one) => rows([one], |it| [it.x, it.y]),
        V::Vec2d(one) => rows([one], |it| [it.x, it.y].map(|part| part as f32)),
        V::Vec2hVec(list) => rows(list, |it| [it.x, it.y].map(f16::to_f32)),
        V::Vec2fVec(list) => rows(list, |it| [it.x, it.y]),
        V::Vec2dVec(list) => rows(list, |it| [it.x, it.y].map(|part| part as f32)),
        V::Vec3h(one) => rows([one], |it| [it.x, it.y, it.z].map(f16::to_f32)),
        V::Vec3f(one) => rows([one], |it| [it.x, it.y, it.z]),
        V::Vec3d(one) => rows([one], |it| [it.x, it.y, it.z].map(|part| part as f32)),
        V::Vec3hVec(list) => rows(list, |it| [it.x, it.y, it.z].map(f16::to_f32)),
        V::Vec3fVec(list) => rows(list, |it| [it.x, it.y, it.z]),
        V::Vec3dVec(list) => rows(list, |it| [it.x, it.y, it.z].map(|part| part as f32)),
        V::Vec4h(one) => rows([one], |it| [it.x, it.y, it.z, it.w].map(f16::to_f32)),
        V::Vec4f(one) => rows([one], |it| [it.x, it.y, it.z, it.w]),
        V::Vec4d(one) => rows([one], |it| [it.x, it.y, it.z, it.w].map(|part| part as f32)),
        V::Quath(one) => rows([one], |it| [it.x, it.y, it.z, it.w].map(f16::to_f32)),
        V::Quatf(one) => rows([one], |it| [it.x, it.y, it.z, it.w]),
        V::Quatd(one) => rows([one], |it| [it.x, it.y, it.z, it.w].map(|part| part as f32)),
        V::QuathVec(list) => rows(list, |it| [it.x, it.y, it.z, it.w].map(f16::to_f32)),
        V::QuatfVec(list) => rows(list, |it| [it.x, it.y, it.z, it.w]),
        V::QuatdVec(list) => rows(list, |it| [it.x, it.y, it.z, it.w].map(|part| part as f32)),
        _ => return None,
    })
}

fn rows<T, const N: usize>(
    list: impl IntoIterator<Item = T>,
    numbers_of: impl Fn(T) -> [f32; N],
) -> (Vec<f32>, usize) {
    (list.into_iter().flat_map(numbers_of).collect(), N)
}

/// The first target of a relationship of a prim, or of the nearest parent that has it.
pub(super) fn inherited_target(prim: &Prim, name: &str) -> Option<Path> {
    prim.path()
        .ancestors_below_root()
        .find_map(|path| targets(&prim.stage().prim(path), name).into_iter().next())
}

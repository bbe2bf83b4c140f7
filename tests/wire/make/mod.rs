//! Generates arbitrary records from a seed, with odd texts, missing fields and unknown ones.

mod account;
mod jobs;
mod models;

use assetfs::wire::*;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

/// A source of arbitrary values.
pub struct Maker(SmallRng);

impl Maker {
    pub fn new(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end)
    }

    pub fn flag(&mut self) -> bool {
        self.0.random()
    }

    pub fn number(&mut self) -> u64 {
        match self.below(3) {
            0 => self.below(10),
            1 => self.below(1 << 40),
            _ => self.0.random(),
        }
    }

    /// A fraction that every JSON reader parses exactly.
    pub fn fraction(&mut self) -> f64 {
        self.0.random_range(-1_000_000_i64..1_000_000) as f64 / 64.0
    }

    pub fn text(&mut self) -> String {
        let odd = [
            'a', 'Z', '0', ' ', '"', '\\', '/', '\n', '\u{0}', 'é', '漢', '🪑', '\u{202e}', '%',
            '?', '{',
        ];
        (0..self.below(9))
            .map(|_| *odd.choose(&mut self.0).unwrap())
            .collect()
    }

    pub fn url(&mut self) -> SignedUrl {
        SignedUrl::new(format!(
            "https://s.example/{}?sig={}",
            self.text(),
            self.number()
        ))
    }

    pub fn time(&mut self) -> Timestamp {
        let micros = self
            .0
            .random_range(-60_000_000_000_000_000_i64..250_000_000_000_000_000);
        Timestamp::from(jiff::Timestamp::from_microsecond(micros).unwrap())
    }

    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    pub fn list<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| make(self)).collect()
    }

    pub fn texts(&mut self) -> Vec<String> {
        self.list(Self::text)
    }

    pub fn json(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => self.flag().into(),
            2 => self.number().into(),
            3 => self.fraction().into(),
            4 => self.text().into(),
            5 => (0..self.below(3)).map(|_| self.json(depth - 1)).collect(),
            _ => self.object(depth - 1).into(),
        }
    }

    pub fn object(&mut self, depth: u64) -> Map<String, Value> {
        (0..self.below(4))
            .map(|_| (format!("x {}", self.text()), self.json(depth)))
            .collect()
    }

    /// Fields that this version does not know.
    fn other(&mut self) -> Map<String, Value> {
        self.object(2)
    }

    pub fn config(&mut self) -> OptimizerConfig {
        OptimizerConfig(self.object(3))
    }

    pub fn downloads(&mut self) -> Downloads {
        self.list(|m| (m.text(), m.url())).into_iter().collect()
    }

    pub fn page<T>(&mut self, make: impl FnMut(&mut Self) -> T) -> Page<T> {
        let button = |m: &mut Self| PageButton {
            url: m.maybe(Self::text),
            label: m.text(),
            active: m.flag(),
        };
        Page {
            data: self.list(make),
            links: PageLinks {
                first: self.text(),
                last: self.text(),
                prev: self.maybe(Self::text),
                next: self.maybe(Self::text),
            },
            meta: PageMeta {
                current_page: self.number(),
                from: self.maybe(Self::number),
                last_page: self.number(),
                links: self.list(button),
                path: self.text(),
                per_page: self.number(),
                to: self.maybe(Self::number),
                total: self.number(),
            },
            unreadable: 0,
        }
    }

    /// The JSON of a record with some fields, never its id, replaced by other values.
    pub fn spoil(&mut self, mut record: Value) -> Value {
        let map = record.as_object_mut().unwrap();
        let fields: Vec<String> = map.keys().filter(|key| *key != "id").cloned().collect();
        for field in fields {
            match self.below(4) {
                0 => drop(map.remove(&field)),
                1 => drop(map.insert(field, self.json(2))),
                2 => drop(map.insert(field, json!(null))),
                _ => {}
            }
        }
        record
    }
}

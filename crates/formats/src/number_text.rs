//! Formats numbers and counts for logs and errors.

/// `2847000` as `2,847,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1.5 MB`, in powers of 1000, as file managers show it and as sizes are given on the command line (`20G`).
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match (unit, value < 9.95) {
        (0, _) => format!("{number} B"),
        (_, true) => format!("{value:.1} {}", UNITS[unit]),
        (_, false) => format!("{value:.0} {}", UNITS[unit]),
    }
}

/// `1 accessor`, `3 accessors`, `2 meshes`.
pub fn counted(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{} {}", grouped(number), plural(thing)),
    }
}

/// `1 vertex was`, `3 vertices were`.
pub fn counted_were(number: u64, thing: &str) -> String {
    let verb = if number == 1 { "was" } else { "were" };
    format!("{} {verb}", counted(number, thing))
}

/// The plural of an English noun.
pub fn plural(thing: &str) -> String {
    if let Some(stem) = thing.strip_suffix("ex") {
        return format!("{stem}ices");
    }
    let ending = if thing.ends_with("sh") { "es" } else { "s" };
    format!("{thing}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_500_000), "1.5 MB");
        assert_eq!(bytes(47_300_000), "47 MB");
    }

    #[test]
    fn digits_are_grouped_by_three() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (2_847_000, "2,847,000"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(1, "mesh"), "1 mesh");
        assert_eq!(counted(2, "face"), "2 faces");
        assert_eq!(counted(0, "mesh"), "0 meshes");
        assert_eq!(counted_were(1, "vertex"), "1 vertex was");
        assert_eq!(counted_were(2_000, "vertex"), "2,000 vertices were");
    }
}

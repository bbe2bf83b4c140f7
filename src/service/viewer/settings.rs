//! A viewer configuration, read: each value is checked for what it is used for, and what does not pass
//! is as if it were not there.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::style::{color, declarations, is_all_harmless};
use crate::web_url::web_url;

/// The largest picture of a logo, in bytes of its data URI.
const MAX_LOGO_BYTES: usize = 2 << 20;

/// The numbers and their ranges.
const NUMBERS: &[(&str, RangeInclusive<f64>)] = &[
    ("shadowOpacity", 0.0..=2.0),
    ("shadowBlur", 0.0..=1.0),
    ("cameraMinVerticalAngle", 0.0..=180.0),
    ("cameraMaxVerticalAngle", 0.0..=180.0),
    ("cameraMinZoom", 0.01..=100.0),
    ("cameraMaxZoom", 0.01..=100.0),
    ("cameraContrast", 0.0..=4.0),
    ("cameraExposure", 0.0..=10.0),
    ("animationSpeed", 0.0..=100.0),
];

/// Lengths that a viewer shows.
const UNITS: &[&str] = &["m", "cm", "mm", "yd", "ft", "in"];

/// One logo of a page.
#[derive(Debug, PartialEq)]
pub struct Logo {
    /// Its place in the page: `company`, `product` or `three-d`.
    pub id: &'static str,
    /// The picture, a data URI.
    pub picture: String,
    /// A description of the picture for users who do not see it.
    pub alt: &'static str,
    /// The target of the link.
    pub link: Option<String>,
    /// Its style.
    pub style: String,
}

/// The texts of a configuration.
#[derive(Debug)]
pub struct ViewerSettings {
    values: Map<String, Value>,
}

impl ViewerSettings {
    /// Reads a configuration; what is no JSON object has no settings.
    pub fn read(text: &str) -> ViewerSettings {
        ViewerSettings {
            values: serde_json::from_str(text).unwrap_or_default(),
        }
    }

    /// A value as text; numbers and truth values count as their texts.
    fn text(&self, name: &str) -> Option<String> {
        match self.values.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Whether something is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name)
            .is_some_and(|text| text.trim().eq_ignore_ascii_case("true"))
    }

    /// Whether something that is on by itself was turned off.
    pub fn is_off(&self, name: &str) -> bool {
        self.text(name)
            .is_some_and(|text| text.trim().eq_ignore_ascii_case("false"))
    }

    /// A number, held within its range.
    pub fn number(&self, name: &str) -> Option<f64> {
        let (_, range) = NUMBERS.iter().find(|(known, _)| *known == name)?;
        let number = self.given_number(name)?;
        Some(number.clamp(*range.start(), *range.end()))
    }

    fn given_number(&self, name: &str) -> Option<f64> {
        let number: f64 = self.text(name)?.trim().parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// A colour.
    pub fn color(&self, name: &str) -> Option<String> {
        color(&self.text(name)?).map(str::to_owned)
    }

    /// Harmless CSS declarations.
    pub fn style(&self, name: &str) -> String {
        declarations(&self.text(name).unwrap_or_default())
    }

    /// A unit of length, or `default`.
    pub fn unit(&self, name: &str, default: &'static str) -> &'static str {
        let text = self.text(name).unwrap_or_default();
        let known = UNITS.iter().find(|unit| **unit == text.trim());
        known.copied().unwrap_or(default)
    }

    /// Units of length between commas.
    pub fn units(&self, name: &str) -> String {
        let text = self.text(name).unwrap_or_default();
        let asked: Vec<&str> = text.split(',').map(str::trim).collect();
        let known: Vec<&str> = asked.into_iter().filter(|unit| is_unit(unit)).collect();
        known.join(",")
    }

    /// The picture around the model: of the data itself, for a page loads nothing from elsewhere.
    pub fn environment(&self) -> Option<String> {
        picture(&self.text("environmentURL")?)
    }

    /// The logos that are on.
    pub fn logos(&self) -> Vec<Logo> {
        let kinds = [
            ("company", "Company", "companyLogo", Some("companyLink")),
            ("product", "Product", "productLogo", Some("productLink")),
            ("three-d", "3D", "threeDLogo", None),
        ];
        let logo = |(id, alt, name, link): (&'static str, &'static str, &str, Option<&str>)| {
            if self.is_off(&format!("{name}Toggle")) {
                return None;
            }
            Some(Logo {
                id,
                alt,
                picture: picture(&self.text(name)?)?,
                link: link.and_then(|link| web_link(&self.text(link)?)),
                style: self.style(&format!("{name}CSS")),
            })
        };
        kinds.into_iter().filter_map(logo).collect()
    }
}

// Keys, grouped by the kind of their values.
const PICTURES: &[&str] = &["environmentURL", "companyLogo", "productLogo", "threeDLogo"];
const LINKS: &[&str] = &["companyLink", "productLink"];
const COLORS: &[&str] = &[
    "gradientBackgroundColor1",
    "gradientBackgroundColor2",
    "plainBackgroundColor",
];
const FLAGS: &[&str] = &[
    "companyLogoToggle",
    "productLogoToggle",
    "threeDLogoToggle",
    "skyBoxEnabled",
    "shadowToggle",
    "cameraPanning",
    "enableSimpleMeasurement",
    "enableCoordinateDisplay",
    "enableARBtn",
    "enableAnimationControl",
    "backgroundIsGradient",
    "backgroundIsColor",
];
const STYLES: &[&str] = &[
    "renderCanvasCSS",
    "interactiveToolsCSS",
    "companyLogoCSS",
    "productLogoCSS",
    "threeDLogoCSS",
];

impl ViewerSettings {
    /// The keys whose values cannot be used, so that they have no effect. An empty value counts as not given.
    pub fn dropped(&self) -> Vec<&'static str> {
        let fails = |is_good: &dyn Fn(&str) -> bool, names: &'static [&'static str]| {
            let bad = |name: &&'static str| self.given(name).is_some_and(|text| !is_good(&text));
            names.iter().copied().filter(bad).collect::<Vec<_>>()
        };
        let numbers = NUMBERS.iter().map(|(name, _)| *name);
        let no_number =
            |name: &&str| self.given(name).is_some() && self.given_number(name).is_none();
        let is_flag = |text: &str| {
            let text = text.trim();
            text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
        };
        [
            fails(&|text| picture(text).is_some(), PICTURES),
            fails(&|text| web_link(text).is_some(), LINKS),
            fails(&|text| color(text).is_some(), COLORS),
            numbers.filter(no_number).collect(),
            fails(&is_flag, FLAGS),
            fails(&|text| !declarations(text).is_empty(), STYLES),
            fails(&is_unit, &["baseUnit", "displayUnit"]),
            fails(&|text| text.split(',').any(is_unit), &["displayUnits"]),
        ]
        .concat()
    }

    /// The keys with values of several parts, of which some are used and others cannot be.
    pub fn partly_used(&self) -> Vec<&'static str> {
        let has_bad_parts = |name: &&'static str| match (*name, self.given(name)) {
            (_, None) => false,
            ("displayUnits", Some(units)) => !units.split(',').all(is_unit),
            (_, Some(style)) => !is_all_harmless(&style),
        };
        let dropped = self.dropped();
        let keys = STYLES.iter().copied().chain(["displayUnits"]);
        keys.filter(has_bad_parts)
            .filter(|name| !dropped.contains(name))
            .collect()
    }

    /// The keys whose numbers are out of range, each with its range.
    pub fn out_of_range(&self) -> Vec<String> {
        let is_outside = |(name, range): &&(&str, RangeInclusive<f64>)| {
            self.given_number(name)
                .is_some_and(|number| !range.contains(&number))
        };
        let shown = |(name, range): &(&str, RangeInclusive<f64>)| {
            format!("{name} ({} to {})", range.start(), range.end())
        };
        NUMBERS.iter().filter(is_outside).map(shown).collect()
    }

    /// A value that is not empty.
    fn given(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.trim().is_empty())
    }
}

fn is_unit(text: &str) -> bool {
    UNITS.contains(&text.trim())
}

/// A data URI of a picture in a form that browsers show and never run.
fn picture(text: &str) -> Option<String> {
    let (kind, data) = text
        .trim()
        .strip_prefix("data:image/")?
        .split_once(";base64,")?;
    let known = ["png", "jpeg", "gif", "webp", "svg+xml"].contains(&kind);
    let plain = data
        .bytes()
        .all(|c| c.is_ascii_alphanumeric() || b"+/=".contains(&c));
    (known && plain && text.len() <= MAX_LOGO_BYTES).then(|| text.trim().to_owned())
}

/// A link to the web.
fn web_link(text: &str) -> Option<String> {
    web_url(text.trim()).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_pictures_of_other_kinds_are_left_out() {
        assert_eq!(web_link("javascript:alert(1)"), None);
        assert_eq!(web_link(" JaVaScRiPt:alert(1)"), None);
        assert_eq!(web_link("data:text/html,x"), None);
        assert_eq!(
            web_link("https://x.test/?a=\"b").unwrap(),
            "https://x.test/?a=%22b"
        );
        assert!(picture("data:image/png;base64,AAAA").is_some());
        for bad in [
            "data:text/html;base64,AAAA",
            "data:image/png,AAAA",
            "data:image/png;base64,AA\"onload=",
            "https://x.test/logo.png",
        ] {
            assert_eq!(picture(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_logo_that_is_turned_off_is_left_out() {
        let settings = ViewerSettings::read(
            r#"{"companyLogo": "data:image/png;base64,AA==", "companyLink": "https://x.test/",
                "productLogo": "data:image/png;base64,AA==", "productLogoToggle": "false"}"#,
        );
        let logos = settings.logos();
        assert_eq!(logos.len(), 1);
        assert_eq!(logos[0].link.as_deref(), Some("https://x.test/"));
    }

    #[test]
    fn values_that_have_no_effect_are_named() {
        let settings = ViewerSettings::read(
            r#"{"companyLogo": "https://x.test/logo.png", "companyLink": "javascript:x", "shadowOpacity": "dark",
                "plainBackgroundColor": "notacolor;", "cameraPanning": "maybe", "baseUnit": "parsec",
                "displayUnits": "m, cm", "productLink": "", "animationSpeed": "2"}"#,
        );
        let dropped = [
            "companyLogo",
            "companyLink",
            "plainBackgroundColor",
            "shadowOpacity",
            "cameraPanning",
            "baseUnit",
        ];
        assert_eq!(settings.dropped(), dropped);
    }

    #[test]
    fn numbers_are_held_within_their_range_and_those_outside_are_named() {
        let settings = ViewerSettings::read(
            r#"{"shadowOpacity": "7.5", "shadowBlur": "1e999", "cameraExposure": 3, "cameraContrast": "x",
                "cameraMinZoom": "-1", "cameraMaxZoom": "100"}"#,
        );
        assert_eq!(settings.number("shadowOpacity"), Some(2.0));
        assert_eq!(settings.number("shadowBlur"), None);
        assert_eq!(settings.number("cameraExposure"), Some(3.0));
        assert_eq!(settings.number("cameraContrast"), None);
        assert_eq!(settings.number("cameraMinZoom"), Some(0.01));
        assert_eq!(
            settings.out_of_range(),
            ["shadowOpacity (0 to 2)", "cameraMinZoom (0.01 to 100)"]
        );
        assert_eq!(settings.dropped(), ["shadowBlur", "cameraContrast"]);
    }

    #[test]
    fn values_of_which_a_part_cannot_be_used_are_named_apart_from_those_without_effect() {
        let settings = ViewerSettings::read(
            r#"{"displayUnits": "m, parsec", "renderCanvasCSS": "width:1px;behavior:url(x)",
                "companyLogoCSS": "top:0;", "productLogoCSS": "behavior:none"}"#,
        );
        assert_eq!(settings.units("displayUnits"), "m");
        assert_eq!(settings.partly_used(), ["renderCanvasCSS", "displayUnits"]);
        assert_eq!(settings.dropped(), ["productLogoCSS"]);
        let settings = ViewerSettings::read(r#"{"displayUnits": "parsec,ell"}"#);
        assert!(settings.partly_used().is_empty());
        assert_eq!(settings.dropped(), ["displayUnits"]);
    }
}

//! Converts a viewer configuration to attributes of the element `model-viewer`: its attributes.

use super::exhibit::{Exhibit, escaped};
use super::settings::ViewerSettings;

/// The attributes of the viewer element, each escaped.
pub(super) fn attributes(exhibit: &Exhibit<'_>, settings: &ViewerSettings) -> String {
    let file = |name: &str| format!("{}/{name}", exhibit.identifier);
    let mut list: Vec<(&str, String)> = vec![
        ("src", file("model.glb")),
        ("alt", exhibit.name.to_owned()),
        ("camera-controls", String::new()),
        ("touch-action", "pan-y".to_owned()),
        (
            "data-measure",
            settings.is_on("enableSimpleMeasurement").to_string(),
        ),
        (
            "data-coordinates",
            settings.is_on("enableCoordinateDisplay").to_string(),
        ),
        ("data-base-unit", settings.unit("baseUnit", "m").to_owned()),
        (
            "data-display-unit",
            settings.unit("displayUnit", "cm").to_owned(),
        ),
        ("data-display-units", settings.units("displayUnits")),
        (
            "data-animation",
            (!settings.is_off("enableAnimationControl")).to_string(),
        ),
        (
            "data-animation-speed",
            settings.number("animationSpeed").unwrap_or(1.0).to_string(),
        ),
    ];
    let is_still = settings.number("animationSpeed") == Some(0.0);
    if !settings.is_off("enableAnimationControl") && !is_still {
        list.push(("autoplay", String::new()));
    }
    if exhibit.has_poster {
        list.push(("poster", file("poster.jpg")));
    }
    // WebXR in the page itself, else the viewers of Android and of Apple.
    if settings.is_on("enableARBtn") || exhibit.has_usdz && !settings.is_off("enableARBtn") {
        list.push(("ar", String::new()));
        list.push(("ar-modes", "webxr scene-viewer quick-look".to_owned()));
        if exhibit.has_usdz {
            list.push(("ios-src", file("model.usdz")));
        }
    }
    list.extend(camera(settings));
    list.extend(light(settings));
    let written = list
        .iter()
        .map(|(name, value)| format!(r#"{name}="{}""#, escaped(value)));
    written.collect::<Vec<_>>().join(" ")
}

fn camera(settings: &ViewerSettings) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    if settings.is_off("cameraPanning") {
        list.push(("disable-pan", String::new()));
    }
    let exposure = settings.number("cameraExposure");
    list.extend(exposure.map(|exposure| ("exposure", exposure.to_string())));
    for (attribute, angle, zoom) in [
        (
            "min-camera-orbit",
            "cameraMinVerticalAngle",
            "cameraMinZoom",
        ),
        (
            "max-camera-orbit",
            "cameraMaxVerticalAngle",
            "cameraMaxZoom",
        ),
    ] {
        let angle = settings.number(angle);
        let zoom = settings.number(zoom);
        if angle.is_some() || zoom.is_some() {
            let angle = angle.map_or("auto".to_owned(), |angle| format!("{angle}deg"));
            let zoom = zoom.map_or("auto".to_owned(), |zoom| format!("{}%", zoom * 100.0));
            list.push((attribute, format!("auto {angle} {zoom}")));
        }
    }
    list
}

fn light(settings: &ViewerSettings) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    if !settings.is_off("shadowToggle") {
        let opacity = settings.number("shadowOpacity").unwrap_or(1.0);
        list.push(("shadow-intensity", opacity.to_string()));
        let blur = settings.number("shadowBlur");
        list.extend(blur.map(|blur| ("shadow-softness", blur.to_string())));
    }
    if let Some(environment) = settings.environment() {
        let attribute = if settings.is_on("skyBoxEnabled") {
            "skybox-image"
        } else {
            "environment-image"
        };
        list.push((attribute, environment));
    }
    list
}

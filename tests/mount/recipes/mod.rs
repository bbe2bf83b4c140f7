//! The recipes of `docs/recipes.md`, each taken out of the document and run on a real mount.

mod blender;
mod building;
mod document;
mod keeping;
mod machines;
mod shop;
mod workplace;

use document::{Recipe, write};
use workplace::{MODELS, Workplace};

#[test]
fn every_recipe_has_its_test() {
    let recipes = Recipe::all();
    let titles: Vec<_> = recipes.iter().map(Recipe::title).collect();
    assert_eq!(
        titles,
        [
            "Make",
            "CI with budgets",
            "Two machines",
            "Nightly sync",
            "Shop manifest",
            "Points of a month",
            "Hot folder",
            "Blender",
            "Nightly backup",
            "Render farm",
            "Sharing a model on a web page"
        ],
        "a recipe without a test here may not work"
    );
}

//! Leaves out small loose pieces, where so many remain that a careful simplification leaves few triangles for the shape of the
//! large ones, or none.
//!
//! Several numbers of pieces are tried: in their coarsest form, the pieces that stay may take a share of the budget, and the
//! rest is for the shape of the large ones. The shares are powers of two, so slightly different budgets try the same
//! pieces.

use std::collections::HashSet;

use rayon::prelude::*;

use super::joined::JoinedMesh;
use super::joined::pieces::{MIN_PIECE_TRIANGLES, Pieces};
use super::meshopt_calls::{self, Method};
use super::reach::{Attempt, reach_whole};

/// Number of shares of the budget that are tried for the pieces that stay, each half of the one before.
const SHARES: u32 = 4;

/// The attempts with some of the loose pieces. `careful` is the one with all of them.
pub(super) fn thinned(
    source: &JoinedMesh,
    pieces: &Pieces,
    careful: &Attempt,
    budget: u64,
) -> Vec<Attempt> {
    let full = pieces.drawn_in(source);
    let coarse = match careful.triangles() > budget {
        true => pieces.drawn_in(&careful.joined),
        false => {
            let mut coarsest = source.clone();
            meshopt_calls::simplify(&mut coarsest, 0, Method::Careful);
            pieces.drawn_in(&coarsest)
        }
    };
    let largest = pieces.largest_of_parts();
    let order = pieces.by_importance();
    let costs: Vec<Cost> = full.iter().zip(coarse).map(Cost::new).collect();
    let mut tried = HashSet::new();
    // A model of one triangle has a budget of zero.
    let largest_share = budget.checked_ilog2().map_or(0, |power| 1u64 << power);
    let choices: Vec<Vec<bool>> = (0..SHARES)
        .map(|step| choose(&largest, &order, &costs, largest_share >> step, budget))
        .filter(|kept| kept.contains(&false) && tried.insert(kept.clone()))
        .collect();
    choices
        .par_iter()
        .map(|kept| {
            let some = source.filtered(|corner| kept[pieces.of(corner)]);
            let attempt = reach_whole(&some, budget, Method::Careful);
            match attempt.triangles() <= budget {
                true => Attempt {
                    method: Method::Pruning,
                    ..attempt
                },
                false => reach_whole(&some, budget, Method::Sloppy),
            }
        })
        .collect()
}

/// The triangles of a piece, as a viewer counts them.
#[derive(Debug, Clone, Copy)]
struct Cost {
    full: u64,
    coarsest: u64,
}

impl Cost {
    fn new((full, coarse): (&u64, u64)) -> Cost {
        Cost {
            full: *full,
            coarsest: coarse.clamp((*full).min(MIN_PIECE_TRIANGLES), *full),
        }
    }
}

/// For each piece whether it stays: the largest of each part, and of the others in their order all that fit into the room
/// in their coarsest form, or into the budget as they are.
fn choose(largest: &[usize], order: &[usize], costs: &[Cost], room: u64, budget: u64) -> Vec<bool> {
    let mut kept = vec![false; costs.len()];
    let (mut full, mut coarsest) = (0, 0);
    for piece in largest {
        kept[*piece] = true;
        full += costs[*piece].full;
        coarsest += costs[*piece].coarsest;
    }
    for piece in order {
        let cost = costs[*piece];
        let fits = coarsest + cost.coarsest <= room || full + cost.full <= budget;
        if !kept[*piece] && fits {
            kept[*piece] = true;
            full += cost.full;
            coarsest += cost.coarsest;
        }
    }
    kept
}

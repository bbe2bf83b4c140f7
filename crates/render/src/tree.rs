//! A bounding volume hierarchy over triangles, which finds the point of a surface that is nearest to another point.
//!
//! Children of a node lie next to each other, and leaves hold few triangles in the order of the tree, so that a search
//! touches little memory. The result does not depend on the shape of the tree.

mod build;

use glam::Vec3A;

/// Entries of a search's stack: one for each level of the tree and one more.
const DEEPEST: usize = build::MAX_LEVELS + 1;

#[derive(Debug, Clone, Copy)]
struct Node {
    low: Vec3A,
    high: Vec3A,
    /// The first child, or the first triangle of a leaf.
    first: u32,
    /// Triangles of a leaf; 0 for a node with two children.
    count: u32,
}

impl Node {
    fn distance_squared(&self, point: Vec3A) -> f32 {
        (point - point.clamp(self.low, self.high)).length_squared()
    }

    /// Where a ray comes into the box, if that is before `within` lengths of its direction. A NaN stands for a ray that
    /// runs in a side of the box.
    fn entry(&self, ray: &Ray, within: f32) -> Option<f32> {
        let (low, high) = (
            (self.low - ray.origin) * ray.inverse,
            (self.high - ray.origin) * ray.inverse,
        );
        let enters = low.min(high).max_element();
        let leaves = low.max(high).min_element();
        let passes = enters > leaves || leaves < 0.0 || enters > within;
        (!passes).then_some(enters)
    }
}

/// A ray from a point.
#[derive(Debug, Clone, Copy)]
struct Ray {
    origin: Vec3A,
    direction: Vec3A,
    /// One over the direction.
    inverse: Vec3A,
}

impl Ray {
    fn new(origin: Vec3A, direction: Vec3A) -> Ray {
        Ray {
            origin,
            direction,
            inverse: direction.recip(),
        }
    }
}

/// The nearest point of a surface.
#[derive(Debug, Clone, Copy)]
pub struct Nearest {
    pub point: Vec3A,
    pub distance_squared: f32,
    /// The triangle, by its place in the list that the tree was made of.
    pub triangle: u32,
    /// Where the tree stores the triangle. It can be the guess of the next search.
    pub leaf: LeafPlace,
}

/// Where a ray meets a triangle.
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    /// In lengths of the ray's direction.
    pub distance: f32,
    /// Whether the ray comes from the side from which the corners run counter-clockwise.
    pub is_front: bool,
    /// The triangle, by its place in the list that the tree was made of.
    pub triangle: u32,
    /// Where the tree keeps the triangle: a guess for the next ray.
    pub leaf: LeafPlace,
}

/// The place of a triangle in the leaves of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafPlace(u32);

#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    /// In the order of the leaves, with their places in the list.
    corners: Vec<[Vec3A; 3]>,
    places: Vec<u32>,
}

impl Tree {
    /// The tree over triangles given by their corners.
    pub fn new(triangles: &[[Vec3A; 3]]) -> Tree {
        let (nodes, places) = build::build(triangles);
        Tree {
            nodes,
            corners: places
                .iter()
                .map(|place| triangles[*place as usize])
                .collect(),
            places,
        }
    }

    /// The point nearest to `point`, if one is nearer than the root of `within`.
    pub fn nearest(&self, point: Vec3A, within: f32) -> Option<Nearest> {
        self.nearest_of(point, within, |_| true)
    }

    /// As [`nearest`](Tree::nearest), but only on triangles for which `counts` is true; it gets their places in the list.
    pub fn nearest_of(
        &self,
        point: Vec3A,
        within: f32,
        counts: impl Fn(u32) -> bool,
    ) -> Option<Nearest> {
        let mut best: Option<Nearest> = None;
        let mut limit = within;
        if self.nodes.is_empty() {
            return None;
        }
        let mut waiting = [(0u32, 0f32); DEEPEST];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (place, distance) = waiting[depth];
            if distance > limit {
                continue;
            }
            let node = &self.nodes[place as usize];
            if node.count > 0 {
                for at in node.first..node.first + node.count {
                    let found = self.nearest_in(LeafPlace(at), point);
                    if found.distance_squared < limit && counts(found.triangle) {
                        limit = found.distance_squared;
                        best = Some(found);
                    }
                }
                continue;
            }
            let [one, other] = [node.first, node.first + 1]
                .map(|child| (child, self.nodes[child as usize].distance_squared(point)));
            let (near, far) = if one.1 <= other.1 {
                (one, other)
            } else {
                (other, one)
            };
            waiting[depth] = far;
            waiting[depth + 1] = near;
            depth += 2;
        }
        best
    }

    /// The nearest point of one triangle.
    pub fn nearest_in(&self, leaf: LeafPlace, point: Vec3A) -> Nearest {
        let at = leaf.0 as usize;
        let found = nearest_on(point, &self.corners[at]);
        Nearest {
            point: found,
            distance_squared: (found - point).length_squared(),
            triangle: self.places[at],
            leaf,
        }
    }

    /// The corners of a triangle.
    pub fn corners_of(&self, leaf: LeafPlace) -> &[Vec3A; 3] {
        &self.corners[leaf.0 as usize]
    }

    /// The first triangle that a ray meets, nearer than `within` lengths of its direction.
    pub fn first_hit(&self, origin: Vec3A, direction: Vec3A, within: f32) -> Option<Hit> {
        self.first_hit_of(origin, direction, within, None, |_| true)
    }

    /// As [`first_hit`](Tree::first_hit), but the ray goes through hits for which `counts` is false. A good `guess`, as the
    /// triangle that a ray beside this one met, makes the search shorter.
    pub fn first_hit_of(
        &self,
        origin: Vec3A,
        direction: Vec3A,
        within: f32,
        guess: Option<LeafPlace>,
        counts: impl Fn(&Hit) -> bool,
    ) -> Option<Hit> {
        let ray = Ray::new(origin, direction);
        let guessed = guess.and_then(|leaf| self.hit_at(leaf.0, &ray, within));
        let mut best = guessed.filter(|hit| counts(hit));
        let limit = best.map_or(within, |hit| hit.distance);
        self.walk(&ray, limit, |hit| {
            counts(&hit).then(|| {
                best = Some(hit);
                hit.distance
            })
        });
        best
    }

    /// All hits of a ray that are nearer than `within` times the length of its direction, sorted by distance.
    pub fn hits(&self, origin: Vec3A, direction: Vec3A, within: f32) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.walk(&Ray::new(origin, direction), within, |hit| {
            hits.push(hit);
            None
        });
        hits.sort_unstable_by(|one, other| {
            let by_distance = one.distance.total_cmp(&other.distance);
            by_distance.then(one.triangle.cmp(&other.triangle))
        });
        hits
    }

    /// Calls `met` for each hit of a ray that is nearer than `limit`. If `met` returns a distance, it becomes the new limit.
    fn walk(&self, ray: &Ray, mut limit: f32, mut met: impl FnMut(Hit) -> Option<f32>) {
        if self.nodes.is_empty() {
            return;
        }
        let mut waiting = [(0u32, 0f32); DEEPEST];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (place, enters) = waiting[depth];
            if enters > limit {
                continue;
            }
            let node = &self.nodes[place as usize];
            if node.count > 0 {
                for at in node.first..node.first + node.count {
                    let hit = self.hit_at(at, ray, limit);
                    limit = hit.and_then(&mut met).unwrap_or(limit);
                }
                continue;
            }
            let entry = |child: u32| {
                let enters = self.nodes[child as usize].entry(ray, limit)?;
                Some((child, enters))
            };
            match (entry(node.first), entry(node.first + 1)) {
                (Some(one), Some(other)) => {
                    let is_ordered = one.1 <= other.1;
                    waiting[depth] = if is_ordered { other } else { one };
                    waiting[depth + 1] = if is_ordered { one } else { other };
                    depth += 2;
                }
                (Some(one), None) | (None, Some(one)) => {
                    waiting[depth] = one;
                    depth += 1;
                }
                (None, None) => {}
            }
        }
    }

    /// The hit of a ray on the triangle that the tree stores at `at`, if it is nearer than `limit`.
    fn hit_at(&self, at: u32, ray: &Ray, limit: f32) -> Option<Hit> {
        let (distance, is_front) = meet(ray.origin, ray.direction, &self.corners[at as usize])?;
        (distance < limit).then(|| Hit {
            distance,
            is_front,
            triangle: self.places[at as usize],
            leaf: LeafPlace(at),
        })
    }
}

/// Where a ray meets a triangle, by Möller and Trumbore ("Fast, Minimum Storage Ray/Triangle Intersection", 1997): the
/// distance in lengths of the direction, and whether it meets the front.
fn meet(origin: Vec3A, direction: Vec3A, [a, b, c]: &[Vec3A; 3]) -> Option<(f32, bool)> {
    let (ab, ac) = (*b - *a, *c - *a);
    let across = direction.cross(ac);
    let determinant = ab.dot(across);
    // A determinant of 0 makes what follows infinite or not a number.
    let inverse = determinant.recip();
    let from = origin - *a;
    let u = from.dot(across) * inverse;
    // Most triangles of a leaf are passed, and a NaN must count as that.
    if !(0.0..=1.0).contains(&u) {
        return None;
    }
    let along = from.cross(ab);
    let v = direction.dot(along) * inverse;
    let distance = ac.dot(along) * inverse;
    let is_met = v >= 0.0 && u + v <= 1.0 && distance > 0.0;
    is_met.then_some((distance, determinant > 0.0))
}

/// The point of a triangle nearest to `point`, by the regions around its corners, edges and face.
fn nearest_on(point: Vec3A, [a, b, c]: &[Vec3A; 3]) -> Vec3A {
    let (ab, ac, ap) = (*b - *a, *c - *a, point - *a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return *a;
    }
    let bp = point - *b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return *b;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return *a + ab * (d1 / (d1 - d3));
    }
    let cp = point - *c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return *c;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return *a + ac * (d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    let (along, against) = (d4 - d3, d5 - d6);
    if va <= 0.0 && along >= 0.0 && against >= 0.0 {
        return *b + (*c - *b) * (along / (along + against));
    }
    let sum = va + vb + vc;
    *a + ab * (vb / sum) + ac * (vc / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soup(count: u32) -> Vec<[Vec3A; 3]> {
        let mut state = 7u32;
        let mut number = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        (0..count)
            .map(|_| {
                let corner = Vec3A::new(number(), number(), number()) * 10.0;
                let mut near = || corner + Vec3A::new(number(), number(), number());
                [corner, near(), near()]
            })
            .collect()
    }

    #[test]
    fn tree_finds_what_a_look_at_every_triangle_finds() {
        let triangles = soup(500);
        let tree = Tree::new(&triangles);
        for [point, ..] in soup(200) {
            let point = point * 1.4 - Vec3A::splat(2.0);
            let found = tree.nearest(point, f32::INFINITY).unwrap();
            let exact = triangles
                .iter()
                .map(|triangle| (nearest_on(point, triangle) - point).length_squared())
                .fold(f32::INFINITY, f32::min);
            assert_eq!(found.distance_squared, exact);
            let again = tree.nearest_in(found.leaf, point);
            assert_eq!((again.triangle, again.point), (found.triangle, found.point));
        }
    }

    #[test]
    fn ray_meets_first_what_a_look_at_every_triangle_finds() {
        let triangles = soup(500);
        let tree = Tree::new(&triangles);
        let mut met_any = 0;
        for [origin, towards, ..] in soup(200) {
            let direction = (towards - origin).normalize();
            let found = tree.first_hit(origin, direction, f32::INFINITY);
            let exact = triangles
                .iter()
                .filter_map(|triangle| meet(origin, direction, triangle))
                .map(|(distance, _)| distance)
                .fold(f32::INFINITY, f32::min);
            met_any += usize::from(found.is_some());
            assert_eq!(found.map_or(f32::INFINITY, |hit| hit.distance), exact);
            let all = tree.hits(origin, direction, f32::INFINITY);
            let is_met = |triangle: &&[Vec3A; 3]| meet(origin, direction, triangle).is_some();
            assert_eq!(all.len(), triangles.iter().filter(is_met).count());
            assert!(all.is_sorted_by_key(|hit| hit.distance));
            assert_eq!(
                all.first().map(|hit| hit.triangle),
                found.map(|hit| hit.triangle)
            );
            // A guess changes nothing, whether it is right, wrong or too far.
            for guess in [found.map_or(LeafPlace(0), |hit| hit.leaf), LeafPlace(7)] {
                let guessed =
                    tree.first_hit_of(origin, direction, f32::INFINITY, Some(guess), |_| true);
                assert_eq!(
                    guessed.map(|hit| hit.triangle),
                    found.map(|hit| hit.triangle)
                );
            }
        }
        assert!(met_any > 20, "only {met_any} rays met a triangle");
        let up = [Vec3A::ZERO, Vec3A::X, Vec3A::Y];
        let tree = Tree::new(&[up]);
        let from = |z: f32| Vec3A::new(0.2, 0.2, z);
        assert!(
            tree.first_hit(from(1.0), Vec3A::NEG_Z, 2.0)
                .unwrap()
                .is_front
        );
        assert!(!tree.first_hit(from(-1.0), Vec3A::Z, 2.0).unwrap().is_front);
        assert!(tree.first_hit(from(1.0), Vec3A::NEG_Z, 0.9).is_none());
        assert!(tree.first_hit(from(1.0), Vec3A::Z, 2.0).is_none());
    }

    #[test]
    fn nothing_is_near_where_nothing_is() {
        assert!(Tree::new(&[]).nearest(Vec3A::ZERO, f32::INFINITY).is_none());
        let far = [Vec3A::ONE, Vec3A::X + Vec3A::ONE, Vec3A::Y + Vec3A::ONE];
        assert!(Tree::new(&[far]).nearest(Vec3A::ZERO, 1.0).is_none());
    }
}

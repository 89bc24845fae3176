//! A small evolution strategy on the Rastrigin function: a grid of local minima around one
//! global minimum of 0 at the origin.
//!
//! Each iteration draws children around a centre, normally distributed with the step size, and
//! moves the centre to the mean of the best of them. With steps much smaller than the grid the
//! centre ends in the nearest local minimum and stays there; with larger ones it finds better
//! basins.
//!
//! References: I. Rechenberg, Evolutionsstrategie (1973), for the strategy; L. A. Rastrigin (1974)
//! for the function; G. Marsaglia, Xorshift RNGs (2003), and S. Vigna, An experimental
//! exploration of Marsaglia's xorshift generators, scrambled (2016), for the generator.

use std::f64::consts::TAU;

/// Number of dimensions of the function.
pub const DIMENSIONS: usize = 10;
/// Number of children in an iteration.
const CHILDREN: usize = 12;
/// Number of best children whose mean becomes the centre.
const PARENTS: usize = 3;
/// Factor of the step size in each iteration.
const COOLING: f64 = 0.9985;
/// Number of steps per unit to which positions are rounded, so that decimal text keeps them
/// exactly.
const GRID: f64 = 1e6;

pub type Position = [f64; DIMENSIONS];

/// All values on which the next iteration depends.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimizer {
    /// Number of completed iterations.
    pub iteration: u64,
    /// The centre that children are drawn around.
    pub centre: Position,
    /// The best position found.
    pub best: Position,
    /// The standard deviation of the steps.
    pub step_size: f64,
    /// The state of the random generator; never 0.
    pub random: u64,
}

impl Optimizer {
    pub fn new(seed: u64, step_size: f64) -> Self {
        // Neighbouring seeds should not begin alike, and the generator has no state 0.
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
        let start = [4.0; DIMENSIONS];
        let mut new = Self {
            iteration: 0,
            centre: start,
            best: start,
            step_size: on_grid(step_size),
            random: random.max(1),
        };
        new.centre = std::array::from_fn(|_| on_grid(2.5 + 2.0 * new.uniform()));
        new.best = new.centre;
        new
    }

    /// Runs one iteration.
    pub fn step(&mut self) {
        let mut children: [(f64, Position); CHILDREN] = std::array::from_fn(|_| {
            let child = self.centre.map(|x| on_grid(x + self.step_size * self.normal()));
            (rastrigin(&child), child)
        });
        children.sort_by(|a, b| a.0.total_cmp(&b.0));
        let parents = || children.iter().take(PARENTS).map(|(_, child)| child);
        let mut centre = [0.0; DIMENSIONS];
        for parent in parents() {
            for (sum, x) in centre.iter_mut().zip(parent) {
                *sum += x / PARENTS as f64;
            }
        }
        self.centre = centre.map(on_grid);
        if let Some((score, child)) = children.first()
            && *score < self.score()
        {
            self.best = *child;
        }
        self.step_size = on_grid(self.step_size * COOLING).max(1.0 / GRID);
        self.iteration += 1;
    }

    /// Returns the value at the best position; lower is better.
    pub fn score(&self) -> f64 {
        rastrigin(&self.best)
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a uniform number in (0, 1].
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a standard normal number, by Box and Muller (1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }
}

/// Rounds to six decimals, so that the text of a number gives it back exactly.
pub fn on_grid(x: f64) -> f64 {
    (x * GRID).round() / GRID
}

/// Computes f(x) = 10 n + sum of x^2 - 10 cos(2 pi x).
fn rastrigin(position: &Position) -> f64 {
    let sum: f64 = position.iter().map(|x| x * x - 10.0 * (TAU * x).cos()).sum();
    10.0 * DIMENSIONS as f64 + sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seed: u64, step_size: f64, iterations: u64) -> Optimizer {
        let mut optimizer = Optimizer::new(seed, step_size);
        (0..iterations).for_each(|_| optimizer.step());
        optimizer
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        assert_eq!(after(7, 0.4, 200), after(7, 0.4, 200));
        assert_ne!(after(7, 0.4, 200).best, after(8, 0.4, 200).best);
    }

    #[test]
    fn larger_steps_from_an_earlier_point_end_better_than_small_ones() {
        for seed in 0..20 {
            let mut small = after(seed, 0.25, 600);
            small.step_size = 0.02;
            (600..2000).for_each(|_| small.step());
            let mut large = after(seed, 0.25, 500);
            large.step_size = 0.8;
            (0..2000).for_each(|_| large.step());
            let (small, large) = (small.score(), large.score());
            assert!(large < small, "seed {seed}: {small} with small steps, {large} with large");
        }
    }

    #[test]
    fn the_minimum_of_the_function_is_at_the_origin() {
        assert_eq!(rastrigin(&[0.0; DIMENSIONS]), 0.0);
        assert!(rastrigin(&[1.0; DIMENSIONS]) > 9.9);
    }
}

//! Rosenbrock's function of four numbers, and a Nelder-Mead solver for it.
//!
//! The solver has a state of its own, the simplex. If a resumed run lost the simplex, or changed
//! one bit of it, its result would differ.

use argmin::core::{CostFunction, Error, Executor, IterState};
use argmin::solver::neldermead::NelderMead;

/// The number of iterations of a run.
pub const ITERATIONS: u64 = 200;

/// The start of the search.
const START: [f64; 4] = [-1.2, 1.0, -1.2, 1.0];

/// The distance of the other corners of the first simplex from the start.
const EDGE: f64 = 0.5;

/// The function: a curved valley with its minimum, 0, at the point where all numbers are 1.
#[derive(Debug, Clone, Copy)]
pub struct Rosenbrock;

/// The solver.
pub type Simplex = NelderMead<Vec<f64>, f64>;

/// The state of a run.
pub type Progress = IterState<Vec<f64>, (), (), (), (), f64>;

impl CostFunction for Rosenbrock {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, param: &Vec<f64>) -> Result<f64, Error> {
        let pairs = param.iter().zip(param.iter().skip(1));
        let terms = pairs.map(|(x, y)| 100.0 * (y - x * x).powi(2) + (1.0 - x).powi(2));
        Ok(terms.sum())
    }
}

/// Creates the solver. The costs of its corners are still unknown (NaN).
pub fn simplex() -> Simplex {
    let mut corners = vec![START.to_vec()];
    for moved in 0..START.len() {
        let numbers = START.iter().enumerate();
        let corner = numbers.map(|(at, x)| if at == moved { x + EDGE } else { *x });
        corners.push(corner.collect());
    }
    NelderMead::new(corners)
}

/// Creates a run from the start, without a checkpoint.
pub fn executor() -> Executor<Rosenbrock, Simplex, Progress> {
    Executor::new(Rosenbrock, simplex()).configure(|state| state.max_iters(ITERATIONS))
}

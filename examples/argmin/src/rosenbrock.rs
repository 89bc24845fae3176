//! Rosenbrock's function of four numbers, and a Nelder-Mead solver for it.
//!
//! The solver has a state of its own, the simplex. A resumed run that lost it, or one bit of it,
//! would end elsewhere.

use argmin::core::{CostFunction, Error, Executor, IterState};
use argmin::solver::neldermead::NelderMead;

/// How many iterations a run has.
pub const ITERATIONS: u64 = 200;

/// Where the search begins.
const START: [f64; 4] = [-1.2, 1.0, -1.2, 1.0];

/// How far the other corners of the first simplex are from the start.
const EDGE: f64 = 0.5;

/// The function: a curved valley, with its lowest point, 0, where all numbers are 1.
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

/// The solver before its first iteration. It does not know the costs of its corners: they are NaN.
pub fn simplex() -> Simplex {
    let mut corners = vec![START.to_vec()];
    for moved in 0..START.len() {
        let numbers = START.iter().enumerate();
        let corner = numbers.map(|(at, x)| if at == moved { x + EDGE } else { *x });
        corners.push(corner.collect());
    }
    NelderMead::new(corners)
}

/// A run from the start, without a checkpoint.
pub fn executor() -> Executor<Rosenbrock, Simplex, Progress> {
    Executor::new(Rosenbrock, simplex()).configure(|state| state.max_iters(ITERATIONS))
}

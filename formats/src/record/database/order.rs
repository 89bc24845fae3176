//! The order of checkpoints: each after its parent.

/// A checkpoint in the order: its index in the list, and the position of its parent in the order.
pub type Ordered = (usize, Option<usize>);

/// Returns the order of a list of checkpoints with the index of each parent: parents first,
/// otherwise as listed. A database may be edited by hand, so a cycle of parents is cut where it
/// closes.
pub fn parents_first(parents: &[Option<usize>]) -> Vec<Ordered> {
    let parent_of = |at: usize| parents.get(at).copied().flatten();
    // Position of each checkpoint in the order; `None` until it is placed.
    let mut places: Vec<Option<usize>> = vec![None; parents.len()];
    let mut order = Vec::with_capacity(parents.len());
    let mut visiting = vec![false; parents.len()];
    for first in 0..parents.len() {
        let mut chain = Vec::new();
        let mut next = Some(first);
        while let Some(at) = next {
            let Some(visited) = visiting.get_mut(at).filter(|visited| !**visited) else {
                break;
            };
            *visited = true;
            chain.push(at);
            next = parent_of(at);
        }
        while let Some(at) = chain.pop() {
            let parent = parent_of(at).and_then(|parent| places.get(parent).copied().flatten());
            if let Some(place) = places.get_mut(at) {
                *place = Some(order.len());
            }
            order.push((at, parent));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_checkpoint_follows_its_parent() {
        let parents = [None, Some(3), Some(0), Some(0), None];
        let order = [(0, None), (3, Some(0)), (1, Some(1)), (2, Some(0)), (4, None)];
        assert_eq!(parents_first(&parents), order);
    }

    #[test]
    fn circles_end() {
        let circle = [Some(2), Some(0), Some(1), Some(3), Some(9)];
        let order = [(1, None), (2, Some(0)), (0, Some(1)), (3, None), (4, None)];
        assert_eq!(parents_first(&circle), order);
    }
}

//! Stamps: the metadata of a file, and when it can be trusted.
//!
//! A write sets the times of a file to the current time. The clock behind them advances in steps
//! (the *grain*), so a second write within a step leaves the same times. A stamp is *settled* when
//! the clock has advanced by more than a step since: each later write leaves another stamp.

/// Time on a file system's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Moment {
    /// Seconds since the epoch; negative before it.
    pub(crate) s: i64,
    /// Nanoseconds of the second.
    pub(crate) ns: u32,
}

impl Moment {
    /// Returns nanoseconds since the epoch. Differences do not overflow.
    fn in_ns(self) -> i128 {
        i128::from(self.s) * 1_000_000_000 + i128::from(self.ns)
    }

    /// Returns the nanoseconds from `self` to `other`; negative if `self` is later.
    pub(crate) fn behind(self, other: Self) -> i128 {
        other.in_ns() - self.in_ns()
    }
}

/// Metadata of a file that changes with its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    pub(crate) ino: u64,
    pub(crate) size: u64,
    /// Kind and permission bits.
    pub(crate) mode: u32,
    /// Last change of the content; programs can set it.
    pub(crate) mtime: Moment,
    /// Last change of anything in the file. Programs cannot set it.
    pub(crate) ctime: Moment,
}

impl Stamp {
    /// Returns `true` if no change from `now` on can leave this stamp.
    pub(crate) fn settled(&self, now: Moment, grain_ns: i128) -> bool {
        self.mtime.behind(now) > grain_ns && self.ctime.behind(now) > grain_ns
    }

    /// Returns `true` if a write around `now` could leave this stamp. Only `ctime` counts: a
    /// program may have set `mtime` far ahead on a file that is at rest.
    pub(crate) fn racy(&self, now: Moment, grain_ns: i128) -> bool {
        let behind = self.ctime.behind(now);
        -grain_ns <= behind && behind <= grain_ns
    }

    /// Returns the permission bits that captures include.
    pub(crate) fn bits(&self) -> u16 {
        (self.mode & 0o777) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: i128) -> Moment {
        Moment {
            s: i64::try_from(ns.div_euclid(1_000_000_000)).unwrap(),
            ns: u32::try_from(ns.rem_euclid(1_000_000_000)).unwrap(),
        }
    }

    #[test]
    fn a_stamp_is_settled_where_both_times_are_further_back_than_the_grain() {
        let now = 1_700_000_000_000_000_000_i128;
        for grain in [4_000_000, 2_000_000_000] {
            let ages = [
                (grain + 1, true),
                (grain, false),
                (grain - 1, false),
                (1, false),
                (0, false),
                (-1, false),
                (-grain, false),
                (-grain - 1, false),
                (-1_000_000_000_000, false),
                (1_000_000_000_000, true),
            ];
            for (m, m_old) in ages {
                for (c, c_old) in ages {
                    let stamp =
                        Stamp { mtime: at(now - m), ctime: at(now - c), ..Stamp::default() };
                    assert_eq!(stamp.settled(at(now), grain), m_old && c_old, "{m} {c}");
                    assert_eq!(stamp.racy(at(now), grain), c.abs() <= grain, "{m} {c}");
                }
            }
        }
    }

    #[test]
    fn times_before_the_epoch_and_at_the_ends_of_the_range_are_compared() {
        let ends = [i64::MIN, -1, 0, 1, i64::MAX];
        for a in ends {
            for b in ends {
                let (x, y) = (Moment { s: a, ns: 0 }, Moment { s: b, ns: 999_999_999 });
                assert_eq!(x.behind(y) >= 0, x <= y);
            }
        }
    }
}

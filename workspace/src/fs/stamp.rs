//! Stamps: what the file system says of a file, and when that can be trusted.
//!
//! A file that is written to gets the present moment as its times. The clock behind them ticks in
//! steps (the *grain*), so a second write within a step leaves the same times. A stamp is *settled*
//! when the clock has gone on since by more than a step: whoever writes from then on leaves another
//! one.

/// A moment on a file system's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Moment {
    /// Seconds since the epoch, which may be before it.
    pub(crate) s: i64,
    /// Nanoseconds of the second.
    pub(crate) ns: u32,
}

impl Moment {
    /// Nanoseconds since the epoch. No sum of them overflows.
    fn in_ns(self) -> i128 {
        i128::from(self.s) * 1_000_000_000 + i128::from(self.ns)
    }

    /// How far it is behind `other`, in nanoseconds; below zero where it is ahead.
    pub(crate) fn behind(self, other: Self) -> i128 {
        other.in_ns() - self.in_ns()
    }
}

/// What the file system says of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    pub(crate) ino: u64,
    pub(crate) size: u64,
    /// Kind and permission bits.
    pub(crate) mode: u32,
    /// When its content changed last, as far as programs leave that alone.
    pub(crate) mtime: Moment,
    /// When anything of it changed last. No program sets it.
    pub(crate) ctime: Moment,
}

impl Stamp {
    /// Whether no change from `now` on can leave this stamp.
    pub(crate) fn settled(&self, now: Moment, grain_ns: i128) -> bool {
        self.mtime.behind(now) > grain_ns && self.ctime.behind(now) > grain_ns
    }

    /// Whether a write about `now` could leave this stamp. Only the inode's time counts: a program
    /// may have set the other far ahead, and the file is none the less at rest.
    pub(crate) fn racy(&self, now: Moment, grain_ns: i128) -> bool {
        let behind = self.ctime.behind(now);
        -grain_ns <= behind && behind <= grain_ns
    }

    /// The permission bits that captures take.
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

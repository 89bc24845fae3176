//! Records of repaired damage.

// tidy: one check

use milepost::store::Repair;
use milepost_service::forms;

use super::check::Check;
use crate::output::count;

pub fn check(repairs: Vec<Repair>, is_open: bool) -> Check {
    let open = repairs.iter().filter(|repair| repair.acknowledged_us.is_none()).count() as u64;
    let all = repairs.len() as u64;
    let on_record = count(all, "repair");
    let check = match (all, open) {
        (0, _) => Check::fine("repairs", "none is on record"),
        (_, 0) => Check::fine("repairs", format!("{on_record} on record, all acknowledged")),
        (_, open) => Check::failed(
            "repairs",
            format!("{on_record} on record, {open} not acknowledged: files were damaged"),
            match is_open {
                true => "find out what changed them; `milepost verify --acknowledge` ends this",
                false => "find out what changed them, and mend the store first",
            },
        ),
    };
    Check { records: repairs.into_iter().map(forms::repair).collect(), ..check }
}

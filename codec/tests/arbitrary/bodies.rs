//! Strategies for what events say.

use std::collections::BTreeMap;

use milepost_codec::*;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::{checkpoint, chunk, chunk_list, hash, head, lineage, number, origin, text};

/// The text of any JSON value, with and without white space.
pub fn json() -> impl Strategy<Value = Json> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        (any::<i32>(), -400..400_i32).prop_map(|(n, e)| format!("{n}.50e{e}")),
    ];
    let leaf = prop_oneof![
        1 => Just("null".to_owned()),
        1 => any::<bool>().prop_map(|b| b.to_string()),
        2 => number,
        2 => text().prop_map(|s| Json::string(&s).text().to_owned()),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        let space = prop_oneof![Just(""), Just(" "), Just("\n\t")];
        let field = (text(), inner.clone());
        prop_oneof![
            (vec(inner, 0..4), space.clone()).prop_map(|(items, space)| format!(
                "[{}{space}]",
                items.join(&format!(",{space}"))
            )),
            (vec(field, 0..4), space).prop_map(|(fields, space)| {
                let fields = fields.iter().map(|(k, v)| format!("{}{space}:{v}", Json::string(k)));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(&format!("{space},")))
            }),
        ]
    });
    value.prop_map(|text| Json::new(text).unwrap())
}

/// Makes an optional value; `null` in the JSON form means a missing one.
fn maybe_json() -> impl Strategy<Value = Option<Json>> {
    option::of(json()).prop_map(|json| json.filter(|json| !json.is_null()))
}

fn words() -> impl Strategy<Value = Option<String>> {
    option::of(text())
}

/// Any number except NaNs that differ from the one that JSON's `"NaN"` decodes to.
fn float() -> impl Strategy<Value = Float> {
    any::<f64>().prop_map(|n| Float(if n.is_nan() { f64::NAN } else { n }))
}

fn data() -> impl Strategy<Value = Data> {
    prop_oneof![json().prop_map(Data::Json), vec(any::<u8>(), 0..40).prop_map(Data::Bytes),]
}

fn removed() -> impl Strategy<Value = RemovedMark> {
    (lineage(), number(), checkpoint()).prop_map(|(lineage, offset, checkpoint)| RemovedMark {
        lineage,
        offset,
        checkpoint,
    })
}

fn lineage_type() -> impl Strategy<Value = LineageType> {
    use LineageType::*;
    prop::sample::select(vec![Root, Automatic, Manual, Restore, Rollback, Branch])
}

fn run_control() -> impl Strategy<Value = RunControl> {
    use RunControl::*;
    prop::sample::select(vec![Idle, Running, Paused, Stopped])
}

fn parent() -> impl Strategy<Value = Parent> {
    (lineage(), number(), hash()).prop_map(|(lineage, offset, hash)| Parent {
        lineage,
        offset,
        hash,
    })
}

fn patch_form() -> impl Strategy<Value = PatchForm> {
    prop::sample::select(vec![PatchForm::Merge, PatchForm::Patch])
}

fn extra() -> impl Strategy<Value = Option<Extra>> {
    vec((text(), json()), 0..4).prop_map(|fields| {
        let named = ["kind", "role", "content", "name"];
        let fields: Vec<_> = fields
            .iter()
            .filter(|(name, _)| !named.contains(&name.as_str()))
            .map(|(name, value)| format!("{}:{value}", Json::string(name)))
            .collect();
        let object = format!("{{{}}}", fields.join(","));
        (!fields.is_empty()).then(|| Extra(Json::new(object).unwrap()))
    })
}

pub fn mark() -> impl Strategy<Value = CheckpointMarked> {
    use MarkCause::*;
    let cause = vec![Manual, Step, Idle, BeforeTool, BeforeRestore, Imported];
    let status = vec![MarkStatus::Success, MarkStatus::Failure];
    (
        (option::of(head()), option::of(checkpoint()), words()),
        (prop::sample::select(cause), prop::sample::select(status)),
        (maybe_json(), vec(text(), 0..3)),
    )
        .prop_map(|((at, parent, label), (cause, status), (metadata, aliases))| {
            CheckpointMarked { at, parent, label, cause, status, metadata, aliases }
        })
}

fn run() -> impl Strategy<Value = Body> {
    let copied = (origin(), lineage(), number(), hash())
        .prop_map(|(origin, lineage, offset, hash)| CopiedFrom { origin, lineage, offset, hash });
    let opened = (lineage_type(), words(), option::of(parent()), maybe_json(), option::of(copied));
    prop_oneof![
        opened.prop_map(|(lineage_type, description, parent, initial, copied_from)| {
            LineageOpened { lineage_type, description, parent, initial, copied_from }.into()
        }),
        (number(), words(), option::of(number())).prop_map(|(step, name, iteration)| StepStarted {
            step,
            name,
            iteration
        }
        .into()),
        (number(), maybe_json(), btree_map(text(), float(), 0..4))
            .prop_map(|(step, result, metrics)| StepFinished { step, result, metrics }.into()),
        (number(), text()).prop_map(|(step, error)| StepFailed { step, error }.into()),
        (words(), text(), number()).prop_map(|(previous, phase, iteration)| PhaseChanged {
            previous,
            phase,
            iteration
        }
        .into()),
        (run_control(), run_control(), words()).prop_map(|(from, to, reason)| ControlChanged {
            from,
            to,
            reason
        }
        .into()),
    ]
}

fn changes() -> impl Strategy<Value = Body> {
    let artifacts = btree_map(text(), json(), 0..4);
    prop_oneof![
        (text(), maybe_json()).prop_map(|(text, data)| GuidanceGiven { text, data }.into()),
        text().prop_map(|prompt| PromptChanged { prompt }.into()),
        json().prop_map(|rules| RulesChanged { rules }.into()),
        artifacts.prop_map(|artifacts: BTreeMap<_, _>| ArtifactsEdited { artifacts }.into()),
        (patch_form(), json()).prop_map(|(form, patch)| VariablesPatched { form, patch }.into()),
        (patch_form(), json()).prop_map(|(form, patch)| ContextChanged { form, patch }.into()),
    ]
}

fn conversation() -> impl Strategy<Value = Body> {
    prop_oneof![
        (text(), maybe_json(), words(), extra()).prop_map(|(role, content, name, extra)| {
            Message { role, content, name, extra }.into()
        }),
        (text(), text(), json()).prop_map(|(call, tool, arguments)| ToolCalled {
            call,
            tool,
            arguments
        }
        .into()),
        (text(), words(), any::<bool>(), maybe_json()).prop_map(|(call, tool, ok, output)| {
            ToolReturned { call, tool, ok, output }.into()
        }),
        (hash(), number(), number(), number()).prop_map(|(root, files, bytes, skipped)| {
            WorkspaceCaptured { root, files, bytes, skipped }.into()
        }),
    ]
}

fn marks() -> impl Strategy<Value = Body> {
    let scope = prop::sample::select(vec![Scope::All, Scope::State, Scope::Files]);
    prop_oneof![
        mark().prop_map(Body::from),
        (checkpoint(), number()).prop_map(|(checkpoint, mark)| CheckpointUnmarked {
            checkpoint,
            mark
        }
        .into()),
        (checkpoint(), text(), any::<u32>(), text(), data()).prop_map(
            |(checkpoint, writer, index, name, data)| {
                CheckpointAttached { checkpoint, writer, index, name, data }.into()
            }
        ),
        (text(), any::<i64>(), text(), data()).prop_map(|(writer, index, name, data)| {
            DataAttached { writer, index, name, data }.into()
        }),
        ((lineage(), number()), (lineage(), number()), option::of(checkpoint()), scope).prop_map(
            |((from, head), (lineage, offset), checkpoint, scope)| {
                Restored { from, head, lineage, offset, checkpoint, scope }.into()
            }
        ),
        (text(), data()).prop_map(|(name, data)| Application { name, data }.into()),
    ]
}

/// A body of a kind that this version knows.
pub fn known_body() -> impl Strategy<Value = Body> {
    prop_oneof![run(), changes(), conversation(), marks()]
}

/// A body of any kind.
pub fn body() -> impl Strategy<Value = Body> {
    let unknown = (23..=u16::MAX, vec(any::<u8>(), 0..40))
        .prop_map(|(kind, payload)| Body::Unknown { kind, payload });
    prop_oneof![9 => known_body(), 1 => unknown]
}

pub fn control() -> impl Strategy<Value = Control> {
    use ActivationCause::*;
    let cause = prop::sample::select(vec![Opened, Restored, Undone, Chosen]);
    prop_oneof![
        (any::<[u8; 16]>(), any::<bool>(), text()).prop_map(|(store, keyed, version)| {
            StoreCreated { store: StoreId(store), keyed, version }.into()
        }),
        (number(), text(), text(), origin()).prop_map(|(task, name, user, origin)| {
            TaskOpened { task: TaskNo(task), name, user, origin }.into()
        }),
        (number(), number(), origin()).prop_map(|(task, opened, origin)| {
            let task = TaskNo(task);
            Deleted { task, opened, origin }.into()
        }),
        lineage().prop_map(|lineage| Dropped { lineage }.into()),
        restore_begun(),
        restore_ended(),
        task_prepared(),
        (number(), hash(), lineage(), number()).prop_map(|(epoch, root, lineage, from)| {
            FilesKept { epoch, root, lineage, from }.into()
        }),
        (lineage(), lineage_type(), words(), option::of(parent())).prop_map(
            |(lineage, lineage_type, description, parent)| {
                LineageRegistered { lineage, lineage_type, description, parent }.into()
            }
        ),
        (lineage(), number(), cause, option::of(number())).prop_map(
            |(lineage, epoch, cause, back)| Activated { lineage, epoch, cause, back }.into()
        ),
        (checkpoint(), words())
            .prop_map(|(checkpoint, reason)| Pinned { checkpoint, reason }.into()),
        checkpoint().prop_map(|checkpoint| Unpinned { checkpoint }.into()),
        text().prop_map(|user| OwnerSet { user }.into()),
        (json(), vec(removed(), 0..4))
            .prop_map(|(policy, removed)| Retained { policy, removed }.into()),
        (lineage(), number(), hash(), words()).prop_map(|(lineage, offset, body_hash, reason)| {
            Erased { lineage, offset, body_hash, reason }.into()
        }),
        (lineage(), number(), hash(), chunk()).prop_map(|(lineage, offset, hash, base)| {
            Trimmed { lineage, offset, hash, base }.into()
        }),
        (option::of(lineage()), number(), number()).prop_map(|(lineage, from, to)| Lost {
            lineage,
            from,
            to
        }
        .into()),
    ]
}

fn restore_part() -> impl Strategy<Value = RestorePart> {
    let roots = vec(chunk(), 0..3);
    (text(), data(), option::of(json()), chunk_list(), roots).prop_map(
        |(participant, place, note, plan, roots)| RestorePart {
            participant,
            place,
            note,
            plan,
            roots,
        },
    )
}

fn restore_begun() -> impl Strategy<Value = Control> {
    let scope = prop::sample::select(vec![Scope::All, Scope::State, Scope::Files]);
    (
        any::<[u8; 16]>(),
        (lineage(), number(), lineage(), number()),
        (option::of(checkpoint()), scope, option::of(number())),
        vec(restore_part(), 0..3),
    )
        .prop_map(|(id, (from, head, lineage, offset), (checkpoint, scope, undoes), parts)| {
            RestoreBegun {
                restore: RestoreId(id),
                from,
                head,
                lineage,
                offset,
                checkpoint,
                scope,
                undoes,
                parts,
            }
            .into()
        })
}

fn task_prepared() -> impl Strategy<Value = Control> {
    let begin = (lineage(), head()).prop_map(|(lineage, head)| LineageBegin { lineage, head });
    (number(), origin(), vec(begin, 0..3)).prop_map(|(task, origin, begins)| {
        TaskPrepared { task: TaskNo(task), origin, begins }.into()
    })
}

fn restore_ended() -> impl Strategy<Value = Control> {
    use RestoreOutcome::*;
    let outcome = prop::sample::select(vec![Done, Undone, GivenUp]);
    (any::<[u8; 16]>(), outcome, words()).prop_map(|(id, outcome, reason)| {
        RestoreEnded { restore: RestoreId(id), outcome, reason }.into()
    })
}

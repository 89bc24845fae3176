use super::*;
use crate::fs::at_root;
use crate::testing::fixtures::{Thing, Things, path};
use crate::testing::memory::MemoryChunks;

/// Marks of the folder, skips, recorded trees, `without_limits`; expected: whether the last scan is
/// reliable.
type Case<'a> = (Marks, Vec<Skip>, &'a [ChunkId], bool, bool);

fn folder(marks: Marks) -> ScannedFolder {
    ScannedFolder { identity: (1, 1), id: ChunkId([1; 32]), counts: Counts::default(), marks }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn a_look_relies_on_the_last_one_only_where_that_would_be_decided_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let chunks = MemoryChunks { quiet: true, ..MemoryChunks::default() };
    let file = |name| Things::from([(path(name), Thing::File(Vec::new(), 0o644))]);
    let (seen, other) = (chunks.tree(&file("f")), chunks.tree(&file("left out")));
    let lost = ChunkId([7; 32]);
    let capture = ChunkId([9; 32]);
    let skip = |reason| Skip { path: PathBytes::from(&b"left out"[..]), reason, size: 0 };
    let none = Marks::default();
    let [restless, ignored, limits] = [
        Marks { restless: true, ..none },
        Marks { ignored: true, ..none },
        Marks { limits: true, ..none },
    ];
    use SkipReason::{Git, Ignored, Large, Limit};
    let cases: [Case<'_>; 20] = [
        (none, vec![], &[seen], false, true),
        (none, vec![], &[], false, true),
        (restless, vec![], &[seen], false, true),
        (ignored, vec![], &[seen], false, true),
        (ignored, vec![], &[seen, other], false, false),
        (ignored, vec![], &[other], false, false),
        (limits, vec![], &[seen], false, false),
        (limits, vec![], &[seen], true, false),
        (none, vec![skip(Limit)], &[seen], false, false),
        (none, vec![skip(Ignored)], &[seen], false, true),
        (none, vec![skip(Ignored)], &[seen], true, true),
        (none, vec![skip(Ignored)], &[seen, other], true, false),
        (none, vec![skip(Ignored)], &[other], false, false),
        (none, vec![skip(Ignored)], &[lost], false, false),
        (none, vec![skip(Large)], &[seen, other], true, false),
        (none, vec![skip(Large)], &[seen, other], false, true),
        (none, vec![skip(Large)], &[seen], true, true),
        (none, vec![skip(Git)], &[seen, other], true, true),
        (none, vec![], &[seen, other], true, true),
        (none, vec![skip(Git); SKIPS_MAX + 1], &[other], true, true),
    ];
    let root = at_root(dir.path()).unwrap();
    let identity = root.itself().unwrap().identity();
    let begin = |marks, skips, asked: &ScanRequest<'_>, left| {
        let kept = ScanState::default();
        let watch = Watch::begin(&root).unwrap();
        watch.add(&root, b"");
        let watching = Watching {
            watch,
            since: None,
            ground: Ground::of(dir.path(), identity).unwrap(),
            left,
        };
        let last = LastScan {
            tree: seen,
            skips,
            cache: Arc::default(),
            folders: Folders::from([(Box::default(), folder(marks))]),
        };
        kept.end(watching, last, capture);
        let begun = kept.begin(asked).unwrap();
        assert_eq!(kept.folders(), None, "nothing is kept of a look that does not end");
        begun.since.map(|_| begun.left)
    };
    let asked = |recorded, without_limits| ScanRequest {
        root: &root,
        folder: dir.path(),
        identity,
        known: Some(capture),
        recorded,
        without_limits,
        chunks: &chunks,
        stored: None,
    };
    let (usual, others) = ([seen], [chunks.tree(&file("g"))]);
    for (n, (marks, skips, recorded, without_limits, enough)) in cases.into_iter().enumerate() {
        let left = begin(marks, skips, &asked(recorded, without_limits), 5);
        assert_eq!(left, enough.then_some(4), "case {n}");
    }
    let many = vec![skip(Ignored); SKIPS_MAX + 1];
    assert_eq!(begin(none, many[1..].to_vec(), &asked(&others, false), 1), Some(0));
    assert_eq!(begin(none, many, &asked(&others, false), 5), None);
    assert_eq!(begin(none, vec![], &asked(&usual, false), 0), None);
    let known = |known| ScanRequest { known, ..asked(&usual, false) };
    assert_eq!(begin(none, vec![], &known(Some(seen)), 5), None);
    assert_eq!(begin(none, vec![], &known(None), 5), None);
    let noting = MemoryChunks::default();
    let noted = ScanRequest { chunks: &noting, ..asked(&usual, false) };
    assert_eq!(begin(none, vec![], &noted, 5), None);
    let elsewhere = ScanRequest { identity: (identity.0, identity.1 + 1), ..asked(&usual, false) };
    assert_eq!(begin(none, vec![], &elsewhere, 5), None);
}

//! Nodes of captures, and groups of small chunks.

use milepost_codec::{
    CHUNK_RAW_MAX, ChunkEntry, ChunkGroup, Name, Node, NodeKind, PathBytes, RestoreIntent, Result,
    Skip, TreePath,
};

use crate::targets::bounds::{bounded, told};
use crate::targets::checks;

/// Types of an input, by its first byte.
pub const TREES: [&str; 3] = ["tree node", "skips", "restore plan"];

/// Bytes as the content of a chunk of a tree, a list of skips, or a plan.
pub fn tree(bytes: &[u8]) {
    let Some((selector, rest)) = bytes.split_first() else {
        return;
    };
    let which = selector % TREES.len() as u8;
    let outcome = bounded("tree", rest.len(), 0, || match which {
        0 => read_node(rest),
        1 => read_skips(rest),
        _ => read_plan(rest),
    });
    if let Err(error) = outcome {
        told("tree", &error);
    }
}

/// There is one form for each value.
fn read_node(bytes: &[u8]) -> Result<()> {
    let node = Node::decode(bytes)?;
    assert_eq!(node.encode(), bytes);
    let mut named = 0_usize;
    node.names(&mut |_, expect| {
        named += 1;
        assert!(
            expect != NodeKind::Leaf || matches!(node, Node::Leaves(_)),
            "only leaves name leaves"
        );
    });
    if let Node::Directory(entries) = &node {
        assert!(named <= entries.len());
        for entry in entries {
            assert!(Name::new(entry.name.as_bytes()).is_ok());
        }
        assert!(entries.is_sorted_by(|a, b| a.name < b.name));
    }
    Ok(())
}

fn read_skips(bytes: &[u8]) -> Result<()> {
    let mut again = Vec::new();
    let mut before = None::<PathBytes>;
    for skip in Skip::decode_list(bytes) {
        let skip = skip?;
        assert!(before.is_none_or(|before| before < skip.path));
        skip.encode(&mut again);
        before = Some(skip.path);
    }
    assert_eq!(again, bytes);
    Ok(())
}

fn read_plan(bytes: &[u8]) -> Result<()> {
    let plan = RestoreIntent::decode(bytes)?;
    assert_eq!(plan.encode(), bytes);
    for action in &plan.actions {
        assert!(TreePath::new(action.path.as_bytes()).is_ok());
        assert!(action.path.names().all(|name| Name::new(name).is_ok()));
    }
    Ok(())
}

/// Bytes as a group of chunks; with bit 7 of the first byte its check, and the ids in its table,
/// are made right first.
pub fn chunk_group(bytes: &[u8]) {
    let Some((selector, rest)) = bytes.split_first() else {
        return;
    };
    let mut own = rest.to_vec();
    if selector & 0x80 != 0 {
        checks::chunk_group(&mut own);
    }
    let outcome = bounded("chunk_group", own.len(), CHUNK_RAW_MAX, || read_group(&own));
    if let Err(error) = outcome {
        told("chunk_group", &error);
    }
}

fn read_group(bytes: &[u8]) -> Result<()> {
    let ids = ChunkGroup::ids(bytes);
    let contents = ChunkGroup::decode(bytes)?;
    assert_eq!(ids?.len(), contents.len());
    let mut all = 0;
    for n in 0..contents.len() {
        let (id, content) = contents.get(n)?;
        assert_eq!(ChunkEntry::id_of(content), id);
        all += content.len();
    }
    assert!(all <= CHUNK_RAW_MAX);
    Ok(())
}

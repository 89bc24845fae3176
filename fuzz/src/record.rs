//! The readers of the command, which is no library: they are taken from where they lie.

#![allow(dead_code, reason = "the command uses the rest")]

#[path = "../../cli/src/record/conversation.rs"]
pub mod conversation;
#[path = "../../cli/src/record/detect.rs"]
pub mod detect;
#[path = "../../cli/src/record/json_object.rs"]
pub mod json_object;
#[path = "../../cli/src/record/jsonl.rs"]
pub mod jsonl;
#[path = "../../cli/src/record/list_patch.rs"]
pub mod list_patch;
#[path = "../../cli/src/record/openai.rs"]
pub mod openai;
#[path = "../../cli/src/record/plan.rs"]
pub mod plan;
#[path = "../../cli/src/record/swe_agent.rs"]
pub mod swe_agent;
#[path = "../../cli/src/record/tau_bench.rs"]
pub mod tau_bench;
#[path = "../../cli/src/record/turns.rs"]
pub mod turns;

#[path = "."]
pub mod claude_code {
    #[path = "../../cli/src/record/claude_code/line.rs"]
    pub mod line;
    #[path = "../../cli/src/record/claude_code/tree.rs"]
    pub mod tree;
}

#[path = "."]
pub mod langgraph {
    #[path = "../../cli/src/record/langgraph/checkpoint.rs"]
    pub mod checkpoint;
    #[path = "../../cli/src/record/langgraph/msgpack.rs"]
    pub mod msgpack;
}

// English words of a share.

import { one } from "./plural.ts";

export const share = {
  shareOf: (task: string, version: string) => `Share of ${task}, made by milepost ${version}`,
  shareTitle: "This share",
  shareDetails: "Details",
  shareWhy: "This is a copy of a task. Import it to go on with it: milepost import FILE.html",
  shareHasNot: "This is not in a share.",
  shareNoFiles: "Captured files are not in a share.",
  shareNoState: "This file has no state at this point.",
  shareNoBlame: "A share has no history of messages: each is an event of its own.",
  shareNoAlign: "This file has no comparison of these two: they are too long.",
  shareOnlyTask: (task: string) => `This file has one task: ${task}.`,
  shareOnlyActive: (head: string) =>
    `A share compares the head of the active lineage, ${head}, with the heads of the others.`,
  shareHeadsOnly: "A share has metrics of whole lineages only: leave the offset away.",
  shareDamaged: (part: string) => `This file is damaged: ${part} cannot be read.`,
  shareUnknown: "This file has no share of version 1. It may be damaged.",
  withheld: "withheld: this text is not covered by the hash",
  withheldAll: "withheld: the body of this event is not in the file",
  onTrust: "on trust: neither the header nor this text is covered by a hash",
  checkWaits: "not verified yet",
  checkRuns: (done: string, all: string) => `verifying: ${done} of ${all} events`,
  checkFailed: "The verification could not run.",
  checkResult: (whole: string, all: string, withheld: string, trusted: string) =>
    `${whole} of ${one(all, "event")} whole, ${withheld} withheld, ${trusted} on trust`,
  checkHead: (head: string) => `head ${head}: compare it with the sender's`,
  checkKeyed: "hashes are keyed: only the key of the store verifies them",
  checkDigest: "The digest of the file is another one.",
  checkFaults: (n: string) => one(n, "fault"),
  checkFaultsMore: (n: string) => `${one(n, "further fault")}`,
  checkFaultAt: (line: string) => `line ${line}`,
  checkRows: "list, turns, states, comparisons and metrics are not covered",
  checkContents: "the heading has another task, user or active lineage than the events",
  checkIndex:
    "Events, in Step and Raw, are what is verified. Lists, states, comparisons and metrics are of an " +
    "index of them, which no hash covers; an import does not read it.",
  checkSays:
    "This says that the file is whole, and not who wrote it: its author could have written " +
    "another history, with other hashes. A program of one's own is surer:",
  importHow: "To go on with the task, import it into a store:",
  withheldHow: (n: string) =>
    `Of ${one(n, "event")} the body, or a part of it, is not in the file: it may be a secret, or ` +
    "too long. The chain of hashes holds without it.",
  trustedHow: (n: string) => `The hash of ${one(n, "event")} is taken on trust.`,
} as const;

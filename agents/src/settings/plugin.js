// Milepost: `milepost agent install opencode` made this file, `milepost agent uninstall opencode` removes it.
// It tells Milepost of prompts and tools. It fails never, and holds up OpenCode for 2 s at most.
import { spawn } from "node:child_process"

const COMMAND = "MILEPOST_COMMAND"
const LIMIT_MS = 2000

// The hooks of the user and those of the project may both be installed: one of them is enough.
const RUNNING = (globalThis[Symbol.for("milepost")] ??= new Set())

export const Milepost = async ({ directory }) => {
  if (RUNNING.has(directory)) return {}
  RUNNING.add(directory)
  // By id: { parent, isNew, isStarted, isBusy, texts by part, arguments by call }
  const sessions = new Map()
  // Messages of the user.
  const users = new Set()
  let last = Promise.resolve()

  const session = (id) => {
    if (!sessions.has(id)) sessions.set(id, { texts: new Map(), calls: new Map() })
    return sessions.get(id)
  }

  const run = (document) =>
    new Promise((resolve) => {
      const stdio = ["pipe", "pipe", "ignore"]
      const child = spawn("/bin/sh", ["-c", COMMAND], { cwd: directory, stdio })
      let said = ""
      const timer = setTimeout(() => resolve(""), LIMIT_MS)
      const end = () => {
        clearTimeout(timer)
        resolve(said)
      }
      child.on("error", end)
      child.on("close", end)
      child.stdout.on("data", (bytes) => (said += bytes))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(document))
    })

  // One document after the other, and no caller waits for longer than the limit. A document before a
  // tool is sent at once: its time says whether its capture comes before the tool.
  const send = (document, isAtOnce) => {
    const sent = (isAtOnce ? Promise.resolve() : last).then(() => run(document)).catch(() => "")
    last = Promise.all([last, sent])
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(""), LIMIT_MS)
      sent.then((said) => {
        clearTimeout(timer)
        resolve(said)
      })
    })
  }

  // A sub-agent has a session of its own, with a parent.
  const about = (id, name) => {
    let root = id
    for (let n = 0; n < 9 && sessions.get(root)?.parent; n++) root = sessions.get(root).parent
    const own = { hook_event_name: name, session_id: root, cwd: directory }
    return root === id ? own : { ...own, agent_id: id }
  }

  const prompt = async ({ sessionID }, { message, parts }) => {
    const one = session(sessionID)
    users.add(message.id)
    one.texts.clear()
    one.isBusy = true
    if (one.parent) {
      await send({ ...about(sessionID, "SubagentStart"), agent_type: message.agent })
      return
    }
    if (!one.isStarted) {
      one.isStarted = true
      const model = message.model && `${message.model.providerID}/${message.model.modelID}`
      const source = one.isNew ? "startup" : "resume"
      send({ ...about(sessionID, "SessionStart"), source, model })
    }
    const texts = parts.filter((part) => part.type === "text" && !part.synthetic)
    const text = texts.map((part) => part.text).join("\n")
    const document = about(sessionID, "UserPromptSubmit")
    const said = await send({ ...document, prompt_id: message.id, prompt: text })
    const say = said.trim() && JSON.parse(said).say
    const before = parts.at(-1)
    if (say && before) {
      const { messageID } = before
      const id = `${before.id}m`
      parts.push({ id, messageID, sessionID, type: "text", text: say, synthetic: true })
    }
  }

  const call = (name, { sessionID, tool, callID }, more) => {
    const document = { ...about(sessionID, name), tool_name: tool, tool_use_id: callID, ...more }
    return send(document, name === "PreToolUse")
  }

  const before = (input, { args }) => {
    session(input.sessionID).calls.set(input.callID, args)
    return call("PreToolUse", input, { tool_input: args })
  }

  const after = (input, { output }) => {
    session(input.sessionID).calls.delete(input.callID)
    return call("PostToolUse", input, { tool_input: input.args, tool_response: output })
  }

  const changed = async (part) => {
    const one = session(part.sessionID)
    const isOwn = part.synthetic || users.has(part.messageID)
    if (part.type === "text" && !isOwn) one.texts.set(part.id, part.text)
    if (part.type !== "tool" || part.state.status !== "error") return
    const input = one.calls.get(part.callID)
    if (one.calls.delete(part.callID)) {
      await call("PostToolUseFailure", part, { tool_input: input, error: part.state.error })
    }
  }

  const idle = async (id) => {
    const one = session(id)
    if (!one.isBusy) return
    one.isBusy = false
    const answer = [...one.texts.values()].join("\n\n")
    const name = one.parent ? "SubagentStop" : "Stop"
    await send({ ...about(id, name), last_assistant_message: answer })
  }

  const event = async ({ event: { type, properties } }) => {
    if (type === "session.created") session(properties.info.id).isNew = true
    if (type === "session.created" || type === "session.updated") {
      const { id, parentID } = properties.info
      session(id).parent = parentID
    }
    if (type === "message.part.updated") await changed(properties.part)
    if (type === "session.idle") await idle(properties.sessionID)
  }

  const dispose = async () => {
    RUNNING.delete(directory)
    const started = [...sessions].filter(([, one]) => one.isStarted)
    await Promise.all(started.map(([id]) => send(about(id, "SessionEnd"))))
  }

  const safe = (work) => async (...given) => {
    try {
      await work(...given)
    } catch {}
  }
  return {
    event: safe(event),
    "chat.message": safe(prompt),
    "tool.execute.before": safe(before),
    "tool.execute.after": safe(after),
    "experimental.session.compacting": safe(({ sessionID }) => send(about(sessionID, "PreCompact"))),
    dispose: safe(dispose),
  }
}

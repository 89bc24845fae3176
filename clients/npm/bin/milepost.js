#!/usr/bin/env node
// Runs the command of the platform's package: its output, its signals and its exit code are those of this process.

"use strict";

const { execFileSync, spawn } = require("node:child_process");
const { readFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const platforms = require("../platforms.json");

const platform = `${process.platform}-${process.arch}`;
const name = `@milepost/${platform}`;

/** Returns the path of the command, or ends with what to do. */
function command() {
  if (!Object.hasOwn(platforms, platform)) {
    missing(`there is no package for ${platform}: there are ${Object.keys(platforms).join(", ")}`);
  }
  try {
    return join(dirname(require.resolve(`${name}/package.json`)), platforms[platform].binary);
  } catch (error) {
    if (error.code !== "MODULE_NOT_FOUND") {
      throw error;
    }
  }
  missing(`the package ${name} is not installed, and has the command for this machine`);
}

function missing(why) {
  console.error(`error: ${why}`);
  if (Object.hasOwn(platforms, platform)) {
    const isMusl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
    console.error(
      isMusl
        ? "hint: it needs glibc, which this system does not have"
        : "hint: it is an optional dependency: npm leaves it out with --omit=optional, and where node_modules was copied from another machine",
    );
  }
  console.error("hint: in a clone of https://github.com/milepost-log/milepost, `cargo install --path cli` builds the command");
  process.exit(1);
}

const child = spawn(command(), process.argv.slice(2), { stdio: "inherit" });

for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGUSR2"]) {
  process.on(signal, () => {
    // A terminal sends Ctrl-C and Ctrl-\ to the command, too. `serve` would take a second one as "at once".
    const isOfTerminal = ["SIGINT", "SIGQUIT"].includes(signal) && isInForeground();
    if (!isOfTerminal) {
      child.kill(signal);
    }
  });
}

/** Returns whether the process is among those that its terminal sends signals to. */
function isInForeground() {
  if (process.platform === "win32") {
    return true;
  }
  try {
    if (process.platform === "linux") {
      // After the name of the program: state, parent, group, session, terminal, group in the foreground.
      const fields = readFileSync("/proc/self/stat", "latin1").split(") ").at(-1).split(" ");
      return fields[2] === fields[5];
    }
    const said = execFileSync("ps", ["-o", "pgid=,tpgid=", "-p", String(process.pid)], { encoding: "latin1" });
    const [group, foreground] = said.trim().split(/\s+/);
    return group === foreground;
  } catch {
    return process.stdin.isTTY === true;
  }
}

child.on("error", (error) => {
  console.error(`error: ${child.spawnfile} cannot be run: ${error.message}`);
  process.exit(1);
});

child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  // Ends as the command did, so that a shell sees the signal.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});

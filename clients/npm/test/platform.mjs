#!/usr/bin/env node
// Whether the platform of a command is found in the head of its file.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { platformOf } = createRequire(import.meta.url)("../platform.js");

/** A program for Linux, with a loader or without one. */
function elf(machine, loader) {
  const bytes = Buffer.alloc(256);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  bytes.writeUInt16LE(machine, 18);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(loader === undefined ? 0 : 1, 56);
  bytes.writeUInt32LE(3, 64);
  bytes.writeBigUInt64LE(128n, 72);
  bytes.writeBigUInt64LE(BigInt(loader?.length ?? 0), 96);
  bytes.write(loader ?? "", 128);
  return bytes;
}

function mach(cpu) {
  const bytes = Buffer.alloc(64);
  bytes.writeUInt32LE(0xfeedfacf, 0);
  bytes.writeUInt32LE(cpu, 4);
  return bytes;
}

function pe(machine) {
  const bytes = Buffer.alloc(256);
  bytes.write("MZ");
  bytes.writeUInt32LE(128, 0x3c);
  bytes.write("PE\0\0", 128);
  bytes.writeUInt16LE(machine, 132);
  return bytes;
}

for (const [bytes, platform, libc] of [
  [elf(62, "/lib64/ld-linux-x86-64.so.2"), "linux-x64", "glibc"],
  [elf(183, "/lib/ld-musl-aarch64.so.1"), "linux-arm64", "musl"],
  [elf(62), "linux-x64", undefined],
  [mach(0x01000007), "darwin-x64", undefined],
  [mach(0x0100000c), "darwin-arm64", undefined],
  [pe(0x8664), "win32-x64", undefined],
]) {
  assert.deepEqual(platformOf(bytes), { platform, libc });
}
for (const bytes of [elf(8), mach(1), Buffer.from("#!/bin/sh\n".padEnd(64))]) {
  assert.throws(() => platformOf(bytes), /no command of a known platform/);
}

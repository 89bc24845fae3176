// The platform that a command is for, by the head of its file.

"use strict";

const ELF = { 62: "x64", 183: "arm64" };
const MACH = { 0x01000007: "x64", 0x0100000c: "arm64" };
const PE = { 0x8664: "x64", 0xaa64: "arm64" };

/** The kind of a program header that names the loader of a dynamic program. */
const INTERPRETER = 3;

/** Returns the platform of a file's bytes, as npm names it, and the C library that it needs, if it needs one. */
function platformOf(bytes) {
  const found = elf(bytes) ?? mach(bytes) ?? pe(bytes);
  if (found?.cpu === undefined) {
    throw new Error("the file is no command of a known platform");
  }
  return { platform: `${found.os}-${found.cpu}`, libc: found.libc };
}

function elf(bytes) {
  const is64 = bytes.subarray(0, 6).equals(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]));
  return is64 ? { os: "linux", cpu: ELF[bytes.readUInt16LE(18)], libc: libcOf(bytes) } : undefined;
}

/** Returns `undefined` for a static program, which runs with any. */
function libcOf(bytes) {
  const begin = Number(bytes.readBigUInt64LE(32));
  const size = bytes.readUInt16LE(54);
  for (let at = begin; at < begin + size * bytes.readUInt16LE(56); at += size) {
    if (bytes.readUInt32LE(at) === INTERPRETER) {
      const place = Number(bytes.readBigUInt64LE(at + 8));
      const length = Number(bytes.readBigUInt64LE(at + 32));
      const loader = bytes.toString("latin1", place, place + length);
      return loader.includes("musl") ? "musl" : "glibc";
    }
  }
  return undefined;
}

function mach(bytes) {
  return bytes.readUInt32LE(0) === 0xfeedfacf
    ? { os: "darwin", cpu: MACH[bytes.readUInt32LE(4)] }
    : undefined;
}

function pe(bytes) {
  const at = bytes.toString("latin1", 0, 2) === "MZ" ? bytes.readUInt32LE(0x3c) : undefined;
  return at !== undefined && bytes.toString("latin1", at, at + 4) === "PE\0\0"
    ? { os: "win32", cpu: PE[bytes.readUInt16LE(at + 4)] }
    : undefined;
}

module.exports = { platformOf };

// The command that MILEPOST names, and its service.

import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { resolve } from "node:path";

export const command = process.env["MILEPOST"];

/** Runs the command on the store of a folder. */
export function run(folder: string, ...args: string[]): string {
  const options = { cwd: folder, encoding: "utf8", stdio: "pipe" } as const;
  return execFileSync(resolve(command!), ["--store", "store", ...args], options);
}

export interface Service {
  url: string;
  end: () => Promise<void>;
}

/** Serves the store of a folder at a free port. */
export async function serve(folder: string): Promise<Service> {
  const args = ["--store", "store", "serve", "--listen", "127.0.0.1:0"];
  const child: ChildProcess = spawn(resolve(command!), args, { cwd: folder });
  const ended = new Promise<void>((done) => child.on("exit", () => done()));
  const url = await new Promise<string>((done, fail) => {
    const onData = (data: Buffer) => {
      const found = /listening on (http:\S+)/.exec(data.toString())?.[1];
      if (found) done(found);
    };
    child.stdout!.on("data", onData);
    child.stderr!.on("data", onData);
    child.on("exit", () => fail(new Error("the service ended")));
  });
  const end = () => {
    child.kill();
    return ended;
  };
  return { url, end };
}

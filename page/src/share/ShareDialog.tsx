// What a share is: result of the verification with its faults, what is withheld, how to import it.

import { Dialog } from "../dialogs/Dialog.tsx";
import { count } from "../format.ts";
import { Copy, Fact } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import type { Contents } from "./contents.ts";
import { verification } from "./verification.ts";
import type { Fault, Verdict } from "./verify/verifier.ts";

/** Most faults that are listed. */
const LISTED = 100;

/** Returns the name of the file as a word of a shell. */
function fileName(): string {
  let name = location.pathname.split("/").at(-1) ?? "";
  try {
    name = decodeURIComponent(name);
  } catch {
    // It stays percent-encoded.
  }
  if (name === "") return "FILE.html";
  return /^[\w.+-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

function Command({ text }: { text: string }) {
  return (
    <p>
      <code>
        <Text text={text} />
      </code>{" "}
      <Copy text={text} />
    </p>
  );
}

function placeOf(fault: Fault): string {
  const line = words.value.checkFaultAt(count(fault.line));
  if (fault.log === undefined) return line;
  return `${line}, ${fault.log}${fault.at === undefined ? "" : `@${fault.at}`}`;
}

function Faults({ verdict }: { verdict: Verdict }) {
  const w = words.value;
  const more = verdict.faultsMore + Math.max(0, verdict.faults.length - LISTED);
  return (
    <>
      {!verdict.digest && <p class="bad">{w.checkDigest}</p>}
      {verdict.faults.length > 0 && (
        <table class="plain">
          <tbody>
            {verdict.faults.slice(0, LISTED).map((fault) => (
              <tr>
                <th scope="row" class="m">
                  {placeOf(fault)}
                </th>
                <td class="bad">
                  <Text text={fault.what} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {more > 0 && <p class="bad">{w.checkFaultsMore(count(more))}</p>}
      <dl>
        {verdict.heads.map((head) => (
          <Fact name={`${head.log}@${head.next}`}>
            <code>{head.hash}</code>
          </Fact>
        ))}
      </dl>
    </>
  );
}

export function ShareDialog({ contents }: { contents: Contents }) {
  const w = words.value;
  const now = verification.value;
  // What was counted, once it was; until then what the file says of itself.
  const { withheld, trusted } = now.state === "done" ? now.verdict : contents;
  return (
    <Dialog title={w.shareOf(contents.task, contents.version)}>
      <h3>{w.importHow}</h3>
      <Command text={`milepost import ${fileName()}`} />
      {withheld > 0 && <p>{w.withheldHow(count(withheld))}</p>}
      {trusted > 0 && <p class="warn">{w.trustedHow(count(trusted))}</p>}
      <h3>{w.verify}</h3>
      {now.state === "done" && <Faults verdict={now.verdict} />}
      {now.state === "failed" && (
        <p class="warn">
          {w.checkFailed} <Text text={now.why} />
        </p>
      )}
      {contents.keyed && <p class="warn">{w.checkKeyed}</p>}
      <p>{w.checkIndex}</p>
      <p>{w.checkSays}</p>
      <Command text={`milepost import ${fileName()} --dry-run`} />
    </Dialog>
  );
}

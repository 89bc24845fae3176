// The table of keys, and settings of the page.

import { Account } from "#account";
import { enableKeys, keysEnabled } from "../keyboard.ts";
import { KEYS, shown } from "../keys.ts";
import type { KeyRow } from "../keys.ts";
import { Choice } from "../parts/ui.tsx";
import { set, settings } from "../settings.ts";
import { language, setLanguage, words } from "../words/index.ts";
import { Dialog } from "./Dialog.tsx";

function Group({ group, name }: { group: KeyRow["group"]; name: string }) {
  const w = words.value;
  return (
    <div>
      <h3>{name}</h3>
      <dl>
        {KEYS.filter((row) => row.group === group).map((row) => (
          <>
            <dt>
              {row.keys.map((key) => (
                <kbd>{shown(key)}</kbd>
              ))}
            </dt>
            <dd>{w[row.word]}</dd>
          </>
        ))}
      </dl>
    </div>
  );
}

function Settings() {
  const w = words.value;
  return (
    <div class="buttons">
      <Choice
        plain
        label={w.theme}
        value={settings.value.theme}
        of={[
          ["system", w.themeSystem],
          ["light", w.themeLight],
          ["dark", w.themeDark],
        ]}
        onChange={(theme) => set({ theme })}
      />
      <Choice
        plain
        label={w.timesIn}
        value={settings.value.utc ? "utc" : "local"}
        of={[
          ["local", w.local],
          ["utc", w.utc],
        ]}
        onChange={(value) => set({ utc: value === "utc" })}
      />
      <Choice
        plain
        label={w.letterKeys}
        value={keysEnabled.value ? "on" : "off"}
        of={[
          ["on", w.on],
          ["off", w.off],
        ]}
        onChange={(value) => enableKeys(value === "on")}
      />
      <Choice
        plain
        label={w.language}
        value={language.value}
        of={[
          ["en", "English"],
          ["zh", "中文"],
        ]}
        onChange={setLanguage}
      />
    </div>
  );
}

export function KeysDialog() {
  const w = words.value;
  return (
    <Dialog title={w.keysTitle}>
      <div class="keys">
        <Group group="move" name={w.groupMove} />
        <div>
          <Group group="find" name={w.groupFind} />
          <Group group="act" name={w.groupAct} />
        </div>
      </div>
      <h3>{w.settings}</h3>
      <Settings />
      <Account />
    </Dialog>
  );
}

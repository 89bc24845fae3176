// Who is signed in. A share has `share/Account.tsx` in place of this module: package.json chooses.

import { session } from "../api/http.ts";
import { loginNeeded } from "../api/link.ts";
import { logout } from "../api/sessions.ts";
import { closeDialog, me } from "../app-state.ts";
import { words } from "../words/index.ts";

export function Account() {
  const w = words.value;
  const leave = async () => {
    closeDialog();
    await logout().catch(() => {});
    loginNeeded.value = true;
  };
  if (!me.value) return null;
  return (
    <p class="dim">
      {w.signedInAs(me.value.user)}
      {me.value.admin && ` · ${w.admin}`}
      {me.value.read_only && ` · ${w.readOnly}`}{" "}
      {session() && (
        <button type="button" class="link" onClick={() => void leave()}>
          {w.logout}
        </button>
      )}
    </p>
  );
}

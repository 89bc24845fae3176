// A document for React. Imported before React, which looks for one when it is loaded.

import { Window } from "happy-dom";

const window = new Window();
// Only what React and the testing library need. `fetch` and `AbortController` stay those of
// Node.js: those of a window would refuse the service as another origin.
const globals = {
  window,
  document: window.document,
  navigator: window.navigator,
  IS_REACT_ACT_ENVIRONMENT: true,
};
for (const [name, value] of Object.entries(globals)) {
  // Newer versions of Node.js have a `navigator` that an assignment does not replace.
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

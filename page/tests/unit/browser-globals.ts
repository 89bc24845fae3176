// What modules of the page expect of a browser, for tests that run in node.

const kept = new Map<string, string>();
Object.assign(globalThis, {
  localStorage: {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  },
  location: { hash: "", href: "http://page/" },
  document: { documentElement: { dataset: {} }, addEventListener() {} },
});
if (!("navigator" in globalThis)) Object.assign(globalThis, { navigator: { language: "en" } });

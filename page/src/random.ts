// Random names for idempotent requests. `crypto.randomUUID` is missing outside of secure contexts.

export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

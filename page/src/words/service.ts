// Words of screens and dialogs that a share does not have. A share has `share/no-words.ts` in place
// of this module: package.json chooses.

export { service as en } from "./en-service.ts";
export { service as zh } from "./zh-service.ts";

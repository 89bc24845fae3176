// Errors of requests: the service's problem documents, and failures of the network.

export interface ProblemDocument {
  title?: string;
  status?: number;
  detail?: string;
  instance?: string;
  hint?: string;
  head?: string;
}

/** Failed request. `status` 0 means that no answer arrived. */
export class Problem extends Error {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly instance: string | undefined;
  readonly hint: string | undefined;

  constructor(status: number, document: ProblemDocument) {
    super(document.detail ?? document.title ?? `HTTP ${status}`);
    this.status = status;
    this.title = document.title ?? `HTTP ${status}`;
    this.detail = document.detail ?? "";
    this.instance = document.instance;
    this.hint = document.hint;
  }

  /** Returns whether the same request may succeed later: the service or the network failed. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 502;
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Reads the problem of an answer that is not 2xx. */
export async function problemOf(answer: Response): Promise<Problem> {
  const text = await answer.text().catch(() => "");
  try {
    const document: unknown = JSON.parse(text);
    if (typeof document === "object" && document !== null) {
      return new Problem(answer.status, document as ProblemDocument);
    }
  } catch {
    // The body is no JSON: a proxy answered.
  }
  return new Problem(answer.status, { title: answer.statusText, detail: text.slice(0, 500) });
}

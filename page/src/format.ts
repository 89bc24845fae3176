// Numbers, times and sizes as text, in the language of the page.

import { language } from "./words/index.ts";
import { settings } from "./settings.ts";
import type { Usage } from "./api/types.ts";

const numbers = new Map<string, Intl.NumberFormat>();

function numberFormat(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = language.value + JSON.stringify(options);
  let format = numbers.get(key);
  if (!format) numbers.set(key, (format = new Intl.NumberFormat(language.value, options)));
  return format;
}

export function count(value: number): string {
  return numberFormat({}).format(value);
}

/** Formats a count for a narrow column: from 100,000 on in short, such as 200K. */
export function shortCount(value: number): string {
  if (value < 100_000) return count(value);
  return numberFormat({ notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** Formats a measured number for a narrow column: at most four digits, small ones as 1.01e-4. */
export function shortMeasure(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return numberFormat({ maximumSignificantDigits: 4 }).format(value);
}

/** Formats a measured number with at most six digits that matter. */
export function measure(value: number): string {
  return numberFormat({ maximumSignificantDigits: 6 }).format(value);
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function bytes(value: number): string {
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  return `${numberFormat({ maximumFractionDigits: digits }).format(size)} ${UNITS[unit]}`;
}

export function duration(us: string | number): string {
  const ms = Number(us) / 1000;
  const format = numberFormat({ maximumSignificantDigits: 3 });
  if (ms < 1) return `${format.format(Number(us))} µs`;
  if (ms < 1000) return `${format.format(ms)} ms`;
  if (ms < 60_000) return `${format.format(ms / 1000)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

const cost = (value: number, currency: string | null | undefined) =>
  currency
    ? new Intl.NumberFormat(language.value, {
        style: "currency",
        currency,
        maximumSignificantDigits: 3,
      }).format(value)
    : measure(value);

export function costOf(usage: Usage | null | undefined): string | null {
  if (typeof usage?.cost !== "number") return null;
  try {
    return cost(usage.cost, usage.currency);
  } catch {
    return `${measure(usage.cost)} ${usage.currency}`;
  }
}

/** Returns the sum of input and output, or null where neither was recorded. */
export function tokensOf(usage: Usage | null | undefined): number | null {
  if (!usage || (usage.input == null && usage.output == null)) return null;
  return (usage.input ?? 0) + (usage.output ?? 0);
}

function timeFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const zone = settings.value.utc ? { timeZone: "UTC" } : {};
  return new Intl.DateTimeFormat(language.value, { hourCycle: "h23", ...options, ...zone });
}

const CLOCK: Intl.DateTimeFormatOptions = {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
};
const DATE: Intl.DateTimeFormatOptions = { year: "numeric", month: "short", day: "numeric" };

export function date(us: string | number): Date {
  return new Date(Number(us) / 1000);
}

export function dateTime(us: string | number): string {
  return timeFormat({ ...DATE, ...CLOCK }).format(date(us));
}

/** Formats a time of today as a clock time, an older one as a date. */
export function shortTime(us: string | number, now = Date.now()): string {
  const when = date(us);
  const fresh = now - when.getTime() < 24 * 3600 * 1000;
  return timeFormat(fresh ? CLOCK : DATE).format(when);
}

export function clock(ms: number): string {
  return timeFormat({ hour: "2-digit", minute: "2-digit" }).format(new Date(ms));
}

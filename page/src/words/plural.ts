// Plurals of English: `one(n, "step")` counts with the plural that the number asks for.

const rules = new Intl.PluralRules("en");
export const one = (n: string, singular: string, plural = `${singular}s`) =>
  `${n} ${rules.select(Number(n.replaceAll(",", ""))) === "one" ? singular : plural}`;

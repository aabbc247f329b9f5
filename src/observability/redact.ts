import { decodePercent } from "../contract/index.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A variable of such a name holds a secret, whoever reads it. */
const secretName = /(KEY|KEYS|SECRET|PASSWORD|TOKEN)$/i;
/** What is shorter stands in too many other words, and guards nothing. */
const charactersMin = 8;

/**
 * Makes the function that takes every secret of the environment out of a text: keys, tokens, passwords, and the passwords
 * of URLs. Nothing should write one; this stands behind where errors of others are written down.
 */
export function createRedactor(env: Environment): (text: string) => string {
  const found = Object.entries(env).flatMap(([name, value]) => secretsOf(name, value ?? ""));
  const forms = found.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]);
  const secrets = [...new Set(forms)].filter(({ length }) => length >= charactersMin);
  // A secret that holds another goes first.
  secrets.sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, "[hidden]"), text);
}

function secretsOf(name: string, value: string): string[] {
  if (secretName.test(name)) return value.split(",").map((secret) => secret.trim());
  // Headers for a collector of traces: `x-api-key=word,x-tenant=word`.
  if (/HEADERS$/i.test(name))
    return value.split(",").map((pair) => decodePercent(pair.slice(pair.indexOf("=") + 1).trim()));
  const url = URL.parse(value);
  return url === null || url.password === "" ? [] : [url.password, decodePercent(url.password)];
}

import { readFileSync } from "node:fs";
import { decodePercent, decodeText } from "../contract/index.ts";
import { replaceTexts } from "../lib/escapes.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Environment variables with these names hold secrets. */
const secretName = /(KEY|KEYS|SECRET|PASSWORD|TOKEN)$/i;
/** Shorter values would match ordinary words. */
const charactersMin = 8;

/**
 * Creates a function that replaces every secret of the environment in a text, however it is escaped there: keys, tokens,
 * passwords, and passwords in URLs. Nothing should log one; this protects log lines that contain errors of other systems.
 *
 * @param stored Secrets that are not in the environment; it may grow.
 */
export function createRedactor(env: Environment, stored: ReadonlySet<string> = new Set()): (text: string) => string {
  const values = Object.entries(env).flatMap(([name, value]) => findSecrets(name, value ?? ""));
  const isLong = ({ length }: string) => length >= charactersMin;
  const secrets = values.filter(isLong);
  return (text) => replaceTexts(text, new Set([...secrets, ...[...stored].filter(isLong)]), "[hidden]");
}

/** Variables that name the file of a secret. */
const secretFileName = /^(.*(?:KEY|KEYS|SECRET|PASSWORD|TOKEN|HEADERS|URL))_FILE$/i;

function findSecrets(name: string, value: string): string[] {
  const [, secretOfFile] = secretFileName.exec(name) ?? [];
  if (secretOfFile !== undefined) return findSecrets(secretOfFile, readIfThere(value));
  if (secretName.test(name)) return value.split(",").map((secret) => secret.trim());
  // Headers of the trace collector: `x-api-key=word,x-tenant=word`.
  if (/HEADERS$/i.test(name))
    return value.split(",").map((pair) => decodePercent(pair.slice(pair.indexOf("=") + 1).trim()));
  const url = URL.parse(value);
  return url === null || url.password === "" ? [] : [url.password, decodePercent(url.password)];
}

/** The text of a file without white space around it; empty when it cannot be read. */
function readIfThere(file: string): string {
  try {
    return decodeText(readFileSync(file.trim())).trim();
  } catch {
    return "";
  }
}

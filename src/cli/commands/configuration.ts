import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Config } from "../../config/index.ts";
import { decodeText, type ErrorCode, errorTable, GatewayError, trimSlashes } from "../../contract/index.ts";
import { isRecord, parseJson, readJson } from "../../lib/json.ts";
import { toTerminalLine } from "../../lib/terminal-text.ts";
import { defineCommand, UsageError } from "../command.ts";
import { UnreachableError } from "../unreachable.ts";

/**
 * Flags of both commands. The commands go through a running gateway, so changes get its usual checks and apply at once.
 */
const flags = {
  url: { value: "URL", description: "URL of the gateway (default: MODELGATE_URL, or the gateway on this machine)" },
  "admin-key": { value: "KEY", description: "An admin key (default: MODELGATE_ADMIN_KEY)" },
} as const;

interface Plan {
  readonly changes: readonly {
    readonly section: string;
    readonly id: string;
    readonly action: "create" | "change" | "remove";
    readonly fields: Readonly<Record<string, { before: unknown; after: unknown }>>;
  }[];
  /** Names of models that no model has there. */
  readonly warnings: readonly string[];
  readonly keys: readonly { account: string; name: string; value: string }[];
}

export const exportConfiguration = defineCommand({
  name: "export",
  description: "Export the configuration of a gateway as one document, without secrets",
  flags: {
    ...flags,
    sections: { value: "a,b", description: "Only these sections, such as providers,catalogue" },
    out: { value: "FILE", description: "Where to write it (default: standard output)" },
  },
  args: [],
  example: "export --out gateway.json",
  async run({ env }, { flags, config }) {
    const query = flags.sections === undefined ? "" : `?sections=${encodeURIComponent(flags.sections)}`;
    const document = await ask(toTarget(flags, env, config), "GET", query);
    const text = JSON.stringify(document, null, 2);
    if (flags.out === undefined) return { json: document, text };
    writeFileSync(flags.out, `${text}\n`, { mode: 0o600 });
    return { json: { file: flags.out }, text: `Wrote ${flags.out}` };
  },
});

export const applyConfiguration = defineCommand({
  name: "apply",
  description: "Apply a configuration document to a gateway, or only show the changes",
  flags: { ...flags, "dry-run": { value: "", description: "Show the plan and change nothing" } },
  args: ["FILE"],
  example: "apply gateway.json --dry-run",
  async run({ env }, { args, flags, config }) {
    if (!existsSync(args.FILE)) throw new UsageError(`There is no file ${args.FILE}`);
    let document: unknown;
    try {
      document = readJson(decodeText(readFileSync(args.FILE)), "file");
    } catch (error) {
      throw new UsageError(`${args.FILE} is not JSON: ${(error as Error).message}`);
    }
    const isDryRun = flags["dry-run"] !== undefined;
    const plan = (await ask(toTarget(flags, env, config), "PUT", isDryRun ? "?dry_run=true" : "", document)) as Plan;
    if (!Array.isArray(plan.changes) || !Array.isArray(plan.keys))
      throw new UsageError("The response is not a configuration plan; check the address of the gateway");
    return { json: plan, text: describePlan(plan, isDryRun) };
  },
});

interface Target {
  readonly origin: string;
  readonly key: string;
}

/** @throws {UsageError} Without an admin key. */
function toTarget(
  flags: { readonly url?: string | undefined; readonly "admin-key"?: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
  config: Config,
): Target {
  const key = flags["admin-key"] ?? env.MODELGATE_ADMIN_KEY;
  if (key === undefined || key === "") {
    throw new UsageError("No admin key is set; set MODELGATE_ADMIN_KEY, or create one with modelgate admin-key create");
  }
  const origin = flags.url ?? env.MODELGATE_URL ?? `http://127.0.0.1:${config.port}`;
  return { origin: trimSlashes(origin), key };
}

/**
 * @throws {GatewayError} The error that the gateway answers.
 * @throws {UnreachableError} When no gateway answers.
 * @throws {UsageError} When another server answers.
 */
async function ask({ origin, key }: Target, method: string, query: string, body?: unknown): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(`${origin}/v1/organization/config${query}`, {
      method,
      // A redirect would lead to a server that the operator did not name.
      redirect: "manual",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    throw new UnreachableError(`Cannot reach the gateway at ${origin}: ${(error as Error).message}`);
  }
  const text = await response.text();
  if (response.ok) {
    const answer = parseJson(text, "file");
    if (isRecord(answer)) return answer;
    throw new UsageError(`The server at ${origin} is not a gateway; check the address`);
  }
  const to = response.headers.get("location");
  if (to !== null)
    throw new UsageError(`${origin} redirects to ${to}, which is not followed; use that address if it is correct`);
  throw readError(text, response.status) ?? describeStatus(origin, response.status);
}

/** Reads the error of the gateway, so the command exits as if it had failed here; `undefined` if the answer is not an error of a gateway. */
function readError(text: string, status: number): GatewayError | undefined {
  const body = parseJson(text, "document");
  const error = isRecord(body) ? body.error : undefined;
  if (!isRecord(error) || typeof error.message !== "string") return undefined;
  const ours = (Object.keys(errorTable) as ErrorCode[]).find((each) => each === error.code);
  const code = ours ?? (status >= 500 ? "unavailable" : "invalid_request");
  return new GatewayError(code, error.message, { param: typeof error.param === "string" ? error.param : undefined });
}

/** A proxy answers 502 and the like for a gateway that is not there. */
function describeStatus(origin: string, status: number): Error {
  const message = `The gateway at ${origin} answered ${status}`;
  return status >= 500 ? new UnreachableError(message) : new UsageError(message);
}

const signs = { create: "+", change: "~", remove: "-" } as const;

function describePlan({ changes, warnings, keys }: Plan, isDryRun: boolean): string {
  const notes = warnings.map((message) => `Warning: ${message}`);
  if (changes.length === 0) return [...notes, "Nothing to change: the gateway matches the document"].join("\n");
  const lines = changes.flatMap(({ section, id, action, fields }) => [
    `${signs[action]} ${section} ${toTerminalLine(id)}`,
    ...Object.entries(fields).map(([name, { before, after }]) => `    ${name}: ${shorten(before)} → ${shorten(after)}`),
  ]);
  const created = keys.map(
    ({ account, name, value }) => `${toTerminalLine(`${account}: ${name}`)}: ${value}   (shown only once)`,
  );
  const summary = `${changes.length} ${changes.length === 1 ? "change" : "changes"}${isDryRun ? ", none written" : ""}`;
  return [...lines, ...created, ...notes, summary].join("\n");
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`;
}

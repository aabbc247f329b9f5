import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { operatorFile, recordAudit } from "../../audit/index.ts";
import { GatewayError } from "../../contract/index.ts";
import { inQuietTransaction, replaceSetting } from "../../db/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import type { HttpDeps } from "../deps.ts";
import { keyRoute } from "../lifecycle/call-routes.ts";
import { dataHeaders } from "../lifecycle/headers.ts";
import type { Route } from "../lifecycle/route.ts";

/** Settings that the owner puts into the home folder: they can run commands on the machines of developers. */
const managedSettingsFile = "managed-settings.json";
/** The row with the checksum of the settings that were served last, or {@link none}. */
const servedSetting = "managed_settings";
const none = "none";

/** GET /managed/settings: 404 without the owner's file. What it serves anew, it has written into the audit log first. */
export function managedSettingsRoute(deps: HttpDeps): Route {
  const { store, now } = deps;
  let recorded: string | undefined;
  const record = async (checksum: string) => {
    if (checksum === recorded) return;
    await inQuietTransaction(store, async (transaction) => {
      const before = (await replaceSetting(transaction.db, servedSetting, checksum)) ?? none;
      if (before === checksum) return;
      const entry = { action: "managed_settings.set", subject: checksum, detail: { checksum_before: before } };
      await recordAudit(transaction, { accountId: operatorFile.accountId, ...entry }, now());
    });
    recorded = checksum;
  };
  return keyRoute(deps, {
    method: "GET",
    path: "/managed/settings",
    answer: async ({ request }) => {
      const settings = await readSettings(join(deps.config.home, managedSettingsFile));
      if (settings === undefined) {
        await record(none);
        throw new GatewayError("not_found", "This gateway has no managed settings");
      }
      const checksum = `sha256:${createHash("sha256")
        .update(JSON.stringify(sortKeys(settings)))
        .digest("hex")}`;
      await record(checksum);
      const headers = { ...dataHeaders(request), etag: `"${checksum}"`, vary: "user-agent" };
      const match = request.headers.get("if-none-match");
      if (match === "*" || match === headers.etag) return new Response(null, { status: 304, headers });
      return Response.json({ uuid: checksum, checksum, settings }, { headers });
    },
  });
}

/** @throws {GatewayError} `unavailable` when the file is there and no JSON object: no policy at all would be worse. */
async function readSettings(path: string): Promise<object | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as { code?: string }).code === "ENOENT") return undefined;
    throw new GatewayError("unavailable", `${managedSettingsFile} cannot be read; tell the operator`, { cause });
  }
  const settings = parseJson(text, "file");
  if (isRecord(settings)) return settings;
  throw new GatewayError("unavailable", `${managedSettingsFile} is no JSON object; tell the operator`);
}

/** Keys in order at every level, as the client makes its checksum. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sortKeys(inner)]));
}

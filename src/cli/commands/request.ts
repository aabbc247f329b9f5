import { formatUsd, GatewayError, usageColumns } from "../../contract/index.ts";
import {
  type LoggedRequest,
  parseStatusFilter,
  type RequestFilter,
  readRequest,
  readRequests,
  type StatusFilter,
  statusForms,
} from "../../reports/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { columns } from "../lib/format.ts";
import { parseCount, parseKeyId, parseModel, readModelNames } from "../lib/parse.ts";
import { expectAccount, withStore } from "../lib/with-store.ts";

const requestsMax = 1000;

export const requestList = defineCommand({
  name: "request list",
  description: "List requests of the log, newest first, without prompts and answers",
  flags: {
    account: { value: "A", description: "Only those of this account, by id, e-mail or name of a team" },
    key: { value: "ID", description: "Only those of this API key" },
    model: { value: "MODEL", description: "Only those of this model" },
    provider: { value: "NAME", description: "Only those that this provider answered" },
    status: { value: "S", description: "ok, failed, refused, running, a class such as 5xx, or a status such as 429" },
    session: { value: "NAME", description: "Only those of this session" },
    tag: { value: "NAME", description: "Only those with this tag" },
    "end-user": { value: "NAME", description: "Only those of this end user" },
    limit: { value: "N", description: "At most so many (default 20, up to 1000)" },
  },
  args: [],
  example: "request list --account ada@example.org --status failed",
  async run(context, { flags, config, now }) {
    const limit = flags.limit === undefined ? 20 : parseCount("--limit", flags.limit);
    if (limit < 1 || limit > requestsMax) throw new UsageError(`--limit is ${limit}, expected 1 to ${requestsMax}`);
    const model = flags.model === undefined ? undefined : await parseModel(flags.model, context, config);
    const nameOfModel = await readModelNames(context, config);
    const json = await withStore(
      config,
      async ({ store, accounts }) => {
        const filter: RequestFilter = {
          accountId: flags.account === undefined ? undefined : (await expectAccount(accounts, flags.account)).id,
          keyId: flags.key === undefined ? undefined : parseKeyId(flags.key),
          model,
          plugin: flags.provider,
          status: flags.status === undefined ? undefined : parseStatus(flags.status),
          session: flags.session,
          tag: flags.tag,
          endUser: flags["end-user"],
        };
        const requests: LoggedRequest[] = [];
        let before: Parameters<typeof readRequests>[2]["before"];
        do {
          const page = await readRequests(store, filter, { limit: limit - requests.length, before });
          requests.push(...page.requests);
          before = page.next;
        } while (before !== undefined && requests.length < limit);
        return requests.map((request) => toJson(request, nameOfModel));
      },
      now,
    );
    const rows = json.map(({ id, at, model: name, status, error_code: error, duration_ms: ms, charged_usd: usd }) => [
      id,
      at.slice(0, 19).replace("T", " "),
      name ?? "–",
      status === null ? "running" : `${status}${error === null ? "" : ` ${error}`}`,
      ms === null ? "–" : `${ms} ms`,
      usd === null ? "–" : `$${usd}`,
    ]);
    const head = ["id", "at (UTC)", "model", "status", "took", "charged"];
    return { json, text: rows.length === 0 ? "No request fits" : columns([head, ...rows]) };
  },
});

export const requestShow = defineCommand({
  name: "request show",
  description: "Show one request: who made it, what it used and cost, and why it failed",
  flags: {},
  args: ["ID"],
  example: "request show 01a2271f4b2d7b2b8f0c5f5d3c9a1e42",
  async run(context, { args, config, now }) {
    const nameOfModel = await readModelNames(context, config);
    const json = await withStore(
      config,
      async ({ store, accounts }) => {
        const request = await readRequest(store, args.ID, undefined);
        if (request === undefined) throw new GatewayError("not_found", `There is no request ${args.ID} in the log`);
        const account = (await accounts.list()).find(({ id }) => id === request.account_id);
        const { hold_nanodollars: hold, message, price_version: prices } = request;
        return {
          ...toJson(request, nameOfModel),
          email: account?.email ?? null,
          hold_usd: hold === null ? null : formatUsd(hold),
          price_version: prices,
          error: message,
        };
      },
      now,
    );
    const { usage, ...fields } = json;
    const shown = [...Object.entries(fields), ...Object.entries(usage)].filter(([, value]) => value !== null);
    return { json, text: columns(shown.map(([name, value]) => [name.replaceAll("_", " "), String(value)])) };
  },
});

/** @throws {UsageError} */
function parseStatus(text: string): StatusFilter {
  const status = parseStatusFilter(text);
  if (status === undefined) throw new UsageError(`--status is ${text}, expected ${statusForms}`);
  return status;
}

function toJson(request: LoggedRequest, nameOfModel: (id: string) => string) {
  const toUsd = (nanodollars: number | null) => (nanodollars === null ? null : formatUsd(nanodollars));
  const figures = usageColumns.flatMap((name) => (request[name] ? [[name, request[name]] as const] : []));
  return {
    id: request.id,
    at: new Date(request.opened_at).toISOString(),
    account: request.account_id,
    key: request.key_id,
    state: request.state ?? "refused",
    status: request.status,
    error_code: request.error_code,
    model: request.model && nameOfModel(request.model),
    provider: request.plugin,
    capability: request.capability,
    protocol: request.protocol,
    session: request.session,
    tag: request.tag,
    end_user: request.end_user,
    client_request_id: request.client_request_id,
    duration_ms: request.duration_ms,
    first_byte_ms: request.first_byte_ms,
    usage: Object.fromEntries(figures),
    cost_usd: toUsd(request.cost_nanodollars),
    charged_usd: toUsd(request.charged_nanodollars),
  };
}

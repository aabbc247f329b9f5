import { GatewayError } from "../../contract/index.ts";
import { toPolicySentence } from "../../dashboard/data/policy-sentence.ts";
import {
  describeMargin,
  type describeMiss,
  describeRequest,
  describeRequestDetail,
  explainCharge,
  findRequests,
  type LoggedRequest,
  parseStatusFilter,
  type RequestFilter,
  readRequest,
  type StatusFilter,
  statusForms,
} from "../../reports/index.ts";
import { namesOf } from "../../tenants/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { columns } from "../lib/format.ts";
import { parseBudget, parseKeyId, parseModelFilter, parseMoment, parseWithin, readModelNames } from "../lib/parse.ts";
import { expectAccount, withStore } from "../lib/with-store.ts";

const [listedDefault, requestsMax] = [20, 1000];

export const requestList = defineCommand({
  name: "request list",
  description: "List requests of the log, newest first, without prompts and answers",
  flags: {
    account: { value: "A", description: "Only requests of this account, by id, e-mail or name of a team" },
    key: { value: "ID", description: "Only requests with this API key" },
    model: { value: "MODEL", description: "Only requests for this model or virtual model" },
    provider: { value: "NAME", description: "Only requests that this provider answered" },
    status: { value: "S", description: "ok, failed, refused, running, a class such as 5xx, or a status such as 429" },
    session: { value: "NAME", description: "Only requests of this session" },
    tag: { value: "NAME", description: "Only requests with this tag" },
    "end-user": { value: "NAME", description: "Only requests of this end user" },
    from: {
      value: "TIME",
      description: "Only requests from this time on: a UTC day, or a time such as 2026-11-21T18:00Z",
    },
    until: { value: "TIME", description: "Only requests before this time, or this UTC day" },
    "min-charge": { value: "0.05", description: "Only requests that were charged at least this, in US dollars" },
    agent: { value: "NAME", description: "Only requests of this agent of a session" },
    limit: { value: "N", description: `Maximum number of requests (default ${listedDefault}, up to ${requestsMax})` },
  },
  args: [],
  example: "request list --account ada@example.org --status failed",
  async run(context, { flags, config, now }) {
    const limit = parseWithin("--limit", flags.limit ?? String(listedDefault), requestsMax);
    const ofModel = flags.model === undefined ? {} : await parseModelFilter(flags.model, context, config);
    const nameOfModel = await readModelNames(context, config);
    const json = await withStore(
      config,
      async ({ store, accounts }) => {
        const filter: RequestFilter = {
          accountId: flags.account === undefined ? undefined : (await expectAccount(accounts, flags.account)).id,
          keyId: flags.key === undefined ? undefined : parseKeyId(flags.key),
          ...ofModel,
          plugin: flags.provider,
          from: flags.from === undefined ? undefined : parseMoment("--from", flags.from),
          until: flags.until === undefined ? undefined : parseMoment("--until", flags.until),
          chargedNanodollarsMin:
            flags["min-charge"] === undefined ? undefined : parseBudget("--min-charge", flags["min-charge"]),
          status: flags.status === undefined ? undefined : parseStatus(flags.status),
          session: flags.session,
          tag: flags.tag,
          endUser: flags["end-user"],
          agent: flags.agent,
        };
        const { requests } = await findRequests(store, filter, { limit });
        return requests.map((request) => toJson(request, describeRequest(request), nameOfModel));
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
  example: "request show req_01a2271f4b2d7b2b8f0c5f5d3c9a1e42",
  async run(context, { args, config, now }) {
    const nameOfModel = await readModelNames(context, config);
    const json = await withStore(
      config,
      async ({ store }) => {
        const request = await readRequest(store, args.ID, undefined);
        if (request === undefined) throw new GatewayError("not_found", `There is no request ${args.ID} in the log`);
        const owner = (await namesOf(store, [request.account_id])).get(request.account_id);
        const charge = await explainCharge(store, request);
        const described = describeRequestDetail(request, charge, toIso);
        return {
          ...toJson(request, described, nameOfModel),
          account_name: owner?.label ?? null,
          email: owner?.email ?? null,
          price_version: request.price_version,
          ...describeMargin(request),
          price_changed_by: charge?.price.changedBy ?? null,
        };
      },
      now,
    );
    const {
      usage,
      charge,
      failed_attempts: attempts,
      finish_reasons: reasons,
      cache_miss: miss,
      policies,
      ...fields
    } = json;
    const failures = attempts.map(({ provider, status, error, duration_ms: ms }) => {
      return `${provider}: ${error}${status === null ? "" : ` (status ${status})`} after ${ms} ms`;
    });
    const lists = {
      finish_reasons: reasons.join(", "),
      failed_attempts: failures.join("; "),
      policies: policies.map(toPolicySentence).join("; "),
      cache_miss: miss === null ? "" : describe(miss),
    };
    const shown = Object.entries({ ...fields, ...lists, ...(charge === null && usage) }).filter(
      ([, value]) => value !== null && value !== "",
    );
    const facts = shown.map(([name, value]) => [name.replaceAll("_", " "), String(value)]);
    return { json, text: columns([...facts, ...(charge === null ? [] : toSum(charge))]) };
  },
});

const toIso = (at: number) => new Date(at).toISOString();

/** The charge as lines, such as `41 input tokens × 2.40 USD per 1000000 = 0.0000984 USD`. */
function toSum({ lines, total_usd, service_tier: tier, above_input_tokens: above, price }: Charge): string[][] {
  const notes = [
    tier === null ? undefined : `rates of the tier ${tier.name}; standard ${tier.standard_usd ?? "unknown"} USD`,
    above === null ? undefined : `rates of prompts above ${above} tokens`,
    price.changed_at === null ? undefined : `price changed at ${price.changed_at}`,
    price.replaced_at === null ? undefined : `price replaced at ${price.replaced_at}`,
  ];
  return [
    ...lines.map(({ kind, meter, quantity, rate, amount_usd: usd }) => {
      if (kind !== "usage") return [kind.replaceAll("_", " "), `${usd} USD`];
      const each = rate === null ? "no rate" : `${rate.usd} USD per ${rate.per}`;
      return [(meter ?? "").replaceAll("_", " "), `${quantity} × ${each} = ${usd} USD`];
    }),
    ["total", `${total_usd} USD`],
    ...notes.flatMap((note) => (note === undefined ? [] : [["price", note]])),
  ];
}

type Charge = NonNullable<ReturnType<typeof describeRequestDetail<string>>["charge"]>;

/** Such as `tools (tools[3]), 41200 tokens, $0.12`. */
function describe({ kind, place, tokens, lost_usd: lost }: NonNullable<ReturnType<typeof describeMiss>>): string {
  const what = place === null ? kind : `${kind} (${place})`;
  return `${what}, ${tokens} tokens${lost === null ? "" : `, $${lost}`}`;
}

/** @throws {UsageError} */
function parseStatus(text: string): StatusFilter {
  const status = parseStatusFilter(text);
  if (status === undefined) throw new UsageError(`--status is ${text}, expected ${statusForms}`);
  return status;
}

/** In the words of commands. */
function toJson<Described extends ReturnType<typeof describeRequest>>(
  request: LoggedRequest,
  described: Described,
  nameOfModel: (id: string) => string,
) {
  const { id, opened_at: at, account_id: account, key_id: key } = request;
  const model = described.model && nameOfModel(described.model);
  return { id, at: new Date(at).toISOString(), account, key, ...described, model };
}

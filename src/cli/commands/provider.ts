import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { commandLine } from "../../audit/index.ts";
import type { Config } from "../../config/index.ts";
import { decodeText, GatewayError, quoteValue } from "../../contract/index.ts";
import { monotonicNow, openNetwork, TimeoutScheduler } from "../../kernel/index.ts";
import { bodyFields } from "../../lib/fields.ts";
import { parseJson } from "../../lib/json.ts";
import { toTerminalLine } from "../../lib/terminal-text.ts";
import { describeProviders, providerFields } from "../../providers/index.ts";
import { type CliContext, defineCommand, UsageError } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { readFlags, toFlags } from "../lib/field-flags.ts";
import { columns } from "../lib/format.ts";
import { describeSource, readLiveServed, readLiveState } from "../lib/live-state.ts";
import { readModelNames } from "../lib/parse.ts";
import { withProviders } from "../lib/with-providers.ts";
import { withStore } from "../lib/with-store.ts";

/** Actor in the audit log. */
const by = commandLine.accountId;

export const providerList = defineCommand({
  name: "provider list",
  description: "List the providers, how they do, whether each is enabled, and the last characters of its keys",
  flags: {},
  args: [],
  example: "provider list",
  async run(context, input) {
    const { all, isLive } = await describeAll(context, input);
    const json = all.map(({ routes: _, keys, ...provider }) => ({
      ...provider,
      keys: keys.map(({ id, source, method, last4, set_by, set_at, readable, in_force }) => ({
        id,
        source,
        method,
        last4,
        set_by,
        set_at,
        readable,
        in_force,
      })),
    }));
    const rows = json.map(({ name, status, health, priority, weight, keys }) => [
      name,
      status.replace("_", " "),
      health.state ?? "",
      health.recent.attempts === 0 ? "" : `${health.recent.errors} of ${health.recent.attempts}`,
      String(priority ?? ""),
      String(weight ?? ""),
      keys
        .map(({ id, source, last4, in_force }) => source ?? `${id} …${last4}${in_force ? "" : " (not active)"}`)
        .join(", "),
    ]);
    const heading = ["provider", "status", "health", "failed", "priority", "weight", "keys"];
    return { json, text: `${columns([heading, ...rows])}\n\n${describeSource(isLive)}` };
  },
});

/** The providers as the gateway says that runs; without one, as it would start. */
async function describeAll(context: CliContext, input: { config: Config; now: number }) {
  const live = readLiveState(input.config)?.providers;
  if (live !== undefined) return { all: live, isLive: true };
  const all = await withProviders(context, input, async (providers) =>
    describeProviders(providers, providers.snapshot.registry, monotonicNow()),
  );
  return { all, isLive: false };
}

export const providerIncident = defineCommand({
  name: "provider incident",
  description: "Show since when a provider fails, who is hit, what clients are answered, and a text for customers",
  flags: {},
  args: ["NAME"],
  example: "provider incident anthropic",
  async run(context, { args, ...input }) {
    const { all, isLive } = await describeAll(context, input);
    const provider = all.find(({ name }) => name === args.NAME);
    if (provider === undefined) throw new GatewayError("not_found", `No provider is called ${quoteValue(args.NAME)}`);
    const [{ readIncident, toIncidentObject }, nameOf, served] = await Promise.all([
      import("../../http/forms/incident.ts"),
      readModelNames(context, input.config),
      readLiveServed(context, input.config),
    ]);
    const incident = await withStore(
      input.config,
      ({ store }) => readIncident({ store, now: input.now, nameOf, served }, provider, all),
      input.now,
    );
    const json = toIncidentObject(incident);
    return { json, text: `${formatIncident(json)}\n\n${describeSource(isLive)}` };
  },
});

type IncidentJson = ReturnType<typeof import("../../http/forms/incident.ts").toIncidentObject>;

function formatIncident(incident: IncidentJson): string {
  const toTime = (at: number | null) => (at === null ? "" : new Date(at * 1000).toISOString());
  const toShare = ({ calls, failed_calls: failed }: { calls: number; failed_calls: number }) => `${failed} of ${calls}`;
  const toSpan = ({ counted_from: from, counted_until: until }: IncidentJson) =>
    until === null ? `since ${toTime(from)}` : `from ${toTime(from)} to ${toTime(until)}`;
  const { last_error: error, recent_attempts: recent } = incident;
  const facts = [
    ["state", incident.state ?? "serves nothing"],
    ["since", toTime(incident.since)],
    ["every attempt fails since", toTime(incident.failing_since)],
    ["last success", toTime(incident.last_success_at)],
    ["failed attempts now", `${recent.errors} of ${recent.attempts}`],
    ["failed requests", `${toShare(incident)} ${toSpan(incident)}`],
    ["refused while paused", incident.refused_calls === 0 ? "" : String(incident.refused_calls)],
    ["accounts hit", String(incident.project_count ?? "")],
    ["last error", error === null ? "" : toTerminalLine([error.status, error.message].filter(Boolean).join(": "))],
  ].filter(([, value]) => value !== "");
  const tables = [
    (incident.projects ?? []).map((project) => ["", toTerminalLine(project.name), toShare(project)]),
    incident.answers.map(({ status, code, calls }) => ["", `${status} ${code ?? ""}`, String(calls)]),
    incident.models
      .filter((model) => model.failed_calls > 0 || model.other_providers.length === 0)
      .map((model) => ["", model.name, toShare(model), model.other_providers.join(", ") || "no other route"]),
    incident.reroutes.map(({ name, to_model: to, ends_at: endsAt, is_effective: has, ineffective_reason: reason }) => [
      "",
      name,
      `answered by ${to ?? "other providers"}`,
      endsAt === null ? "" : `until ${toTime(endsAt)}`,
      reason !== null
        ? `without effect: ${toTerminalLine(reason)}`
        : has === null
          ? "whether it has an effect is not known"
          : "",
    ]),
  ];
  const titles = ["Accounts with failed requests", "Clients were answered", "Models", "Re-routes"];
  const sections = tables.flatMap((rows, index) => (rows.length === 0 ? [] : [`${titles[index]}\n${columns(rows)}`]));
  const text = incident.customer_text === null ? [] : [`Text for customers\n  ${incident.customer_text}`];
  return [columns(facts), ...sections, ...text].join("\n\n");
}

export const providerAdd = defineCommand({
  name: "provider add",
  description: "Add a provider by a manifest (see docs/plugins.md), for every gateway of this database",
  flags: {},
  args: ["FILE"],
  example: "provider add acme.json",
  async run(context, { args, ...input }) {
    const name = basename(args.FILE, ".json");
    const manifest = readManifestFile(args.FILE);
    await withProviders(context, input, ({ actions }) => actions.add(commandLine, name, manifest));
    const needsNoKey = (manifest as { credential?: unknown }).credential === "none";
    const next = needsNoKey ? "it needs no key" : `set its key with modelgate provider key set ${name}`;
    return { json: { name }, text: `${name} is added; ${next}` };
  },
});

export const providerRemove = defineCommand({
  name: "provider remove",
  description: "Remove a provider that was added in the dashboard or with provider add, and its keys",
  flags: {},
  args: ["NAME"],
  example: "provider remove acme",
  async run(context, { args, ...input }) {
    await withProviders(context, input, ({ actions }) => actions.remove(by, args.NAME));
    return { json: { name: args.NAME }, text: `${args.NAME} is removed` };
  },
});

export const providerSet = defineCommand({
  name: "provider set",
  description: "Enable, disable or order a provider",
  flags: toFlags(providerFields),
  args: ["NAME"],
  example: "provider set acme --enabled no",
  async run(context, { args, flags, ...input }) {
    const change = await readFlags(providerFields, bodyFields(providerFields), { flags, now: input.now });
    await withProviders(context, input, ({ actions }) => actions.set(by, args.NAME, change));
    return { json: { name: args.NAME, ...change }, text: `${args.NAME} is changed` };
  },
});

export const providerKeySet = defineCommand({
  name: "provider key set",
  description: "Store a key of a provider, encrypted; reads it, or a JSON object of fields, from standard input",
  flags: { replace: { value: "ID", description: "Id of the key to replace (default: add a key)" } },
  args: ["NAME"],
  example: "provider key set openai < openai.key",
  async run(context, { args, flags, ...input }) {
    const secret = await context.stdin?.();
    if (secret === undefined || secret.trim() === "") {
      throw new UsageError("Standard input is empty, expected the key there");
    }
    const id = await withProviders(context, input, ({ actions }) =>
      actions.setKey(commandLine, args.NAME, secret, flags.replace),
    );
    return { json: { id }, text: `${args.NAME} has the key ${id}` };
  },
});

export const providerKeyRemove = defineCommand({
  name: "provider key remove",
  description: "Remove a stored key of a provider",
  flags: { id: { value: "ID", description: "The id that provider list shows", required: true } },
  args: ["NAME"],
  example: "provider key remove openai --id 6f1c…",
  async run(context, { args, flags, ...input }) {
    await withProviders(context, input, ({ actions }) => actions.removeKey(by, args.NAME, flags.id));
    return { json: { id: flags.id }, text: `The key is removed` };
  },
});

export const providerTest = defineCommand({
  name: "provider test",
  description: "Send a provider one small real request, and report which host failed and why",
  flags: {
    model: { value: "M", description: "The model to call; default: the first for chat or embeddings" },
    key: { value: "ID", description: "The stored key to use; default: the first" },
  },
  args: ["NAME"],
  example: "provider test openai",
  async run(context, { args, flags, ...input }) {
    const network = openNetwork(new TimeoutScheduler(), monotonicNow, { machine: input.config.machine });
    const options = { model: flags.model, keyId: flags.key };
    const live = readLiveState(input.config)?.providers?.find(({ name }) => name === args.NAME);
    const variable = live?.keys.find(({ source, in_force }) => source !== null && in_force)?.source;
    const json = await withProviders(context, input, (providers) => {
      const isElsewhere = variable != null && providers.settings.readGiven(providers.find(args.NAME)).keys.length === 0;
      if (!isElsewhere || options.keyId !== undefined) {
        return providers.test(network, commandLine, args.NAME, options);
      }
      const other = `test it on the dashboard, by POST /organization/providers/${args.NAME}/test, or set ${variable} here`;
      throw new UsageError(`The running gateway has ${variable} in its environment, which this shell lacks; ${other}`);
    });
    const nameOf = await readModelNames(context, input.config);
    const answered = json.model === null ? "" : ` ${nameOf(json.model)}`;
    const text = (json.error && toTerminalLine(json.error)) ?? `${json.host} answered${answered} in ${json.ms} ms`;
    return { json, text, exitCode: json.ok ? exitCodes.success : exitCodes.failed };
  },
});

export const providerResume = defineCommand({
  name: "provider resume",
  description: "Use a provider's routes again that are paused after failures, at every gateway of this database",
  flags: { model: { value: "M", description: "Only the route of this model; default: all" } },
  args: ["NAME"],
  example: "provider resume openai",
  async run(context, { args, flags, ...input }) {
    await withProviders(context, input, (providers) => providers.resume(commandLine, args.NAME, flags.model));
    const what = flags.model === undefined ? `The routes of ${args.NAME} are` : `The route of ${flags.model} is`;
    return { json: { name: args.NAME, model: flags.model ?? null }, text: `${what} in use again` };
  },
});

function readManifestFile(file: string): unknown {
  let text: string;
  try {
    text = decodeText(readFileSync(file));
  } catch (error) {
    throw new UsageError(`Cannot read ${file} (${(error as NodeJS.ErrnoException).code}), expected a manifest`);
  }
  const value = parseJson(text, "file");
  if (value === undefined) throw new UsageError(`${file} is not JSON, expected a manifest`);
  return value;
}

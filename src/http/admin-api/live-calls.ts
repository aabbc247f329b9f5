import { type Static, Type } from "@sinclair/typebox";
import { type Administrator, recordAct } from "../../audit/index.ts";
import { capabilities, formatUsd, GatewayError, nullable } from "../../contract/index.ts";
import type { ClientCall, LoadShedder } from "../../kernel/index.ts";
import { type RemoteCall, type RemoteCalls, remoteCallsMax } from "../../ledger/index.ts";
import { labelsOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { warnThrottled } from "../lifecycle/store-timeout.ts";
import { type AdminApi, adminRoutes, describeDelete, describeRead } from "./guard.ts";
import { toSeconds } from "./lists.ts";

const LiveCallObject = Type.Object({
  id: Type.String({ description: "The `x-request-id` of its answer" }),
  object: Type.Literal("organization.live_call"),
  elsewhere: Type.Boolean({ description: "Whether another process runs it" }),
  process: nullable(Type.String({ description: "The process that runs it; `null`: there is only one" })),
  started_at: Type.Integer(),
  running_ms: Type.Number(),
  project_id: Type.String(),
  project_email: nullable(Type.String()),
  api_key_id: Type.String(),
  capability: Type.Union(capabilities.map((capability) => Type.Literal(capability))),
  stream: nullable(Type.Boolean()),
  model: nullable(Type.String()),
  provider: nullable(Type.String()),
  attempts: nullable(Type.Integer()),
  first_byte_ms: nullable(Type.Number()),
  held_usd: nullable(Type.String({ description: "Amount held in the wallet for it" })),
});
const LiveCalls = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(LiveCallObject),
  count: Type.Integer({ description: "Number of running calls; at most 200 are listed" }),
  complete: Type.Boolean({
    description: "`false`: the database did not answer in time, so calls of other processes are missing",
  }),
});

const shownMax = remoteCallsMax;
const noCalls: RemoteCalls = { count: 0, calls: [] };

/** The calls that run now, and their early end. */
export function liveCallsController(deps: HttpDeps, api: AdminApi) {
  const route = adminRoutes(deps, api, { path: "/organization/live_calls", area: "usage" });
  return [
    route.get("", () => liveCalls(deps), {
      detail: describeRead("List the running calls, the longest running first", LiveCalls, {
        description: "For calls of other processes, fields that only their process has are `null`.",
      }),
    }),
    route.delete(
      "/:call_id",
      async ({ admin, params: { call_id: id } }) => {
        await endCall(deps, { by: admin, id });
        return { id, object: "organization.live_call.deleted" as const, deleted: true };
      },
      {
        detail: describeDelete("End a running call", "organization.live_call.deleted", {
          description: "Its client gets an error, and its usage so far is charged.",
        }),
      },
    ),
  ];
}

/**
 * The running calls of all processes, the longest running first. Calls of other processes are known only by what their
 * admission recorded. `complete` is `false` when the store did not answer in time: then only the calls of this process
 * are listed, and without e-mails, which would need the store too.
 */
async function liveCalls(deps: HttpDeps): Promise<Static<typeof LiveCalls>> {
  const { store, loadShedder } = deps;
  const remote = await readRemoteCalls(deps);
  const { count, calls } = remote ?? noCalls;
  // Computed after the store answered, because a call may have been admitted here in the meantime.
  const ownIds = new Set(callIds(loadShedder.running));
  const others = calls.filter(({ id }) => !ownIds.has(id));
  const [now, steadyNow] = [deps.now(), deps.kernel.now()];
  const longest = [...loadShedder.running]
    .sort((one, other) => one.request.startedMs - other.request.startedMs)
    .slice(0, shownMax);
  const shown = [
    ...longest.map((call) => toRunningCallJson(call, { now: steadyNow, process: store.nodeId })),
    ...others.map((call) => toRemoteCallJson(call, now)),
  ]
    .sort((one, other) => other.running_ms - one.running_ms)
    .slice(0, shownMax);
  const emails =
    remote === undefined
      ? new Map<string, string>()
      : await labelsOf(
          store,
          shown.map(({ project_id }) => project_id),
        );
  return {
    object: "list",
    count: ownIds.size + count - (calls.length - others.length),
    complete: remote !== undefined,
    data: shown.map((call) => ({ ...call, project_email: emails.get(call.project_id) ?? null })),
  };
}

/**
 * Ends a call, or has the process that runs it do so. Its caller gets an error that clients do not retry, and is
 * charged for the usage up to that point.
 *
 * @throws {GatewayError} `not_found`, or `unavailable` when it may run in another process and the store does not
 * answer.
 */
async function endCall(deps: HttpDeps, { by, id }: { by: Administrator; id: string }): Promise<void> {
  const { loadShedder, store } = deps;
  const detail = detailOf(findRunning(loadShedder, id)) ?? (await readRemoteDetail(deps, id));
  if (detail === undefined) throw new GatewayError("not_found", "No running call has this id; it may have ended");
  await recordAct(store, { accountId: by.accountId, action: "call.end", subject: id, detail }, deps.now());
  if (!endRunning(loadShedder, id)) await store.endCall?.(id);
}

/** Ends the call if it runs in this process, and returns whether it does. */
export function endRunning(loadShedder: LoadShedder, id: string): boolean {
  const call = findRunning(loadShedder, id);
  call?.endWith(new GatewayError("forbidden", "An operator of the gateway ended this call"));
  return call !== undefined;
}

function findRunning({ running }: LoadShedder, id: string): ClientCall | undefined {
  return [...running].find((call) => call.id === id);
}

/** The account and model of a call, as the audit log names them. */
type CallDetail = { account: string; model: string | null };

function detailOf(call: ClientCall | undefined): CallDetail | undefined {
  return call && { account: call.request.caller.accountId, model: call.run?.model ?? null };
}

async function readRemoteDetail(deps: HttpDeps, id: string): Promise<CallDetail | undefined> {
  const remote = await readRemoteCalls(deps, id);
  if (remote === undefined) {
    const message = "The gateway's database does not answer, so calls of other processes cannot be found; try again";
    throw new GatewayError("unavailable", message, { retryAfterMs: 1000 });
  }
  const call = remote.calls.find((each) => each.id === id);
  return call && { account: call.account_id, model: call.model };
}

/** The calls of other processes, or the one with this id; `undefined` when the store did not answer in time. */
async function readRemoteCalls(deps: HttpDeps, id?: string): Promise<RemoteCalls | undefined> {
  const { remoteCalls } = deps;
  if (remoteCalls === undefined) return noCalls;
  try {
    return await remoteCalls(id);
  } catch (error) {
    warnThrottled(deps, "calls_elsewhere_unknown", error);
    return undefined;
  }
}

function callIds(running: ReadonlySet<ClientCall>): string[] {
  return [...running].map(({ id }) => id);
}

function toRunningCallJson(
  { request, run, attempts }: ClientCall,
  { now, process }: { now: number; process: string | null },
) {
  const { id, openedAt, startedMs, capability, caller, sink } = request;
  return {
    id,
    object: "organization.live_call" as const,
    elsewhere: false,
    process,
    started_at: toSeconds(openedAt),
    running_ms: now - startedMs,
    project_id: caller.accountId,
    api_key_id: caller.keyId,
    capability,
    stream: sink !== undefined,
    model: run?.model ?? null,
    provider: run?.plugin ?? null,
    attempts,
    first_byte_ms: run?.firstByteMs ?? null,
    held_usd: run?.hold === undefined ? null : formatUsd(run.hold.heldNanodollars),
  };
}

function toRemoteCallJson(call: RemoteCall, now: number) {
  return {
    id: call.id,
    object: "organization.live_call" as const,
    elsewhere: true,
    process: call.node_id,
    started_at: toSeconds(call.opened_at),
    // The clock of another machine may be ahead.
    running_ms: Math.max(0, now - call.opened_at),
    project_id: call.account_id,
    api_key_id: call.key_id,
    capability: call.capability,
    stream: null,
    model: call.model,
    provider: null,
    attempts: null,
    first_byte_ms: null,
    held_usd: formatUsd(call.hold_nanodollars),
  };
}

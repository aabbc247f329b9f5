import type { Processes } from "../processes.ts";
import type { Upstream } from "../subjects.ts";
import { bifrost } from "./bifrost.ts";
import type { Contender } from "./contender.ts";
import { envoy } from "./envoy.ts";
import { ferrogw } from "./ferrogw.ts";
import { litellm } from "./litellm.ts";
import { litellmRs } from "./litellm-rs.ts";
import { nginx } from "./nginx.ts";
import { bareProxy, ours } from "./ours.ts";
import { portkey } from "./portkey.ts";
import { rolter } from "./rolter.ts";
import { type Runner, startRunner } from "./start.ts";

/** What stands in the tables about one of them beside its figures. */
export type Described = Pick<Contender, "name" | "version" | "without" | "lacks"> & { startMs: number };

export interface Field {
  runners: Runner[];
  described: Described[];
  /** Those that are not measured, with the reason. */
  leftOut: { name: string; reason: string }[];
}

const limits = ["bare", "modelgate"];
/** Those that are compared at low rates: gateways that answer in less than a millisecond. */
export const contendersOfRates = [...limits, "ferrogw", "rolter"];
const makers: Record<string, () => Promise<Contender>> = {
  bare: bareProxy,
  modelgate: ours,
  ferrogw,
  rolter,
  Portkey: portkey,
  LiteLLM: litellm,
  "litellm-rs": litellmRs,
  Bifrost: bifrost,
  nginx,
  Envoy: envoy,
};

/** Installs and starts all that are to be measured, the bare proxy first; without it or ours there is nothing to say. */
export async function startField(
  processes: Processes,
  provider: Upstream,
  { withPeers, among, say }: { withPeers: boolean; among: readonly string[] | undefined; say: (line: string) => void },
): Promise<Field> {
  const field: Field = { runners: [], described: [], leftOut: [] };
  const leave = (name: string, error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    if (limits.includes(name)) throw new Error(`${name}: ${reason}`);
    field.leftOut.push({ name, reason });
    say(`left out: ${name}: ${reason}`);
    return undefined;
  };
  const names = Object.keys(makers).filter(
    (name) => limits.includes(name) || (withPeers && among?.includes(name) !== false),
  );
  if (withPeers) say("install the peers: up to four minutes the first time");
  // Nothing is measured yet, so all are installed at once.
  const contenders = await Promise.all(names.map((name) => makers[name]?.().catch((error) => leave(name, error))));
  for (const contender of contenders) {
    if (contender === undefined) continue;
    say(`start and warm up: ${contender.name}`);
    try {
      const runner = await startRunner(processes, contender, provider);
      field.runners.push(runner);
      const { name, version, without, lacks } = contender;
      field.described.push({ name, version, without, ...(lacks && { lacks }), startMs: runner.startMs });
    } catch (error) {
      leave(contender.name, error);
    }
  }
  return field;
}

import type { AccountsResult } from "./accounts.ts";
import type { Found } from "./calls.ts";
import type { Latency } from "./latency.ts";
import type { Machine } from "./machine.ts";
import type { Memory, OpenStreams } from "./memory.ts";
import type { Field } from "./peers/contenders.ts";
import type { Profile } from "./profile.ts";
import type { RateRow } from "./rates.ts";
import type { Translation } from "./translate.ts";

/** Of one run; what was not measured is absent. */
export interface Results {
  /** As YYYY-MM-DD. */
  day: string;
  machine: Machine;
  /** How long the run took. */
  seconds?: number;
  /** Parts that gave nothing, and why. */
  failures?: { part: string; reason: string }[];
  field?: Omit<Field, "runners"> & Found;
  latency?: Latency[];
  rates?: RateRow[];
  accounts?: AccountsResult;
  memory?: Memory;
  openStreams?: OpenStreams;
  profiles?: Profile[];
  translations?: Translation[];
}

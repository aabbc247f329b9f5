import { type Caller, type Capability, isEnded, membersMax } from "../../contract/index.ts";
import { ownerOf } from "./health.ts";
import { type Candidate, type Candidates, isReady, type Registry } from "./registry.ts";
import { orderMembers, type VirtualModel } from "./virtual-models.ts";

/** The facts of a request that decide which models may serve it. */
export interface CandidateQuery {
  /** The model that was asked for: an id, an alias or a virtual model. */
  readonly model: string;
  /** The models that the client listed, the first to be tried first; absent for a single one. */
  readonly models?: readonly string[] | undefined;
  readonly capability: Capability;
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  readonly session?: string | undefined;
  readonly isStream: boolean;
}

/** The parts of the kernel that decide the order of models. */
interface Chooser {
  readonly registry: Registry;
  readonly now: () => number;
  readonly random?: (() => number) | undefined;
}

/**
 * The models that may serve a request, the first to be tried first: the one of its name, the members of a virtual model,
 * or those of a list of names. Models whose routes are all paused come last.
 *
 * @throws {GatewayError} `model_not_found` or `model_not_allowed`, for a list also when one of its names is at fault.
 */
export function findCandidates(chooser: Chooser, query: CandidateQuery): Candidates {
  const { registry } = chooser;
  const { model: name, models } = query;
  const find = (member: string, virtual?: VirtualModel): Candidate => {
    const modelEntry = registry.find(member, { ...query, virtual: virtual?.id });
    const isSuccession = modelEntry !== registry.byName(member);
    return {
      name: member,
      modelEntry,
      isSuccession,
      speeds: virtual?.strategy === "fastest" ? virtual.speeds : undefined,
    };
  };
  if (models === undefined && !registry.virtualModels.has(name)) return [find(name)];
  const found = new Map<string, Candidate>();
  let refusal: unknown;
  for (const each of models ?? [name]) {
    const virtual = registry.virtualModels.get(each);
    const names = virtual === undefined ? [each] : order(chooser, virtual, query);
    for (const member of names) {
      try {
        const candidate = find(member, virtual);
        const { id } = candidate.modelEntry.model;
        if (!found.has(id)) found.set(id, candidate);
      } catch (error) {
        const known = registry.byName(member);
        if (virtual === undefined && !(known && isEnded(known.model, query.openedAt))) throw error;
        refusal ??= error;
      }
    }
  }
  const [first, ...others] = [...found.values()].slice(0, membersMax);
  if (first === undefined) throw refusal;
  const nowMs = chooser.now();
  const paused = ({ modelEntry }: Candidate) =>
    Number(!modelEntry.routes.some((route) => isReady(route, nowMs, query.caller.accountId)));
  return [first, ...others].sort((a, b) => paused(a) - paused(b)) as [Candidate, ...Candidate[]];
}

function order(
  { now, random = Math.random }: Chooser,
  virtual: VirtualModel,
  { session, caller, isStream }: CandidateQuery,
) {
  return orderMembers(virtual, { nowMs: now(), isStream, owner: ownerOf({ session, caller }), random });
}

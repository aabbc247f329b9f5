import type { Static, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { type Caller, GatewayError } from "../contract/index.ts";
import { makeCallId, Progress } from "../kernel/index.ts";
import { tokenOf } from "./authenticate.ts";
import { bodyBytesOf } from "./body-room.ts";
import { errorResponse } from "./errors.ts";
import { explain, type Fault } from "./explain.ts";
import type { HttpGround } from "./ground.ts";
import { clientRequestIdOf } from "./headers.ts";
import { jsonBytesMax, readJson } from "./read-body.ts";

/** A request whose sender is known. */
export interface Visit {
  readonly request: Request;
  readonly caller: Caller;
  /** The call's progress from its first moment; its id is the answer's `x-request-id`. */
  readonly progress: Progress;
  readonly server: Sockets | null;
}

/** What is needed of the server: how long the socket of a request may be idle, in seconds; 0 is for ever. */
interface Sockets {
  timeout(request: Request, seconds: number): void;
}

/** Sockets on which nothing moves for this long are closed; the most that Bun takes. */
const idleSecondsMax = 255;

/** A provider may think for longer than an idle socket lives. Ended by {@link awaitNoMore}. */
export function awaitProvider({ server, request }: Visit): void {
  server?.timeout(request, 0);
}

/** From here on it is the client who is waited for. */
export function awaitNoMore({ server, request }: Visit): void {
  server?.timeout(request, idleSecondsMax);
}

/**
 * A route handler for callers with a key. The key is checked before a byte of the body is read, and whatever is thrown
 * becomes the one error answer. Elysia's own parsing and validation are left out of the way of a call: they cost a
 * seventh of the barest proxy's whole call, and parse before they authenticate.
 */
export function endpoint(ground: HttpGround, answer: (visit: Visit) => Promise<Response>) {
  return async ({ request, server }: Pick<Visit, "request" | "server">): Promise<Response> => {
    const openedAt = ground.now();
    const refusal = ground.gate.refusal(openedAt);
    if (refusal !== undefined) return errorResponse(ground, refusal, { request });
    const progress = new Progress(makeCallId(openedAt), openedAt);
    progress.clientRequestId = clientRequestIdOf(request);
    let caller: Caller | undefined;
    ground.gate.arrive();
    try {
      const known = ground.authenticate(tokenOf(request));
      caller = known instanceof Promise ? await known : known;
      return await answer({ request, caller, progress, server });
    } catch (error) {
      return errorResponse(ground, error, { request, id: progress.id, caller, attempts: progress.attempts });
    } finally {
      ground.gate.depart();
    }
  };
}

/** As {@link endpoint}, with a JSON body that fits the schema. */
export function jsonEndpoint<S extends TSchema>(
  ground: HttpGround,
  schema: S,
  answer: (visit: Visit, body: Static<S>) => Promise<Response>,
) {
  const check = TypeCompiler.Compile(schema);
  const refuseStrained = () => {
    const refusal = ground.gate.refusal(ground.now());
    if (refusal !== undefined) throw refusal;
  };
  const read = async (visit: Visit) => answer(visit, checked(check, await readJson(visit.request, refuseStrained)));
  return endpoint(ground, (visit) => ground.bodies.during(bodyBytesOf(visit.request, jsonBytesMax), () => read(visit)));
}

/** A value that fits its schema, or the error that says where it does not. */
export function checked<S extends TSchema>(check: TypeCheck<S>, value: unknown): Static<S> {
  if (check.Check(value)) return value;
  const [fault] = check.Errors(value);
  if (fault === undefined) throw new GatewayError("invalid_request", "The body does not fit what was expected");
  throw explain(fault as unknown as Fault);
}

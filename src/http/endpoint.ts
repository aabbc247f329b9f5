import type { Static, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { type Caller, GatewayError } from "../contract/index.ts";
import { makeCallId, Progress } from "../kernel/index.ts";
import { tokenOf } from "./authenticate.ts";
import { errorResponse } from "./errors.ts";
import { explain, type Fault } from "./explain.ts";
import type { HttpGround } from "./ground.ts";
import { readJson } from "./read-body.ts";

/** A request whose sender is known. */
export interface Visit {
  readonly request: Request;
  readonly caller: Caller;
  /** The call's progress from its first moment; its id is the answer's `x-request-id`. */
  readonly progress: Progress;
}

/**
 * A route handler for callers with a key. The key is checked before a byte of the body is read, and whatever is thrown
 * becomes the one error answer. Elysia's own parsing and validation are left out of the way of a call: they cost a
 * seventh of the barest proxy's whole call, and parse before they authenticate.
 */
export function endpoint(ground: HttpGround, answer: (visit: Visit) => Promise<Response>) {
  return async ({ request }: { request: Request }): Promise<Response> => {
    const openedAt = ground.now();
    const progress = new Progress(makeCallId(openedAt), openedAt);
    let caller: Caller | undefined;
    try {
      const known = ground.authenticate(tokenOf(request));
      caller = known instanceof Promise ? await known : known;
      return await answer({ request, caller, progress });
    } catch (error) {
      return errorResponse(ground, error, { id: progress.id, caller });
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
  return endpoint(ground, async (visit) => answer(visit, checked(check, await readJson(visit.request))));
}

/** A value that fits its schema, or the error that says where it does not. */
export function checked<S extends TSchema>(check: TypeCheck<S>, value: unknown): Static<S> {
  if (check.Check(value)) return value;
  const [fault] = check.Errors(value);
  if (fault === undefined) throw new GatewayError("invalid_request", "The body does not fit what was expected");
  throw explain(fault as unknown as Fault);
}

import { Type } from "@sinclair/typebox";
import type { Administrator } from "../../audit/index.ts";
import { GatewayError, quoteValue } from "../../contract/index.ts";
import { readBranch } from "../../reports/index.ts";
import { type Branch, type EndedBranch, endBranch } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../lifecycle/validate.ts";
import { requestsOf, runningOf } from "../sessions/ended-branches.ts";
import { unknownSession } from "./session-json.ts";

/** The body of a request that ends a session, or a branch of it. */
export const EndForm = formBody({
  agent: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: "An agent; it ends with everything below it. Absent: all of the session",
    }),
  ),
});

/**
 * Ends a branch, at all gateways of the database. Those that run in this process have ended when it returns.
 *
 * @throws {GatewayError} `not_found`
 */
export async function endBranchOf(
  deps: HttpDeps,
  by: Pick<Administrator, "accountId">,
  { agent, ...session }: Branch,
): Promise<EndedBranch & { readonly running: number }> {
  const { store, endedBranches, loadShedder, now } = deps;
  const isStorable = !`${session.session}${agent ?? ""}`.includes("\0");
  const query = { ...session, agent };
  const live = isStorable ? await readBranch(store, query, requestsOf(runningOf(loadShedder, session))) : undefined;
  if (live === undefined) {
    if (agent === undefined) throw unknownSession(session.session);
    throw new GatewayError("not_found", `No call of this session named the agent ${quoteValue(agent)}`, {
      param: "agent",
    });
  }
  const ended = await endBranch(store, { by, branch: query, running: live.running }, now);
  await endedBranches.load();
  return { ...ended, running: live.running };
}

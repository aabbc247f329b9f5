import { Type } from "@sinclair/typebox";
import { GatewayError, nullable, quoteValue } from "../../contract/index.ts";
import { agentsMax, describeSession, readSessionBill, type SessionQuery } from "../../reports/index.ts";
import type { HttpDeps } from "../deps.ts";

const Count = Type.Integer();
const figures = {
  calls: Type.Integer({ description: "Calls that have ended" }),
  errors: Type.Integer({ description: "Calls that ended with an error" }),
  duration_ms: Type.Integer({ description: "Durations of the calls, added up" }),
  input_tokens: Type.Integer({ description: "All tokens of prompts: the three below" }),
  input_cached_tokens: Type.Integer({ description: "Read from a cache" }),
  input_cache_write_tokens: Type.Integer({ description: "Written to a cache" }),
  input_uncached_tokens: Type.Integer({ description: "The rest" }),
  output_tokens: Count,
  quota_tokens: Count,
  cost_usd: Type.String({ description: "Cost at the prices of the account, exact decimal text" }),
  charged_usd: Type.String({ description: "Amount paid by the wallet, exact decimal text" }),
  cache_saved_usd: Type.String({ description: "What prompt caches saved, exact decimal text" }),
  cache_lost_usd: Type.String({
    description: "What the parts of prompts cost that caches did not have, exact decimal text",
  }),
};
const models = Type.Array(Type.Object({ model: Type.String(), ...figures }));
const running = Type.Integer({ description: "Calls that run now; they are in no other figure" });

/** The fields of a session whose times have this schema. */
export const sessionFields = {
  session: Type.String(),
  complete: Type.Boolean({
    description: "`false`: the session has more than 200,000 calls, and the newest are missing",
  }),
  started_at: Type.Integer({ description: "When its first call began, in seconds since 1970" }),
  ended_at: nullable(Type.Integer({ description: "When its last call ended" })),
  running,
  ...figures,
  models,
  api_keys: Type.Array(Type.Object({ api_key_id: Type.String(), ...figures }), {
    description: "`*` stands for the keys after the first 100",
  }),
  agents: Type.Array(
    Type.Object({
      agent: nullable(
        Type.String({ description: `\`null\`: the session itself; \`*\`: the agents after the first ${agentsMax}` }),
      ),
      parent_agent: nullable(
        Type.String({
          description: "The agent below which it hangs; `null`: the session, or a parent that is not known",
        }),
      ),
      depth: Type.Integer({ description: "0: the session itself" }),
      started_at: Count,
      ended_at: nullable(Count),
      running,
      ...figures,
      models,
      branch: Type.Object(
        { agents: Type.Integer({ description: "Agents below it" }), running, ...figures },
        { description: "The figures of the agent and of all below it" },
      ),
    }),
    { description: "Each agent before those that it started. Their figures add up to those of the session" },
  ),
};

/**
 * The bill of a session.
 *
 * @param toTime Makes the form of its times.
 * @throws {GatewayError} `not_found`
 */
export async function readSessionJson<Time>(
  { store }: Pick<HttpDeps, "store">,
  query: SessionQuery,
  toTime: (at: number) => Time,
) {
  const bill = query.session.includes("\0") ? undefined : await readSessionBill(store, query);
  if (bill === undefined) throw unknownSession(query.session);
  return { session: query.session, ...describeSession(bill, toTime) };
}

export function unknownSession(session: string): GatewayError {
  return new GatewayError("not_found", `No call named the session ${quoteValue(session)}`);
}

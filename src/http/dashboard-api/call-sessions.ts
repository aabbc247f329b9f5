import { Type } from "@sinclair/typebox";
import { readKeyNames } from "../../keys/index.ts";
import { maySeeAll, namesOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { EndForm, endBranchOf } from "../forms/end-branch.ts";
import { displayNameOf } from "../forms/read-fields.ts";
import { toIso, toOwnerJson } from "../forms/serializers.ts";
import { readSessionJson } from "../forms/session-json.ts";
import { withSession, withTeamSession } from "../lifecycle/session.ts";
import { readAccount } from "./requests.ts";

const Query = Type.Object({ account: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })) });

/** Sessions of coding agents, as their calls name them. `/sessions` has the sessions of people who are signed in. */
export function callSessionsController(deps: HttpDeps) {
  const { store } = deps;
  return [
    withSession(deps).get(
      "/call-sessions/:session",
      async ({ user, params: { session }, query }) => {
        const accountId = (await readAccount(deps, user, query)) ?? user.accountId;
        const json = await readSessionJson(deps, { accountId, session }, toIso);
        const owners = maySeeAll(user.role) ? await namesOf(store, [accountId]) : undefined;
        const keyNames = await readKeyNames(
          store,
          json.api_keys.map(({ api_key_id: id }) => id),
        );
        const named = <Row extends { readonly model: string }>(rows: readonly Row[]) =>
          rows.map((row) => ({ ...row, model_name: displayNameOf(deps, row.model) }));
        return {
          ...json,
          account: accountId,
          ...toOwnerJson(owners, accountId),
          models: named(json.models),
          agents: json.agents.map((agent) => ({ ...agent, models: named(agent.models) })),
          api_keys: json.api_keys.map((key) => ({ ...key, name: keyNames.get(key.api_key_id) ?? null })),
        };
      },
      { query: Query },
    ),
    withTeamSession(deps).post(
      "/call-sessions/:session/end",
      async ({ user, params: { session }, body: { agent } }) => {
        const by = { accountId: user.ownAccountId };
        const ended = await endBranchOf(deps, by, { accountId: user.accountId, session, agent });
        return { calls: ended.running, refused_until: toIso(ended.refusedUntil) };
      },
      { body: EndForm },
    ),
  ];
}

import { isDeepStrictEqual } from "node:util";
import { Type } from "@sinclair/typebox";
import { GatewayError } from "../../../contract/index.ts";
import { parseTokenIssuers } from "../../../identity/index.ts";
import { entriesOf } from "./plan-entries.ts";
import { defineSection } from "./section.ts";

/** The issuers of tokens. Whoever decides whose tokens are accepted may make calls for every account. */
export const jwtIssuers = defineSection({
  schema: entriesOf(Type.Unknown()),
  area: "accounts",
  read: async ({ tokenIssuers }) => (tokenIssuers.isFromEnvironment ? undefined : [...(await tokenIssuers.read())]),
  async plan({ deps: { tokenIssuers, now }, admin }, issuers) {
    const before = [...(await tokenIssuers.read())];
    const after = parseTokenIssuers(JSON.stringify(issuers));
    if (isDeepStrictEqual(before, after)) return [];
    if (admin.role !== "owner")
      throw new GatewayError("forbidden", "Only owners and their admin keys can change jwt_issuers");
    if (tokenIssuers.isFromEnvironment) {
      throw new GatewayError("conflict", "JWT_ISSUERS sets the issuers; change it there");
    }
    return [
      {
        id: "jwt_issuers",
        action: "change",
        fields: { issuers: { before, after } },
        run: () => tokenIssuers.write(admin, JSON.stringify(issuers), now()),
      },
    ];
  },
});

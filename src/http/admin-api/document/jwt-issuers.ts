import { isDeepStrictEqual } from "node:util";
import { Type } from "@sinclair/typebox";
import { parseTokenIssuers } from "../../../identity/index.ts";
import { entriesOf } from "./plan-entries.ts";
import { defineSection } from "./section.ts";

/** The issuers of tokens, as one list that is replaced whole. */
export const jwtIssuers = defineSection({
  schema: entriesOf(Type.Unknown()),
  area: "accounts",
  read: async ({ tokenIssuers }) => (tokenIssuers.isFromEnvironment ? undefined : [...(await tokenIssuers.read())]),
  async plan({ deps: { tokenIssuers, now }, admin }, issuers) {
    const before = [...(await tokenIssuers.read())];
    const after = parseTokenIssuers(JSON.stringify(issuers));
    if (isDeepStrictEqual(before, after)) return [];
    tokenIssuers.expectChangeable(admin);
    return [
      {
        id: "jwt_issuers",
        action: "change",
        fields: { issuers: { before, after } },
        run: () => tokenIssuers.write(admin, () => issuers, now()),
      },
    ];
  },
});

import { version } from "../../package.json" with { type: "json" };

/** Set by the build; in source there is no such name. */
declare const MODELGATE_COMMIT: string | undefined;

/** Which modelgate this is. The commit is known in a build from a git checkout; `-dirty` when it had changes. */
export const buildVersion: { readonly version: string; readonly commit?: string } =
  typeof MODELGATE_COMMIT === "string" ? { version, commit: MODELGATE_COMMIT } : { version };

import type { Module } from "../module.ts";
import { accountContent } from "./command.ts";
import { settings } from "./settings.ts";

/** Prompts and answers of calls, where the operator keeps them. */
export const contentLog: Module = {
  name: "content-log",
  settings,
  commands: [accountContent],
  async open(parts) {
    const { openContentLog } = await import("./open.ts");
    return await openContentLog(parts);
  },
};

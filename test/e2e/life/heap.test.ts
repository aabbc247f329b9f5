import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { hookMsMax, startGateway } from "../../support/gateway.ts";

const option = "BUN_JSC_heapGrowthMaxIncrease";
const whyNot = existsSync("/proc/self/environ") ? undefined : "the environment of a process is read from Linux's /proc";
if (whyNot !== undefined) console.log(`Skipped, how the heap grows: ${whyNot}`);

test.skipIf(whyNot !== undefined).each([
  ["is bounded by itself", {}, "1.1"],
  ["is bounded as its operator wants it", { [option]: "1.6" }, "1.6"],
])(
  "the heap of a gateway that serves %s, in the process that was started",
  async (_, env, value) => {
    const gateway = await startGateway({ env: env as Record<string, string> });
    try {
      const environment = readFileSync(`/proc/${gateway.pid}/environ`, "utf8").split("\0");
      expect(environment.filter((line) => line.startsWith(option))).toEqual([`${option}=${value}`]);
    } finally {
      expect(await gateway.stop()).toBe(0);
    }
  },
  hookMsMax,
);

import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import type { PluginDefinition } from "../../../src/sdk/define-plugin.ts";
import { completionOf } from "./streams.ts";
import { chatCall, createBench, createPlugin, rejectionOf, runCall } from "./support.ts";

const badRequest = () => {
  throw new GatewayError("invalid_request", "The field is odd, expected an even one", { param: "field" });
};
const answering = (changes: Partial<PluginDefinition> = {}) =>
  createPlugin({ chat: async () => completionOf("Hi") }, changes);

describe("a plugin's check", () => {
  test("refuses before anything is held", async () => {
    const { kernel, ledger } = createBench([answering({ checks: { chat: badRequest } })]);
    expect(await rejectionOf(runCall(kernel, chatCall()))).toMatchObject({ code: "invalid_request", param: "field" });
    expect([ledger.claims, ledger.settlements]).toEqual([[], []]);
  });

  test("sees the request and the plugin's own row", async () => {
    const seen: unknown[] = [];
    const { kernel } = createBench([answering({ checks: { chat: (asked) => void seen.push(asked) } })]);
    await runCall(kernel, chatCall());
    expect(seen).toMatchObject([{ request: { model: "chat-1" }, model: { upstreamId: "upstream-chat-1" } }]);
  });

  test("refuses only what no route takes", async () => {
    const odd = answering({ checks: { chat: badRequest } });
    for (const second of [{ checks: { chat: () => undefined } }, {}]) {
      const { kernel, ledger } = createBench([odd, answering({ name: "second", ...second })]);
      await runCall(kernel, chatCall());
      expect(ledger.settlement.outcome).toBe("settled");
    }
  });

  test("that fails in another way leaves the call to the handler", async () => {
    const broken = () => {
      throw new TypeError("Not a function");
    };
    const { kernel, ledger } = createBench([answering({ checks: { chat: broken } })]);
    await runCall(kernel, chatCall());
    expect(ledger.settlement.outcome).toBe("settled");
  });

  test("of another capability is not asked", async () => {
    const { kernel, ledger } = createBench([answering({ checks: { speech: badRequest } })]);
    await runCall(kernel, chatCall());
    expect(ledger.settlement.outcome).toBe("settled");
  });
});

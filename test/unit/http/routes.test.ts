import { expect, test } from "bun:test";
import { UpstreamError } from "../../../src/contract/index.ts";
import { completionOf } from "../kernel/streams.ts";
import { chatModel, createPlugin } from "../kernel/support.ts";
import { helloPlugin, httpOf, messages } from "./support.ts";

const down = createPlugin({ chat: () => Promise.reject(new UpstreamError("overloaded", "Busy")) });
const backup = createPlugin(
  { chat: async () => completionOf("Hello from the backup") },
  { name: "backup", models: [{ ...chatModel, priority: 200 }] },
);

test("an answer says who gave it, after how many tries", async () => {
  const { post, ledger } = httpOf([down, backup]);
  const response = await post("chat/completions", { model: "chat-1", messages });
  expect(response.headers.get("x-modelgate-route")).toBe("backup");
  expect(response.headers.get("x-modelgate-attempts")).toBe("2");
  expect(ledger.settlement.plugin).toBe("backup");
});

test("an answer at the first try says so too", async () => {
  const response = await httpOf([helloPlugin]).post("chat/completions", { model: "chat-1", messages });
  expect(response.headers.get("x-modelgate-attempts")).toBe("1");
});

test("a failure says after how many tries, and names nobody", async () => {
  const response = await httpOf([down]).post("chat/completions", { model: "chat-1", messages });
  expect([response.status, response.headers.get("x-modelgate-attempts")]).toEqual([500, "2"]);
  expect(response.headers.get("x-modelgate-route")).toBeNull();
});

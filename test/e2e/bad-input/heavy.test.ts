import { describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const shared = useSandboxGateway();
const mebibyte = 1024 * 1024;
const chat = { model: "famA-4o-mini", messages: [{ role: "user", content: "Hello" }] };
const nested = (depth: number) => `{"model":"famA-4o-mini","messages":${"[".repeat(depth)}${"]".repeat(depth)}}`;

/** What takes one request long takes everybody long: each of these ends well within a test's time, or it fails. */
describe("a request made to be heavy", () => {
  test.each([20_000, 100_000, 1_000_000])("nested %d deep is refused like any other wrong type", async (depth) => {
    await expectError(await shared.gateway.post("/chat/completions", nested(depth)), { status: 400 });
    expect((await shared.gateway.ask("/models")).status).toBe(200);
  });

  test("with a deep schema for a tool is answered or refused, not an error of ours", async () => {
    const parameters = `${'{"items":'.repeat(50_000)}{}${"}".repeat(50_000)}`;
    const tools = `[{"type":"function","function":{"name":"f","parameters":${parameters}}}]`;
    const body = `{"model":"famA-4o-mini","messages":[{"role":"user","content":"f"}],"tools":${tools}}`;
    expect([200, 400]).toContain((await shared.gateway.post("/chat/completions", body)).status);
  });

  test("with 10 000 wrong messages is refused at the first", async () => {
    const messages = Array.from({ length: 10_000 }, () => ({ role: "robot", content: 5 }));
    const response = await shared.gateway.post("/chat/completions", { ...chat, messages });
    await expectError(response, { status: 400, param: "messages[0].role" });
  });

  test("with a field of too many values is refused before it is parsed", async () => {
    const body = `{"model":"m","messages":[],"extra":[${"0,".repeat(10_000_000)}0]}`;
    const response = await shared.gateway.post("/chat/completions", body);
    await expectError(response, { status: 400, says: "more than 500000 values" });
  });

  test("with a wide and deep field beside a wrong one is refused for the wrong one", async () => {
    const extra = `${"[".repeat(190)}${"0,".repeat(499_000)}0${"]".repeat(190)}`;
    const response = await shared.gateway.post(
      "/chat/completions",
      `{"model":"${chat.model}","messages":[],"extra":${extra}}`,
    );
    await expectError(response, { status: 400, param: "messages" });
  });

  test("with the name of a model that is megabytes long is refused without repeating it", async () => {
    const response = await shared.gateway.post("/chat/completions", { ...chat, model: "m".repeat(mebibyte) });
    expect(Number((await response.clone().text()).length)).toBeLessThan(1000);
    await expectError(response, { status: 400, param: "model" });
  });

  test("with a word without end is counted like any other text", async () => {
    const input = "a".repeat(250_000);
    const response = await shared.gateway.post("/embeddings", { model: "hostT/m2-bert-80M-32k-retrieval", input });
    expect([200, 400]).toContain(response.status);
  });

  test("with a prompt without spaces is estimated when its usage is missing", async () => {
    const content = `[[fault:usage=missing]]${"é".repeat(300_000)}`;
    const response = await shared.gateway.post("/chat/completions", { ...chat, messages: [{ role: "user", content }] });
    expect(response.status).toBe(200);
    expect(shared.ledger.callOf(response).usage_source).toBe("estimated");
  });

  test("with a body over the limit is 413, whether it says its length or not", async () => {
    const text = JSON.stringify({ ...chat, pad: "x".repeat(33 * mebibyte) });
    await expectError(await shared.gateway.post("/chat/completions", text), { status: 413, code: "payload_too_large" });
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    });
    const headers = { "content-type": "application/json" };
    const response = await shared.gateway.ask("/chat/completions", { method: "POST", headers, body });
    await expectError(response, { status: 413, code: "payload_too_large" });
  });

  test("leaves nothing open in the ledger", async () => {
    expect(shared.ledger.counts().open).toBe(0);
    expect((await shared.gateway.run("ledger", "verify")).code).toBe(0);
  });
});

import { beforeAll, beforeEach, expect, test } from "bun:test";
import { type AgentName, type Agents, prepareAgents } from "../../support/agents.ts";
import { useAgentsGateway } from "../../support/agents-gateway.ts";
import { prepareMsMax } from "../../support/prepare-once.ts";
import { toMessage, toMessageEvents } from "../../support/providers/anthropic.ts";
import { toResponse, toResponseEvents } from "../../support/providers/openai.ts";
import { type Step, toEvent } from "../../support/providers/script.ts";

const query = "the newest release of Bun";
const found = { title: "Bun 9.9 is out", url: "https://bun.example/9.9" };
const answer = "Bun 9.9 came out.";

const shared = useAgentsGateway();
let agents: Agents;
beforeAll(async () => {
  agents = await prepareAgents();
}, 3 * prepareMsMax);
beforeEach(() => {
  shared.providers.seen.length = 0;
  shared.recorder.calls.length = 0;
  shared.providers.fault = undefined;
});

async function ask(agent: AgentName, model: string): Promise<string> {
  const { recorder, gateway } = shared;
  const { code, stdout, stderr } = await agents.run(agent, "Search the web", { ...recorder, key: gateway.key, model });
  expect([code, code === 0 ? "" : stdout + stderr]).toEqual([0, ""]);
  return stdout;
}

/** The rows of the ledger of the agent's calls, in their order. */
function charges() {
  const { recorder, ledger } = shared;
  const posts = recorder.calls.filter(({ method }) => method === "POST");
  return posts.map(({ requestId }) => ledger.call(requestId ?? ""));
}

const isResult = ({ type }: { type?: string }) => type === "tool_result";
const isSearch = ({ type }: { type?: string }) => type?.startsWith("web_search") === true;
const stream = (events: string) => new Response(events, { headers: { "content-type": "text/event-stream" } });

/** The events of an answer of Anthropic that searched once. */
function searchedEvents(model: string): string {
  const result = { type: "web_search_result", ...found, encrypted_content: "c2VjcmV0", page_age: null };
  const content = [
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [result] },
    { type: "text", text: answer },
  ];
  const head = { id: "msg_2", type: "message", role: "assistant", model, content: [], stop_sequence: null };
  const usage = { input_tokens: 9000, output_tokens: 40, server_tool_use: { web_search_requests: 1 } };
  const events: { type: string; [field: string]: unknown }[] = [
    { type: "message_start", message: { ...head, stop_reason: null, usage: { input_tokens: 90, output_tokens: 1 } } },
    ...content.flatMap((content_block, index) => [
      { type: "content_block_start", index, content_block },
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  return events.map((event) => toEvent(event, event.type)).join("");
}

test("WebSearch of Claude Code gets what Anthropic's search of the web found, and the search is charged", async () => {
  if (agents.missing !== undefined) return;
  const { providers } = shared;
  const model = "claude-sonnet-4-6";
  // Claude Code loads the tool by another one, and searches in a request of its own, which has no other tool.
  const steps: Step[] = [
    { tool: { id: "load", name: "ToolSearch", input: { query: "select:WebSearch", max_results: 1 } } },
    { tool: { id: "search", name: "WebSearch", input: { query } } },
    { text: answer },
  ];
  providers.fault = ({ body }) => {
    if (body.tools?.some(isSearch)) return stream(searchedEvents(body.model));
    const results = body.messages.flatMap(({ content }: { content: unknown }) => content).filter(isResult);
    return stream(toMessageEvents(toMessage(steps[results.length] ?? {}, body)));
  };
  expect(await ask("claude", model)).toContain(answer);
  const searches = providers.seen.map(({ body }) => body.tools?.filter(isSearch) ?? []);
  expect(searches).toMatchObject([[], [], [{ name: "web_search" }], []]);
  expect(providers.seen[2]?.body.tools).toHaveLength(1);
  expect(JSON.stringify(providers.seen[3]?.body.messages)).toContain(found.url);
  expect(charges()).toMatchObject([
    { web_searches: null },
    { web_searches: null },
    { web_searches: 1, input_tokens: 9000, cost_nanodollars: 9000 * 3000 + 40 * 15_000 + 10_000_000 },
    { web_searches: null },
  ]);
});

test("Codex has OpenAI's search of the web, and its searches are charged", async () => {
  if (agents.missing !== undefined) return;
  const { providers } = shared;
  const model = "gpt-5.4";
  providers.fault = ({ body }) => {
    const search = { id: "ws_1", type: "web_search_call", status: "completed", action: { type: "search", query } };
    const response = toResponse({ text: answer }, body);
    const output = [search, ...response.output];
    return stream(toResponseEvents({ ...response, output, tool_usage: { web_search: { num_requests: 2 } } } as never));
  };
  expect(await ask("codex", model)).toContain(answer);
  const [request] = providers.seen;
  expect(request?.body.tools.filter(isSearch)).toHaveLength(1);
  const cost = 36 * 2500 + 64 * 250 + 20 * 15_000 + 2 * 10_000_000;
  expect(charges()).toMatchObject([{ web_searches: 2, cost_nanodollars: cost }]);
});

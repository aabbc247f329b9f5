import rows from "../../../catalogue/openai.json" with { type: "json" };
import { sandbox } from "../../../plugins/sandbox/index.ts";
import type { Caller } from "../../../src/contract/index.ts";
import { openStore } from "../../../src/db/index.ts";
import {
  buildRegistry,
  ClientCall,
  type ClientRequest,
  findCandidates,
  type Kernel,
  openNetwork,
  PromptCaching,
  runCall,
  TimeoutScheduler,
} from "../../../src/kernel/index.ts";
import { ProcessLedger } from "../../../src/ledger/index.ts";
import { type ChatChunk, completeRow } from "../../../src/provider/index.ts";
import { readModels } from "../../../src/sdk/index.ts";
import { addPayers } from "../../support/payers.ts";

/** Run by Deno: a chat, whole and streamed, through kernel, sandbox plugin, ledger and store. Prints one JSON line. */
const now = Date.now;
const store = await openStore({ file: ":memory:" });
await addPayers(store, { a1: ["k1"] });
const ledger = new ProcessLedger({ store, now });
const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: console.error };
const models = readModels(rows).map((row) => completeRow(row, { name: "openai" }));
const { registry } = buildRegistry([sandbox(models)], () => undefined);
const network = openNetwork(new TimeoutScheduler(now), now, {});
const kernel: Kernel = { registry, ledger, network, log, now, promptCaching: new PromptCaching() };
const limits = { requestsPerMinute: 60, tokensPerMinute: 1_000_000 };
const caller: Caller = { accountId: "a1", keyId: "k1", limits, freeTokensPerDay: 250_000 };
const request = { model: "famA-4o-mini", messages: [{ role: "user" as const, content: "Say hello" }] };

const about = { openedAt: now(), startedMs: now(), caller, capability: "chat", protocol: "chat" } as const;
const runChat = (chat: Pick<ClientRequest<"chat">, "id" | "body" | "sink">) => {
  const candidates = findCandidates(kernel, { ...about, model: chat.body.model, isStream: chat.sink !== undefined });
  return runCall(kernel, new ClientCall({ ...about, ...chat }), candidates);
};

const whole = await runChat({ id: "req_whole", body: request });
let streamed = "";
const sink = {
  open: silent,
  write(chunk: ChatChunk) {
    streamed += chunk.choices[0]?.delta.content ?? "";
    return undefined;
  },
  pass: silent,
};
await runChat({ id: "req_streamed", body: { ...request, stream: true }, sink });
const calls = await store.db.selectFrom("calls").select(["id", "state"]).orderBy("id").execute();
const runtime = navigator.userAgent;
console.log(JSON.stringify({ runtime, whole: whole?.choices[0]?.message.content, streamed, calls }));
await ledger.close();
await store.close();

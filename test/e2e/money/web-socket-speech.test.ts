import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { ServerWebSocket } from "bun";
import OpenAI from "openai";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { closeCircuits } from "../../support/close-circuits.ts";
import { errorOf } from "../../support/error-of.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { until } from "../../support/until.ts";

/** A message of a client of CosyVoice. */
interface Command {
  header: { action: string; task_id: string; streaming: string };
  payload: Record<string, unknown>;
}

type Socket = ServerWebSocket<{ key: string }>;

/** A provider that speaks the WebSocket protocol of CosyVoice, and does what a test tells it once it has the text. */
class SpeechProvider {
  readonly commands: Command[] = [];
  /** The key of each handshake, also of those that are refused. */
  readonly keys: string[] = [];
  readonly open = new Set<Socket>();
  refuse: ((key: string) => number | undefined) | undefined;
  onText: (socket: Socket, taskId: string) => void = speakAll;
  readonly server = Bun.serve<{ key: string }>({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, server) => {
      const key = request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
      this.keys.push(key);
      if (!request.url.endsWith("/api-ws/v1/inference")) return new Response("", { status: 404 });
      const status = this.refuse?.(key);
      if (status !== undefined) return Response.json({ code: "Refused", message: "No" }, { status });
      return server.upgrade(request, { data: { key } }) ? undefined : new Response("", { status: 400 });
    },
    websocket: {
      perMessageDeflate: true,
      open: (socket) => void this.open.add(socket),
      close: (socket) => void this.open.delete(socket),
      message: (socket, message) => {
        const command = JSON.parse(String(message)) as Command;
        this.commands.push(command);
        const { action, task_id: taskId } = command.header;
        if (action === "run-task") sendEvent(socket, taskId, "task-started");
        if (action === "finish-task") this.onText(socket, taskId);
      },
    },
  });
}

function sendEvent(socket: Socket, taskId: string, event: string, more: object = {}): void {
  socket.send(JSON.stringify({ header: { task_id: taskId, event, attributes: {}, ...more }, payload: {} }));
}

/** A second of 16-bit samples at 24 kHz, of which the first are 1. */
const second = new Uint8Array(48_000).fill(1, 0, 4);

function speakAll(socket: Socket, taskId: string): void {
  socket.send(second);
  socket.send(second);
  sendEvent(socket, taskId, "task-finished");
}

const provider = new SpeechProvider();
const [first, other] = ["sk-first-0123456789", "sk-other-0123456789"];
const flash = "alibaba/cosyvoice-v3-flash";
const nanodollarsPerCharacter = 14_335;
let gateway: InProcessGateway;
let client: OpenAI;

beforeAll(async () => {
  const base = `http://127.0.0.1:${provider.server.port}/compatible-mode/v1`;
  gateway = await startInProcess({ env: { ALIBABA_API_KEY: `${first},${other}`, ALIBABA_BASE_URL: base } });
  client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  expect((await verifyLedger(gateway.store)).differences).toEqual([]);
  await until(() => provider.open.size === 0);
  await gateway.stop();
  await provider.server.stop(true);
});

const lastCall = () =>
  gateway.store.db.selectFrom("calls").selectAll().orderBy("seq", "desc").limit(1).executeTakeFirstOrThrow();

/** Asks for speech of a text, with a provider that does this. */
function ask(input: string, onText: SpeechProvider["onText"] = speakAll, more: object = {}) {
  provider.commands.length = 0;
  provider.keys.length = 0;
  provider.onText = onText;
  provider.refuse = undefined;
  return client.audio.speech.create({ model: flash, input, voice: "alloy", response_format: "wav", ...more });
}

describe("speech by WebSocket", () => {
  beforeEach(() => closeCircuits(gateway));

  test("is a WAV file, made by the task that CosyVoice documents, and costs its characters", async () => {
    const answer = await ask("Hello there", speakAll, { speed: 3 });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    expect(new TextDecoder().decode(bytes.subarray(0, 4))).toBe("RIFF");
    expect(bytes.length - 44).toBe(2 * second.length);
    expect(answer.headers.get("x-modelgate-ignored")?.split(", ").toSorted()).toEqual(["speed", "voice"]);
    const [run, text, finish] = provider.commands;
    expect(provider.commands.map(({ header }) => header.action)).toEqual(["run-task", "continue-task", "finish-task"]);
    expect(new Set(provider.commands.map(({ header }) => header.task_id)).size).toBe(1);
    expect(run?.header.task_id).toMatch(/^[0-9a-f]{32}$/);
    const parameters = { text_type: "PlainText", voice: "longanyang", format: "pcm", sample_rate: 24_000, rate: 2 };
    const task = { task_group: "audio", task: "tts", function: "SpeechSynthesizer", model: "cosyvoice-v3-flash" };
    expect(run?.payload).toEqual({ ...task, parameters, input: {} });
    expect([text?.payload, finish?.payload]).toEqual([{ input: { text: "Hello there" } }, { input: {} }]);
    expect(await lastCall()).toMatchObject({
      characters: 11,
      usage_source: "reported",
      charged_nanodollars: 11 * nanodollarsPerCharacter,
      hold_nanodollars: 11 * nanodollarsPerCharacter,
    });
  });

  test("of Chinese costs two characters for each, as the provider counts them", async () => {
    await (await ask("中A123。")).arrayBuffer();
    expect(await lastCall()).toMatchObject({ characters: 7, charged_nanodollars: 7 * nanodollarsPerCharacter });
  });

  test("comes whole in a message that arrives in many pieces", async () => {
    const minute = new Uint8Array(60 * second.length).fill(2);
    const answer = await ask("a".repeat(900), (socket, taskId) => {
      socket.send(minute);
      sendEvent(socket, taskId, "task-finished");
    });
    expect((await answer.arrayBuffer()).byteLength - 44).toBe(minute.length);
    expect((await lastCall()).characters).toBe(900);
  });

  test("is an MP3 file as it comes where that is asked for", async () => {
    const mp3 = new Uint8Array(600).fill(255);
    const answer = await ask(
      "Hello",
      (socket, taskId) => {
        socket.send(mp3);
        sendEvent(socket, taskId, "task-finished");
      },
      { response_format: "mp3", voice: "longanhuan" },
    );
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(mp3);
    expect(provider.commands[0]?.payload.parameters).toMatchObject({ format: "mp3", voice: "longanhuan" });
  });

  test("is asked for with the other key where the handshake refuses the first", async () => {
    const pending = ask("Hello");
    provider.refuse = (key) => (key === first ? 401 : undefined);
    await (await pending).arrayBuffer();
    expect(provider.keys.at(-1)).toBe(other);
    expect(await lastCall()).toMatchObject({ status: 200, charged_nanodollars: 5 * nanodollarsPerCharacter });
  });

  test.each([
    ["Throttling.RateQuota", 429],
    ["InvalidParameter", 400],
    ["InternalError", 500],
  ])("whose task fails before any audio costs nothing: %s", async (code, status) => {
    const error = await errorOf(
      ask("Hello", (socket, taskId) =>
        sendEvent(socket, taskId, "task-failed", { error_code: code, error_message: "Not this text" }),
      ),
    );
    expect((error as unknown as { status: number }).status).toBe(status);
    expect(error.message.includes("Not this text")).toBe(status === 400);
    expect(await lastCall()).toMatchObject({ status, charged_nanodollars: 0 });
  });

  test.each<[string, SpeechProvider["onText"]]>([
    ["is cut", (socket) => socket.terminate()],
    ["is closed as if it were whole", (socket) => socket.close(1000)],
    ["is closed with an error", (socket) => socket.close(1011, "broken")],
    [
      "sends a text that is no JSON, and nothing more",
      (socket) => {
        socket.send("<html>");
        socket.close(1000);
      },
    ],
  ])("that breaks off in the middle costs what was spoken: it %s", async (_, end) => {
    const answer = await ask("a".repeat(100), (socket, taskId) => {
      socket.send(second);
      setTimeout(() => end(socket, taskId), 20);
    });
    await errorOf(answer.arrayBuffer());
    // A second, and the header of the file, at an ordinary pace of 15 characters.
    const { characters, charged_nanodollars: charged } = await lastCall();
    expect([characters, charged]).toEqual([16, 16 * nanodollarsPerCharacter]);
  });

  test("whose client leaves ends at the provider at once, and costs what was spoken", async () => {
    const answer = await ask("a".repeat(100), (socket) => {
      socket.send(second);
      socket.send(second);
    });
    const reader = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    await reader.read();
    expect(provider.open.size).toBe(1);
    await reader.cancel();
    await until(() => provider.open.size === 0);
    // Both seconds may have been read, or one.
    await until(async () => (await lastCall()).status !== 200);
    const { characters, charged_nanodollars: charged } = await lastCall();
    expect([16, 31]).toContain(characters as number);
    expect(charged).toBe((characters as number) * nanodollarsPerCharacter);
  });
});

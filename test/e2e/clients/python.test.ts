import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";

import { isEnded } from "../../../src/provider/index.ts";
import { catalogueRow } from "../../support/catalogue.ts";
import { preparePythonClients, pythonClientsMsMax } from "../../support/python.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { simulated } from "../../support/simulated.ts";
import { wavOf } from "../../support/wav.ts";

describe("the official openai client for Python", () => {
  const shared = useSandboxGateway();
  let found: Record<string, unknown> = {};
  let missing: string | undefined;

  beforeAll(async () => {
    const python = await preparePythonClients();
    missing = python.missing;
    if (missing !== undefined) return console.log(`Skipped: the openai client for Python: ${missing}`);
    const { baseUrl, key, home } = shared.gateway;
    const wav = join(home, "speech.wav");
    await Bun.write(wav, wavOf(2000));
    const voice = catalogueRow("famT/v1-english").voices?.[0] as string;
    const script = join(import.meta.dir, "script.py");
    const command = [python.command as string, script, baseUrl, key, wav, voice];
    const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe", timeout: 120_000 });
    const [text, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    if (text === "") throw new Error(`The script failed: ${complaint.slice(-1500)}`);
    found = JSON.parse(text) as Record<string, unknown>;
  }, pythonClientsMsMax);

  /** A test of what the script found, where the script could run; why it could not was printed. */
  const finds = (name: string, check: () => void) => test(name, () => (missing === undefined ? check() : undefined));

  finds("chats and streams, with usage", () => {
    expect(found).toMatchObject({ usage: true, stream_usage: true, stream: found.chat });
    expect(found.chat).toContain("Ada");
  });

  finds("makes turns over one WebSocket, each of which continues the one before", () => {
    expect(found.turns).toEqual([found.chat, expect.any(String), expect.any(String)]);
  });

  finds("calls a tool and takes its result", () => {
    expect(found.tool).toEqual(["add_numbers", ["a", "b"]]);
    expect(found.after_tool).toContain("twelve");
  });

  finds("embeds by base64 and by floats", () => {
    expect([found.embedding, found.embedding_float]).toEqual([1536, 1536]);
  });

  finds("draws, transcribes and speaks", () => {
    expect(found).toMatchObject({ image: "PNG", transcription_seconds: 2, speech: "RIFF" });
    expect(found.transcription).toBe(found.transcription_text);
  });

  finds("lists and retrieves models", () => {
    const sold = simulated.flatMap(({ models }) => models).filter((model) => !isEnded(model, Date.now()));
    const names = sold.flatMap(({ id, aliases = [] }) => [id, ...aliases]);
    expect([found.models, found.model]).toEqual([names.length, "famA/oss-20b"]);
  });

  finds("raises errors of the right class", () => {
    expect(found.errors).toEqual([
      ["BadRequestError", 400, true],
      ["AuthenticationError", 401, true],
      ["NotFoundError", 404, true],
      ["RateLimitError", 429, true],
      ["InternalServerError", 500, true],
      ["APIError"],
    ]);
  });
});
